"""Sentences of random pieces, and what a model says of them: an export must say the same."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dragoman.models.interface import TranslationModel
from dragoman.saved.saved_config import SavedModel
from dragoman.text.vocabularies.vocabulary import BOS, EOS, Vocabulary

COUNT = 20
_LONGEST = 24  # pieces

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True)
class Probe:
    """A pair of sentences that mean nothing, and the model's log-probabilities of it."""

    source: list[int]
    """Ids, closed by the end symbol."""
    target: list[int]
    """Ids, closed by the end symbol."""
    log_probabilities: Floats
    """Of every piece at every target position, ``(target, target_vocabulary)``."""

    @property
    def of_target(self) -> Floats:
        """Log-probability of each target piece after those before it, ``(target,)``."""
        return self.log_probabilities[range(len(self.target)), self.target]


def probes(saved: SavedModel, count: int = COUNT, seed: int = 1) -> list[Probe]:
    """Draw pairs of all lengths up to 24 pieces, and score them with the model.

    Args:
        saved: a model that reads a source.
        count: number of pairs.
        seed: seed of the pieces.
    """
    rng = random.Random(seed)
    longest = min(saved.model.position_limit or _LONGEST, _LONGEST) - 1
    kinds = [_ordinary(vocabulary) for vocabulary in saved.vocabularies]
    found = []
    for number in range(count):
        length = 1 + number * (longest - 1) // max(count - 1, 1)
        source, target = ([*rng.choices(kind, k=length), EOS] for kind in kinds)
        found.append(Probe(source, target, _scores(saved.model, source, target)))
    return found


def _ordinary(vocabulary: Vocabulary) -> list[int]:
    """The pieces of words or, without any, all but the special pieces."""
    atoms = vocabulary.atoms
    words = [number for number, atom in enumerate(atoms) if not atom]
    return words or list(range(EOS + 1, len(vocabulary))) or [EOS]


def _scores(model: TranslationModel, source: Sequence[int], target: Sequence[int]) -> Floats:
    device = next(model.parameters()).device
    ids = torch.tensor([source], device=device)  # (1, source)
    read = torch.tensor([[BOS, *target[:-1]]], device=device)  # (1, target)
    with torch.inference_mode():
        memory = model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
        hidden, _ = model.decode(read, memory, model.start(memory))
        scores = model.logits(hidden)[0].float().log_softmax(-1)  # (target, target_vocabulary)
    found: Floats = scores.cpu().numpy()
    return found


def largest(gaps: Iterable[float]) -> float:
    """The largest difference; NaN if any is, which Python's ``max`` may miss."""
    return float(np.max(list(gaps)))


def batches(found: Sequence[Probe], size: int) -> Iterator[Sequence[Probe]]:
    """Probes in batches of sentences of unlike length, as padding would change them if it could."""
    step = -(-len(found) // size)
    for start in range(step):
        yield found[start::step]
