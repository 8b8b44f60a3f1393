"""Recognising that memory ran out, from the errors of different libraries."""

from __future__ import annotations

import re

# The wordings of PyTorch (CPU and GPU), oneDNN and the operating system.
_SAID = re.compile(
    "out of memory|can't allocate memory|not enough memory|Cannot allocate|bad_?alloc",
    re.IGNORECASE,
)
# The place in PyTorch's code that raised the error.
_PLACE = re.compile(r"^\[enforce fail at [^\]]*\] err == 0\. ")
_LONGEST = 70  # characters


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory of the machine or of a GPU ran out.

    PyTorch raises ``OutOfMemoryError`` for a GPU, and a ``RuntimeError`` with a particular text for
    the machine's memory; NumPy and Python raise ``MemoryError``.
    """
    return isinstance(error, MemoryError) or _SAID.search(str(error)) is not None


def memory_words(error: BaseException) -> str:
    """The message of such an error, short and in one line."""
    said = _PLACE.sub("", " ".join(str(error).split()))
    return said[:_LONGEST] or type(error).__name__
