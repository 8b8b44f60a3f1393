"""Placeholders for what differs between any two runs of the same code."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MEASURED = "seconds|tokens_per_second|date|created|time|timestamp|modified_ns|changed_ns|inode"
"""Keys of JSON whose values a clock measured."""

_NUMBER = r"(?:(?<![\w.])\d[\d,]*(?:\.\d+)?)"
_PATTERNS = {
    rf'("(?:{_MEASURED})": ?)("[^"]*"|[-+.\deE]+)': r"\1MEASURED",
    r"(?m)( ± +[\d.]+ +)\d+\.\d(?= |$)": r"\1N",  # seconds, in the table of tune
    r"(\| \d+ \| [\d,]+ \|) \d+\.\d \|": r"\1 N |",  # minutes, in that of show training
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?": "TIME",
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?: UTC)?": "TIME",
    r"\d{4}-\d\d-\d\d": "DATE",
    rf"{_NUMBER} s\b": "N s",
    rf"{_NUMBER} (milliseconds?|second|minute|hour|machine hour)s?\b": r"N \1s",
    rf"{_NUMBER} ([\w ]*)(?:/s|/min|per second|a second)\b": r"N \1/s",
    rf"{_NUMBER} (B|kB|KiB|MB|MiB|GB|GiB|TB|TiB)\b": r"N \1",
    r"\bdg_[\w-]+": "KEY",
    r"(127\.0\.0\.1|localhost):\d+": r"\1:PORT",
    r"\b[0-9a-f]{64}\b": "DIGEST",
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b": "UUID",
}


def masked(text: str, names: Mapping[str, str], *, is_timed: bool = True) -> str:
    """A text with placeholders for names (such as folders), times, speeds and amounts of memory.

    Args:
        text: printed or sent.
        names: what is replaced, and by which placeholders.
        is_timed: whether times, speeds and the like are replaced, too.
    """
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    for pattern, placeholder in _PATTERNS.items() if is_timed else ():
        text = re.sub(pattern, placeholder, text)
    return text
