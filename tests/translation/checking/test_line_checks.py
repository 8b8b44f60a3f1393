import subprocess
import sys

import pytest

from dragoman.core.errors import MissingExtraError
from dragoman.evaluation.languages import ExpectedLanguage
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.checking.findings import FINDING_KINDS, KIND_TITLES, CheckFinding
from dragoman.translation.checking.line_checks import (
    TranslationChecks,
    inconsistent,
    usual_length_ratio,
)

CHECKS = TranslationChecks()


def kinds(source: str, translation: str, reference: str | None = None) -> list[str]:
    return [finding.kind for finding in CHECKS.findings(source, translation, reference)]


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Delete %(key)r?", "%(key)r löschen?", []),
        ("Delete %(key)r?", "Löschen?", ["placeholders"]),
        ("Delete?", "%(key)r löschen?", ["placeholders"]),
        ("{a} of {b}", "{b}: {a}", []),
        ("{a} of {a}", "{a}", ["placeholders"]),
        ("Press <b>OK</b>", "<b>OK</b> drücken", []),
        ("Press <b>OK</b>", "<b>OK drücken", ["tags"]),
        ("Hi, <your name>", "Hallo, <Ihr Name>", []),
        ("See https://example.org/a1.", "Siehe https://example.org/a1.", []),
        ("See https://example.org/a1.", "Siehe https://example.de.", ["urls", "urls"]),
        ("at least 8 characters", "mindestens 8 Zeichen", []),
        ("at least 8 characters", "1 Zeichen", ["numbers", "numbers"]),
        ("1,234.5 euros", "1.234,5 Euro", []),
        ("the 2nd of 3D views", "die 2. der 3 D-Ansichten", []),
        ("Do you want to leave now", "Do you want to leave now", ["untranslated"]),
        ("Home Assistant Cloud", "Home Assistant Cloud", []),
        ("%(name)s {x} <b> 3", "%(name)s {x} <b> 3", []),
        ("on the table", "auf dem auf dem auf dem auf dem Tisch", ["repeated"]),
        ("in YYYY-MM-DD format", "YYYY-MM-DD形式にしなければなりません", []),
        ("in any format", "YYYY-MM-DD形式にしなければなりません", ["repeated"]),
        ("{ n, number, integer } of KB", "{ n, number, integer } of KB", []),
        ("bye bye bye bye bye", "tschüs tschüs tschüs tschüs tschüs", []),
        ("OK", "Das ist wirklich sehr viel länger als nötig", ["too_long"]),
        ("The settings are saved when you leave the page.", "Ja.", ["too_short"]),
        ("Saved", "", ["empty"]),
        ("", "", []),
    ],
)
def test_errors_that_two_texts_show(source: str, translation: str, expected: list[str]) -> None:
    assert kinds(source, translation) == expected


def test_a_finding_points_at_its_text() -> None:
    source, translation = "at least 8 characters  of {name}", "1 Zeichen"
    name, lost, invented = CHECKS.findings(source, translation)
    assert (name.in_source, name.span, name.text) == (True, (25, 31), "{name}")
    assert source.replace("  ", " ")[slice(*name.span)] == "{name}"  # of the normalised text
    assert (lost.in_source, lost.span, lost.text) == (True, (9, 10), "8")
    assert (invented.in_source, invented.span, invented.text) == (False, (0, 1), "1")
    assert invented.message == "'1' is not in the source"
    assert name.to_json() == {
        "kind": "placeholders",
        "message": "'{name}' is missing",
        "side": "source",
        "span": [25, 31],
        "text": "{name}",
    }


def test_a_number_in_an_address_or_placeholder_counts_once() -> None:
    found = CHECKS.findings("Open http://example.org/7 with {0}", "Öffne es")
    assert [(one.kind, one.text) for one in found] == [
        ("placeholders", "{0}"),
        ("urls", "http://example.org/7"),
    ]


