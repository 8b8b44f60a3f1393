"""Memory kept by a forward pass, counted byte by byte from its tensors.

Whole blocks of memory ("storages") are counted, each once for any number of views.  Memory that an
operation allocates and frees before it returns is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def activation_bytes(forward: Callable[[], object], given: Iterable[Tensor]) -> int:
    """Bytes that a forward pass keeps for its backward pass: its activations.

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
