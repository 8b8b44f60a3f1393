"""Noise is of the kinds and shares that were asked for, and what is found is counted right."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.formats import Pair
from studies.noise.__main__ import noise
from studies.noise.caught import area_under_curve, caught
from studies.noise.making import Kind, add_noise

PAIRS = [Pair(f"one two three {n}", f"eins zwei drei vier {n}", n) for n in range(1, 101)]
OTHERS = [f"un deux trois {n}" for n in range(1, 101)]
SHARES: dict[Kind, float] = {
    "misaligned": 0.3,
    "copied": 0.05,
    "truncated": 0.1,
    "wrong_language": 0.02,
}


@given(st.integers(0, 1000))
def test_each_kind_has_its_share(seed: int) -> None:
    noisy = add_noise(PAIRS, SHARES, seed, OTHERS)
    assert noisy == add_noise(PAIRS, SHARES, seed, OTHERS)
    assert Counter(pair.kind for pair in noisy) == {
        "": 53,
        "misaligned": 30,
        "copied": 5,
        "truncated": 10,
        "wrong_language": 2,
    }
    moved = []
    for pair, (source, target, kind), other in zip(PAIRS, noisy, OTHERS, strict=True):
        assert source == pair.source
        expected = {
            "": pair.target,
            "copied": pair.source,
            "truncated": "eins zwei",
            "wrong_language": other,
        }
        if kind == "misaligned":
            moved.append((pair.target, target))
        else:
            assert target == expected[kind]
    before, after = zip(*moved, strict=True)
    assert sorted(before) == sorted(after), "targets change places among themselves"
    assert all(one != other for one, other in moved)


def test_what_does_not_change_is_right() -> None:
    same = [Pair("a", "b", n) for n in range(9)]
    assert {pair.kind for pair in add_noise(same, {"misaligned": 1.0, "truncated": 0.0}, 1)} == {""}
    assert {pair.kind for pair in add_noise(same, {"truncated": 1.0}, 1)} == {""}, "too short"


def test_shares_that_cannot_be_made() -> None:
    with pytest.raises(ConfigError, match=r"sum to 1\.1"):
        add_noise(PAIRS, {"misaligned": 0.6, "copied": 0.5}, 1)
    with pytest.raises(ConfigError, match="--other"):
        add_noise(PAIRS, {"wrong_language": 0.6}, 1)
    with pytest.raises(DataError, match="99 lines"):
        add_noise(PAIRS, {"wrong_language": 0.6}, 1, OTHERS[1:])


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2))
def test_the_area_is_how_often_the_right_pair_wins(drawn: list[tuple[int, bool]]) -> None:
    scores, wrong = (np.array(column) for column in zip(*drawn, strict=True))
    if wrong.all() or not wrong.any():
        return
    won = [(one > other) + (one == other) / 2 for one in scores[~wrong] for other in scores[wrong]]
    assert area_under_curve(scores.astype(np.float64), wrong) == pytest.approx(np.mean(won))


def test_what_is_caught() -> None:
    scores = np.array([0.9, 0.1, 0.8, 0.2, 0.7, 0.6, 0.95, 0.85, 0.75, 0.05])
    kinds = ["", "copied", "", "", "", "copied", "", "", "", "misaligned"]
    found = caught(scores, kinds, 0.7, {"turned": -scores})
    assert (found.pairs, found.wrong, found.dropped) == (10, 3, 3)
    assert found.area.value == pytest.approx(20 / 21)
    assert (found.recall.value, found.precision.value) == pytest.approx((2 / 3, 2 / 3))
    assert found.area.low <= found.area.value <= found.area.high
    assert found.by_kind == pytest.approx({"": 1 / 7, "copied": 0.5, "misaligned": 1.0})
    assert found.parts == pytest.approx({"turned": 1 / 21})
    assert "66.7 %" in found.table()
    # What a filter can never keep is dropped, whatever the share.
    assert caught(scores, kinds, 0.9, fit=scores > 0.15).dropped == 2
    assert caught(np.arange(100.0), [*(["copied"] * 50), *([""] * 50)], 0.29).dropped == 71
    with pytest.raises(DataError, match="all right or all wrong"):
        caught(scores, [""] * 10, 0.7)
    with pytest.raises(DataError, match="9 pairs"):
        caught(scores, kinds[1:], 0.7)


def test_the_commands(tmp_path: Path) -> None:
    for name, lines in (("en", [p.source for p in PAIRS]), ("de", [p.target for p in PAIRS])):
        (tmp_path / f"text.{name}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(tmp_path / "text.en"), str(tmp_path / "text.de")]
    options = ["--misaligned", "0.3", "--output", str(tmp_path / "noisy"), "-q"]
    made = CliRunner().invoke(noise, ["make", *files, *options])
    assert made.exit_code == 0, made.output
    pairs = tmp_path / "noisy" / "pairs.jsonl.gz"
    with gzip.open(pairs, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    assert Counter(row["noise"] for row in rows) == {"": 70, "misaligned": 30}
    with gzip.open(tmp_path / "noisy" / "right.jsonl.gz", "rt", encoding="utf-8") as stream:
        assert [json.loads(line) for line in stream] == [row for row in rows if not row["noise"]]
    scores = tmp_path / "scores.jsonl"
    scored = [
        {"line": line, "score": float(not row["noise"]), "forward": None, "reverse": 1.0}
        | {"excess_length": (2.0 if row["noise"] else 0.5) * (-1) ** line}
        | {"problem": None}
        for line, row in enumerate(rows, 1)
    ]
    scores.write_text("".join(json.dumps(row) + "\n" for row in scored), encoding="utf-8")
    output = tmp_path / "caught.json"
    command = ["caught", str(pairs), str(scores), "--keep", "0.7", "--output", str(output)]
    found = CliRunner().invoke(noise, [*command, "--json", "-q"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout) == json.loads(output.read_text(encoding="utf-8"))
    result = json.loads(found.stdout)
    assert (result["area"]["value"], result["recall"]["value"], result["parts"]["reverse"]) == (
        1.0,
        1.0,
        0.5,
    )
    assert result["parts"]["length"] == 1.0
    for wrong in ("".join(json.dumps(row) + "\n" for row in scored[1:]), "text\n", "[1]\n"):
        scores.write_text(wrong, encoding="utf-8")
        refused = CliRunner().invoke(noise, command)
        assert refused.exit_code == 3
        assert "not the scores of" in refused.output
    nothing = CliRunner().invoke(noise, ["make", *files, "--output", str(tmp_path / "none")])
    assert nothing.exit_code == 2
    assert "name a share of noise" in nothing.output
