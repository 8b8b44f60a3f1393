"""How much the largest tensor of a computation holds."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class LargestTensor(TorchDispatchMode):
    """Notes how many numbers the largest tensor holds that comes of any operation.

    And the largest of real numbers.
    """

    largest = 0
    largest_real = 0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.largest = max(self.largest, result.numel())
            if result.is_floating_point():
                self.largest_real = max(self.largest_real, result.numel())
        return result
