"""Scorers give search log-probabilities of the next piece.

A :class:`Scorer` is one model or a combination of scorers, behind the same interface.  Its memory
and state follow the axis-0 rule of :mod:`dragoman.models.interface`, so ``select`` reorders and
drops hypotheses of any scorer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, Literal, Protocol

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.models.interface import Memory, State, TranslationModel
from dragoman.text.vocabularies import BOS, PAD

# Log-probabilities held at once by `score_targets`: 64 MiB in float32.
_ELEMENTS_AT_ONCE = 1 << 24
_LEAST_WEIGHT, _GREATEST_WEIGHT = 1e-9, 1e9

EnsembleKind = Literal["linear", "log-linear"]


class Scorer(Protocol):
    """A source of log-probabilities, decoded any number of positions at a time."""

    @property
    def position_limit(self) -> int | None:
        """Maximum number of positions, including the begin symbol's; None: unlimited."""

    def encode(self, source: Tensor, source_mask: Tensor) -> Any:
        """The memory of ``source`` ``(batch, source)``; axis 0 of every tensor is sentences."""

    def start(self, memory: Any, beam: int = 1) -> Any:
        """The state before the first position, ``beam`` adjacent rows per sentence."""

    def step(self, target: Tensor, memory: Any, state: Any) -> tuple[Tensor, Any]:
        """Read further positions and score the pieces that may follow each.

        Args:
            target: ids ``(rows, positions)``; the very first position is the begin symbol.
            memory: of ``rows / beam`` sentences.
            state: returned by the previous call, or by :meth:`start`.

        Returns:
            Log-probabilities ``(rows, positions, vocabulary)``, float32 or wider, none above 0,
            which the caller may overwrite; and the state after these positions.
        """

    def attention(self, target: Tensor, memory: Any) -> Tensor:
        """Attention of whole outputs to the source; needed only for the coverage penalty.

        Args:
            target: ids ``(rows, target)``: begin symbol and ids, then any padding.
            memory: of ``rows`` sentences.

        Returns:
            Weights ``(rows, target, source)`` that sum to 1 over the source, 0 for its padding.

        Raises:
            ConfigError: there is no attention over the source.
        """


