"""One whole step of training on one batch, for whoever measures speed."""

from __future__ import annotations

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.training.loss import backward
from dragoman.training.optimizer import FlatOptimizer


def take_step(
    model: TranslationModel,
    optimizer: FlatOptimizer,
    batch: Batch,
    smoothing: float,
    learning_rate: float = 0.0,
) -> None:
    """Loss, gradient and update, as in training; the device has finished when this returns.

    Args:
        model: in training mode, owned by ``optimizer``.
        optimizer: of the model.
        batch: on the model's device.
        smoothing: label smoothing.
        learning_rate: 0 takes all the work and changes nothing.
    """
    backward(model, batch, smoothing)
    optimizer.collect()
    optimizer.scale(1 / batch.target_tokens)  # reads a number back, so the device has finished
    optimizer.step(learning_rate)
