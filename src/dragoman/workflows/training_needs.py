"""What training needs whatever its steps: memory, and text for the number of parameters."""

from __future__ import annotations

from dragoman.models.cost import Cost
from dragoman.training.objectives.chunks import CACHED_SCORES, CHUNK_SCORES

# Of an epoch's: the recipes have 0.5 (WMT 2014), 6 (Multi30k) and 27 (Home Assistant, en-ko).
MOST_PARAMETERS_PER_TOKEN = 100
"""Parameters that learn, per target token of the text, from which a model memorises it."""
_LIBRARIES = 400e6  # bytes taken by PyTorch itself


def static_memory(sizes: Cost) -> float:
    """Weights, gradient and two moments in float32; PyTorch; one chunk of the loss.

    Weights that do not learn exist twice, see
    :class:`~dragoman.training.sharding.replicas.Replicas`.
    """
    # Per chunk: the scores and their gradient, and the probabilities of a part of them.
    weights = 16 * sizes.learned_parameters + 8 * sizes.frozen_parameters
    return weights + _LIBRARIES + 8 * CHUNK_SCORES + 4 * CACHED_SCORES


def bytes_in_words(count: float) -> str:
    """A number of bytes as people read it, such as ``1.2 GB``."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
