"""One complete training step on given batches, for measuring speed."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.training.sharding.interface import Sharding
from dragoman.training.tasks import Objective


def take_step(
    model: TranslationModel,
    sharding: Sharding,
    objective: Objective,
    batches: Sequence[Batch],
    learning_rate: float = 0.0,
) -> int:
    """Compute loss and gradient and update, as in training; returns when the device has finished.

    Args:
        model: in training mode, owned by ``sharding``.
        sharding: of the model.
        objective: the objective to minimise.
        batches: of the step, on the model's device.
        learning_rate: 0 does all the work and changes nothing.

    Returns:
        The number of target tokens learned from.
    """
    for batch in batches:
        objective.backward(model, batch, 1.0)
        sharding.collect()
    tokens = sum(batch.target_tokens for batch in batches)
    sharding.scale(1 / tokens)  # reads a number back, so it waits for the device
    sharding.step(learning_rate)
    return tokens
