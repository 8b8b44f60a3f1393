"""Sentences of random pieces, and a model's scores of them, which its export must give as well."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dragoman.core.errors import ExportError
from dragoman.models.interface import TranslationModel
from dragoman.saved.saved_config import SavedModel
from dragoman.text.vocabularies import BOS, EOS, Vocabulary

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


def probes(
    saved: SavedModel,
    count: int = COUNT,
    seed: int = 1,
    *,
    tags: Sequence[Sequence[int]] = ((),),
) -> list[Probe]:
    """Draw pairs of all lengths up to 24 pieces, and score them with a model that reads sources.

    Args:
        tags: ids in front of the source, in turn.
    """
    rng = random.Random(seed)
    longest = min(saved.model.position_limit or _LONGEST, _LONGEST) - 1 - max(map(len, tags))
    pieces = [_ordinary(vocabulary) for vocabulary in saved.vocabularies]
    drawn = []
    for number in range(count):
        length = 1 + number * (longest - 1) // max(count - 1, 1)
        source, target = ([*rng.choices(ordinary, k=length), EOS] for ordinary in pieces)
        source = [*tags[number % len(tags)], *source]
        drawn.append(Probe(source, target, _scores(saved.model, source, target)))
    return drawn


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
    floats: Floats = scores.cpu().numpy()
    return floats


def largest(gaps: Iterable[float]) -> float:
    """The largest difference; NaN if any is, which Python's ``max`` may miss."""
    return float(np.max(list(gaps)))


def check_gap(program: str, gap: float, allowed: float) -> None:
    """Refuse a difference of log-probabilities that is too large or NaN.

    Args:
        program: beginning of the message, such as "Marian's formulas give".
        gap: the largest difference.
        allowed: that of another order of summation.
    """
    if not gap <= allowed:
        raise ExportError(
            f"{program} log-probabilities that differ by up to {gap:.1e} from the model's "
            f"({allowed:.0e} is allowed); please report this"
        )


def batches(drawn: Sequence[Probe], size: int) -> Iterator[Sequence[Probe]]:
    """Probes in batches of sentences of unlike length, as padding would change them if it could."""
    step = -(-len(drawn) // size)
    for start in range(step):
        yield drawn[start::step]
