"""Wording of messages: lists of problems and user input in one line of bounded length."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

MOST = 20
"""Maximum number of problems or names in a message; a file may have thousands."""

CHOICES = "dragoman.choices"
"""Name of the logger of what Dragoman chooses by itself and users may want to know, at the level of
information: the command line shows it as progress."""


def listed(problems: Sequence[str], others: int = 0) -> str:
    """Several problems, a sentence each, as one numbered line; a single problem unchanged.

    ``others`` is the number of further problems, which are only counted.
    """
    first = problems[:MOST]
    others += len(problems) - len(first)
    if len(first) == 1 and not others:
        return first[0]
    numbered = "  ".join(f"({number}) {text}" for number, text in enumerate(first, 1))
    return f"{len(first) + others} problems: {numbered}" + f"  and {others} more" * bool(others)


def named(names: Iterable[str]) -> str:
    """The first of any number of names from a file, each on one line and truncated if long."""
    known = [f"{' '.join(name.split()):.80}" for name in names]
    more = f" and {len(known) - MOST:,} more" if len(known) > MOST else ""
    return ", ".join(known[:MOST]) + more


def in_shell(value: Path | str) -> str:
    """A path or another argument quoted for pasting into a shell command."""
    return shlex.quote(str(value))


def shown(value: Any) -> str:
    """The Python representation of any ``value``, on one line and truncated if long."""
    try:
        return " ".join(line.strip() for line in f"{value!r:.80}".splitlines())
    except Exception:  # anything from a foreign class, RecursionError from nested lists
        if isinstance(value, int):  # Python refuses to write more than a few thousand digits
            return "a number of thousands of digits"
        return f"a {type(value).__name__} that cannot be shown"
