"""MLflow's stores, as MLflow reads them; nothing leaves this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mlflow")

from mlflow import MlflowClient

from dragoman.workflows.trackers import TrackedRun
from dragoman.workflows.trackers.mlflow_tracker import Mlflow

CONFIG = {"seed": 1, "model": {"d_model": 16, "family": "transformer"}, "data": {"train": ["a"]}}


@pytest.fixture(params=["files", "database"])
def client(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> MlflowClient:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    if request.param == "files":
        monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        uri = (tmp_path / "store").as_uri()
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.chdir(tmp_path)
    return MlflowClient()


def shown(client: MlflowClient, run: str, name: str) -> list[tuple[int, float]]:
    return [(one.step, one.value) for one in client.get_metric_history(run, name)]


def test_a_run_with_its_tables_continues_after_an_interruption(
    client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "README.md").write_text("# My model\n", encoding="utf-8")
    run = TrackedRun(tmp_path, "my", "comparison", CONFIG, 0)
    first = Mlflow(run)
    first.figures({"training/loss": 5.0, "training/nll": 4.5}, 100)
    first.table("translations/dev", ("line", "text"), [[3, "Tür"]], 100)
    first.close()
    kept = dict(first.keep())
    monkeypatch.delenv("MLFLOW_TRACKING_URI")  # the run knows where it is shown
    second = Mlflow(TrackedRun(tmp_path, "my", "comparison", CONFIG, 100, kept))
    second.figures({"training/loss": 4.0}, 200)
    second.table("translations/dev", ("line", "text"), [[3, "Tor"]], 200)
    second.card(tmp_path / "README.md")
    second.close()
    assert dict(second.keep()) == kept
    experiment = client.get_experiment_by_name("dragoman")
    assert experiment is not None
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.run_id == kept["id"]
    assert (found.info.run_name, found.info.status) == ("my", "FINISHED")
    assert found.data.tags["group"] == "comparison"
    assert found.data.params == {
        "seed": "1",
        "model.d_model": "16",
        "model.family": "transformer",
        "data.train": '["a"]',
    }
    assert shown(client, kept["id"], "training/loss") == [(100, 5.0), (200, 4.0)]
    assert read(client, kept["id"], "translations/dev-000200.json") == {
        "columns": ["line", "text"],
        "data": [[3, "Tor"]],
    }
    tables = json.loads(found.data.tags["mlflow.loggedArtifacts"])
    assert [one["path"] for one in tables] == [
        "translations/dev-000100.json",
        "translations/dev-000200.json",
    ]
    names = {one.path for one in client.list_artifacts(kept["id"])}
    assert names == {"README.md", "config.yaml", "translations"}


def read(client: MlflowClient, run: str, artefact: str) -> Any:
    path = client.download_artifacts(run, artefact)
    return json.loads(Path(path).read_text(encoding="utf-8"))
