"""Preparing the text of a run: what is said of it, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import experiment

from dragoman.core.config import to_yaml
from dragoman.experiment import Experiment
from dragoman.recipe import read_experiment
from dragoman.text import synthetic

ENGLISH = ["Two young men are playing football.", "The children are running to the beach."]


def test_text_in_another_language_is_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A run that goes on prepares nothing, and says nothing again."""
    pytest.importorskip("py3langid", exc_type=ImportError)
    synthetic.write(tmp_path, 80, dev=3, test=3)
    lines = [f"{line} {number}." for number in range(20) for line in ENGLISH]
    (tmp_path / "mono.de").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    values = experiment()
    values["data"]["train"] += [{"target": "mono.de", "transforms": [{"kind": "copy"}]}]
    path = tmp_path / "experiment.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    run = Experiment.create(read_experiment(path), tmp_path / "run")
    for _ in range(2):
        run.prepare()
    (message,) = caplog.messages
    assert message.startswith("data.train.1 (")
    assert "mono.de): 100% of its lines, declared as de, seem to be in another language" in message


def test_text_that_changes_while_a_run_trains_is_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    synthetic.write(tmp_path, 80, dev=3, test=3)
    path = tmp_path / "experiment.yaml"
    path.write_text(to_yaml(experiment()), encoding="utf-8")
    run = Experiment.create(read_experiment(path), tmp_path / "run")
    lines = (tmp_path / "train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)

    def told(count: int) -> bool:
        """Whether a warning says that the text is another one, now that it has so many lines."""
        caplog.clear()
        (tmp_path / "train.tsv").write_text("".join(lines[:count]), encoding="utf-8")
        run.prepare()
        return any("the training text is another one than before" in one for one in caplog.messages)

    assert not told(80)
    assert not told(75)  # nothing has been learned yet
    (tmp_path / "run" / "checkpoints" / "step-000004").mkdir(parents=True)
    assert not told(75)
    assert told(70)
    assert not told(70)
