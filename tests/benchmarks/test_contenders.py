"""Target tokens are counted over the steps that are timed, and no others."""

from __future__ import annotations

import json
import sys
from itertools import accumulate
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import decoders  # noqa: E402
from contenders import WARM, Dragoman, FailedError, Fairseq  # noqa: E402
from shared_material import Material  # noqa: E402


@pytest.mark.parametrize("steps", [1, 2, 5, 8, 40])
def test_our_tokens_are_of_the_measured_steps(steps: int, tmp_path: Path) -> None:
    """Our trainer logs every so many steps what it has seen until then."""
    ours = Dragoman(Material(tmp_path), tmp_path, tmp_path)
    command = list(map(str, ours.command("tiny", WARM + steps)))
    tokens = [100 + number**2 for number in range(WARM + steps)]
    (every,) = [int(part.split("=")[1]) for part in command if "training.log_steps=" in part]
    run = Path(command[command.index("--run") + 1])
    run.mkdir()
    seen = enumerate(accumulate(tokens), 1)
    records = [
        {"kind": "training", "step": step, "target_tokens": count}
        for step, count in seen
        if step % every == 0
    ]
    lines = [json.dumps(record) + "\n" for record in records]
    (run / "metrics.jsonl").write_text("".join(lines), encoding="utf-8")
    assert mean(ours.tokens("")[-steps:]) == pytest.approx(mean(tokens[WARM:]))


@pytest.mark.parametrize("kind", [Fairseq, decoders.Fairseq])
def test_what_fairseq_has_not_finished_is_made_again(
    kind: type[Fairseq | decoders.Fairseq], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it would be measured on a part of the text, or fail for ever."""
    made: list[str] = []

    def start(command: list[object], folder: Path, *_: object) -> None:
        made.append(str(command[-1]))
        (folder / made[-1]).mkdir()
        if len(made) == 1:
            raise FailedError("interrupted")

    monkeypatch.setattr("contenders.start", start)
    for side in ("en", "de"):
        (tmp_path / f"test.pieces.{side}").write_text("a\nb\n", encoding="utf-8")
    one = kind(Material(tmp_path), tmp_path, tmp_path)
    source = tmp_path / "test.pieces.en.2"
    source.write_text("a\nb\n", encoding="utf-8")
    command: Any = one.command
    given = [5] if kind is Fairseq else [source]
    with pytest.raises(FailedError):
        command("tiny", *given)
    for _ in range(2):
        read = next(part for part in command("tiny", *given) if str(part).startswith("fairseq"))
        assert (tmp_path / read).is_dir()
    assert len(made) == 2
