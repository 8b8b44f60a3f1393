"""A search among some pieces is the search among all in which the others are impossible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from families import VARIATIONS, build
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.data.batches import pad_sources
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.search import (
    Ensemble,
    FusedScorer,
    Hypothesis,
    ModelScorer,
    SamplingConfig,
    Scorer,
    SearchConfig,
    search,
)
from dragoman.text.vocabularies import EOS
from dragoman.translation.engines.shortlisting import Choices, shortlisted

PIECES = 13
SYMBOLS = range(4)
SOURCES = [[5, 6, 7], [8], [9, 4, 10, 6]]
WAYS = [
    SearchConfig(beam=1, extra_length=3),
    SearchConfig(beam=3, nbest=2, extra_length=3, coverage_penalty=0.2, no_repeat_ngram=2),
    SearchConfig(nbest=2, extra_length=3, sampling=SamplingConfig(top_p=0.9)),
]
every_way = pytest.mark.parametrize("config", WAYS, ids=["greedy", "beam", "sample"])


def model(seed: int) -> TranslationModel:
    torch.manual_seed(seed)
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, d_model=6, d_ff=7, heads=2, embeddings="separate"
    )
    found = Transformer(config, 11, PIECES).double().eval().requires_grad_(False)
    found.output.weight.mul_(4)  # so sharp that hypotheses differ much in score
    return found


@dataclass(frozen=True)
class Remembered:
    memory: Any
    allowed: Tensor  # (sentences, pieces)


class Impossible(Scorer):
    """A model in which each sentence gives some pieces the score of -inf: the plain way."""

    position_limit = None

    def __init__(self, of: TranslationModel, allowed: Tensor) -> None:
        self._model, self._allowed = of, allowed

    def encode(self, source: Tensor, source_mask: Tensor) -> Remembered:
        return Remembered(self._model.encode(source, source_mask), self._allowed)

    def start(self, memory: Remembered, beam: int = 1) -> Any:
        return self._model.start(memory.memory, beam)

    def step(self, target: Tensor, memory: Remembered, state: Any) -> tuple[Tensor, Any]:
        hidden, state = self._model.decode(target, memory.memory, state)
        rows = memory.allowed.repeat_interleave(len(target) // len(memory.allowed), 0)
        logits = self._model.logits(hidden).masked_fill(~rows.unsqueeze(1), float("-inf"))
        return torch.log_softmax(logits, -1), state

    def attention(self, target: Tensor, memory: Remembered) -> Tensor:
        return ModelScorer(self._model).attention(target, memory.memory)


def in_list(
    scorer: Scorer, allowed: Tensor, config: SearchConfig, prefixes: Sequence[Sequence[int]]
) -> list[list[Hypothesis]]:
    """Search among the choices, with the ids of pieces again."""
    choices = Choices.of(allowed)
    listed = shortlisted(scorer, choices)
    placed = [choices.places(one) for one in prefixes]
    found = search(listed, *pad_sources(SOURCES), config, prefixes=placed)
    for hypotheses in found:
        for one in hypotheses:
            one.ids[:] = choices.pieces[torch.tensor(one.ids, dtype=torch.int64)].tolist()
    return found


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[h.ids for h in row] for row in found] == [[h.ids for h in row] for row in expected]
    for row, other in zip(found, expected, strict=True):
        assert [h.score for h in row] == pytest.approx([h.score for h in other])
        assert [h.ended for h in row] == [h.ended for h in other]


@every_way
def test_all_pieces_give_the_ordinary_search(config: SearchConfig) -> None:
    scorer = ModelScorer(model(1))
    everything = torch.ones(len(SOURCES), PIECES, dtype=torch.bool)
    prefixes: list[list[int]] = [[], [5, 12], [9]]
    expected = search(scorer, *pad_sources(SOURCES), config, prefixes=prefixes)
    assert_same(in_list(scorer, everything, config, prefixes), expected)


@every_way
@hypothesis_settings(max_examples=10, deadline=None)
@given(lists=st.lists(st.sets(st.integers(4, PIECES - 1)), min_size=3, max_size=3))
def test_some_pieces_give_the_search_without_the_others(
    config: SearchConfig, lists: list[set[int]]
) -> None:
    allowed = torch.zeros(len(SOURCES), PIECES, dtype=torch.bool)
    for row, pieces in zip(allowed, lists, strict=True):
        row[[*SYMBOLS, *pieces]] = True
    prefixes = [sorted(pieces)[:1] for pieces in lists]
    expected = search(
        Impossible(model(1), allowed), *pad_sources(SOURCES), config, prefixes=prefixes
    )
    assert_same(in_list(ModelScorer(model(1)), allowed, config, prefixes), expected)


@pytest.mark.parametrize("kind", ["linear", "log-linear", "fusion"])
def test_ensembles_and_fusion_are_made_of_restricted_models(kind: Any) -> None:
    allowed = torch.zeros(len(SOURCES), PIECES, dtype=torch.bool)
    allowed[:, [*SYMBOLS, 5, 7, 11]] = True
    allowed[1, 12] = True

    def joined(*parts: Scorer) -> Scorer:
        if kind == "fusion":
            return FusedScorer(parts[0], parts[1], 0.3)
        return Ensemble(parts, [0.7, 0.3], kind)

    plain = joined(*(Impossible(model(seed), allowed) for seed in (1, 2)))
    expected = search(plain, *pad_sources(SOURCES), WAYS[1], prefixes=[[]] * 3)
    own = joined(*(ModelScorer(model(seed)) for seed in (1, 2)))
    assert_same(in_list(own, allowed, WAYS[1], [[]] * 3), expected)


def test_a_piece_that_is_no_choice_has_no_place() -> None:
    allowed = torch.zeros(2, PIECES, dtype=torch.bool)
    allowed[:, [*SYMBOLS, 6]] = True
    allowed[1, 11] = True
    choices = Choices.of(allowed)
    assert choices.pieces.tolist() == [*SYMBOLS, 6, 11]
    assert choices.places([11, 12, 7, EOS, 6]) == [5, EOS, 4]
    assert choices.bias[0].tolist() == [0, 0, 0, 0, 0, float("-inf")]


@pytest.mark.parametrize("name", VARIATIONS)
def test_a_projection_is_all_that_gives_scores(name: str) -> None:
    found = build(VARIATIONS[name])
    if found.projection is None:
        assert VARIATIONS[name].writes_labels
        return
    hidden = torch.randn(2, 3, found.projection.in_features).double()
    assert torch.equal(found.projection(hidden), found.logits(hidden))


def test_a_scorer_of_ones_own_is_refused() -> None:
    allowed = torch.ones(1, PIECES, dtype=torch.bool)
    scorer = Impossible(model(1), allowed)
    with pytest.raises(ConfigError, match="restricts models, not a scorer like Impossible"):
        shortlisted(scorer, Choices.of(allowed))


def test_a_family_without_projection_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = model(1)
    monkeypatch.setattr(Transformer, "projection", None)
    choices = Choices.of(torch.ones(1, PIECES, dtype=torch.bool))
    with pytest.raises(ConfigError, match="Transformer has no output projection"):
        shortlisted(ModelScorer(one), choices)
