"""One tiny text and one tiny trained run for all tests of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_line import call, write_experiment

from dragoman.models.cost import cost
from dragoman.text.synthetic import write


@pytest.fixture(scope="session", autouse=True)
def counted_once() -> Iterator[None]:
    """Counting a model's operations takes longer than most of what asks for them here."""
    remembered = cache(cost)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("models.cost", "apps.doctor.machine", "apps.compare.plan"):
            patch.setattr(f"dragoman.{module}.cost", remembered)
        yield


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.tsv, dev.tsv and test.tsv."""
    folder = tmp_path_factory.mktemp("text")
    write(folder, 300, dev=20, test=20)
    return folder


@pytest.fixture(scope="session")
def config(text: Path) -> Path:
    return write_experiment(text)


@pytest.fixture(scope="session")
def trained(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; tests read it and leave it as it is."""
    directory = tmp_path_factory.mktemp("runs") / "tiny"
    outcome = call("train", config, "--run", directory)
    assert outcome.code == 0, outcome.err
    (directory / "out.txt").write_text(outcome.out, encoding="utf-8")
    (directory / "err.txt").write_text(outcome.err, encoding="utf-8")
    return directory
