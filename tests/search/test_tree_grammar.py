"""Search that writes only trees, against all sequences that are trees."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from table_scorer import TableScorer, random_table
from torch import Tensor

from dragoman.core.config import parse
from dragoman.core.constituency import TreeError
from dragoman.core.errors import ConfigError
from dragoman.core.linear_trees import tree_of
from dragoman.data.batches import pad_sources
from dragoman.search import SamplingConfig, SearchConfig, search
from dragoman.search.tree_grammar import LONGEST_CHAIN, TreeSymbols
from dragoman.text.vocabularies import EOS, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.sentencepiece_vocabulary import TAGS_ALONE, SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

ROOT, CLOSE, WORD, OTHER = 4, 5, 6, 7  # of the vocabulary of eight below
NAMES = {ROOT: "(S", CLOSE: ")S", WORD: "XX", OTHER: "?"}
TREES = SearchConfig(beam=5, grammar="trees", extra_length=6)
WAYS = {
    "greedy": {"beam": 1},
    "beam": {"beam": 3, "nbest": 3},
    "sample": {"nbest": 4, "sampling": SamplingConfig()},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def vary(config: SearchConfig, **changes: object) -> SearchConfig:
    return parse(SearchConfig, {**config.model_dump(), **changes}, "test")


def eight_pieces() -> TreeSymbols:
    """One label and one symbol for words; each source piece from 4 on begins a word."""
    kinds = torch.zeros(8, dtype=torch.int8)
    kinds[[ROOT, CLOSE, WORD]] = torch.tensor([1, 2, 3], dtype=torch.int8)
    closing = torch.zeros(8, dtype=torch.int64)
    closing[ROOT] = CLOSE
    begins = torch.tensor([0, 0, 0, 0, 1, 1, 1, 0])
    return TreeSymbols(torch.tensor([ROOT]), torch.tensor([WORD]), kinds, closing, begins)


def is_tree(ids: Sequence[int], words: int) -> bool:
    names = [NAMES[i] for i in ids]
    chains = (len(list(run)) for key, run in itertools.groupby(names) if key == "(S")
    if "?" in names or max(chains, default=0) > LONGEST_CHAIN:
        return False
    try:
        tree_of(names, ["word"] * words)
    except TreeError:
        return False
    return True


@cache
def all_trees(words: int, longest: int) -> list[tuple[int, ...]]:
    lengths = range(words + 2, longest + 1)
    every = (itertools.product([ROOT, CLOSE, WORD], repeat=length) for length in lengths)
    return [ids for ids in itertools.chain.from_iterable(every) if is_tree(ids, words)]


def log_probability(scorer: TableScorer, first: int, ids: Sequence[int]) -> float:
    return sum(
        float(scorer.after(first, ids[:place])[piece]) for place, piece in enumerate([*ids, EOS])
    )


def padded(lines: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    return pad_sources([list(line) for line in lines])


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), words=st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_a_wide_beam_finds_the_best_of_all_trees(seed: int, words: list[int]) -> None:
    scorer = TableScorer(random_table(seed, 1.5))
    source, mask = padded([[4 + seed % 3] * count for count in words])
    config = vary(TREES, beam=60, nbest=3, extra_length=5, length_penalty=0)
    found = search(scorer, source, mask, config, symbols=eight_pieces())
    for line, count, hypotheses in zip(source.tolist(), words, found, strict=True):
        best = sorted(
            ((log_probability(scorer, line[0], ids), ids) for ids in all_trees(count, count + 5)),
            reverse=True,
        )[:3]
        assert [tuple(one.ids) for one in hypotheses] == [ids for _, ids in best]
        assert [one.log_probability for one in hypotheses] == pytest.approx(
            [score for score, _ in best]
        )


@every_way
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    words=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(2, 9),
)
def test_whatever_the_scores_outputs_are_trees_within_the_limit(
    way: dict[str, object], seed: int, words: list[int], extra: int
) -> None:
    table = random_table(seed, 6)
    source, mask = padded([[4] * count for count in words])
    config = vary(TREES, **way, extra_length=extra)
    found = search(TableScorer(table), source, mask, config, symbols=eight_pieces())
    for count, hypotheses in zip(words, found, strict=True):
        assert all(is_tree(one.ids, count) for one in hypotheses)
        assert all(len(one.ids) <= count + extra for one in hypotheses)


def test_brackets_that_a_model_would_open_for_ever_are_bounded() -> None:
    likely = torch.zeros(8, dtype=torch.float64)
    likely[ROOT] = 50
    source, mask = padded([[4, 4]])
    config = vary(TREES, beam=1, extra_length=80)
    scorer = TableScorer(likely.log_softmax(0).expand(97, 8))
    ((found,),) = search(scorer, source, mask, config, symbols=eight_pieces())
    assert is_tree(found.ids, 2)
    assert found.ids[: LONGEST_CHAIN + 1] == [ROOT] * LONGEST_CHAIN + [WORD]


def test_every_tree_can_be_written() -> None:
    """What the grammar allows, followed exhaustively, are the trees and nothing else."""
    flat = torch.zeros(97, 8, dtype=torch.float64).log_softmax(1)
    source, mask = padded([[4, 4]])
    config = vary(TREES, beam=100, nbest=100, extra_length=6)
    (found,) = search(TableScorer(flat), source, mask, config, symbols=eight_pieces())
    assert sorted(tuple(one.ids) for one in found) == sorted(all_trees(2, 8))


@cache
def vocabularies(**changes: object) -> Vocabularies:
    values = {"size": 32, "joint": False, "target_kind": "word", **changes}
    config = parse(VocabularyConfig, values, "test")
    lines = [("Mr. Vinken is chairman .", "(S (NP NNP NNP )NP (VP VBZ (NP NN )NP )VP . )S")]
    return train_vocabularies(lines, config, seed=1)


def test_symbols_are_found_in_the_vocabularies() -> None:
    both = vocabularies(tags=("<en>",))
    symbols = TreeSymbols.of(both)

    def names(ids: Tensor) -> set[str]:
        return {piece.removeprefix("▁") for piece in both.target.pieces(ids.tolist())}

    assert names(symbols.openings) == {"(S", "(NP", "(VP"}
    assert names(symbols.leaves) == {"NNP", "VBZ", "NN", "."}
    for opening in symbols.openings.tolist():
        pair = both.target.pieces([opening, int(symbols.closing[opening])])
        assert pair[0].replace("(", ")") == pair[1]


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10_000), line=st.lists(st.sampled_from(["Mr.", "is", "Vinken"]), min_size=1)
)
def test_brackets_close_with_their_own_labels(seed: int, line: list[str]) -> None:
    both = vocabularies()
    source, mask = padded([both.source.encode(" ".join(line))])
    table = torch.from_numpy(np.random.default_rng(seed).normal(size=(97, len(both.target))) * 4)
    scorer = TableScorer(table.log_softmax(1))
    (found,) = search(scorer, source, mask, TREES, symbols=TreeSymbols.of(both))
    for one in found:
        assert tree_of(both.target.decode(one.ids).split(), line).words == line


def words_of(lines: Sequence[str]) -> Iterator[int]:
    both = vocabularies(tags=("<en>",))
    source, _ = pad_sources(both.source.encode_batch(lines))
    yield from TreeSymbols.of(both).count_words(source).tolist()


def test_words_are_counted_whatever_their_pieces() -> None:
    lines = ["Mr. Vinken is", "Vinkenchairman", "<en> Mr. Mr.", "über . 日本 Mr.", "?"]
    assert list(words_of(lines)) == [3, 1, 2, 4, 1]


def test_words_are_counted_where_tags_come_after_a_space() -> None:
    """As in vocabularies of before."""
    both = vocabularies(tags=("<en>",))
    assert isinstance(both.source, SentencePieceVocabulary)
    old = SentencePieceVocabulary(both.source.serialized.removesuffix(TAGS_ALONE))
    lines = ["<en> Mr. Mr.", "<en> <en> is", "is"]
    source, _ = pad_sources(old.encode_batch(lines))
    counted = TreeSymbols.of(Vocabularies(old, both.target)).count_words(source)
    assert counted.tolist() == [*words_of(lines)] == [2, 1, 1]


@settings(max_examples=30)
@given(st.lists(st.text("Vinke日(.<", min_size=1), min_size=1))
def test_words_are_those_between_spaces(words: list[str]) -> None:
    assert list(words_of([" ".join(words)])) == [len(words)]


def test_a_vocabulary_without_symbols_is_no_parsers() -> None:
    with pytest.raises(ConfigError, match="writes trees"):
        TreeSymbols.of(vocabularies(target_kind=None, size=29))


def test_a_grammar_needs_its_symbols() -> None:
    source, mask = padded([[4]])
    with pytest.raises(ConfigError, match="symbols"):
        search(TableScorer(random_table(1, 1)), source, mask, TREES)


def test_trees_repeat_their_brackets() -> None:
    with pytest.raises(ConfigError, match="no_repeat_ngram"):
        vary(TREES, no_repeat_ngram=3)
