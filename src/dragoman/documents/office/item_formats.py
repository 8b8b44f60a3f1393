"""The formats of the words of a paragraph, and of the white space between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dragoman.documents.office.paragraph import RunFormat
from dragoman.documents.office.paragraph_item import Item
from dragoman.documents.office.run_formats import is_seen_on_spaces

_LETTER = re.compile(r"[^\W\d_]")
_BLANK = 3
"""Spaces: as many as are a blank to fill in, if they are underlined."""


def smoothed(items: Sequence[Item]) -> None:
    """Give white space the format of words beside it, so that it has no mark of its own.

    If it is seen, as a line below a blank to fill in is, texts end there.
    """
    main = main_formats(items)
    for index, gap in enumerate(items):
        if gap.format is None or not gap.is_white:
            continue
        words = str(gap.parts[0])
        is_seen = is_seen_on_spaces(gap.format.key)
        if is_seen and len(words) >= _BLANK:
            gap.kind, gap.parts, gap.format = "edge", [gap.format.run(words)], None
            continue
        beside = [*items[index - 1 : index], *items[index + 1 : index + 2]]
        formats = [one.format for one in beside if one.format and one.owner == gap.owner]
        alike = [one for one in formats if is_seen_on_spaces(one.key) == is_seen]
        gap.format = next(iter([*alike, main[gap.owner], *formats]))


def main_formats(items: Sequence[Item]) -> dict[int, RunFormat]:
    """The format that most letters have, by element around them."""
    letters: dict[int, Counter[str]] = {}
    formats: dict[tuple[int, str], RunFormat] = {}
    for item in items:
        if item.format is not None:
            count = len(_LETTER.findall(str(item.parts[0])))
            letters.setdefault(item.owner, Counter())[item.format.key] += count
            formats.setdefault((item.owner, item.format.key), item.format)
    return {owner: formats[owner, counts.most_common(1)[0][0]] for owner, counts in letters.items()}
