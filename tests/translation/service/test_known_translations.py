"""A text that is a term of the glossary is translated as the term is, and by nothing else."""

from __future__ import annotations

import asyncio

import pytest
from translation.service.fake_systems import FakeSystem, service_of

from dragoman.text.inline_tags import TagSpan
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.translation.service.interface import TextRequest
from dragoman.translation.service.translated_text import Link, TranslatedText

GLOSSARY = Glossary(
    [
        Term("Save", ("Sichern", "Speichern")),
        Term("log in", ("anmelden",)),
        Term("Dr. No", ("Doktor Nein",)),
        Term("Polish", ("polnisch",), case_sensitive=True),
        Term("polish", ("polieren",), case_sensitive=True),
        Term("GitHub", ("GitHub",), do_not_translate=True),
        Term("24/7", ("rund um die Uhr",)),
        Term("etc.", ("usw.",)),
    ]
)


class MarklessSystem(FakeSystem):
    """One whose model knows no inline tags."""

    def marked_line(self, *_: object) -> None:
        """No line."""


def translated(
    *texts: str, glossary: Glossary | None = GLOSSARY, **options: object
) -> list[TranslatedText]:
    requests = [
        TextRequest(text, "de", "en", glossary=glossary, **options)  # type: ignore[arg-type]
        for text in texts
    ]

    async def main() -> list[TranslatedText]:
        async with service_of(MarklessSystem("en-de")) as service:
            return await service.translate(requests)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Save", "Sichern"),
        ("save", "Sichern"),  # nouns keep their capitals
        ("SAVE", "SICHERN"),
        ("  Save\n", "  Sichern\n"),
        ("Save…", "Sichern…"),
        ("Save:", "Sichern:"),
        ("log in", "anmelden"),
        ("Log  in!", "Anmelden!"),
        ("LOG IN", "ANMELDEN"),
        ("Dr. No", "Doktor Nein"),
        ("Polish", "polnisch"),
        ("polish.", "polieren."),
        ("github", "GitHub"),
        ("24/7", "rund um die Uhr"),
        ("etc.", "usw."),
        ("Save.\nLog in.", "Sichern.\nAnmelden."),
        ("POLISH", "POLISHde"),
        ("Save it", "SAVEde ITde"),
        ("Saved", "SAVEDde"),
        ("Save + log in", "SAVEde +de LOGde INde"),
        ("", ""),
        ("…", "…"),
    ],
)
def test_a_text_that_is_a_term(text: str, expected: str) -> None:
    assert translated(text)[0].text == expected


def test_each_text_of_a_list_and_each_sentence_is_looked_at() -> None:
    found = translated("Save", "Open it. Save. Close it.", "log in")
    assert [one.text for one in found] == [
        "Sichern",
        "OPENde IT.de Sichern. CLOSEde IT.de",
        "anmelden",
    ]
    assert translated("Save", glossary=None)[0].text == "SAVEde"


def test_other_translations_of_the_term_are_the_alternatives() -> None:
    (found,) = translated("Save!", nbest=3, links=True)
    assert (found.text, found.alternatives) == ("Sichern!", ["Speichern!"])
    assert found.links == [Link(0, 4, 0, 7)]


def test_marks_within_a_term_and_a_prefix_are_for_the_model() -> None:
    inner = (TagSpan(0, 3, "pair"),)
    assert translated("log in", marks=inner)[0].text == "LOGde INde"
    around = (TagSpan(0, 6, "pair"),)
    (found,) = translated("log in", marks=around)
    assert found.text == "anmelden" and found.sentences[0].renderings[0].places == ()
    assert translated("log in", prefix="An")[0].text == "AnLOGde INde"


def test_a_system_has_glossaries_too_and_that_of_the_client_goes_first() -> None:
    system = MarklessSystem("en-de")
    system.glossaries = (Glossary.of({"save": "retten", "door": "Tür"}),)

    async def main() -> list[TranslatedText]:
        requests = [TextRequest(text, "de", "en", glossary=GLOSSARY) for text in ("Save", "Door")]
        async with service_of(system) as service:
            return await service.translate([*requests, TextRequest("Save", "de", "en")])

    assert [one.text for one in asyncio.run(main())] == ["Sichern", "Tür", "Retten"]
