"""One complete training step on given batches, to measure its speed and its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

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


def activation_bytes(forward: Callable[[], object], given: Iterable[Tensor]) -> int:
    """Bytes that a forward pass keeps for its backward pass: its activations.

    Whole blocks of memory ("storages") are counted, each once for any number of views.  Memory that
    an operation allocates and frees before it returns is not seen.

    Args:
        forward: runs the pass; it may go on to a whole training step.
        given: tensors that do not count, such as weights and the input.
    """
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = forward()
        for tensor in given:
            kept.pop(tensor.untyped_storage().data_ptr(), None)
    del output  # kept alive until here, so that no other tensor could reuse an address in ``kept``
    return sum(kept.values())
