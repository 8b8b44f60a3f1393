"""Recognising that memory ran out, whoever says so."""

from __future__ import annotations

import re

# As worded by PyTorch, on CPU and GPU, by oneDNN and by the operating system.
_SAID = re.compile(
    "out of memory|can't allocate memory|not enough memory|Cannot allocate|bad_?alloc",
    re.IGNORECASE,
)
# Where PyTorch's code noticed it.
_PLACE = re.compile(r"^\[enforce fail at [^\]]*\] err == 0\. ")
_LONGEST = 70  # characters


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is not enough memory, of the machine or of a GPU.

    PyTorch raises ``OutOfMemoryError`` for a GPU, and a ``RuntimeError`` with a text of its own for
    the machine's memory; NumPy and Python raise ``MemoryError``.
    """
    return isinstance(error, MemoryError) or _SAID.search(str(error)) is not None


def memory_words(error: BaseException) -> str:
    """The message of such an error, short and in one line."""
    said = _PLACE.sub("", " ".join(str(error).split()))
    return said[:_LONGEST] or type(error).__name__
