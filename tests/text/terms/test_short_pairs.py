import pytest

from dragoman.text.terms.short_pairs import glossary_of_short_pairs

LABELS = [
    ("Settings", "Einstellungen"),
    ("settings ", "Einstellungen"),
    ("Home page", "Startseite"),
    ("Open", "Öffnen"),
]


def test_labels_that_are_translated_alike_are_terms() -> None:
    glossary = glossary_of_short_pairs(LABELS, "en")
    assert {term.source: term.targets for term in glossary.terms} == {
        "settings": ("Einstellungen", "einstellungen"),
        "home page": ("Startseite", "startseite"),
        "open": ("Öffnen", "öffnen"),
    }
    source, translation = "Open the settings", "Die Optionen öffnen"
    assert [match.term.source for match in glossary.missing(source, translation)] == ["settings"]


@pytest.mark.parametrize(
    "pair",
    [
        ("to", "zu"),
        ("From", "Von"),
        ("Save all open files", "Alle offenen Dateien sichern"),
        ("Page 5", "Seite 5"),
        ("{name} saved", "{name} gesichert"),
        ("Mark", "Als gelesen oder ungelesen markieren"),
        ("Mark", "Schlüssel 5"),
        ("", ""),
    ],
)
def test_other_pairs_are_no_terms(pair: tuple[str, str]) -> None:
    assert not glossary_of_short_pairs([pair], "en").terms


@pytest.mark.parametrize(("times", "is_term"), [(3, False), (4, True)])
def test_a_term_is_nearly_always_translated_in_one_way(times: int, is_term: bool) -> None:
    pairs = [("Line", "Zeile")] * times + [("Line", "Linie")]
    assert [term.targets[0] for term in glossary_of_short_pairs(pairs, "en").terms] == (
        ["Zeile"] if is_term else []
    )
