from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from agreement import assert_same_translations, close
from planted_calibration import calibration_of
from tiny_model import save_tiny_model

from dragoman.core import device
from dragoman.core.errors import UsageError
from dragoman.saved.system import TranslationSystem
from dragoman.translation import building
from dragoman.translation.call_options import LineOptions
from dragoman.translation.confidence import ConfidentEngine
from dragoman.translation.opening import open_system
from dragoman.translation.translator import Translator

LINES = [f"{'a b c d e'[: 1 + i % 9]} {'e d c'[: i % 5]}".strip() for i in range(30)] + [""]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_tiny_model(tmp_path / "model", LINES, extra_length=4, batch_tokens=60)


@pytest.mark.usefixtures("forked_workers")
def test_processes_give_what_one_gives_in_order(model: Path) -> None:
    alone = Translator.load(model, device="cpu")
    shared = Translator.load(model, device="cpu", workers=2)
    assert shared.translate(LINES) == alone.translate(LINES)
    draws: LineOptions = {"sampling": {"seed": 3}, "nbest": 2}
    found, expected = (each.translate_nbest(LINES, **draws) for each in (shared, alone))
    assert_same_translations(found, expected)
    both: LineOptions = {"mbr": {"samples": 3, "candidates": "both"}}
    assert shared.translate(LINES, **both) == alone.translate(LINES, **both)
    system = TranslationSystem(models=(model,), device="cpu")
    opened, calibration = open_system(system), calibration_of(system)
    confident = [
        Translator.over(opened, ConfidentEngine(engine, calibration, opened))
        for engine in (shared._direct.engine, alone._direct.engine)
    ]
    for (one, *_), (other, *_) in zip(
        *(each.translate_nbest(LINES) for each in confident), strict=True
    ):
        assert one.confidence == (None if other.confidence is None else close(other.confidence))


def test_auto_is_decided_once_for_all_processes(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([True, False, False, False])
    monkeypatch.setattr(device, "computes_bfloat16", lambda where: next(answers))
    handed: list[object] = []
    monkeypatch.setattr(building, "WorkerEngine", lambda system, _: handed.append(system.precision))
    loaded = Translator.load(model, model, device="cpu", precision="auto", workers=2)
    dtypes = {p.dtype for part in loaded.models for p in part.parameters()}
    assert dtypes == {torch.bfloat16}
    assert handed == ["bfloat16"]


def workers_of(load: Callable[[], Translator]) -> tuple[Translator, set[Any]]:
    others = set(multiprocessing.active_children())
    translator = load()
    assert translator.translate(["a"])
    return translator, set(multiprocessing.active_children()) - others


@pytest.mark.usefixtures("forked_workers")
def test_a_translator_goes_on_when_a_worker_was_killed(model: Path) -> None:
    translator, (worker,) = workers_of(lambda: Translator.load(model, device="cpu", workers=1))
    confident = ConfidentEngine.__new__(ConfidentEngine)
    confident._engine = translator._direct.engine
    assert translator.is_ready
    assert confident.is_ready
    worker.kill()
    worker.join()
    assert not translator.is_ready
    assert not confident.is_ready
    assert len(translator.translate(["a", "b c"])) == 2
    assert translator.is_ready
    translator.close()


def test_workers_of_a_forgotten_translator_end(model: Path) -> None:
    translator, (worker,) = workers_of(lambda: Translator.load(model, device="cpu", workers=1))
    del translator  # they end by themselves; no warning, which would be an error here
    deadline = time.monotonic() + 60
    # A thread of the pool waits for it, too; whichever comes second learns the code a bit later.
    while worker.exitcode is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert worker.exitcode == 0


SCRIPT = """
import os
import signal
import sys

from dragoman.translation.translator import Translator

translator = Translator.load(sys.argv[1], device="cpu", workers=1)
print(len(translator.translate(["a", "b"])), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_of_a_program_that_is_killed_end(model: Path) -> None:
    """Otherwise the pipe, of which they have an end too, would stay open."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, model],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "2\n")


@pytest.mark.usefixtures("forked_workers")
def test_a_stream_is_as_if_translated_here_until_its_translator_is_closed(model: Path) -> None:
    alone = Translator.load(model, device="cpu")
    shared, started = workers_of(lambda: Translator.load(model, device="cpu", workers=1))
    assert len(started) == 1
    with shared:
        counts: list[int] = []
        stream = shared.stream(LINES, buffer_lines=4, progress=counts.append)
        assert list(stream) == alone.translate(LINES, buffer_lines=4)
        assert counts == sorted(counts)
        assert counts[-1] >= len(LINES) - 1  # the last line is empty
        stream = shared.stream(LINES, buffer_lines=4)
        next(stream)
    assert not started & set(multiprocessing.active_children())
    with pytest.raises(UsageError, match="closed"):
        next(stream)
    shared.close()
    with pytest.raises(UsageError, match="closed"):
        shared.translate(["a"])
