from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman.server.database.records import KeptGlossary
from dragoman.server.database.server_store import ServerStore
from dragoman.server.dependencies import glossary_of
from dragoman.translation.service.interface import RefusedError

HOUSE = [("house", "Haus"), ("garden", "Garten")]


def directions(glossary: KeptGlossary) -> list[tuple[str, str, int]]:
    return [
        (one.source_language, one.target_language, one.entry_count) for one in glossary.dictionaries
    ]


def test_a_glossary_has_entries_by_direction(store: ServerStore) -> None:
    made = store.create_glossary(
        " office ", {("EN", "de"): HOUSE, ("en", "pt_BR"): [("house", "casa")]}
    )
    assert (made.name, made.key) == ("office", None)
    assert directions(made) == [("en", "de", 2), ("en", "pt-br", 1)]
    assert store.glossary(made.id) == made
    assert store.glossary_entries(made.id, "en", "DE") == tuple(HOUSE)
    assert store.glossary_entries(made.id, "en", "pt-BR") == (("house", "casa"),)
    assert store.glossary_entries(made.id, "de", "en") is None
    found = made.dictionary("EN", "pt_br")
    assert found is not None and found.entry_count == 1
    assert made.dictionary("de", "en") is None


def test_glossaries_are_seen_by_their_owners_alone(store: ServerStore) -> None:
    one, _ = store.create_key("one")
    two, _ = store.create_key("two")
    owners = (one.id, two.id, None)
    made = {key: store.create_glossary("g", {("en", "de"): HOUSE}, key) for key in owners}
    assert len({glossary.id for glossary in made.values()}) == 3
    for key, glossary in made.items():
        assert store.glossaries(key) == [glossary]
        for other in owners:
            theirs = other == key
            assert store.glossary(glossary.id, other) == (glossary if theirs else None)
            entries = store.glossary_entries(glossary.id, "en", "de", other)
            assert entries == (tuple(HOUSE) if theirs else None)
            if not theirs:
                assert store.rename_glossary(glossary.id, "x", other) is None
                assert store.put_dictionary(glossary.id, "en", "de", [("a", "b")], other) is None
                assert not store.delete_dictionary(glossary.id, "en", "de", other)
                assert not store.delete_glossary(glossary.id, other)
    assert {key: store.glossaries(key)[0] for key in owners} == made


def test_entries_are_replaced_or_merged(store: ServerStore) -> None:
    made = store.create_glossary("g", {("en", "de"): HOUSE})
    first = made.dictionaries[0].revision
    merged = store.put_dictionary(
        made.id, "EN", "de", [("house", "Gebäude"), ("cat", "Katze")], merge=True
    )
    assert merged is not None and directions(merged) == [("en", "de", 3)]
    assert store.glossary_entries(made.id, "en", "de") == (
        ("house", "Gebäude"),
        ("garden", "Garten"),
        ("cat", "Katze"),
    )
    replaced = store.put_dictionary(made.id, "en", "de", [("dog", "Hund")])
    assert store.glossary_entries(made.id, "en", "de") == (("dog", "Hund"),)
    added = store.put_dictionary(made.id, "en", "fr", [("dog", "chien")], merge=True)
    assert added is not None and directions(added) == [("en", "de", 1), ("en", "fr", 1)]
    assert replaced is not None
    assert store.delete_dictionary(made.id, "en", "fr")
    assert not store.delete_dictionary(made.id, "en", "fr")
    again = store.put_dictionary(made.id, "en", "fr", [("dog", "chien")])
    assert again is not None
    seen = [one.revision for kept in (merged, replaced, added, again) for one in kept.dictionaries]
    assert len({first, *seen}) == 5  # the direction that was not changed is seen three times


def test_dictionaries_keep_their_order(store: ServerStore) -> None:
    order = [("fr", "de"), ("de", "en"), ("en", "fr"), ("en", "de")]
    made = store.create_glossary("g", {one: [("a", "b")] for one in order})
    others = store.create_glossary("h", {one: [("a", "b")] for one in order})

    def kept(identifier: str) -> list[tuple[str, str]]:
        found = store.glossary(identifier)
        assert found is not None and found in store.glossaries()
        return [(one.source_language, one.target_language) for one in found.dictionaries]

    assert kept(made.id) == order
    for number, direction in enumerate([order[1], order[3], order[0]]):
        store.put_dictionary(made.id, *direction, [("c", str(number))], merge=number != 1)
        assert kept(made.id) == order
    store.put_dictionary(made.id, "es", "de", [("a", "b")])
    assert store.delete_dictionary(made.id, *order[1])
    assert kept(made.id) == [order[0], *order[2:], ("es", "de")]
    entries = {one: store.glossary_entries(made.id, *one) for one in kept(made.id)}
    assert entries == {
        order[0]: (("a", "b"), ("c", "2")),
        order[2]: (("a", "b"),),
        order[3]: (("c", "1"),),
        ("es", "de"): (("a", "b"),),
    }
    assert store.glossary(others.id) == others


