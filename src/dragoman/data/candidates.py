"""Outputs of a model in training for a batch, as tensors, for the expected risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.text.vocabularies.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Outputs:
    """The distinct outputs for one sentence, without end symbols; the first is its reference."""

    ids: list[list[int]]
    rewards: list[float]
    """Quality of each, from 0 to 1."""
    times: list[float]
    """Number of times each is among the candidates; 0 for a reference used only for comparison."""


@dataclass(frozen=True)
class RatedCandidates:
    """The reference and the candidates of each sentence, padded."""

    target_input: Tensor
    """Begin symbol, ids, padding; int64, ``(batch, outputs, target)``.  Output 0 is the
    reference."""
    target_output: Tensor
    """Ids, end symbol, padding; int64, ``(batch, outputs, target)``.  Missing outputs are all
    padding.
    """
    rewards: Tensor
    """Quality of each output, from 0 to 1; float32, ``(batch, outputs)``."""
    times: Tensor
    """Number of times each output is among the candidates: 0 for missing outputs and for a
    reference that is no candidate; float32, ``(batch, outputs)``.
    """

    @classmethod
    def of(cls, sentences: Sequence[Outputs], device: torch.device) -> RatedCandidates:
        """The outputs of each sentence as tensors."""
        outputs = max(len(one.ids) for one in sentences)
        width = max(len(ids) for one in sentences for ids in one.ids) + 1
        read, written = (
            [
                [_padded(ids, width) for ids in _closed(one.ids, first, last, outputs)]
                for one in sentences
            ]
            for first, last in (([BOS], []), ([], [EOS]))
        )
        rewards = [[*one.rewards, *[0.0] * (outputs - len(one.ids))] for one in sentences]
        times = [[*one.times, *[0.0] * (outputs - len(one.ids))] for one in sentences]
        return cls(
            torch.tensor(read, device=device),
            torch.tensor(written, device=device),
            torch.tensor(rewards, device=device),
            torch.tensor(times, device=device),
        )

    def select(self, sentences: Tensor) -> RatedCandidates:
        """Select the outputs of some sentences.

        Args:
            sentences: their indices, ``(selected,)``, on the same device.
        """
        return RatedCandidates(
            self.target_input[sentences],
            self.target_output[sentences],
            self.rewards[sentences],
            self.times[sentences],
        )


def _closed(
    outputs: list[list[int]], first: list[int], last: list[int], count: int
) -> list[list[int]]:
    """The outputs between two symbols; empty for missing outputs."""
    return [[*first, *ids, *last] for ids in outputs] + [[]] * (count - len(outputs))


def _padded(ids: list[int], width: int) -> list[int]:
    return ids + [PAD] * (width - len(ids))
