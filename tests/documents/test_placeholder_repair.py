"""Placeholders in translations of plain text."""

from __future__ import annotations

from dragoman.documents.placeholder_repair import repaired
from dragoman.translation.service.interface import (
    Link,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)


def test_lost_and_doubled_placeholders_are_repaired_in_all_renderings() -> None:
    first = TranslatedSentence(
        "Hi [X7X].",
        1,
        (Rendering("Hallo.", links=(Link(0, 2, 0, 5),)), Rendering("[X7X] [X7X] hi")),
        1,
    )
    second = TranslatedSentence("No [X8X] x", 12, (Rendering("Kein [X8X] x", 0.5),), 9)
    translated = TranslatedText(" Hallo.  Kein [X8X] x\n", "en", "de", None, (first, second))
    found = repaired(translated)
    assert found.text == " Hallo [X7X].  Kein [X8X] x\n"
    assert [one.text for one in found.sentences[0].renderings] == ["Hallo [X7X].", "[X7X] hi"]
    assert found.sentences[1].renderings == second.renderings
    for one in found.sentences:
        text = one.renderings[0].text
        assert found.text[one.target_start : one.target_start + len(text)] == text


def test_what_is_complete_stays_as_it_is() -> None:
    sentence = TranslatedSentence("[X1X] a", 0, (Rendering("a [X1X]", links=(Link(0, 5, 2, 7),)),))
    translated = TranslatedText("a [X1X]", "en", "de", None, (sentence,))
    assert repaired(translated) == translated
