"""Target tokens are counted over the steps that are timed, and no others."""

from __future__ import annotations

import json
import sys
from itertools import accumulate
from pathlib import Path
from statistics import mean

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

from contenders import WARM, Dragoman  # noqa: E402
from material import Material  # noqa: E402


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
