"""Outputs of vocabularies with bytes are text, whatever the model prefers."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from table_scorer import TableScorer, spoiled

from dragoman.core.config import parse
from dragoman.data.batches import pad_sources
from dragoman.search import Hypothesis, SamplingConfig, SearchConfig, search
from dragoman.search.constraints import PartialOutputs
from dragoman.search.degenerate import Bounds
from dragoman.search.phrases import Phrase, Spelling, WordEdges
from dragoman.search.tag_structure import TagSymbols
from dragoman.search.whole_characters import (
    ByteSymbols,
    WholeCharacters,
    unwritable_pieces,
)
from dragoman.text.normalization import normalize
from dragoman.text.vocabularies import EOS, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

WORDS = "ab"
FIRST = EOS + 1 + len(WORDS)
SIZE = FIRST + 256
SYMBOLS = ByteSymbols(
    torch.cat([torch.full((FIRST,), 256), torch.arange(256)]), torch.arange(FIRST, SIZE)
)
NO_TEXT = "\ufeff\ufffd\ufffe\uffff"
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "beam": {"beam": 4, "nbest": 4},
    "quick": {"beam": 3, "nbest": 2, "early_end": "quick"},
    "sample": {"nbest": 3, "sampling": SamplingConfig()},
    "hot sample": {"nbest": 3, "sampling": SamplingConfig(temperature=20)},
    "truncated sample": {"nbest": 2, "sampling": SamplingConfig(top_k=3, top_p=0.8)},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
LINES = [[4, 5, 4], [5], [4, 4, 5, 5, 4]]


def random_scorer(seed: int, size: int = SIZE, missing: float = 0.0) -> TableScorer:
    """A model that has not learned what bytes follow one another, and likes first bytes."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn((61, size), generator=generator) * 3
    table[:, FIRST + 0xC0 : SIZE] += 3
    table[torch.rand((61, size), generator=generator) < missing] = float("-inf")
    return TableScorer(table.log_softmax(1).nan_to_num(nan=float("-inf"), neginf=float("-inf")))


def spelled(ids: Sequence[int]) -> str:
    """The text of an output, which must be UTF-8."""
    content = b"".join(
        bytes([i - FIRST]) if FIRST <= i < SIZE else WORDS[i - EOS - 1].encode()
        for i in ids
        if EOS < i < SIZE
    )
    return content.decode("utf-8")


def assert_text(found: Sequence[Sequence[Hypothesis]]) -> None:
    for hypotheses in found:
        assert hypotheses
        for one in hypotheses:
            text = spelled(one.ids)
            assert not any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in text)
            assert all(sign not in NO_TEXT for sign in text)


def found(scorer: TableScorer, way: dict[str, Any], **options: Any) -> list[list[Hypothesis]]:
    names = set(SearchConfig.model_fields)
    changes = {name: value for name, value in options.items() if name in names}
    rest = {name: value for name, value in options.items() if name not in names}
    config = parse(SearchConfig, {"extra_length": 6, **way, **changes}, "test")
    return search(scorer, *pad_sources(LINES), config, characters=SYMBOLS, **rest)


@every_way
@settings(max_examples=25)
@given(
    seed=st.integers(0, 9999),
    missing=st.sampled_from([0.0, 0.5, 0.97]),
    extra_length=st.integers(0, 12),
    minimum_length=st.integers(0, 12),
    no_repeat_ngram=st.sampled_from([0, 1, 2]),
)
def test_every_output_is_text(
    way: dict[str, Any], seed: int, missing: float, **options: int
) -> None:
    assert_text(found(random_scorer(seed, missing=missing), way, **options))


@every_way
@given(seed=st.integers(0, 9999), share=st.floats(0.05, 0.9))
def test_a_broken_scorer_writes_text_too(way: dict[str, Any], seed: int, share: float) -> None:
    scorer = TableScorer(spoiled(random_scorer(seed).table, seed, share))
    assert_text(found(scorer, way))


@every_way
@given(seed=st.integers(0, 9999), prefix=st.sampled_from(["", "é", "a€", "😀b", "ab"]))
@pytest.mark.no_cover
def test_behind_a_prefix_and_within_bounds(way: dict[str, Any], seed: int, prefix: str) -> None:
    ids = [EOS + 1 + WORDS.index(one) if one in WORDS else None for one in prefix]
    pieces = [
        piece
        for one, known in zip(prefix, ids, strict=True)
        for piece in ([known] if known else [FIRST + byte for byte in one.encode()])
    ]
    bounds = [Bounds(0, 5) for _ in LINES]
    hypotheses = found(random_scorer(seed), way, prefixes=[pieces] * len(LINES), bounds=bounds)
    assert_text(hypotheses)
    assert all(spelled(one.ids).startswith(prefix) for each in hypotheses for one in each)


@given(seed=st.integers(0, 9999), words=st.lists(st.sampled_from("é€😀a"), max_size=3))
def test_phrases_are_whole_characters_too(seed: int, words: list[str]) -> None:
    phrases: list[Phrase] = []
    for word in words:
        ids = [4] if word == "a" else [FIRST + byte for byte in word.encode()]
        phrases.append([Spelling(tuple(ids), after_word=True, within_word=True)])
    edges = WordEdges(torch.zeros(SIZE, dtype=torch.bool), torch.zeros(SIZE, dtype=torch.bool))
    hypotheses = found(
        random_scorer(seed), {"beam": 4}, phrases=[phrases] * len(LINES), edges=edges
    )
    assert_text(hypotheses)