def test_a_reference_excuses_what_it_has_itself() -> None:
    assert kinds("Wait two minutes", "Warte 2 Minuten") == ["numbers"]
    assert kinds("Wait two minutes", "Warte 2 Minuten", "2 Minuten warten") == []
    assert kinds("Wait two minutes", "Warte 3 Minuten", "2 Minuten warten") == ["numbers"]
    assert kinds("Version", "Version", "Version") == []


def test_a_reference_gives_the_length_and_tells_copies() -> None:
    assert kinds("Server", "Server", "Diener") == ["untranslated"]
    long = "Vorinstallierter Schlüssel"
    assert kinds("PSK", long) == ["too_long"]
    assert kinds("PSK", "Vorher installierter Schlüssel", long) == []
    assert kinds("Pre-shared key", "Ja", "Ein Schlüssel") == []
    assert kinds("Pre-shared key", "Ja", long) == ["too_short"]


def test_terms_of_a_glossary() -> None:
    checks = TranslationChecks(glossary=Glossary.of({"file": ["Datei", "Dateien"]}))
    assert not checks.findings("Open the file", "Die Datei öffnen")
    (found,) = checks.findings("Open the file", "Die Akte öffnen")
    assert found.kind == "terms"
    assert found.message == "'file' should be 'Datei' or 'Dateien'"
    assert (found.in_source, found.span) == (True, (9, 13))


def test_another_language() -> None:
    pytest.importorskip("py3langid", reason="needs NumPy 2", exc_type=ImportError)
    checks = TranslationChecks.of("de")
    assert checks.language == ExpectedLanguage.of("de")
    assert not checks.unchecked
    dutch = "De kinderen spelen vandaag buiten in het park met de bal."
    source = "The children are playing with the ball outside in the park today."
    assert [one.kind for one in checks.findings(source, dutch)] == ["wrong_language"]
    german = "Die Kinder spielen heute draußen im Park mit dem Ball."
    assert not checks.findings(source, german)
    # Strings for programs are in no language, and a copy has its own kind.
    assert not checks.findings("{install_the_system} now", "Jetzt {install_the_system}")
    assert [one.kind for one in checks.findings(source, source)] == ["untranslated"]


def test_without_the_identifier_the_kind_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(language: str) -> str:
        return str(MissingExtraError.of("py3langid", "py3langid>=0.4"))

    monkeypatch.setattr("dragoman.translation.checking.line_checks.why_not_judged", missing)
    checks = TranslationChecks.of("de")
    assert checks.language is None
    assert "py3langid" in checks.unchecked["wrong_language"]


def test_the_usual_length_is_that_of_most_pairs() -> None:
    assert usual_length_ratio([("abcd", "ab"), ("abcd", "abcd"), ("ab", "a"), ("", "x")]) == 0.5
    assert usual_length_ratio([]) == 1
    checks = TranslationChecks.of("xx", [("abcd", "ab")])
    source = "The settings are saved when you leave the page."
    assert [one.kind for one in CHECKS.findings(source, source + source.upper())] == []
    assert [one.kind for one in checks.findings(source, source + source.upper())] == ["too_long"]


def test_one_source_translated_in_several_ways() -> None:
    pairs = [("Save", "Sichern"), ("Save", "Speichern"), ("Save ", "Speichern"), ("Open", "Auf")]
    pairs += [("Save", ""), ("Open", " Auf")]
    message = "elsewhere, this source is translated as 'Speichern'"
    assert inconsistent(pairs) == {0: CheckFinding("inconsistent", message, (0, 7))}
    first = inconsistent([("Save", "Sichern"), ("Save", "Speichern")])
    assert list(first) == [1]


def test_every_kind_has_a_title() -> None:
    assert tuple(KIND_TITLES) == FINDING_KINDS


def test_no_torch_is_needed() -> None:
    command = "import sys, dragoman.translation.checking.line_checks; print('torch' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", command], capture_output=True, check=True)
    assert output.stdout.split() == [b"False"]
