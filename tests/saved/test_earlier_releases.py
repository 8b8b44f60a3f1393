"""Runs and models of earlier releases open, as docs/versions.md promises.

``earlier/VERSION`` is a run of four steps as that release wrote it, with HERE for its folder.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import CommandLine

from dragoman.translation.translator import Translator

_EARLIER = Path(__file__).with_name("earlier")


@pytest.fixture(params=sorted(folder.name for folder in _EARLIER.iterdir()))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shutil.copytree(_EARLIER / request.param, tmp_path, dirs_exist_ok=True)
    for name in ("config.yaml", "vocabulary.json", "data/store.json"):
        path = tmp_path / "run" / name
        text = path.read_text(encoding="utf-8").replace("HERE", str(tmp_path))
        path.write_text(text, encoding="utf-8")
    return tmp_path / "run"


def test_a_model_and_its_run_go_on(run: Path, dragoman: CommandLine) -> None:
    with Translator.load(run / "model") as translator:
        scored = translator.score(["one hundred euros", "seven"], ["hundert Euro", "sieben"])
    # What the release itself said.
    assert [one.log_probability for one in scored] == pytest.approx(
        [-50.47097, -33.63189], abs=1e-3
    )
    ended = dragoman("resume", run, "--set", "training.max_steps=6")
    assert ended.code == 0, ended.err
    assert (run / "checkpoints" / "step-000006").is_dir()
