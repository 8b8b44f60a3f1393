"""What ``dragoman init`` counted, and why a technique is on or off, stands in what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine

from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.workflows.init import measure, text_choice
from dragoman.workflows.init.text_choice import MeasuredEffect, notes_on_text, pays
from dragoman.workflows.text_features import TextFeatures

STRINGS = [
    (f"Delete {{name}} number {n} of the list", f"{{name}} Nr. {n} löschen") for n in range(60)
]
PLAIN = [(f"word{n % 7} house{n % 5}", f"Wort{n % 7} Haus{n % 5}") for n in range(60)]
PART = CorpusPart(path="one.tsv", source="en", target="de")
OTHER = PART.model_copy(update={"path": "two.tsv"})


def features(pairs: list[tuple[str, str]]) -> TextFeatures:
    return TextFeatures.of((*pair, f"line {line}") for line, pair in enumerate(pairs, 1))


def test_what_gained_everywhere_beyond_chance_pays() -> None:
    gain, chance, loss = (
        MeasuredEffect("a", 1.0, 0.01),
        MeasuredEffect("b", 1.0, 0.2),
        MeasuredEffect("c", -1.0, 0.01),
    )
    assert pays([gain]) and pays([gain, gain])
    for measured in ([], [gain, chance], [gain, loss], [chance]):
        assert not pays(measured)
    assert str(loss) == "-1.00 chrF on c (p 0.01)"


def test_strings_are_counted_and_the_choice_has_its_figures() -> None:
    (on_strings, on_lines) = notes_on_text(features(STRINGS), [PART])
    assert on_strings.startswith("Of 60 sources, placeholders in 60 (the same in 60 translations)")
    assert "Learning them as symbols is off:" in on_strings
    for one in text_choice.LEARNED_TAGS:
        assert str(one) in on_strings
    assert on_lines.startswith("Sources: 0 of at most 3 words, 0 in capitals")
    assert (
        "(case, pass_through) is off: -1.68 chrF on strings of four products (p 0.18)" in on_lines
    )


def test_pairs_that_differ_are_named() -> None:
    found = features([*STRINGS, ("Open %s", "Öffnen"), ("Shut %s", "Schließen")])
    note = notes_on_text(found, [PART])[0]
    assert "2 pairs differ, which teaches a model to lose them (first: line 61: '%s' is" in note


def test_text_without_such_things_has_no_such_notes() -> None:
    lines = [("AB-12", "AB-12"), ("STOP", "HALT")]
    assert notes_on_text(features(lines * 9), [PART])[0].startswith("Of 18 sources, numbers in 9")
    assert notes_on_text(TextFeatures(), [PART]) == []


def test_several_parts_are_told_about_domain_tags() -> None:
    (note,) = notes_on_text(TextFeatures(), [PART, OTHER])
    assert note.startswith("2 parts. A domain tag for each is off: +0.97 BLEU on a user interface")
    directions = [PART.model_copy(update={"target_language": code}) for code in ("de", "fr")]
    assert notes_on_text(TextFeatures(), directions) == [], "two directions of one file"


def test_init_writes_its_choice(
    dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "_SECONDS", 0.01)
    text = tmp_path / "text.tsv"
    pairs = [
        (f"{source} {chr(97 + n % 26)}{n}", f"{target} {chr(97 + n % 26)}{n}")
        for n, (source, target) in enumerate((STRINGS + PLAIN) * 3)
    ]
    lines = ["en\tde", *("\t".join(pair) for pair in pairs)]
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = tmp_path / "my.yaml"
    sides = ("--source", "en", "--target", "de")
    outcome = dragoman("init", text, *sides, "--minutes", 1, "--output", config)
    assert outcome.code == 0, outcome.err
    assert "Strings:    of " in outcome.out
    assert "placeholders in " in outcome.out
    written = " ".join(line.strip(" #") for line in config.read_text("utf-8").splitlines())
    assert "Learning them as symbols is off" in written
    assert "Translating keeps them by default (--protect)" in written
    examined = dragoman("doctor", config)
    assert "placeholders in" in examined.out
