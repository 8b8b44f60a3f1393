"""Checks of configuration, text and machine before training, to detect problems early."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["ok", "warning", "error"]


class Diagnosis(NamedTuple):
    """The result of one check."""

    level: Level
    """``warning``: training works, but probably not as intended; ``error``: training will fail."""
    topic: str
    """Topic of the check, in one word."""
    text: str
    """Result of the check, with a remedy unless it is fine."""


def ok(topic: str, text: str) -> Diagnosis:
    """All is well."""
    return Diagnosis("ok", topic, text)


def warning(topic: str, text: str) -> Diagnosis:
    """Training works, but probably not as intended."""
    return Diagnosis("warning", topic, text)


def error(topic: str, text: str) -> Diagnosis:
    """Training will fail."""
    return Diagnosis("error", topic, text)
