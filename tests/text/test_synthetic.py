"""The embedded corpus as it is installed, all of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, DataError, StorageError
from dragoman.text import synthetic
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.synthetic import LANGUAGES, ROWS, Splits, read_splits, write

KINDS = {"number", "ordinal", "date", "time", "duration", "amount"}


@pytest.fixture(scope="module")
def whole() -> Splits:
    return read_splits(ROWS - 2000)


def test_every_row_is_words_only_in_every_language(whole: Splits) -> None:
    assert sum(map(len, whole)) == ROWS
    characters: set[str] = set()
    for row in (row for split in whole for row in split):
        assert tuple(row.texts) == LANGUAGES
        assert row.kind in KINDS
        for text in row.texts.values():
            assert text
            assert text == " ".join(text.split(" "))
            characters.update(text)
    assert all(c.isalpha() or c in " -,'’" for c in characters)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_comes_twice_in_a_language_so_that_the_test_is_unseen(
    whole: Splits, language: str
) -> None:
    texts = [row.texts[language] for split in whole for row in split]
    assert len(set(texts)) == len(texts)


def test_a_date_is_never_there_with_and_without_its_weekday(whole: Splits) -> None:
    plain: set[str] = set()
    full: set[str] = set()
    for row in (row for split in whole for row in split if row.kind == "date"):
        text = row.texts["de"]
        (full if "," in text else plain).add(text.split(", ")[-1])
    assert plain
    assert full
    assert not plain & full


def test_every_word_of_the_test_is_in_training(whole: Splits) -> None:
    """The test asks for new combinations, not for words that nobody could know."""
    for language in ("en", "fr", "es"):
        known = {w for row in whole.train for w in row.texts[language].split()}
        words = [w for row in whole.test for w in row.texts[language].split()]
        assert sum(word not in known for word in words) / len(words) < 0.005


def test_kinds_have_equal_shares(whole: Splits) -> None:
    counts = Counter(row.kind for row in whole.train)
    assert set(counts) == KINDS
    assert max(counts.values()) < 1.3 * min(counts.values())


@given(st.integers(0, 40), st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=5)
def test_sizes_are_those_asked_for(whole: Splits, rows: int, dev: int, test: int) -> None:
    splits = read_splits(rows, dev=dev, test=test)
    assert [len(split) for split in splits] == [rows, dev, test]
    ids = [row.id for split in splits for row in split]
    assert len(set(ids)) == rows + dev + test
    texts = [row.texts for row in (*splits.test, *splits.dev, *splits.train)]
    assert texts == [row.texts for row in whole.test][: len(texts)]


@pytest.mark.parametrize(("rows", "dev"), [(-1, 0), (10, -1), (ROWS, 0)])
def test_impossible_sizes_are_refused(rows: int, dev: int) -> None:
    with pytest.raises(ConfigError, match="expected sizes from 0 up to 22,000"):
        read_splits(rows, dev=dev)


def test_written_files_are_read_back_by_any_two_columns(tmp_path: Path) -> None:
    paths = write(tmp_path / "new", 60, dev=11, test=13)
    assert [path.name for path in paths] == ["train.tsv", "dev.tsv", "test.tsv"]
    splits = read_splits(60, dev=11, test=13)
    for path, split in zip(paths, splits, strict=True):
        pairs = read_pairs(CorpusPart(path=str(path), source="ko", target="fr"))
        assert [(pair.source, pair.target) for pair in pairs] == [
            (row.texts["ko"], row.texts["fr"]) for row in split
        ]


def test_a_directory_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"):
        write(tmp_path / "file" / "corpus", 5, dev=0, test=0)


@pytest.mark.parametrize("damage", ["missing", "truncated", "foreign"])
def test_a_damaged_installation_is_told(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = Path(synthetic.__file__).with_name(synthetic.PACKED).read_bytes()
    content = {"truncated": packed[: len(packed) // 2], "foreign": b"no archive", "missing": None}
    if (held := content[damage]) is not None:
        (tmp_path / synthetic.PACKED).write_bytes(held)
    monkeypatch.setattr(synthetic, "files", lambda _: tmp_path)
    with pytest.raises(DataError, match=r"corpus\.tsv\.bz2: the embedded corpus is .* damaged"):
        read_splits(ROWS - 2000)
