"""Memory that runs out, in the words of those who notice."""

from __future__ import annotations

import errno
import os

import pytest
import torch

from dragoman.core.memory import is_out_of_memory, memory_words


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        RuntimeError("std::bad_alloc"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB."),
    ],
)
def test_whoever_says_it_is_understood(error: Exception) -> None:
    assert is_out_of_memory(error)
    assert memory_words(error)


def test_what_pytorch_itself_raises_is_understood_and_told_shortly() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**60, dtype=torch.int8)
    assert is_out_of_memory(raised.value)
    assert memory_words(raised.value).startswith("DefaultCPUAllocator: can't allocate memory")


def test_other_errors_are_not() -> None:
    assert not is_out_of_memory(RuntimeError("The size of tensor a (3) must match"))
