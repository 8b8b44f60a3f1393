"""Formats of runs of words (ECMA-376, part 1, sections 17.3.2 and 21.1.2.3).

Two runs look the same if their properties are equal, apart from notes of programs: the language of
the spelling, author and date, and the order of typing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.inline_items import Item
from dragoman.documents.office.paragraph import RunFormat

_NOTED_ELEMENTS = frozenset(["w:lang", "w:noProof", "w:del", "w:ins", "w:moveFrom", "w:moveTo"])
"""Properties that show nothing.  The last four are about the mark of the paragraph."""
_NOTED_ATTRIBUTES = frozenset(
    ["altLang", "dirty", "err", "hint", "lang", "noProof", "smtClean", "smtId"]
)
_TRACKED_CHANGE = "w:rPrChange"
_OF_TRACKED_CHANGE = frozenset(["author", "date", "dateUtc", "id"])
_REVISION = re.compile(r"rsid\w*")
_TOGGLE_NAMES = """
    b bCs caps cs dstrike emboss i iCs imprint oMath outline rtl shadow smallCaps snapToGrid
    specVanish strike vanish webHidden
"""
_TOGGLES = frozenset(f"w:{name}" for name in _TOGGLE_NAMES.split())
_STATES = {"": "", "1": "", "true": "", "on": "", "0": "0", "false": "0", "off": "0"}
"""Values of a toggle: none is "on".  "off" is not the same as no toggle, as a style may set it."""
_SEEN_ON_SPACES = re.compile(
    r"<\w+:(?:u|strike|dstrike|highlight|shd|bdr|em|hlinkClick)\b|\s(?:u|strike)="
)
_LETTER = re.compile(r"[^\W\d_]")
_BLANK = 3
"""Spaces: as many as are a blank to fill in, if they are underlined."""


class _Property(NamedTuple):
    name: str
    attributes: tuple[tuple[str, str], ...]
    children: list[_Property]

    @property
    def key(self) -> str:
        """The same for properties that are equal."""
        attributes = "".join(f' {name}="{value}"' for name, value in self.attributes)
        return f"<{self.name}{attributes}>{''.join(child.key for child in self.children)}</>"


def format_key(properties: Sequence[MarkupToken]) -> str:
    """A key that is equal for formats that look the same.  Empty without properties.

    ``properties`` are the tokens of the element that holds them, its own tags included.
    """
    root = _Property("", (), [])
    opened = [root]
    hidden = 0  # depth of what shows nothing
    for token in properties:
        if token.kind == "close":
            hidden, is_seen = max(0, hidden - 1), not hidden
            if is_seen:
                opened.pop()
        elif token.kind in ("open", "empty"):
            if hidden or token.name in _NOTED_ELEMENTS:
                hidden += token.kind == "open"
                continue
            seen = _Property(token.name, _attributes(token), [])
            opened[-1].children.append(seen)
            if token.kind == "open":
                opened.append(seen)
    if not root.children:
        return ""
    whole = root.children[0]
    # The schema has an order for the properties, which some programs do not keep to.
    parts = sorted(child.key for child in whole.children)
    return "".join([*(f" {name}={value}" for name, value in whole.attributes), *parts])


def is_seen_on_spaces(key: str) -> bool:
    """Whether white space in a format looks different, as it does if it is underlined."""
    return _SEEN_ON_SPACES.search(key) is not None


def _attributes(token: MarkupToken) -> tuple[tuple[str, str], ...]:
    seen = []
    for name, value in token.attributes.items():
        local = name.rpartition(":")[2]
        is_noted = local in _NOTED_ATTRIBUTES or _REVISION.fullmatch(local)
        if is_noted or name.startswith("xmlns"):
            continue
        if token.name == _TRACKED_CHANGE and local in _OF_TRACKED_CHANGE:
            continue
        if token.name in _TOGGLES and local == "val":
            state = _STATES.get(value.strip(), value)
            if state:
                seen.append((name, state))
            continue
        seen.append((name, value))
    return tuple(sorted(seen))


def smoothed(items: Sequence[Item]) -> None:
    """Give white space the format of words beside it, so that it needs no mark.

    Texts end at visible white space, such as an underlined blank to fill in.
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
        formats = [
            neighbour.format
            for neighbour in beside
            if neighbour.format and neighbour.owner == gap.owner
        ]
        alike = [form for form in formats if is_seen_on_spaces(form.key) == is_seen]
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
