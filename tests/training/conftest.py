from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import Reversal, tiny_config, tiny_model, translation

from dragoman.models import TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.training.distributed import World
from dragoman.training.tasks import Stream, Task
from dragoman.training.trainer import Trainer


@pytest.fixture
def trainer(tmp_path: Path) -> Callable[..., Trainer]:
    """Make a trainer of the tiny task; keyword arguments go into its configuration."""

    def make(
        run: Path | None = None,
        validate: Callable[[TranslationModel], dict[str, float]] = lambda model: {"loss": 1.0},
        stream: Stream | None = None,
        tasks: Sequence[Task] = (),
        dropout: float = 0.1,
        model: dict[str, Any] | None = None,
        measured: str = "",
        **values: Any,
    ) -> Trainer:
        config = tiny_config(**values)
        return Trainer(
            tiny_model(dropout, **(model or {})),
            tasks
            or [
                translation(
                    stream or Reversal(),
                    config.objective.build(config.label_smoothing, TransformerConfig()),
                )
            ],
            validate,
            config,
            run or tmp_path,
            seed=5,
            d_model=16,
            world=World(0, 1, torch.device("cpu")),
            measured=measured,
        )

    return make
