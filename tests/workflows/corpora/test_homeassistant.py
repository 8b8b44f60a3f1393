"""The rules by which the strings of a user interface become rows, and rows become splits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from corpora_web import tar_of
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.workflows.corpora import homeassistant
from dragoman.workflows.corpora.homeassistant import (
    LANGUAGES,
    Entry,
    Selection,
    derive,
    key,
    rows,
    split,
)

NOTHING = Selection(dev=frozenset(), test=frozenset(), left_out=frozenset())


def row(name: str, **texts: str) -> Entry:
    return Entry(name, tuple(texts.get(language, "") for language in LANGUAGES))


def found(**languages: Any) -> list[Entry]:
    """Rows of one component, from its strings by language."""
    return list(rows({"tv": languages}))


def test_strings_are_named_by_the_keys_that_lead_to_them() -> None:
    english = {"b": {"x": "On", "y": "Off"}, "a": "Set\x01up\n it"}
    german = {"a": "Einrichten", "b": {"y": "Aus", "z": "Weg"}}
    assert found(en=english, de=german) == [
        row("tv/b/y", en="Off", de="Aus"),  # in the order of the English; On has no translation
        row("tv/a", en="Set up it", de="Einrichten"),
    ]


def test_components_come_by_name() -> None:
    strings = {"en": {"a": "On"}, "de": {"a": "An"}, "fr": {"a": "Allumé"}}
    assert [one.id for one in rows({"tv": strings, "ac": strings | {"fr": {}}})] == ["ac/a", "tv/a"]


@pytest.mark.parametrize(
    ("language", "text", "kept"),
    [
        ("de", "Home", False),
        ("de", "home", True),
        ("ko", "Wi-Fi", False),
        ("ko", "Wi-Fi 설정", True),
        ("ja", "設定", True),
        ("ja", "ホーム", True),
        ("ja", "HOME!", False),
        ("zh-Hans", "家", True),
        ("zh-Hans", "ホーム", False),
        ("ru", "Дом", True),
        ("ru", "Dom", False),
    ],
)
def test_copies_and_other_scripts_are_no_translations(language: str, text: str, kept: bool) -> None:
    (one,) = found(en={"a": "Home"}, et={"a": "Kodu"}, **{language: {"a": text}})
    assert one == row("tv/a", en="Home", et="Kodu", **({language: text} if kept else {}))


def test_repetitions_and_english_without_letters_are_left_out() -> None:
    english = {"a": "On", "b": "On", "c": "100 %", "d": "On"}
    german = {"a": "An", "b": "An", "c": "100%", "d": "Ein"}
    assert [one.id for one in found(en=english, de=german)] == ["tv/a", "tv/d"]


def test_what_is_no_string_is_nothing() -> None:
    assert found(en={"a": ["On"], "b": 3, "c": None}, de={"a": "An"}) == []


def test_train_says_nothing_that_is_held_out() -> None:
    test = row("tv/t", en="Turn on", de="Einschalten")
    same_english = row("tv/e", en="TURN ON", de="An")
    same_german = row("tv/g", en="Start", de="einschalten")
    other_language = row("tv/o", en="Begin", fr="Einschalten")  # a different language is no leak
    listed = row("tv/l", en="Left out", de="Weg")
    chosen = Selection(
        dev=frozenset(), test=frozenset({key(test)}), left_out=frozenset({key(listed)})
    )
    splits = split([same_english, test, same_german, other_language, listed], chosen)
    assert splits == {"train": [other_language], "dev": [], "test": [test]}


words = st.sampled_from(["On", "on", "Off", "Home", "Ab c"])


@given(
    st.lists(
        st.builds(
            lambda number, *texts: Entry(f"tv/{number}", texts), st.integers(0, 99), *[words] * 13
        ),
        unique_by=lambda one: one.id,
        max_size=6,
    ),
    st.sets(st.integers(0, 99)),
)
def test_splits_share_nothing_and_keep_the_order(found: list[Entry], chosen: set[int]) -> None:
    names = frozenset(key(Entry(f"tv/{number}", ())) for number in chosen)
    splits = split(found, NOTHING.model_copy(update={"test": names}))
    held_out, train = splits["test"], splits["train"]
    assert held_out == [one for one in found if int(one.id[3:]) in chosen]
    assert [one for one in found if one in train] == train
    for one in train:
        for other in held_out:
            pairs = zip(one.texts, other.texts, strict=True)
            assert all(ours.lower() != theirs.lower() for ours, theirs in pairs)


def test_a_package_becomes_tables(tmp_path: Path) -> None:
    folder = "homeassistant-2026.2.3/homeassistant/components/tv/translations"
    archive = tmp_path / "package.tar.gz"
    strings = {"en": {"a": "On"}, "de": {"a": "An"}, "pt": {"a": "Ligar"}}
    archive.write_bytes(
        tar_of({f"{folder}/{name}.json": json.dumps(one).encode() for name, one in strings.items()})
    )
    files = derive(archive)
    header = "\t".join(("id", *LANGUAGES))
    assert b"".join(files["train.tsv.gz"]).decode() == f"{header}\ntv/a\tOn\tAn{chr(9) * 11}\n"
    assert b"".join(files["dev.tsv.gz"]).decode() == f"{header}\n"


@pytest.mark.parametrize("content", [b"{", b'{"a": ' * 100_000, b"\xff"])
def test_a_package_that_holds_something_else_is_refused(content: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "package.tar.gz"
    name = "x/homeassistant/components/tv/translations/en.json"
    archive.write_bytes(tar_of({name: content}))
    with pytest.raises(DataError, match="is not JSON"):
        derive(archive)


def test_a_damaged_package_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "package.tar.gz"
    archive.write_bytes(tar_of({f"{number}": bytes(range(256)) * 99 for number in range(9)})[:900])
    with pytest.raises(DataError, match="truncated or corrupt"):
        derive(archive)


def test_a_file_that_claims_to_be_huge_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homeassistant, "_LARGEST_FILE", 3)
    archive = tmp_path / "package.tar.gz"
    archive.write_bytes(tar_of({"x/homeassistant/components/tv/translations/en.json": b'{"a": 1}'}))
    with pytest.raises(DataError, match="claims 8 bytes"):
        derive(archive)
