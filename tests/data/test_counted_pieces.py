"""How frequent pieces are in each language of a store."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import write_store

from dragoman.data import store as stores
from dragoman.data.vocabularies import counted_pieces
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

ENGLISH = [[5, 5, 5, 6, 8], [5, 6, 8, 8, 11]]
GERMAN = [[5, 7, 7, 7, 7]]
CZECH = [[9, 9, 10]]
LINES = ["a b c d e", "e d c", "b a"] * 9


def vocabularies(*, joint: bool) -> Vocabularies:
    config = VocabularyConfig(size=12, joint=joint)
    other = [line.translate(str.maketrans("abcde", "vwxyz")) for line in LINES]
    return train_vocabularies(zip(LINES, LINES if joint else other, strict=True), config, seed=1)


@pytest.mark.parametrize("joint", [True, False])
def test_all_targets_count_and_the_sources_of_other_languages(joint: bool, tmp_path: Path) -> None:
    """Of a language that something is translated into, sources do not: they may be made up."""
    store = write_store(
        tmp_path / "store",
        [([9, 10], ENGLISH[0]), ([10, 9], GERMAN[0]), (CZECH[0], ENGLISH[1])],
        [(1, 1.0), (1, 5.0), (1, 1.0)],
        [("de", "en"), ("en", "de"), ("cs", "en")],
    )
    known = vocabularies(joint=joint)
    found = counted_pieces(store, known).shares
    assert found.keys() == ({"en", "de", "cs"} if joint else {"en", "de"})
    assert all(len(shares) == len(known.target) for shares in found.values())
    assert found["en"][[5, 6, 7, 8, 11]] == pytest.approx([0.4, 0.2, 0, 0.3, 0.1])
    assert found["de"][[5, 7, 8]] == pytest.approx([0.2, 0.8, 0])
    if joint:
        assert found["cs"][[9, 10]] == pytest.approx([2 / 3, 1 / 3])


def test_a_large_part_is_counted_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_IDS_AT_ONCE", 2)
    pairs = [([4], ids) for ids in ENGLISH]
    store = write_store(tmp_path / "store", pairs, [(1, 1.0), (1, 1.0)])
    assert store.piece_counts("target", 0, 9).tolist() == [0, 0, 0, 0, 0, 3, 1, 0, 1]
    assert store.piece_counts("target", 1, 12).tolist() == [0, 0, 0, 0, 0, 1, 1, 0, 2, 0, 0, 1]
