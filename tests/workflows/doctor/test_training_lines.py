"""The doctor on text without short lines, and on placeholders that only one side has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from dragoman.core.config import parse
from dragoman.recipe import ExperimentConfig
from dragoman.text.examples import Example, Origin
from dragoman.workflows.doctor import Diagnosis
from dragoman.workflows.doctor.text_checks import Texts
from dragoman.workflows.doctor.training_lines import check_short_lines, check_strings

LONG = ["the old house stands by the river", "a new tree 2 stands near the old house"] * 60
PART = {"path": "t.tsv", "source": "en", "target": "de"}
UPPER = {"kind": "case", "to": "upper", "sides": "both", "share": 0.1}
SHARED = {"kind": "case", "to": "upper", "sides": "source", "share": 0.1}


def configuration(transforms: list[dict[str, Any]] | None = None) -> ExperimentConfig:
    part = {**PART, "source_language": "en", "target_language": "de"}
    values = {"data": {"train": [{**part, "transforms": transforms or []}], "dev": part}}
    return parse(ExperimentConfig, values, "my.yaml")


def sampled(pairs: Iterable[tuple[str, str]]) -> list[tuple[Example, float]]:
    return [
        (Example(source, target, "en", "de", ("<2de>",), Origin("t", line)), 1.0)
        for line, (source, target) in enumerate(pairs)
    ]


def finding(sources: list[str], transforms: list[dict[str, Any]] | None = None) -> Diagnosis | None:
    config, sample = configuration(transforms), sampled((source, "Text") for source in sources)
    found = list(check_short_lines(config, Texts(sample=sample)))
    assert len(found) <= 1
    return found[0] if found else None


def test_each_lack_is_named_with_its_share_and_remedy() -> None:
    found = finding(LONG)
    assert found is not None and found.level == "warning"
    assert "0.0% of at most 3 words, 0.0% in capitals, 0.0% of numbers or codes" in found.text
    assert "{kind: segment}, {kind: case, to: upper, sides: both}, {kind: pass_th" in found.text
    few = finding([*LONG * 5, "one two", "HOW OLD IS THE HOUSE?", *["AB-12"] * 4])
    assert few is not None and "0.2% in capitals" not in few.text, "codes are in capitals, too"
    assert "numbers or codes" not in few.text


@pytest.mark.parametrize(
    ("lines", "lacking"),
    [
        (["one two"], ["capitals", "numbers"]),
        (["HOW OLD IS THE HOUSE BY THE RIVER?"], ["words", "numbers"]),
        (["2024-11-05"], ["words", "capitals"]),
        (["one two", "HOW OLD IS THE HOUSE?", "14:05"], []),
    ],
)
def test_what_the_text_has_is_not_missed(lines: list[str], lacking: list[str]) -> None:
    found = finding([*LONG, *lines * 2])
    assert found is not None and found.level == ("warning" if lacking else "ok")
    named = [one for one in ("words", "capitals", "numbers") if f" {one}" in found.text[:160]]
    assert not lacking or named == lacking


def test_what_a_transform_makes_is_not_missed() -> None:
    made = finding(LONG, [{"kind": "pass_through"}, UPPER, {"kind": "segment", "segments": "s"}])
    assert made is not None and made.level == "ok"
    half = finding(LONG, [SHARED])
    assert half is not None and "in capitals" in half.text, "the target must be in capitals, too"


def test_scripts_without_case_have_no_capitals() -> None:
    found = finding(["古い家は川のそばに立っています。"] * 60)
    assert found is not None and "capitals" not in found.text and "words" in found.text
    assert finding(LONG[:20]) is None, "too few to judge"


GOOD = [("Delete {name}?", "{name} löschen?"), ("Save 2 files", "Zwei Dateien sichern")]


@pytest.mark.parametrize(
    ("pairs", "level", "text"),
    [
        (
            GOOD,
            "ok",
            "of 2 sources: placeholders in 1 (the same in 1 translations), numbers in 1 (the",
        ),
        ([*GOOD * 60, ("Open %s", "Öffnen")], "ok", "placeholders in 61 (the same in 60 tr"),
        (
            [*GOOD, ("Open %s", "Öffnen")],
            "warning",
            "1 translations have other placeholders, tags or addresses (fi",
        ),
        ([*GOOD, ("<b>A</b>", "<i>A</i>")], "warning", "t line 2: '<b>' is missing"),
    ],
)
def test_placeholders_that_only_one_side_has(
    pairs: list[tuple[str, str]], level: str, text: str
) -> None:
    (found,) = check_strings(configuration(), Texts(sample=sampled(pairs)))
    assert found.level == level
    assert text in found.text


def test_text_without_placeholders_is_not_mentioned() -> None:
    assert not [*check_strings(configuration(), Texts(sample=sampled([("Save", "Sichern")])))]
