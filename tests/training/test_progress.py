from __future__ import annotations

import errno
import io
import json
import math
import os
import sys
from pathlib import Path

import pytest
from reversal import Reversal, translation

from dragoman.training.progress import Averages, MetricsFile, ProgressBar

TRAINING = {
    "kind": "training",
    "loss": 4.321,
    "perplexity": 75.3,
    "learning_rate": 1e-3,
    "tokens_per_second": 5432.1,
}


def steps(path: Path) -> list[int]:
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def test_resuming_writes_later_steps_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    first = MetricsFile(path, 0)
    for step in (10, 20, 30):
        first.record({**TRAINING, "step": step})
    first.close()
    with path.open("ab") as stream:
        for damage in (b"\xff\xfe", b"[" * 100_000, b"5", b'{"step": NaN}', b'{"step": []}'):
            stream.write(damage + b"\n")
        stream.write(b'{"kind": "training", "st')  # what a kill leaves behind
    second = MetricsFile(path, 20)
    second.record({**TRAINING, "step": 25})
    second.close()
    assert steps(path) == [10, 20, 25]


def test_a_terminal_that_is_gone_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a hang-up the run still has to be saved."""

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(sys, "stderr", Gone())
    bar = ProgressBar(0, 100)
    bar.record({**TRAINING, "step": 50})
    bar.record({"kind": "validation", "step": 50, "loss": 3.2})
    bar.record({"kind": "warning", "step": 50, "message": "loss is not finite"})
    bar.close()


def test_going_back_drops_later_steps(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = MetricsFile(path, 0)
    for step in (10, 20, 30):
        metrics.record({**TRAINING, "step": step})
    metrics.rewind(20)
    assert steps(path) == [10, 20]
    metrics.record({**TRAINING, "step": 30})
    metrics.close()
    assert steps(path) == [10, 20, 30]


def test_the_bar_goes_back(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar(0, 100)
    bar.record({**TRAINING, "step": 50})
    bar.rewind(40)
    bar.close()
    assert "40/100" in capsys.readouterr().err


def test_the_bar_shows_what_matters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # a narrow terminal's bar is cut off
    bar = ProgressBar(0, 100)
    bar.record({**TRAINING, "step": 50})
    bar.record({"kind": "validation", "step": 50, "loss": 3.2, "bleu": 31.46})
    bar.record({"kind": "warning", "step": 50, "message": "loss is not finite"})
    bar.close()
    shown = capsys.readouterr().err
    for part in ("50/100", "loss 4.321", "ppl 75.3", "lr 1.00e-03", "5,432 tok/s", "<"):
        assert part in shown
    assert "step 50: loss 3.2, bleu 31.46" in shown
    assert "step 50: loss is not finite" in shown


def test_averages_are_by_token_or_by_step() -> None:
    averages = Averages([translation(Reversal())])
    for tokens, seconds in ((10, 2.0), (30, 3.0)):
        averages.wait(seconds)
        totals = {"loss": 4.0 * tokens, "nll": 2.0 * tokens, "tokens": tokens}
        averages.add([totals], norm=tokens / 10, rate=tokens / 100)
    assert averages.figures() == pytest.approx(
        {
            "loss": 4.0,
            "nll": 2.0,
            "perplexity": math.exp(2.0),
            "learning_rate": 0.3,  # the last step's
            "gradient_norm": 2.0,  # the mean of 1 and 3
            "tokens_per_second": 8.0,
        }
    )
    assert averages.figures() == {}
