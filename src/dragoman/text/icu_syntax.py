"""Messages of ICU: sentences with arguments, some of which choose a branch (``plural``).

Syntax: ICU User Guide, Formatting Messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dragoman.core.errors import DataError
from dragoman.text.word_edges import Span

_CHOOSES = re.compile(r"\{\s*([\w.-]+)\s*,\s*(plural|select|selectordinal)\s*,")
_ARGUMENT = re.compile(r"\{\s*[\w.-]+\s*(?:,\s*\w+\s*)?")
_OFFSET = re.compile(r"(?:\s*offset:\s*\d+)?")
_SELECTOR = re.compile(r"\s*(=\d{1,18}|[\w-]+)\s*\{")
QUOTED = re.compile(r"''|'[{}#|](?:[^']|'')*(?:'|$)")
"""Characters that are no syntax."""
_DEEPEST = 10
MOST_SENTENCES = 60
"""Of a message with all combinations of its branches.  One with more stays as it is."""


def has_choice(text: str) -> bool:
    """Whether a string looks like a message with branches."""
    return _CHOOSES.search(text) is not None


class NoIcuMessageError(DataError):
    """A string is no message of ICU."""


@dataclass(frozen=True)
class IcuBranch:
    """A branch of a choice."""

    selector: str
    """As it is written, with what is in front of it, up to the brace."""
    name: str
    message: IcuMessage


@dataclass(frozen=True)
class IcuChoice:
    """A part of a message that has one of several branches."""

    head: str
    """As ``{count, plural,``, with an offset."""
    argument: str
    """Its number, which is written as ``#``, too.  Empty if an offset makes them differ."""
    kind: Literal["plural", "select", "selectordinal"]
    branches: tuple[IcuBranch, ...]
    tail: str
    """The closing brace, with white space."""


IcuMessage = tuple["str | IcuChoice", ...]
"""Text as it is written, and choices within."""
Branch = tuple[str, str]
"""An argument and the name of a branch, such as ``("n", "one")``."""
Branches = frozenset[Branch]


def read_choices(source: str) -> IcuMessage:
    """The parts of a string.

    Raises:
        NoIcuMessageError: it is no message.
    """
    message, end = _read(source, 0, 0)
    if end != len(source):
        raise NoIcuMessageError("a brace too many")
    return message


def count_sentences(message: IcuMessage) -> int:
    """The number of sentences of a message, with all combinations of its branches."""
    product = 1
    for part in message:
        if not isinstance(part, str):
            product *= sum(count_sentences(branch.message) for branch in part.branches)
    return product


def joined_texts(message: IcuMessage) -> IcuMessage:
    """The same with neighbouring texts as one."""
    joined: list[str | IcuChoice] = []
    for part in message:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


def _read(source: str, place: int, depth: int) -> tuple[IcuMessage, int]:
    """A message up to the brace that closes it, and where that is."""
    if depth > _DEEPEST:
        raise NoIcuMessageError("too deep")
    parts: list[str | IcuChoice] = []
    start = place
    while place < len(source) and source[place] != "}":
        if found := QUOTED.match(source, place):
            place = found.end()
        elif source[place] != "{":
            place += 1
        elif found := _CHOOSES.match(source, place):
            if start < place:
                parts.append(source[start:place])
            choice, place = _read_choice(source, found, depth)
            parts.append(choice)
            start = place
        else:
            place = _argument_end(source, place)
    if start < place:
        parts.append(source[start:place])
    return joined_texts(tuple(parts)), place


def _read_choice(source: str, head: re.Match[str], depth: int) -> tuple[IcuChoice, int]:
    branches: list[IcuBranch] = []
    offset = _OFFSET.match(source, head.end())
    place = start = offset.end() if offset else head.end()
    while found := _SELECTOR.match(source, place):
        message, end = _read(source, found.end(), depth + 1)
        if source[end : end + 1] != "}":
            raise NoIcuMessageError("a branch without an end")
        branches.append(IcuBranch(found[0], found[1], message))
        place = end + 1
    tail = re.compile(r"\s*\}").match(source, place)
    if tail is None or "other" not in [branch.name for branch in branches]:
        raise NoIcuMessageError("no branch 'other'")
    kind: Literal["plural", "select", "selectordinal"] = (
        "plural" if head[2] == "plural" else "select" if head[2] == "select" else "selectordinal"
    )
    begin, argument = source[head.start() : start], head[1] if start == head.end() else ""
    return IcuChoice(begin, argument, kind, tuple(branches), tail[0]), tail.end()


def _argument_end(source: str, place: int) -> int:
    """End of an argument without branches, such as ``{0, number, #.##}`` and ``{{name}}``."""
    if _ARGUMENT.match(source, place) is None and not source.startswith("{{", place):
        raise NoIcuMessageError("a brace that begins nothing")
    depth = 0
    for at in range(place, len(source)):
        depth += (source[at] == "{") - (source[at] == "}")
        if not depth:
            return at + 1
    raise NoIcuMessageError("an argument without an end")


def argument_spans(source: str) -> list[Span]:
    """Where the arguments of a text without branches are, such as ``{name}``.

    Raises:
        NoIcuMessageError: its braces are none of arguments.
    """
    found, place = [], 0
    while place < len(source):
        if quoted := QUOTED.match(source, place):
            place = quoted.end()
        elif source[place] == "{":
            end = _argument_end(source, place)
            found.append((place, end))
            place = end
        elif source[place] == "}":
            raise NoIcuMessageError("a brace too many")
        else:
            place += 1
    return found


def unquoted(raw: str) -> str:
    """A text as people see it, without the apostrophes of the syntax."""

    def plain(found: re.Match[str]) -> str:
        if found[0] == "''":
            return "'"
        within = found[0][1:]
        is_closed = (len(within) - len(within.rstrip("'"))) % 2  # two of them are one of the text
        return within[: len(within) - is_closed].replace("''", "'")

    return QUOTED.sub(plain, raw)


def sentences(message: IcuMessage) -> dict[Branches, str]:
    """The sentences of a message as people see them, with ``{n}`` for ``#``.

    Each is found by the branches that it is for, such as ``("n", "one")``.  ``other`` is not among
    them, so that a language without plural forms has the same sentence by the same branches.
    """
    return {
        frozenset(one for one in branches if one[1] != "other"): unquoted(text)
        for branches, text in _combined(message).items()
    }


def sentence_pairs(source: str, target: str) -> list[tuple[str, str]]:
    """The sentences of a message and its translation, by the branches that both have.

    Without branches, and if one is no message, these are the texts themselves.
    """
    if not has_choice(source) and not has_choice(target):
        return [(source, target)]
    try:
        messages = [read_choices(text) for text in (source, target)]
    except NoIcuMessageError:
        return [(source, target)]
    if any(count_sentences(message) > MOST_SENTENCES for message in messages):
        return [(source, target)]
    here, there = map(sentences, messages)
    return [(text, there[branches]) for branches, text in here.items() if branches in there]


def _combined(message: IcuMessage) -> dict[Branches, str]:
    """The sentences of a message as they are written, by their branches."""
    found: dict[Branches, str] = {frozenset(): ""}
    for part in message:
        written = {frozenset[Branch](): part} if isinstance(part, str) else _chosen(part)
        found = {
            before | after: text + more
            for before, text in found.items()
            for after, more in written.items()
            if len(dict([*before, *after])) == len(before | after)  # one branch of an argument
        }
    return found


def _chosen(choice: IcuChoice) -> dict[Branches, str]:
    """The sentences of the branches of a choice."""
    found = {}
    for branch in choice.branches:
        own = choice.argument, branch.name
        for others, text in _combined(branch.message).items():
            if dict(others).get(own[0], own[1]) == own[1]:
                found[others | {own}] = _with_number(text, choice)
    return found


def _with_number(text: str, choice: IcuChoice) -> str:
    """A sentence with the argument of a plural in place of its sign."""
    if choice.kind == "select" or not choice.argument:
        return text
    kept = [match.span() for match in QUOTED.finditer(text)] + argument_spans(text)
    return re.sub(
        "#",
        lambda sign: (
            "#"
            if any(start <= sign.start() < stop for start, stop in kept)
            else f"{{{choice.argument}}}"
        ),
        text,
    )
