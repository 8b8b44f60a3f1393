"""Pieces that belong to a language, by their share of the targets in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import write_store

from dragoman.data.own_pieces import foreign_pieces
from dragoman.text.corpus import CorpusPart
from dragoman.text.transforms import SourceByModelConfig

ENGLISH = [[5, 5, 5, 6, 8], [5, 6, 8, 8, 12]]
GERMAN = [[5, 7, 7, 7, 7]]


def part(source: str, target: str, share: float | None) -> CorpusPart:
    transforms = () if share is None else (SourceByModelConfig(own_pieces=share),)
    return CorpusPart(
        target="text",
        source_language=source,
        target_language=target,
        transforms=transforms,
    )


@pytest.mark.parametrize(
    ("share", "german", "english"),
    [
        (0.0, (), ()),
        (0.5, (6, 8, 12), (7,)),  # 5 is 2 of 5 in English, 1 of 5 in German
        (0.51, (5, 6, 8, 12), (7,)),
        (1.0, (5, 6, 8, 12), (7,)),
    ],
)
def test_pieces_are_foreign_by_their_share_in_either_language(
    share: float, german: tuple[int, ...], english: tuple[int, ...], tmp_path: Path
) -> None:
    """Sources do not count; of a language all targets do, whichever part they are of."""
    targets = [ENGLISH[0], ENGLISH[1], *GERMAN, ENGLISH[0], ENGLISH[1]]
    pairs = [([9, 10], ids) for ids in targets]
    store = write_store(tmp_path / "store", pairs, [(2, 1.0), (1, 1.0), (2, 1.0)])
    parts = [part("de", "en", share), part("en", "de", share), part("de", "en", None)]
    assert foreign_pieces(store, parts, parts[0]) == german
    assert foreign_pieces(store, parts, parts[1]) == english
    assert foreign_pieces(store, parts, parts[2]) == ()
