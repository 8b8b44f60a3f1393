"""Where the newest weights lose more than bounds allow, the model may lie before them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.core.config import parse
from dragoman.models.layers.low_rank import merged
from dragoman.recipe import ExperimentConfig
from dragoman.run.weight_interpolation import Between, best_between, interpolated, step_outside
from dragoman.training.bounds import Watched
from dragoman.training.checkpoint import Progress, write_checkpoint

STEP = 8


def run_with(
    folder: Path, after: float, kept_step: int | None = 0, **training: Any
) -> ExperimentConfig:
    """A run whose only weight was 0 in the beginning, and whose newest is outside of its bound."""
    part = {"path": str(folder / "text.tsv"), "source": "en", "target": "de"}
    values = {
        "data": {"train": [part], "dev": {"domain": part, "general": part}},
        "training": {
            "start_from": "runs/other",
            "bounds": {"general": {"may_lose": 1}},
            "average_checkpoints": 0,
            "best_metric": "chrf",
            **training,
        },
        "evaluation": {"metrics": ["chrf"]},
    }
    for step, weight in ((0, 0.0), (STEP, after)):
        now = {"general": 50 - weight}
        watched = Watched({"general": 50.0}, now, kept_step, outside={"general": 3})
        progress = Progress(step=step, watched=watched)
        write_checkpoint(folder, progress, {"w": torch.tensor([weight])}, {})
    return parse(ExperimentConfig, values, "test")


def reports(domain: float, general: float) -> dict[str, dict[str, Any]]:
    sets = {"dev_domain": domain, "dev_general": general}
    return {
        name: {"loss": 1.0, "perplexity": 2.7, "chrf": {"value": value}}
        for name, value in sets.items()
    }


def found(config: ExperimentConfig, run: Path, before: float) -> tuple[Between | None, list[float]]:
    """What is best where the domain gains ten times what general text loses, and what was tried."""
    tried = []

    def score(weights: dict[str, Tensor], what: str) -> dict[str, dict[str, Any]]:
        (weight,) = weights["w"].tolist()
        tried.append(weight)
        assert what == f"weights {weight / 2:.0%} of the way to step {STEP}"
        return reports(10 * weight, 50 - weight)

    step = step_outside(config, run)
    assert step == STEP
    return best_between(config, run, step, reports(before, 50), score), tried


def test_the_best_weights_within_the_bound_are_found(tmp_path: Path) -> None:
    config = run_with(tmp_path, after=2.0)
    best, tried = found(config, tmp_path, before=3)
    assert tried == [1.5, 1.0, 0.5]
    assert best is not None
    assert (best.share, best.weights["w"].item()) == (0.5, 1.0), "a loss of 1, which is allowed"
    assert best.reports == reports(10, 49)


def test_they_must_be_better_than_the_best_checkpoint(tmp_path: Path) -> None:
    best, _ = found(run_with(tmp_path, after=2.0), tmp_path, before=10)
    assert best is None


def test_they_are_better_than_a_checkpoint_that_is_outside(tmp_path: Path) -> None:
    best, _ = found(run_with(tmp_path, after=2.0, kept_step=None), tmp_path, before=1000)
    assert best is not None and best.share == 0.5


def test_weights_that_are_no_numbers_have_nothing_between(tmp_path: Path) -> None:
    config = run_with(tmp_path, after=float("nan"))
    assert best_between(config, tmp_path, STEP, reports(0, 50), lambda: {}) is None


def test_only_a_trained_model_that_lost_too_much_has_something_between(tmp_path: Path) -> None:
    assert step_outside(run_with(tmp_path, after=2.0, start_from=None), tmp_path) is None
    within = Progress(step=STEP, watched=Watched({"general": 50.0}, {"general": 49.5}))
    config = run_with(tmp_path / "within", after=2.0)
    write_checkpoint(tmp_path / "within", within, {"w": torch.tensor([2.0])}, {})
    assert step_outside(config, tmp_path / "within") is None


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_what_an_adapter_adds_is_interpolated(share: float) -> None:
    torch.manual_seed(1)
    matrix, factor = torch.randn(5, 4), torch.tensor(2.0)
    names = [f"layer.low_rank.{part}" for part in ("down", "up")]

    def weights(down: Tensor, up: Tensor) -> dict[str, Tensor]:
        own = dict(zip(names, (down, up), strict=True))
        return {"layer.weight": matrix, "layer.low_rank.factor": factor, **own}

    before = weights(torch.randn(2, 4), torch.zeros(5, 2))
    after = weights(torch.randn(2, 4), torch.randn(5, 2))
    part = merged(interpolated(before, after, share))["layer.weight"]
    whole = merged(after)["layer.weight"]
    torch.testing.assert_close(part, (1 - share) * matrix + share * whole)
