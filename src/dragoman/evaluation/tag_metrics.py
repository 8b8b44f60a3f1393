"""Whether the tags of translations are those of the references, and around the same words.

Tags are whatever looks like one of HTML, and so the symbols of inline tags (``<t1>``, ``</t1>``,
``<x1>``), too.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from typing_extensions import override

from dragoman.evaluation.kept_items import CountedItems

_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*)?/?>")


class FoundTag(NamedTuple):
    """A tag of a text: with its end, or alone."""

    tag: str
    """As it is written; the first of a pair."""
    parent: str | None
    """The pair that it is in."""
    is_pair: bool
    words: tuple[str, ...]
    """Words between the tags of a pair; beside a single one, the word in front and that behind."""


class MatchingTags(CountedItems):
    """The percentage of lines with the tags of their reference, in the same structure."""

    name, title, label = "tag_structure", "tag_structure", "tag structure, %"

    @override
    def count(self, reference: str, translation: str) -> tuple[int, int]:
        return same_structure(reference, translation)


class TagPlacement(CountedItems):
    """The percentage of tags that are at the same place as in their reference."""

    name, title, label = "tag_placement", "tag_placement", "tag placement, %"

    @override
    def count(self, reference: str, translation: str) -> tuple[int, int]:
        return same_places(reference, translation)


def same_structure(reference: str, translation: str) -> tuple[int, int]:
    """1 of 1 if a translation has the tags of its reference, each in the same one, well-formed."""
    tags = find_tags(translation)
    return int(tags is not None and _structure(tags) == _structure(find_tags(reference) or [])), 1


def same_places(reference: str, translation: str) -> tuple[int, int]:
    """How many tags of a reference a translation has in the same place, of how many.

    A pair is around the same words; a single tag has the same word in front of it, or behind it.
    """
    wanted, found = find_tags(reference) or [], find_tags(translation) or []
    free = list(found)
    kept = 0
    for one in wanted:
        match = next((other for other in free if _is_there(one, other)), None)
        if match is not None:
            free.remove(match)
            kept += 1
    return kept, len(wanted)


def _is_there(one: FoundTag, other: FoundTag) -> bool:
    if (one.tag, one.is_pair) != (other.tag, other.is_pair):
        return False
    if one.is_pair:
        return one.words == other.words
    return any(ours == theirs for ours, theirs in zip(one.words, other.words, strict=True))


def _structure(tags: list[FoundTag]) -> Counter[tuple[str, str | None, bool]]:
    return Counter((one.tag, one.parent, one.is_pair) for one in tags)


def find_tags(text: str) -> list[FoundTag] | None:
    """The tags of a text, in no order; None if one ends that never began, or two cross."""
    tokens = list(_TAG.finditer(text))
    ends = _ends(tokens)
    if ends is None:
        return None
    found, opened = [], list[int]()
    for at, token in enumerate(tokens):
        if token["slash"]:
            opened.pop()
            continue
        parent = tokens[opened[-1]][0] if opened else None
        if at in ends:
            opened.append(at)
            inner = text[token.end() : tokens[ends[at]].start()]
            words = tuple(_without_tags(inner).split())
        else:
            before, behind = _without_tags(text[: token.start()]), text[token.end() :]
            beside = before.split()[-1:], _without_tags(behind).split()[:1]
            words = tuple("".join(one) for one in beside)
        found.append(FoundTag(token[0], parent, at in ends, words))
    return found


def _ends(tokens: list[re.Match[str]]) -> dict[int, int] | None:
    """The index of the end of each pair by that of its beginning; None if tags cross."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if not token["slash"]:
            opened.append(at)
            continue
        while opened and tokens[opened[-1]]["name"] != token["name"]:
            opened.pop()  # a single one
        if not opened:
            return None
        ends[opened.pop()] = at
    return ends


def _without_tags(text: str) -> str:
    return _TAG.sub("", text)
