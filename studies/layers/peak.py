"""Peak memory of tensors, counted byte by byte.

Whole blocks of memory ("storages") are counted, each once, as in ``dragoman.training.step``.
Temporary memory of a single operation, freed before it returns, is not seen.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def peak_bytes(run: Callable[[], object]) -> int:
    """Peak bytes of the tensors that ``run`` creates, including those of its backward pass."""
    with _LiveBytes() as live:
        run()
    return live.peak


class _LiveBytes(TorchDispatchMode):
    """Follows every block of memory that an operation returns until it is freed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(
        self,
        operation: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = {_key(one) for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)}
        result = operation(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and _key(tensor) not in given | self._known:
                self._follow(tensor.untyped_storage())
        self.peak = max(self.peak, self.now)
        return result

    def _follow(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        self._known.add(key)
        self.now += size
        weakref.finalize(storage, self._freed, key, size).atexit = False

    def _freed(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


def _key(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
