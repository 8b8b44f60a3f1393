"""MLflow; the only module that uses ``mlflow``."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from dragoman.core.errors import MissingExtraError
from dragoman.workflows.trackers.interface import Cell, TrackedRun, Tracker

try:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param
    from mlflow.exceptions import MlflowException
except ImportError as error:
    raise MissingExtraError.of("MLflow", "mlflow-skinny", "sqlalchemy", "alembic") from error

_EXPERIMENT = "dragoman"
_SHOWN = "mlflow.loggedArtifacts"  # tables that MLflow's pages show
_LONGEST_VALUE = 500  # characters of a parameter


class Mlflow(Tracker):
    """A run of MLflow, where ``MLFLOW_TRACKING_URI`` says or by MLflow's own default.

    Its experiment is that of ``MLFLOW_EXPERIMENT_NAME`` or ``dragoman``.
    """

    name = "mlflow"

    def __init__(self, run: TrackedRun) -> None:
        super().__init__(run)
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        self._client = MlflowClient(tracking_uri=run.kept.get("uri"))
        self._tables: list[dict[str, str]] = []
        self._id = run.kept.get("id", "")
        if self._id:
            self._client.update_run(self._id, status="RUNNING")
            tag = self._client.get_run(self._id).data.tags.get(_SHOWN, "[]")
            self._tables = json.loads(tag)
        else:
            self._id = self._created(run)

    def _created(self, run: TrackedRun) -> str:
        tags = {} if run.group is None else {"group": run.group}
        made = self._client.create_run(self._experiment(), run_name=run.name, tags=tags)
        identity = str(made.info.run_id)
        parameters = [Param(key, value) for key, value in _flat(run.config)]
        for start in range(0, len(parameters), 100):  # no more at once
            self._client.log_batch(identity, params=parameters[start : start + 100])
        self._client.log_dict(identity, dict(run.config), "config.yaml")
        return identity

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or _EXPERIMENT
        if (known := self._client.get_experiment_by_name(name)) is None:
            try:
                return str(self._client.create_experiment(name))
            except MlflowException:
                # Another process has just created it; none has if the name is one of a deleted one.
                if (known := self._client.get_experiment_by_name(name)) is None:
                    raise
        return str(known.experiment_id)

    @override
    def keep(self) -> Mapping[str, str]:
        return {"id": self._id, "uri": str(self._client.tracking_uri)}

    @override
    def figures(self, values: Mapping[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, step) for name, value in values.items()]
        self._client.log_batch(self._id, metrics=metrics)

    @override
    def table(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], step: int
    ) -> None:
        file = f"{name}-{step:06}.json"
        table = {"columns": list(columns), "data": [list(row) for row in rows]}
        self._client.log_dict(self._id, table, file)
        self._tables = [one for one in self._tables if one["path"] != file]
        self._tables.append({"path": file, "type": "table"})
        self._client.set_tag(self._id, _SHOWN, json.dumps(self._tables))

    @override
    def card(self, path: Path) -> None:
        self._client.log_artifact(self._id, str(path))

    @override
    def close(self) -> None:
        self._client.set_terminated(self._id)


def _flat(values: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested values as parameters, such as ``model.d_model``; lists as JSON."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _flat(value, f"{prefix}.{key}" if prefix else str(key))
    elif values is not None:
        text = values if isinstance(values, str) else json.dumps(values, ensure_ascii=False)
        yield prefix, text[:_LONGEST_VALUE]
