from __future__ import annotations

from dragoman.workflows.text_features import TextFeatures

PAIRS = [
    ("Delete {name}?", "{name} löschen?"),
    ("Save 2 files in <b>%(folder)s</b>", "2 Dateien in <b>%(folder)s</b> sichern"),
    ("Up &amp; down", "Auf &amp; ab"),
    ("Open https://example.org in 5 s", "https://example.org in 5 s öffnen"),
    ("Save %s", "Sichern"),
    ("CHANGE PASSWORD NOW OR LATER", "PASSWORT JETZT ODER SPÄTER ÄNDERN"),
    ("AB-12", "AB-12"),
    ("This is a sentence with many words.", "Das ist ein Satz mit vielen Wörtern."),
]


def features(pairs: list[tuple[str, str]]) -> TextFeatures:
    return TextFeatures.of((*pair, f"line {line}") for line, pair in enumerate(pairs, 1))


def test_each_kind_is_counted_by_pairs_with_those_that_agree() -> None:
    found = features(PAIRS)
    counts = {kind: (one.pairs, one.agreeing) for kind, one in found.strings.items()}
    assert counts == {
        "placeholders": (3, 2),
        "tags": (1, 1),
        "entities": (1, 1),
        "addresses": (1, 1),
        "numbers": (3, 3),
    }
    assert found.counted.startswith("placeholders in 3 (the same in 2 translations), tags in 1")
    assert (found.pairs, found.for_programs, found.differing) == (8, 5, 1)
    assert found.first_differing == "line 5: '%s' is missing"
    assert not found.sides_agree


def test_a_few_that_differ_are_what_people_leave() -> None:
    assert features([*PAIRS[:1] * 60, PAIRS[4]]).sides_agree
    assert not features([*PAIRS[:1] * 40, PAIRS[4]]).sides_agree
    assert features([]).sides_agree


def test_a_translation_that_invents_differs_only_if_its_source_has_any() -> None:
    found = features([("Open", "Öffne %s"), ("Open %d", "Öffne %d %s")])
    assert (found.for_programs, found.differing) == (1, 1)


def test_lines_by_their_kind() -> None:
    found = features(PAIRS)
    assert found.lines == {"short": 6, "capitals": 2, "codes": 1}
    assert "6 of at most 3 words, 2 in capitals, 1 of a number or code alone" in found.lines_counted


def test_plain_values() -> None:
    found = features(PAIRS[:1]).to_json()
    assert found["strings"] == {"placeholders": {"pairs": 1, "agreeing": 1}}
    assert (found["pairs"], found["differing"], found["lines"]["short"]) == (1, 0, 1)
