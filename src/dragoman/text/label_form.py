"""The form of labels: one word, which no vocabulary splits."""

from __future__ import annotations

from dragoman.text.normalization import normalize
from dragoman.text.tags import SPACE_SIGN

_OF_SYMBOLS = {*"<>", SPACE_SIGN}


def label_problem(label: str) -> str | None:
    """Why a text cannot be a label; None if it can."""
    if not label:
        return "a label cannot be empty"
    if label.split() != [label] or normalize(label) != label or set(label) & _OF_SYMBOLS:
        return (
            "a label is one word such as en or user-interface, without spaces, < and >: "
            f"{label[:40]!r}"
        )
    return None
