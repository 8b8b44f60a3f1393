"""The command line in this process, and the smallest experiment to give it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from dragoman.cli.main import run
from dragoman.core.errors import MissingExtraError

STEPS = 12

LINES = ["one hundred euros", "", "the third day", "seven"]
"""What the model of the fixture ``trained`` translates."""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


CommandLine = Callable[..., Outcome]

_TRAINING = {"adapt", "demo", "distill", "resume", "train"}
"""Commands that end with the report of a run."""


@contextmanager
def no_curves() -> Iterator[None]:
    """Leave the picture in reports of runs empty: it takes half the time of a tiny training."""
    try:
        from matplotlib.figure import Figure

        from dragoman.workflows.reports import run_report
    except (ImportError, MissingExtraError):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_report, "learning_curves", lambda _: Figure())
        yield


def call(*arguments: object, stdin: bytes = b"", curves: bool = False) -> Outcome:
    """Carry out ``dragoman ARGUMENTS`` and catch what it prints.

    Args:
        arguments: words of the command.
        stdin: its standard input.
        curves: whether the report of a run shows its curves.
    """
    with ExitStack() as held:
        if not curves and _TRAINING & {str(argument) for argument in arguments}:
            held.enter_context(no_curves())
        return _call(arguments, stdin)


def _call(arguments: tuple[object, ...], stdin: bytes) -> Outcome:
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    try:
        code = run([str(argument) for argument in arguments])
        out, err = (stream.buffer.getvalue().decode() for stream in (sys.stdout, sys.stderr))
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    return Outcome(code, out, err)


def one_error(outcome: Outcome, code: int) -> str:
    """The single line of an expected error, which is no traceback."""
    assert outcome.code == code, outcome.err
    assert "Traceback" not in outcome.err
    (line,) = [line for line in outcome.err.splitlines() if "error:" in line]
    assert line.startswith("dragoman: error: ")
    return line


def part(name: str) -> dict[str, str]:
    return {"path": f"{name}.tsv", "source": "en", "target": "de"}


def experiment() -> dict[str, Any]:
    """The smallest experiment that goes all the way, as YAML would give it."""
    return {
        "source_language": "en",
        "target_language": "de",
        "data": {"train": [part("train")], "dev": part("dev"), "test": {"news": part("test")}},
        "vocabulary": {"size": 120},
        "model": {
            "encoder_layers": 1,
            "decoder_layers": 1,
            "d_model": 16,
            "d_ff": 32,
            "heads": 2,
        },
        "training": {
            "step_tokens": 500,
            "schedule": {"warmup_steps": 5},
            "precision": "float32",
            "max_steps": STEPS,
            "validation_steps": 6,
            "checkpoint_steps": 4,
            "log_steps": 2,
            "best_metric": "loss",
            "average_checkpoints": 2,
        },
        "search": {"beam": 2, "extra_length": 5},
    }


def write_experiment(folder: Path, values: dict[str, Any] | None = None) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(values or experiment()), encoding="utf-8")
    return path
