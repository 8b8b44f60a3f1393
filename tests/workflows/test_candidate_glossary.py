"""Reading a corpus to find terms in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from weakref import WeakSet

import pytest

from dragoman.text.terms.term_extraction import TokenizedPair
from dragoman.workflows import candidate_glossary
from dragoman.workflows.candidate_glossary import read_words

CELLS = 4  # of a pair of single words, each with none beside it


@pytest.mark.parametrize("count", [1, 25, 26, 51, 1000])
def test_pairs_at_even_distances_are_kept_and_no_more_are_ever_held(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus may be larger than memory."""
    monkeypatch.setattr(candidate_glossary, "_MOST_CELLS", 25 * CELLS)
    held: WeakSet[TokenizedPair] = WeakSet()
    most = 0

    class Watched(TokenizedPair):
        __hash__ = object.__hash__

        @classmethod
        def of(cls, source: str, target: str) -> TokenizedPair:
            nonlocal most
            held.add(made := cls(*vars(TokenizedPair.of(source, target)).values()))
            most = max(most, len(held))
            return made

    def pairs() -> Iterator[tuple[str, str]]:
        for number in range(count):
            yield f"s{number}", f"t{number}"

    monkeypatch.setattr(candidate_glossary, "TokenizedPair", Watched)
    found = read_words(pairs(), "x")
    numbers = [int(source[1:]) for source, _ in found.lines]
    assert 12 < len(numbers) <= 25 or len(numbers) == count
    assert len({b - a for a, b in pairwise(numbers)}) <= 1
    assert [one.source[0].text for one in found.words] == [source for source, _ in found.lines]
    assert found.left_out == count - len(numbers)
    assert most <= 2 * 25 + 2
