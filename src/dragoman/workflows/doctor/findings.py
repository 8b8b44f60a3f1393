"""Findings of the doctor: one per line, with its severity."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["ok", "warning", "error"]


class Finding(NamedTuple):
    """The result of one check."""

    level: Level
    """``warning``: training works, but probably not as intended; ``error``: it will fail."""
    topic: str
    """What was checked, in one word."""
    text: str
    """What was found and, if it is not fine, what to do."""


def ok(topic: str, text: str) -> Finding:
    """All is well."""
    return Finding("ok", topic, text)


def warning(topic: str, text: str) -> Finding:
    """Training works, but probably not as intended."""
    return Finding("warning", topic, text)


def error(topic: str, text: str) -> Finding:
    """Training will fail."""
    return Finding("error", topic, text)
