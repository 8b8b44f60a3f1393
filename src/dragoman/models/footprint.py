"""What a forward pass keeps in memory, counted byte by byte from its tensors.

Counted are whole blocks of memory ("storages"), each once, however many tensors are views of it.
What a single operation takes for itself and gives back before it returns is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def activation_bytes(forward: Callable[[], object], given: Iterable[Tensor]) -> int:
    """Bytes that a forward pass keeps for its backward pass: its activations.

    Args:
        forward: the pass; a whole step of training may follow in it.
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
    del output  # until here, no other tensor could get an address that is in ``kept``
    return sum(kept.values())
