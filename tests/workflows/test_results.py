"""``--json``: valid for every reader, and with the keys that docs/command-line.md lists."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine

from dragoman.experiment import Experiment
from dragoman.workflows.compare.comparison import Comparison, ComparisonRow
from dragoman.workflows.results import print_json, to_json
from dragoman.workflows.runs import run_values

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
_SECTION = PAGE.read_text(encoding="utf-8").partition("\n## Results for scripts\n")[2]
_TABLES, _, _BELOW = _SECTION.partition("\n### Keys of translate\n")
ROWS = dict(re.findall(r"^\| (`.+?`) \| (.+) \|$", _TABLES, re.M))
KEYS_OF_LINES = _BELOW.partition("\n### ")[0]


def documented(row: str) -> set[str]:
    """The keys that a row of the table of results names."""
    text = KEYS_OF_LINES if "(#keys-of-translate)" in ROWS[row] else ROWS[row]
    return set(re.findall(r"`(\w+)`", text))


def documented_below(row: str) -> set[str]:
    """The same, with those below keys that mean the same everywhere."""
    named = documented(row)
    shared = {name for name in ("scores", "comparison") if name in named}
    return named.union(*(documented(f"`{name}`") for name in shared))


def keys(values: Any) -> set[str]:
    """Those of an object and of the objects in its lists."""
    below = [one for value in values.values() if isinstance(value, list) for one in value]
    return {*values, *(key for one in below if isinstance(one, dict) for key in keys(one))}


@pytest.mark.parametrize(
    ("command", "row"),
    [
        ("prepare tiny.yaml --run {tmp}/run", "`prepare`"),
        ("cost tiny.yaml", "`cost`"),
        ("average {run} --output {tmp}/mean", "`average`"),
        ("doctor missing.yaml", "`doctor`"),
        ("translate {run} --input en --nbest 2", "`translate`"),
        ("evaluate en de --confidence 10", "`evaluate`"),
        ("score {run} en de", "`score`"),
    ],
)
def test_keys_are_documented(
    command: str,
    row: str,
    trained: Path,
    config: Path,
    text: Path,
    dragoman: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(f"base: {config}\n", encoding="utf-8")
    gone = "{path: gone.tsv, source: en, target: de}"
    missing = f"base: {config}\ndata: {{train: [{gone}], dev: {gone}, test: {{news: {gone}}}}}\n"
    Path("missing.yaml").write_text(missing, encoding="utf-8")
    for name in ("en", "de"):
        Path(name).write_text("seven\n", encoding="utf-8")
    words = command.format(run=trained, tmp=tmp_path).split()
    outcome = dragoman("--quiet", *words, "--json")
    assert outcome.code in {0, 3}
    assert [line for line in outcome.err.splitlines() if "error: " not in line] == []
    found = keys(json.loads(outcome.out))
    assert found
    assert found <= documented_below(row)


def test_keys_of_what_takes_long_are_documented(trained: Path) -> None:
    run = run_values(Experiment.open(trained), None)
    assert run.keys() == documented("`train`, `resume`")
    for kind in (Comparison, ComparisonRow):
        assert {field.name for field in fields(kind)} <= documented("`compare`")
    assert {"metric", "difference", "p_value"} <= documented_below("`compare`")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (math.inf, None),
        (-math.inf, None),
        (math.nan, None),
        ([1.5, (math.nan, {"a": math.inf})], [1.5, [None, {"a": None}]]),
        ('a\nb\tä\u2028\x85\x00"\\', 'a\nb\tä\u2028\x85\x00"\\'),
        ("half a character: \ud83d", "half a character: \ud83d"),
        ([True, None, 3, 0.1], [True, None, 3, 0.1]),
    ],
)
def test_what_is_printed_can_be_read(value: object, read: object) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    text = to_json({"value": value})
    text.encode("utf-8")
    assert "\n" not in text
    assert json.loads(text, parse_constant=refuse) == {"value": read}


def test_text_is_utf_8_whatever_the_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"text": "ä\udcff", "score": -math.inf})
    printed = stream.buffer.getvalue()
    assert "ä".encode() in printed
    assert json.loads(printed) == {"text": "ä\udcff", "score": None}
