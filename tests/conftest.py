"""What holds for all tests: properties are checked on the same examples every time.

Tensors here are small, and threads that wait for one another on a busy machine cost more than
they give; so tests that use PyTorch do so on one thread, and so do the processes they start,
whatever the environment says.  A GPU is hidden from them unless ``make test-gpu`` asks for it: they
compare figures of a processor to the last digit.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from command_line import CommandLine

for _library in ("OMP", "MKL", "OPENBLAS"):  # read when PyTorch and NumPy are first imported
    os.environ[f"{_library}_NUM_THREADS"] = "1"

if "DRAGOMAN_TEST_GPU" not in os.environ:  # read when PyTorch first looks for one
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

# No deadline: a machine that is busy with something else must not fail a test.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None, max_examples=50
)
settings.load_profile("repeatable")


# Real text: tests that read it are skipped where it is not there.
_SHARED = Path(__file__).parents[2] / "shared" / "data"
if _SHARED.is_dir():
    os.environ.setdefault("DRAGOMAN_CORPORA", str(_SHARED))


gc.disable()  # while tests are collected: what is imported stays, and is looked through for nothing


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but none of what is there already, which stays.

    And that seldom: at the usual threshold of 700 objects, it is a thirtieth of all the time.
    """
    gc.set_threshold(10_000, 10, 10)
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _yaml_read_once() -> Iterator[None]:
    """The same text is parsed once: recipes share bases, and each command reads that of its run."""
    from dragoman.core.strict_yaml import load_yaml

    parsed = cache(load_yaml)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.core.config.load_yaml", lambda text: deepcopy(parsed(text)))
        yield


@pytest.fixture(scope="session", autouse=True)
def _flushes_at_once() -> Iterator[None]:
    """No test loses power, and all of them flush files ten thousands of times.

    What is flushed, and what becomes of an error, is tested with replacements of their own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forked from a process that has imported PyTorch, for which each takes seconds.

    For tests of what workers do, not of how they start.
    """
    from forked import Context

    monkeypatch.setattr("dragoman.core.processes._Context", Context)


@pytest.fixture
def dragoman() -> CommandLine:
    from command_line import call

    return call


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny train.tsv, dev.tsv and test.tsv."""
    from dragoman.text.synthetic import write

    folder = tmp_path_factory.mktemp("text")
    write(folder, 300, dev=20, test=20)
    return folder


@pytest.fixture(scope="session")
def config(text: Path) -> Path:
    """The configuration of a tiny experiment on that text."""
    from command_line import write_experiment

    return write_experiment(text)


@pytest.fixture(scope="session")
def trained(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; tests read it and leave it as it is."""
    from command_line import call

    directory = tmp_path_factory.mktemp("runs") / "tiny"
    outcome = call("train", config, "--run", directory, curves=True)
    assert outcome.code == 0, outcome.err
    (directory / "out.txt").write_text(outcome.out, encoding="utf-8")
    (directory / "err.txt").write_text(outcome.err, encoding="utf-8")
    return directory


@pytest.fixture(autouse=True)
def _loggers_speak() -> None:
    """Tests and libraries that configure logging switch off the loggers that are there.

    Only what differs is set: each change goes through all loggers, two milliseconds in every test.
    """
    if logging.root.manager.disable:
        logging.disable(logging.NOTSET)
    for name, logger in logging.root.manager.loggerDict.items():
        if not name.startswith("dragoman") or not isinstance(logger, logging.Logger):
            continue
        if logger.disabled or not logger.propagate or logger.level:
            logger.disabled, logger.propagate = False, True
            logger.setLevel(logging.NOTSET)