@settings(max_examples=15)  # each in every way
@given(seed=st.integers(0, 9999), extra_length=st.integers(0, 8))
@pytest.mark.no_cover
def test_tags_at_the_end_cut_no_character(seed: int, extra_length: int) -> None:
    names = ("<t1>", "</t1>", "<x1>")
    size = SIZE + len(names)
    table = torch.full((size,), len(names))
    table[SIZE:] = torch.arange(len(names))
    tags = TagSymbols(1, names, torch.arange(SIZE, size), table, table)
    characters = ByteSymbols(torch.cat([SYMBOLS.values, torch.full((3,), 256)]), SYMBOLS.ids)
    lines = [[SIZE, 4, SIZE + 1, SIZE + 2], [SIZE + 2, 5], [4, SIZE, SIZE + 1]]
    for way in WAYS.values():
        config = parse(SearchConfig, {**way, "extra_length": extra_length}, "test")
        scorer = random_scorer(seed, size)
        assert_text(search(scorer, *pad_sources(lines), config, tags=tags, characters=characters))


def test_without_the_constraint_it_is_not() -> None:
    config = parse(SearchConfig, {"beam": 1, "extra_length": 6}, "test")
    with pytest.raises(UnicodeDecodeError):
        assert_text(search(random_scorer(1), *pad_sources(LINES), config))


def allowed(content: bytes, room: int = 9) -> set[int]:
    """The bytes that may follow others, and 256 for all other pieces."""
    rule = WholeCharacters(SYMBOLS, torch.tensor([len(content) + room]))
    scores = torch.zeros((1, SIZE))
    history = torch.tensor([[FIRST + byte for byte in content]], dtype=torch.int64)
    rule.forbid(scores, PartialOutputs(history, torch.tensor([0])))
    bytes_ = {i - FIRST for i in range(FIRST, SIZE) if scores[0, i] == 0}
    others = {float(score) for score in scores[0, :FIRST]}
    assert len(others) == 1
    return bytes_ | ({256} if others == {0.0} else set())


@pytest.mark.no_cover
def test_all_characters_of_text_can_be_written() -> None:
    """Against Python's own decoder: each byte may follow if some character of text has it there."""
    possible: dict[bytes, set[int]] = {}
    for code in range(0x10000):
        sign = chr(code)
        if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") or sign in NO_TEXT:
            continue
        content = sign.encode()
        for at, byte in enumerate(content[1:], 1):
            possible.setdefault(content[:at], set()).add(byte)
    assert len(possible) > 1000
    for start, following in possible.items():
        assert allowed(start) == following, start
    assert allowed(b"") == {*range(0x20, 0x7F), *range(0xC2, 0xF5), 256}
    assert allowed(b"\xf0") == set(range(0x90, 0xC0))
    assert allowed(b"\xf4") == set(range(0x80, 0x90))
    assert allowed(b"\xf4\x80") == allowed(b"a\xf1\x80\x80") == set(range(0x80, 0xC0))
    assert allowed("a😀".encode()) == allowed("é".encode()) == allowed(b"\x80\x80") == allowed(b"")


@pytest.mark.parametrize(("room", "last"), [(1, 0x7E), (2, 0xDF), (3, 0xEF), (4, 0xF4)])
def test_no_character_begins_that_has_no_room(room: int, last: int) -> None:
    assert max(allowed(b"", room) - {256}) == last


@given(st.binary(max_size=12))
def test_broken_bytes_are_taken_out(content: bytes) -> None:
    ids = [FIRST + byte for byte in content]
    kept = SYMBOLS.without_broken(ids)
    assert_text([[Hypothesis(kept, 0.0, 0.0, ended=True)]])
    assert SYMBOLS.without_broken(kept) == kept


@given(st.text())
def test_text_is_left_as_it_is(text: str) -> None:
    text = normalize(text).replace("\ufffd", "").replace("\ufffe", "").replace("\uffff", "")
    ids = [FIRST + byte for byte in text.encode()]
    assert SYMBOLS.without_broken([4, *ids, 5]) == [4, *ids, 5]


def test_the_bytes_of_a_vocabulary() -> None:
    lines = [("the house is small", "das Haus ist klein")] * 4
    config = VocabularyConfig(size=300, byte_fallback=True)
    vocabulary = train_vocabularies(lines, config, seed=1).source
    symbols = ByteSymbols.of(vocabulary)
    assert symbols is not None
    ids = vocabulary.encode("€")[-3:]
    assert [int(symbols.values[i]) for i in ids] == list("€".encode())
    assert sorted(symbols.values[symbols.ids].tolist()) == list(range(256))
    places = torch.tensor([0, 3, ids[1], len(vocabulary) - 1])
    assert symbols.among(places).ids.tolist() == [2]
    assert unwritable_pieces(vocabulary) == []
    plain = train_vocabularies(lines, VocabularyConfig(size=40), seed=1).source
    assert ByteSymbols.of(plain) is None
