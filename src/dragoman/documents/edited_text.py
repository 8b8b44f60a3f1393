"""A text in which some parts are written anew."""

from __future__ import annotations

from collections.abc import Iterable


def edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with other parts in their places; all else stays as it is.

    Args:
        text: as it was.
        edits: start and stop of each part, and what replaces it, in order and apart.
    """
    written, end = list[str](), 0
    for start, stop, new in edits:
        written += [text[end:start], new]
        end = stop
    return "".join([*written, text[end:]])
