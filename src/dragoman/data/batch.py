"""Sentence pairs as padded tensors, and outputs of the model in training for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dragoman.core.ranges import IntArray, flattened
from dragoman.text.vocabularies import BOS, EOS, PAD

if TYPE_CHECKING:
    from dragoman.data.rewriting import Sentences


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as padded tensors."""

    source: Tensor
    """Ids, end symbol, padding; int64, ``(batch, source)``."""
    source_mask: Tensor
    """True for real tokens; bool, ``(batch, source)``."""
    target_input: Tensor
    """The decoder's input: begin symbol, ids, padding; int64, ``(batch, target)``."""
    target_output: Tensor
    """The expected output: ids, end symbol, padding; int64, ``(batch, target)``."""
    rows: Tensor
    """Row of the store, or number of the given sentence; int64, ``(batch,)``, on the CPU."""
    target_tokens: int
    """Target positions other than padding, including end symbols."""
    alignments: Tensor | None = None
    """Links between pieces of ``target_output`` and the source; bool, ``(batch, target, source)``.
    None if no pair has links.
    """
    parts: Tensor | None = None
    """Part of the corpus of each row, see :attr:`.batches.Batches.parts`; int64, ``(batch,)``, on
    the CPU.  None if sentences were given.
    """
    candidates: RatedCandidates | None = None
    """Outputs of the model in training, on its device; None unless the objective needs them."""

    @property
    def sentences(self) -> int:
        """Number of pairs."""
        return len(self.source)

    def select(self, sentences: Tensor) -> Batch:
        """Select some of the pairs, and remove padding that only the others need.

        Args:
            sentences: indices of one or more pairs, ``(selected,)``, on the CPU.
        """
        on_device = sentences.to(self.source.device)
        mask, output = self.source_mask[on_device], self.target_output[on_device]
        real = output != PAD  # (selected, target)
        source_end, target_end = int(mask.sum(1).max()), int(real.sum(1).max())
        links = None
        if self.alignments is not None:
            links = self.alignments[on_device, :target_end, :source_end]
        return Batch(
            source=self.source[on_device, :source_end],
            source_mask=mask[:, :source_end],
            target_input=self.target_input[on_device, :target_end],
            target_output=output[:, :target_end],
            rows=self.rows[sentences],
            target_tokens=int(real.sum()),
            alignments=links if links is not None and bool(links.any()) else None,
            parts=None if self.parts is None else self.parts[sentences],
            candidates=None if self.candidates is None else self.candidates.select(on_device),
        )

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on ``device``; the host does not wait for a copy to a GPU."""
        target = torch.device(device)

        def move(tensor: Tensor) -> Tensor:
            if target.type == "cuda" and tensor.device.type == "cpu":
                tensor = tensor.pin_memory()  # only pinned memory is copied asynchronously
            return tensor.to(target, non_blocking=True)

        return replace(
            self,
            source=move(self.source),
            source_mask=move(self.source_mask),
            target_input=move(self.target_input),
            target_output=move(self.target_output),
            alignments=None if self.alignments is None else move(self.alignments),
        )


def pad_sources(sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Source sentences as padded tensors for the encoder.

    Args:
        sources: ids of each sentence, without end symbol; an empty sentence is allowed.

    Returns:
        ``source``: ids, end symbol, padding; int64, ``(batch, source)``.
        ``source_mask``: True for real tokens; bool, ``(batch, source)``.
    """
    ids, mask = _with_end(*flattened(sources))
    return torch.from_numpy(ids), torch.from_numpy(mask)


def real_ids(row: list[int]) -> list[int]:
    """The ids of a padded row before its end symbol."""
    return row[: row.index(EOS)] if EOS in row else [i for i in row if i != PAD]


def make_batch(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """A batch of the given pairs, in the given order.

    Args:
        sources: ids of each source sentence, without end symbol.
        targets: ids of each target sentence, without begin and end symbol.
    """
    assert len(sources) == len(targets), "a pair has two sides"
    rows = np.arange(len(sources), dtype=np.int64)
    return assemble(rows, flattened(sources), flattened(targets))


def _with_end(
    ids: npt.NDArray[np.integer], lengths: IntArray
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Sentences as padded rows, each with an end symbol, and the mask of real tokens."""
    width = int(lengths.max(initial=0)) + 1
    columns = np.arange(width)
    padded = np.full((len(lengths), width), PAD, dtype=np.int64)  # (batch, width)
    padded[columns < lengths[:, None]] = ids
    padded[np.arange(len(lengths)), lengths] = EOS
    return padded, columns <= lengths[:, None]


def assemble(rows: IntArray, source: Sentences, target: Sentences) -> Batch:
    """A batch of these rows of a store, from the ids and lengths of each side."""
    source_ids, source_mask = _with_end(*source)
    target_output, _ = _with_end(*target)
    target_ids, target_lengths = target
    target_input = np.full_like(target_output, PAD)
    target_input[:, 0] = BOS
    columns = np.arange(1, target_input.shape[1])
    target_input[:, 1:][columns <= target_lengths[:, None]] = target_ids
    return Batch(
        source=torch.from_numpy(source_ids),
        source_mask=torch.from_numpy(source_mask),
        target_input=torch.from_numpy(target_input),
        target_output=torch.from_numpy(target_output),
        rows=torch.from_numpy(rows),
        target_tokens=int(target_lengths.sum()) + len(rows),
    )


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
