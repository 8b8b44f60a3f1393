"""Signs that outputs may have only in phrases."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from listed_pieces import listed
from table_scorer import VOCABULARY, TableScorer, random_table

from dragoman.data.batches import pad_sources
from dragoman.search import SearchConfig, search
from dragoman.search.constraints import PartialOutputs
from dragoman.search.forbidden_signs import (
    ALL_CODE_SIGNS,
    ALL_DIGITS,
    CODE_SIGNS,
    DIGITS,
    ForbiddenSigns,
    PieceSigns,
    signs_in,
)
from dragoman.search.phrases import Spelling, WordEdges

PIECES = ["▁a", "b", "{", "}", "▁{x}", "%", "s", "1", "▁28", "://", "<0x7B>"]


@pytest.mark.parametrize(
    ("text", "others"),
    [("plain: text / (1)", "1"), ("{x}", "{}"), ("５０ %", "50%"), ("www.a", ("//",)), ("", "")],
)
def test_the_signs_of_a_text(text: str, others: str) -> None:
    assert signs_in(text) == sum(signs_in(one) for one in others)


def test_all_signs() -> None:
    assert signs_in(CODE_SIGNS + "//") == ALL_CODE_SIGNS
    assert signs_in(DIGITS) == ALL_DIGITS
    assert not ALL_CODE_SIGNS & ALL_DIGITS


@given(st.lists(st.text("{}%1a", max_size=4), min_size=1, max_size=4))
def test_what_is_forbidden_is_what_has_a_forbidden_sign(texts: list[str]) -> None:
    vocabulary = listed(*PIECES)
    pieces = vocabulary.pieces(range(len(vocabulary)))
    signs = PieceSigns(vocabulary)
    constraint = signs.forbidding(map(signs_in, texts), torch.device("cpu"))
    scores = torch.zeros(len(texts), len(vocabulary))
    rows = torch.arange(len(texts))
    constraint.forbid(scores, PartialOutputs(torch.zeros(len(texts), 0, dtype=torch.int64), rows))
    for text, row, forbidden in zip(texts, scores.tolist(), constraint.pieces(), strict=True):
        expected = {
            number
            for number, (piece, atom) in enumerate(zip(pieces, vocabulary.atoms, strict=True))
            if not atom and set(piece) & set(text) & {*CODE_SIGNS, *DIGITS}
        }
        assert {number for number, score in enumerate(row) if score} == expected == forbidden


NO_EDGES = WordEdges(torch.zeros(VOCABULARY).bool(), torch.zeros(VOCABULARY).bool())
SIGNED = 4


@settings(max_examples=60)
@given(
    seed=st.integers(0, 9999),
    codes=st.lists(
        st.lists(st.integers(SIGNED, VOCABULARY - 1), max_size=2).map(lambda ids: [SIGNED, *ids]),
        max_size=2,
    ),
    beam=st.integers(2, 6),
)
def test_a_forbidden_sign_comes_only_in_whole_phrases(
    seed: int, codes: list[list[int]], beam: int
) -> None:
    """The scorer likes any piece; the phrases begin with the signed one, as ``{name}`` does."""
    signs = ForbiddenSigns(torch.tensor([SIGNED]), torch.tensor([1]), torch.tensor([1]))
    (found,) = search(
        TableScorer(random_table(seed, 2.0)),
        *pad_sources([[5, 6]]),
        SearchConfig(beam=beam, nbest=2, extra_length=8),
        phrases=[[[Spelling(tuple(ids))] for ids in codes]],
        edges=NO_EDGES,
        signs=signs,
    )
    for hypothesis in found:
        text = " ".join(map(str, hypothesis.ids))
        for code in sorted(codes, key=len, reverse=True):
            code_text = " ".join(map(str, code))
            assert code_text in text
            text = text.replace(code_text, "", 1)
        assert str(SIGNED) not in text.split()
