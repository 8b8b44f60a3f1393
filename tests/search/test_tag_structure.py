"""Outputs have the inline tags of their source, whatever the model prefers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from table_scorer import TableScorer
from torch import Tensor

from dragoman.core.config import parse
from dragoman.data.batches import pad_sources
from dragoman.search import Hypothesis, SamplingConfig, SearchConfig, search
from dragoman.search.tag_structure import TagSymbols
from dragoman.text.inline_tags import InlineTags, structure
from dragoman.text.vocabularies import EOS, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

KNOWN = InlineTags(pairs=3, points=2)
WORDS = 5  # pieces that are no symbols
NAMES = ("<t1>", "<t2>", "<t3>", "</t1>", "</t2>", "</t3>", "<x1>", "<x2>")
FIRST = EOS + 1 + WORDS
SIZE = FIRST + len(NAMES)
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "beam": {"beam": 3, "nbest": 3},
    "sample": {"nbest": 3, "sampling": SamplingConfig()},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def symbols() -> TagSymbols:
    table = torch.full((SIZE,), len(NAMES))
    table[FIRST:] = torch.arange(len(NAMES))
    return TagSymbols(3, NAMES, torch.arange(FIRST, SIZE), table, table)


def named(ids: Sequence[int]) -> list[str]:
    return [NAMES[i - FIRST] for i in ids if i >= FIRST]


def random_scorer(seed: int, *, missing: float = 0.0) -> TableScorer:
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn((61, SIZE), generator=generator) * 4
    table[torch.rand((61, SIZE), generator=generator) < missing] = float("-inf")
    return TableScorer(table.log_softmax(1).nan_to_num(nan=float("-inf"), neginf=float("-inf")))


def found(
    scorer: TableScorer, lines: Sequence[Sequence[int]], **changes: Any
) -> list[list[Hypothesis]]:
    config = parse(SearchConfig, {"extra_length": 4, **changes}, "test")
    never = range(FIRST, SIZE)
    return search(scorer, *padded(lines), config, never=never, tags=symbols())


def padded(lines: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    return pad_sources([list(line) for line in lines])


@st.composite
def tagged_lines(draw: st.DrawFn) -> list[int]:
    """A well-formed source: words, and tags of which each occurs once."""
    pairs = draw(st.permutations([0, 1, 2]))[: draw(st.integers(0, 3))]
    points = draw(st.permutations([6, 7]))[: draw(st.integers(0, 2))]
    line = draw(st.lists(st.integers(EOS + 1, FIRST - 1), min_size=1, max_size=3))
    for slot in points:
        line.insert(draw(st.integers(0, len(line))), FIRST + slot)
    for slot in pairs:
        start, stop = sorted((draw(st.integers(0, len(line))), draw(st.integers(0, len(line)))))
        tagged = [*line[:start], FIRST + slot, *line[start:stop], FIRST + slot + 3, *line[stop:]]
        if structure(named(tagged)) is not None:
            line = tagged
    return line


@every_way
@settings(max_examples=12)
@given(
    lines=st.lists(tagged_lines(), min_size=1, max_size=3),
    seed=st.integers(0, 999),
    missing=st.sampled_from([0.0, 0.5, 1.0]),
    limit=st.sampled_from([None, 1, 3]),
)
def test_tags_in_are_tags_out(
    lines: list[list[int]], seed: int, missing: float, limit: int | None, way: dict[str, Any]
) -> None:
    scorer = random_scorer(seed, missing=missing)
    for line, hypotheses in zip(
        lines, found(scorer, lines, maximum_length=limit, **way), strict=True
    ):
        assert hypotheses
        for one in hypotheses:
            assert structure(named(one.ids)) == structure(named(line))
            longest = len(line) + 4 if limit is None else max(limit, len(named(line)))
            assert len(one.ids) <= longest


@every_way
@settings(max_examples=8)
@given(
    line=st.lists(st.integers(EOS + 1, SIZE - 1), min_size=1, max_size=6),
    seed=st.integers(0, 999),
)
def test_tags_that_are_not_well_formed_come_as_often(
    line: list[int], seed: int, way: dict[str, Any]
) -> None:
    for one in found(random_scorer(seed), [line], **way)[0]:
        assert sorted(named(one.ids)) == sorted(named(line))


@every_way
def test_a_scorer_that_gives_no_numbers_still_writes_the_tags(way: dict[str, Any]) -> None:
    line = [FIRST, 4, FIRST + 6, FIRST + 3]
    for value in (float("nan"), float("inf")):
        scorer = TableScorer(torch.full((3, SIZE), value))
        for one in found(scorer, [line], **way)[0]:
            assert structure(named(one.ids)) == structure(named(line))


@every_way
def test_a_prefix_with_other_tags_than_its_source_forces_none_for_ever(way: dict[str, Any]) -> None:
    """It closes a tag that was not opened, so that nothing may follow that must."""
    line, prefix = [FIRST, 4, FIRST + 1, 5, FIRST + 4, FIRST + 3], [FIRST + 3, 6]
    config = parse(SearchConfig, {"extra_length": 4, **way}, "test")
    for seed in range(5):
        (several,) = search(
            random_scorer(seed), *padded([line]), config, prefixes=[prefix], tags=symbols()
        )
        assert all(named(one.ids).count("<t1>") < 2 for one in several)


@given(seed=st.integers(0, 99))
@settings(max_examples=8)
def test_tags_of_a_line_change_no_other(seed: int) -> None:
    scorer, line = random_scorer(seed), [4, 5, 6]
    alone = found(scorer, [line], beam=3)
    beside = found(scorer, [line, [FIRST, 5, FIRST + 3, 6]], beam=3)
    assert beside[0] == alone[0]
    assert not named(beside[0][0].ids)


@every_way
def test_a_line_without_tags_gets_none_whatever_else_is_allowed(way: dict[str, Any]) -> None:
    """Alone as beside a line with tags, and though search.allow_tags forbids none of them."""
    plain, marked = [EOS + 1, EOS + 2], [EOS + 1, FIRST, EOS + 3, FIRST + 3]
    config = parse(SearchConfig, {"extra_length": 4, **way}, "test")
    for seed in range(9):
        scorer = random_scorer(seed)
        (alone,) = search(scorer, *padded([plain]), config, tags=symbols())
        beside, _ = search(scorer, *padded([plain, marked]), config, tags=symbols())
        assert [one.ids for one in alone] == [one.ids for one in beside]
        assert not any(named(one.ids) for one in alone)


def test_a_batch_without_tags_has_no_constraint() -> None:
    assert symbols().plan(padded([[4, 5]])[0]) is None


def test_the_symbols_are_those_of_the_vocabularies() -> None:
    lines = ["a b c d e", "e d c"] * 9
    tags = tuple(KNOWN.symbols())
    size = 14 + len(tags)
    config = VocabularyConfig(size=size, tags=tags)
    vocabularies: Vocabularies = train_vocabularies(zip(lines, lines, strict=True), config, seed=1)
    made = TagSymbols.of(vocabularies, KNOWN)
    source = vocabularies.source.encode("a<t2> b <x1></t2> c")
    plan = made.plan(torch.tensor([source]))
    assert made.names == NAMES
    assert plan is not None
    assert plan.totals.tolist() == [3]
    assert [made.names[slot] for slot in plan.needed[0].nonzero().flatten().tolist()] == [
        "<t2>",
        "</t2>",
        "<x1>",
    ]
    assert vocabularies.target.pieces(made.ids.tolist()) == list(NAMES)


@every_way
def test_a_prefix_comes_before_tags_that_have_no_room_beside_it(way: dict[str, Any]) -> None:
    """The scorer reads too few positions for all: the prefix was asked for, so it stays whole."""
    line, prefix = [FIRST, 4, FIRST + 3], [4, 5, 6]
    scorer = random_scorer(1)
    scorer.position_limit = 5  # type: ignore[assignment]
    config = parse(SearchConfig, {"extra_length": 4, **way}, "test")
    (several,) = search(scorer, *padded([line]), config, prefixes=[prefix], tags=symbols())
    assert all(list(one.ids[:3]) == prefix for one in several)
