"""How far an output has got with phrases of which one grows out of another."""

from __future__ import annotations

import torch

from dragoman.search.phrases import PhraseTable, Spelling, WordEdges

VOCABULARY, HOUSE, HOLD, OTHER = 8, 4, 5, 6
EDGES = WordEdges(torch.ones(VOCABULARY, dtype=torch.bool), torch.arange(VOCABULARY) == HOLD)


def met(*pieces: int) -> list[bool]:
    """Which of two phrases the pieces contain: a part of a word, and the word that goes on."""
    part = [Spelling((HOUSE,), within_word=True)]
    whole = [Spelling((HOUSE, HOLD))]
    table = PhraseTable([[part, whole]], EDGES, torch.device("cpu"))
    progress = table.start(torch.zeros(1, dtype=torch.int64))
    for piece in pieces:
        progress = table.advance(progress, torch.tensor([piece]))
    return progress.met[0].tolist()


def test_what_a_longer_phrase_grows_out_of_counts_for_that_alone() -> None:
    """Also within a word, whose beginning would count as a phrase of its own."""
    assert met(HOUSE) == [True, False]
    assert met(HOUSE, HOLD) == [False, True]
    assert met(HOUSE, HOLD, HOUSE) == [True, True]
    assert met(HOUSE, OTHER, HOUSE, HOLD) == [True, True]
