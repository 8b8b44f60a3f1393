"""What the doctor says: one finding a line, with how bad it is."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["ok", "warning", "error"]


class Finding(NamedTuple):
    """One thing that was looked at."""

    level: Level
    """``warning``: training works, but likely not as meant; ``error``: it will fail."""
    topic: str
    """What was looked at, in one word."""
    text: str
    """What was found and, if it is not fine, what to do."""


def ok(topic: str, text: str) -> Finding:
    """Nothing wrong."""
    return Finding("ok", topic, text)


def warning(topic: str, text: str) -> Finding:
    """Training works, but likely not as meant."""
    return Finding("warning", topic, text)


def error(topic: str, text: str) -> Finding:
    """Training will fail."""
    return Finding("error", topic, text)
