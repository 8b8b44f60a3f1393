"""Formats that are written: what is read again is what was written, or nothing is there."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, DataError, StorageError
from dragoman.text.formats import FORMATS, Pair, Sides

SIDES = ("en", "zh-Hans")
characters = st.characters(exclude_categories=["Cs"])
anything = st.text(characters)
a_line = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\ufeff"))
Texts = list[tuple[str, str]]


def write(name: str, files: list[Path], texts: Texts, sides: Sides = SIDES) -> None:
    with FORMATS[name].write(files, sides) as add:
        for number, text in enumerate(texts, 1):
            add(Pair(*text, number))


def read(name: str, files: list[Path], sides: Sides = SIDES) -> Texts:
    return [(pair.source, pair.target) for pair in FORMATS[name].read(files, sides)]


def places(folder: Path, name: str, compression: str = "") -> list[Path]:
    names = ("a.en", "a.de") if name == "plain" else (f"a.{name}",)
    return [folder / f"{one}{compression}" for one in names]


@pytest.mark.parametrize("name", ["plain", "tsv"])
@given(texts=st.lists(st.tuples(a_line, a_line), min_size=1, max_size=5))
def test_lines_are_read_as_written(
    name: str, texts: Texts, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = places(tmp_path_factory.getbasetemp(), name)
    write(name, files, texts)
    assert read(name, files) == texts


@given(
    texts=st.lists(st.tuples(anything, anything), min_size=1, max_size=5),
    sides=st.lists(anything, min_size=2, max_size=2, unique=True),
)
def test_jsonl_holds_any_text_and_any_key(
    texts: Texts, sides: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = places(tmp_path_factory.getbasetemp(), "jsonl")
    write("jsonl", files, texts, (sides[0], sides[1]))
    assert read("jsonl", files, (sides[0], sides[1])) == texts


@pytest.mark.parametrize(
    ("compression", "sign"), [(".gz", b"\x1f\x8b"), (".xz", b"\xfd7zXZ"), (".zst", b"\x28\xb5\x2f")]
)
@pytest.mark.parametrize("name", ["plain", "tsv", "jsonl"])
def test_a_suffix_compresses(name: str, compression: str, sign: bytes, tmp_path: Path) -> None:
    files = places(tmp_path, name, compression)
    texts = [("a \u2028 b", "\x85ö"), ("", '"'), *[("c" * 1000, "d" * 1000)] * 100]
    write(name, files, texts)
    assert read(name, files) == texts
    for path in files:
        assert path.read_bytes().startswith(sign)
        assert path.stat().st_size < 20_000


@pytest.mark.parametrize("name", ["plain", "tsv"])
@given(texts=st.lists(st.tuples(anything, anything), min_size=1, max_size=3))
def test_whatever_is_not_refused_is_read_as_written(
    name: str, texts: Texts, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = places(tmp_path_factory.getbasetemp(), name)
    try:
        write(name, files, texts)
    except DataError:
        return
    assert read(name, files) == texts


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tsv", ("a\tb", "c"), "a.tsv: the source of the pair of line 2 has a tab"),
        ("tsv", ("a", "b\nc"), "the target of the pair of line 2 has a line break"),
        ("tsv", ("a", "b\r"), "the target of the pair of line 2 has a line break"),
        ("plain", ("a\nb", "c"), "a.en: the source of the pair of line 2 has a line break"),
        ("plain", ("a", "b\r"), "a.de: the target of the pair of line 2 has a line break"),
    ],
)
def test_what_a_format_cannot_hold_is_told_and_nothing_is_replaced(
    name: str, text: tuple[str, str], said: str, tmp_path: Path
) -> None:
    files = places(tmp_path, name)
    write(name, files, [("old", "alt")])
    with pytest.raises(DataError, match=f"{said}, which .*; write JSONL"):
        write(name, files, [("x", "y"), text])
    assert read(name, files) == [("old", "alt")]
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in files)


def test_a_byte_order_mark_is_refused_where_it_would_be_dropped(tmp_path: Path) -> None:
    files = places(tmp_path, "plain")
    with pytest.raises(DataError, match="line 1 has a byte order mark"):
        write("plain", files, [("\ufeffa", "b")])
    write("plain", files, [("a", "b"), ("\ufeffc", "d")])
    assert read("plain", files)[1] == ("\ufeffc", "d")


@pytest.mark.parametrize("compression", ["", ".gz"])
def test_half_a_surrogate_pair_is_told(compression: str, tmp_path: Path) -> None:
    files = places(tmp_path, "jsonl", compression)
    with pytest.raises(DataError, match=r"half of a surrogate pair .*so "):
        write("jsonl", files, [("so \ud800", "b")])
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "sides", "said"),
    [
        ("tsv", ("en", "en"), "both sides would be called 'en'"),
        ("jsonl", ("en", "en"), "both sides would be called 'en'"),
        ("tsv", ("e\tn", "de"), "which has a tab"),
        ("tsv", ("en", "d\ne"), "which has a line break"),
        ("tsv", ("\ufeffen", "de"), "which has a byte order mark"),
        ("tmx", SIDES, "tmx are read and not written; choose another format"),
        ("po", SIDES, "po are read and not written"),
    ],
)
def test_what_cannot_be_written_at_all(name: str, sides: Sides, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        write(name, places(tmp_path, name), [("a", "b")], sides)
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"a\.tsv\.gz: the disk is full"):
        write("tsv", [tmp_path / "a.tsv.gz"], [("a", "b")])


def test_the_same_text_is_compressed_to_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        write("tsv", [tmp_path / folder / "a.tsv.gz"], [("a", "b")])
    one, other = ((tmp_path / name / "a.tsv.gz").read_bytes() for name in ("one", "other"))
    assert one == other  # without the name of a temporary file
    assert one[4:8] == bytes(4)  # and the time


@pytest.mark.parametrize("name", ["plain", "tsv", "jsonl"])
def test_memory_does_not_grow_with_the_pairs(name: str, tmp_path: Path) -> None:
    def peak(pairs: int) -> int:
        pair = Pair("a" * 1000, "b" * 1000, 1)
        tracemalloc.start()
        with FORMATS[name].write(places(tmp_path, name), SIDES) as add:
            for _ in range(pairs):
                add(pair)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    assert peak(1000) < peak(100) + 200_000  # of two megabytes more
