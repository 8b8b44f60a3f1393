"""Weights & Biases; the only module that uses ``wandb``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from typing_extensions import override

from dragoman.core.errors import MissingExtraError
from dragoman.workflows.trackers.interface import Cell, TrackedRun, Tracker

try:
    import wandb
except ImportError as error:
    raise MissingExtraError.of("Weights & Biases", "wandb") from error

_LOGIN_SECONDS, _FINISH_SECONDS = 30.0, 60.0


class Wandb(Tracker):
    """A run of Weights & Biases, of the project that ``WANDB_PROJECT`` names or ``dragoman``.

    Its local files are in the directory ``wandb`` of the run.
    """

    name = "wandb"

    def __init__(self, run: TrackedRun) -> None:
        super().__init__(run)
        self._id = run.kept.get("id") or uuid4().hex
        self._run = wandb.init(
            project=run.kept.get("project") or os.environ.get("WANDB_PROJECT") or "dragoman",
            name=run.name,
            group=run.group,
            id=self._id,
            resume="allow",
            config=dict(run.config),
            dir=str(run.directory),
            settings=wandb.Settings(
                console="off", login_timeout=_LOGIN_SECONDS, finish_timeout=_FINISH_SECONDS
            ),
        )

    @override
    def keep(self) -> Mapping[str, str]:
        return {"id": self._id, "project": str(self._run.project)}

    @override
    def figures(self, values: Mapping[str, float], step: int) -> None:
        self._run.log(dict(values), step=step)

    @override
    def table(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], step: int
    ) -> None:
        table = wandb.Table(columns=list(columns), data=[list(row) for row in rows])
        self._run.log({name: table}, step=step)

    @override
    def card(self, path: Path) -> None:
        artefact = wandb.Artifact(f"{self._id}-model-card", type="model-card")
        artefact.add_file(str(path))
        self._run.log_artifact(artefact)

    @override
    def close(self) -> None:
        self._run.finish()