class ModelScorer(Scorer):
    """One translation model."""

    def __init__(self, model: TranslationModel) -> None:
        self.model = model

    @property
    @override
    def position_limit(self) -> int | None:
        return self.model.position_limit

    @override
    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        return self.model.encode(source, source_mask)

    @override
    def start(self, memory: Memory, beam: int = 1) -> State:
        return self.model.start(memory, beam)

    @override
    def step(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        hidden, state = self.model.decode(target, memory, state)
        logits = self.model.logits(hidden)
        # Summed over a vocabulary in bfloat16, small probabilities would be lost altogether.
        wide = torch.promote_types(logits.dtype, torch.float32)
        return torch.log_softmax(logits, dim=-1, dtype=wide), state

    @override
    def attention(self, target: Tensor, memory: Memory) -> Tensor:
        """The mean over layers and heads.

        Wu et al. 2016 have one attention layer with one head, where the mean changes nothing.
        """
        try:
            weights = self.model.attention_weights(target, memory)
        except TypeError as error:
            raise ConfigError(
                f"{error}, which search.coverage_penalty needs; set it to 0"
            ) from error
        # (rows, layers, heads, target, source) to (rows, target, source)
        return weights.to(torch.promote_types(weights.dtype, torch.float32)).mean((1, 2))


class Ensemble(Scorer):
    """The weighted average of several scorers over one target vocabulary.

    ``linear`` averages probabilities: a piece scores well if one scorer is sure of it.
    ``log-linear`` averages log-probabilities and normalises: every scorer must find it likely.

    Raises:
        ConfigError: the list of scorers is empty, or a scorer lacks a positive, finite weight.
    """

    def __init__(
        self,
        scorers: Sequence[Scorer],
        weights: Sequence[float] | None = None,
        kind: EnsembleKind = "linear",
    ) -> None:
        weights = [1.0] * len(scorers) if weights is None else list(weights)
        if not scorers or len(weights) != len(scorers) or not all(map(_is_weight, weights)):
            raise ConfigError(
                f"an ensemble of {len(scorers)} needs one positive weight for each model, at most "
                f"1e9 and at least 1e-9, found {weights}"
            )
        self.scorers = list(scorers)
        self.weights = [weight / sum(weights) for weight in weights]
        self.kind = kind

    @property
    @override
    def position_limit(self) -> int | None:
        return _lowest_limit(self.scorers)

    @override
    def encode(self, source: Tensor, source_mask: Tensor) -> list[Any]:
        return [scorer.encode(source, source_mask) for scorer in self.scorers]

    @override
    def start(self, memory: list[Any], beam: int = 1) -> list[Any]:
        return [scorer.start(part, beam) for scorer, part in zip(self.scorers, memory, strict=True)]

    @override
    def step(self, target: Tensor, memory: list[Any], state: list[Any]) -> tuple[Tensor, list[Any]]:
        steps = [
            scorer.step(target, *parts)
            for scorer, *parts in zip(self.scorers, memory, state, strict=True)
        ]
        scores = [log_probabilities for log_probabilities, _ in steps]
        return self._average(scores), [state for _, state in steps]

    @override
    def attention(self, target: Tensor, memory: list[Any]) -> Tensor:
        parts = zip(self.scorers, memory, self.weights, strict=True)
        weighted = [scorer.attention(target, part) * weight for scorer, part, weight in parts]
        return reduce(torch.add, weighted)

    def _average(self, scores: list[Tensor]) -> Tensor:
        if self.kind == "linear":
            terms = zip(scores, self.weights, strict=True)
            return reduce(torch.logaddexp, [score + math.log(weight) for score, weight in terms])
        weighted = [score * weight for score, weight in zip(scores, self.weights, strict=True)]
        return torch.log_softmax(reduce(torch.add, weighted), dim=-1)


class FusedScorer(Scorer):
    """Shallow fusion: a translation scorer plus a weighted language model.

    ``log p(y_t) + weight * log p_lm(y_t)`` (Gulcehre et al. 2015, arXiv:1503.03535, section 4.1).
    The sum is not normalised, as in the paper: it ranks continuations and is not a probability.

    ``language_model`` is of the same target vocabulary, and scores the output alone.

    Raises:
        ConfigError: the weight is not positive and finite.
    """

    def __init__(self, translation: Scorer, language_model: Scorer, weight: float) -> None:
        if not _is_weight(weight):
            raise ConfigError(
                f"the weight of a language model is positive, at most 1e9 and at least 1e-9, found "
                f"{weight}"
            )
        self.translation, self.language_model, self.weight = translation, language_model, weight

    @property
    @override
    def position_limit(self) -> int | None:
        return _lowest_limit([self.translation, self.language_model])

    @override
    def encode(self, source: Tensor, source_mask: Tensor) -> list[Any]:
        """The memories of the two.

        A language model reads no source and only counts the sentences: one id per sentence is
        enough, and it is of the target vocabulary.
        """
        begin = source.new_full((len(source), 1), BOS)
        nothing = self.language_model.encode(begin, torch.ones_like(begin, dtype=torch.bool))
        return [self.translation.encode(source, source_mask), nothing]

    @override
    def start(self, memory: list[Any], beam: int = 1) -> list[Any]:
        translation, language_model = memory
        return [
            self.translation.start(translation, beam),
            self.language_model.start(language_model, beam),
        ]

    @override
    def step(self, target: Tensor, memory: list[Any], state: list[Any]) -> tuple[Tensor, list[Any]]:
        scores, translation = self.translation.step(target, memory[0], state[0])
        opinion, language_model = self.language_model.step(target, memory[1], state[1])
        return scores + self.weight * opinion, [translation, language_model]

    @override
    def attention(self, target: Tensor, memory: list[Any]) -> Tensor:
        return self.translation.attention(target, memory[0])


def _lowest_limit(scorers: Iterable[Scorer]) -> int | None:
    limits = [scorer.position_limit for scorer in scorers]
    return min((limit for limit in limits if limit is not None), default=None)


def _is_weight(weight: float) -> bool:
    """Whether a weight is positive, finite and near enough to 1 to avoid underflow."""
    return _LEAST_WEIGHT <= weight <= _GREATEST_WEIGHT


@torch.inference_mode()
def score_targets(
    scorer: Scorer,
    source: Tensor,
    source_mask: Tensor,
    target_input: Tensor,
    target_output: Tensor,
) -> Tensor:
    """Log-probabilities of given targets (forced decoding), ``(batch,)``, float64.

    The end symbol counts, padding does not.  Positions are read in chunks through the same
    ``step`` that search calls, so that no ``(batch, target, vocabulary)`` tensor is ever built.

    Args:
        scorer: the model, ensemble or other scorer.
        source: ids ``(batch, source)``.
        source_mask: ``(batch, source)``, True is a real token.
        target_input: ``(batch, target)``: begin symbol and ids.
        target_output: ``(batch, target)``: ids and end symbol, then padding.
    """
    memory = scorer.encode(source, source_mask)
    state = scorer.start(memory)
    total = torch.zeros(len(source), dtype=torch.float64, device=source.device)
    position, chunk = 0, 1  # the first position is read alone, to learn the vocabulary's size
    while position < target_input.size(1):
        window = slice(position, position + chunk)
        log_probabilities, state = scorer.step(target_input[:, window], memory, state)
        wanted = target_output[:, window]
        scores = log_probabilities.gather(2, wanted.unsqueeze(2)).squeeze(2)  # (batch, chunk)
        total += scores.double().masked_fill(wanted == PAD, 0.0).sum(1)
        position += chunk
        chunk = max(1, _ELEMENTS_AT_ONCE // (len(source) * log_probabilities.size(2)))
    return total