def test_merged_entries_do_not_contradict_one_another(store: ServerStore) -> None:
    given = [("caf\u00e9", "A"), ("Polish", "polnisch"), ("tea  house", "T")]
    made = store.create_glossary("g", {("fr", "de"): given})
    others = [("cafe\u0301", "B"), ("polish", "polieren"), ("tea house", "U")]
    store.put_dictionary(made.id, "fr", "de", others, merge=True)
    entries = store.glossary_entries(made.id, "fr", "de")
    assert entries == (others[0], given[1], others[2], others[1])
    assert len(glossary_of(entries)) == 4


def test_name_and_entries_change_together_or_not_at_all(
    open_store: Callable[..., ServerStore],
) -> None:
    store = open_store(glossary_characters=30)
    made = store.create_glossary("g", {("en", "de"): HOUSE})
    with pytest.raises(RefusedError, match="the name of the glossary is empty"):
        store.put_dictionary(made.id, "en", "de", [("dog", "Hund")], name="\0")
    with pytest.raises(RefusedError, match="the entries have"):
        store.put_dictionary(made.id, "en", "de", [("x" * 20, "y")], name="h", merge=True)
    assert store.glossary(made.id) == made
    changed = store.put_dictionary(made.id, "en", "de", [("dog", "Hund")], name="h")
    assert changed is not None and changed.name == "h"
    assert store.put_dictionary(made.id, "en", "de", [("a", "b")], name="i", key=1) is None
    assert store.glossary(made.id) == changed


def test_merging_loses_no_entry_under_threads(store: ServerStore) -> None:
    made = store.create_glossary("g", {("en", "de"): HOUSE})

    def merge(number: int) -> None:
        store.put_dictionary(made.id, "en", "de", [(f"s{number}", f"t{number}")], merge=True)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(merge, range(8)))
    entries = store.glossary_entries(made.id, "en", "de")
    assert entries is not None
    assert {*entries} == {*HOUSE, *((f"s{number}", f"t{number}") for number in range(8))}


def test_a_glossary_is_renamed_and_deleted(store: ServerStore) -> None:
    made = store.create_glossary("g", {("en", "de"): HOUSE})
    renamed = store.rename_glossary(made.id, "another")
    assert renamed is not None and renamed.name == "another"
    assert store.delete_glossary(made.id)
    assert not store.delete_glossary(made.id)
    assert store.glossaries() == []
    assert store.glossary_entries(made.id, "en", "de") is None


def test_any_character_comes_back(store: ServerStore) -> None:
    entries = [("\t\"'\\\n", "漢字 😀"), ("%s", "{}"), ("a", "\N{COMBINING ACUTE ACCENT}")]
    made = store.create_glossary('"; DROP TABLE glossaries; --', {("en", "de"): entries})
    found = store.glossary_entries(made.id, "en", "de")
    assert found == (("\"'\\", "漢字 😀"), ("%s", "{}"), ("a", "\N{COMBINING ACUTE ACCENT}"))
    assert store.glossaries() == [made]


def test_bad_glossaries_are_refused(open_store: Callable[..., ServerStore]) -> None:
    store = open_store(glossary_characters=20, glossaries=2)
    good = {("en", "de"): [("a", "b")]}
    for name, given, kind in (
        ("", good, "invalid"),
        ("x" * 1025, good, "too_large"),
        ("x", {("en", "de"): []}, "invalid"),
        ("x", {("en", "de"): [("", "b")]}, "invalid"),
        ("x", {("en", "de"): [("a", " ")]}, "invalid"),
        ("x", {("en", "de"): [("a", "b" * 20)]}, "too_large"),
        ("x", {("e n", "de"): [("a", "b")]}, "invalid"),
        ("x", {("en", "de"): [("a", "b")], ("EN", "de"): [("a", "b")]}, "invalid"),
    ):
        with pytest.raises(RefusedError) as refused:
            store.create_glossary(name, given)
        assert refused.value.kind == kind, (name, given)
    assert store.glossaries() == []
    made = store.create_glossary("one", good)
    store.create_glossary("two", {})
    with pytest.raises(RefusedError) as refused:
        store.create_glossary("three", good)
    assert refused.value.kind == "quota_exceeded"
    with pytest.raises(RefusedError) as refused:
        store.put_dictionary(made.id, "en", "de", [("c" * 10, "d" * 10)], merge=True)
    assert refused.value.kind == "too_large"
    assert store.glossary_entries(made.id, "en", "de") == (("a", "b"),)


def test_other_identifiers_find_nothing(store: ServerStore) -> None:
    for identifier in ("", "x", "\0" * 36, "' OR 1=1 --", "\ud800" * 36, "0" * 36):
        assert store.glossary(identifier) is None
        assert store.glossary_entries(identifier, "en", "de") is None
        assert store.rename_glossary(identifier, "x") is None
        assert store.put_dictionary(identifier, "en", "de", [("a", "b")]) is None
        assert not store.delete_dictionary(identifier, "en", "de")
        assert not store.delete_glossary(identifier)
