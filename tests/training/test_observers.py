"""Reports of training: the file of metrics, averages, and warnings when nothing is learned."""

from __future__ import annotations

import json
import math
import resource
from pathlib import Path

import pytest
from flushes import watch_flushes
from reversal import Reversal, translation

from dragoman.core.errors import StorageError
from dragoman.training.observers import Averages, MetricsFile, learns_nothing, output_is_constant

TRAINING = {
    "kind": "training",
    "loss": 4.321,
    "perplexity": 75.3,
    "learning_rate": 1e-3,
    "tokens_per_second": 5432.1,
}


def steps(path: Path) -> list[int]:
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def test_what_led_to_a_checkpoint_outlasts_a_power_loss_as_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = MetricsFile(path, 0)
    flushed = watch_flushes(monkeypatch)
    metrics.record({**TRAINING, "step": 10})
    assert flushed == [path]
    metrics.close()


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


def test_a_refused_line_is_an_error_that_names_the_file_also_when_it_is_closed(
    tmp_path: Path,
) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl", 0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(StorageError, match=r"metrics\.jsonl"):
            metrics.record({**TRAINING, "step": 1})
        with pytest.raises(StorageError, match=r"metrics\.jsonl"):
            metrics.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


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


EARLY = [9.2] * 50


def test_a_flat_loss_is_told() -> None:
    message = learns_nothing(EARLY, 9.1, 500)
    assert message is not None
    assert "nothing is being learned: the loss is 9.10 nats per token, after 9.20" in message


def test_a_falling_loss_or_an_early_step_is_not() -> None:
    assert learns_nothing(EARLY, 5.0, 500) is None
    assert learns_nothing(EARLY, 9.1, 400) is None
    assert learns_nothing(EARLY[:10], 9.1, 500) is None


def test_constant_output_is_told() -> None:
    message = output_is_constant(["der mann ."] * 99 + ["die frau ."])
    assert message is not None
    assert "2 different translations of 100 sentences" in message
    assert output_is_constant([f"satz {n}" for n in range(100)]) is None
    assert output_is_constant(["ja"] * 5) is None
