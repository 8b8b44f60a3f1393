"""Attention of a recurrent decoder over the source (Bahdanau et al. 2015; Luong et al. 2015).

It has one head.  The variants differ in the score of a decoder's output ``h`` and an encoder's
output ``m``.  Luong et al. call it global attention (section 3.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn
from typing_extensions import override

from dragoman.models.interface import Memory
from dragoman.models.layers.attention import beams_as_queries, normalized
from dragoman.models.layers.scoring import additive_hidden


@dataclass(frozen=True)
class AttendedMemory(Memory):
    """Vectors that queries see (``hidden``), and the keys that queries are compared with."""

    keys: Tensor  # (batch, source, d_model)
    bias: Tensor  # (batch, 1, source), minus infinity at padding


class SourceAttention(nn.Module, ABC):
    """``softmax(score(h, m)) m`` (Luong et al. 2015, section 3.1, equation 7)."""

    @abstractmethod
    def keys(self, hidden: Tensor) -> Tensor:
        """``(batch, source, width)`` to ``(batch, source, d_model)``, once per sentence."""

    @abstractmethod
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """``(batch, query, d_model)`` and ``(batch, source, d_model)`` to scores.

        Returns:
            ``(batch, query, source)``.
        """

    def weights(self, query: Tensor, memory: AttendedMemory) -> Tensor:
        """Attention weights of each query: ``(sentences, beam * length, source)``.

        Args:
            query: ``(rows, length, d_model)``.
            memory: of ``rows / beam`` sentences.
        """
        query = beams_as_queries(query, len(memory.keys))
        return normalized(self.scores(query, memory.keys), memory.bias)

    def forward(self, query: Tensor, memory: AttendedMemory) -> tuple[Tensor, Tensor]:
        """Contexts, ``(rows, length, width)``, and weights of queries; see :meth:`weights`."""
        weights = self.weights(query, memory)
        context = weights @ memory.hidden  # (sentences, beam * length, width)
        return context.view(query.shape[0], query.shape[1], -1), weights


class DotAttention(SourceAttention):
    """``h . m`` (Luong et al. 2015, equation 8); both must have the same width."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        assert width == d_model, "ensured by the configuration"

    def keys(self, hidden: Tensor) -> Tensor:
        """The encoder's outputs, unchanged."""
        return hidden

    @override
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(1, 2)


class GeneralAttention(SourceAttention):
    """``h . W_a m`` (Luong et al. 2015, equation 8)."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.key = nn.Linear(width, d_model, bias=False)

    def keys(self, hidden: Tensor) -> Tensor:
        """``W_a m``."""
        return self.key(hidden)

    @override
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(1, 2)


class AdditiveAttention(SourceAttention):
    """``v_a . tanh(W_a h + U_a m)`` (Bahdanau et al. 2015, appendix A.1.2).

    Unlike the other two scores, it takes ``d_model`` numbers per pair of target and source
    positions.
    """

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(width, d_model, bias=False)
        self.score = nn.Linear(d_model, 1, bias=False)

    def keys(self, hidden: Tensor) -> Tensor:
        """``U_a m``."""
        return self.key(hidden)

    @override
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        # (batch, query, source, d_model) to (batch, query, source)
        return self.score(additive_hidden(self.query(query), keys)).squeeze(-1)


SCORES: dict[str, type[AdditiveAttention | DotAttention | GeneralAttention]] = {
    "additive": AdditiveAttention,
    "dot": DotAttention,
    "general": GeneralAttention,
}
