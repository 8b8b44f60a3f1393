"""The record of a corpus that was fetched by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import SavedError
from dragoman.text.corpora.fetched_corpus import (
    ORIGIN_FILE,
    AlignedText,
    FetchedCorpus,
    fetched_corpus,
    record_corpus,
    text_file,
)


def corpus() -> FetchedCorpus:
    texts = {
        text_file(split, language): AlignedText(bytes=9, lines=lines, sha256="0" * 64)
        for split, lines in (("train", 30), ("dev", 5))
        for language in ("en", "ko")
    }
    return FetchedCorpus(name="mtdata:Group-name-1-en-ko", languages=("en", "ko"), texts=texts)


def test_a_record_is_read_again(tmp_path: Path) -> None:
    record_corpus(tmp_path, corpus())
    found = fetched_corpus(tmp_path)
    assert found == corpus()
    assert found is not None
    assert (found.splits, found.pairs) == (["train", "dev"], 35)
    assert fetched_corpus(tmp_path / "other") is None


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / ORIGIN_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(SavedError, match="remove its folder and get the corpus again"):
        fetched_corpus(tmp_path)
