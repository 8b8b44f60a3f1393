"""Lines of text to translate, and streams of lines with their translations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import count, islice, repeat
from typing import NamedTuple, TypeVar

from dragoman.core.arguments import check_lines, check_list
from dragoman.core.errors import DataError, UsageError
from dragoman.core.wording import shown
from dragoman.text.terms.terminology import LexicalConstraint
from dragoman.translation.outputs import Translation

Item = TypeVar("Item")
Constraints = tuple[LexicalConstraint, ...] | None
"""Requirements for a translation; None if nothing was requested."""


@dataclass(frozen=True)
class Line:
    """A line to translate."""

    text: str
    """The text as the models read it, for example with its context."""
    prefix: str
    """The beginning of its translation."""
    number: int
    """Number in the whole input, from 0.  It seeds sampling; errors report it, counted from 1."""
    given: str
    """The line as the caller gave it."""
    constraints: Constraints = None
    """Requirements for its translation."""


class TranslatedLine(NamedTuple):
    """A line and its translations: the item of every stream of translations."""

    line: Line
    translations: list[Translation]
    """At least one, best first."""


def numbered(
    lines: Iterable[str], prefix: str | Iterable[str], numbers: Iterable[int] | None
) -> Iterator[Line]:
    """Lines with their prefixes and numbers.

    Args:
        lines: the lines to translate.
        prefix: one for all lines, or one per line.
        numbers: of the lines in the whole input, from 0; None counts them here.  An iterator may
            go on for ever.

    Raises:
        UsageError: at once, if an argument has the wrong type; later, if one of its items has.
        DataError: on reaching a line that has no prefix or number; after the last line, if there
            is a further prefix or number.
    """
    texts = check_lines(lines)
    prefixes = repeat(prefix) if isinstance(prefix, str) else check_lines(prefix, "prefix")
    given = count() if numbers is None else check_list(numbers, "numbers", "whole numbers")
    finite = {} if isinstance(prefix, str) else {"prefixes": prefixes}
    if isinstance(numbers, Sized):
        finite["numbers"] = given
    return _joined(texts, prefixes, given, finite)


def _joined(
    lines: Iterator[str],
    prefixes: Iterator[str],
    numbers: Iterator[int],
    finite: Mapping[str, Iterator[object]],
) -> Iterator[Line]:
    """Lines with their prefixes and numbers; iterators in ``finite`` must end with the lines."""
    place = -1
    for place, text in enumerate(lines):
        prefix, number = next(prefixes, None), next(numbers, None)
        if prefix is None or number is None:
            name = "prefixes" if prefix is None else "numbers"
            raise DataError(f"{name}: found {place}, fewer than there are lines; give one per line")
        if not isinstance(number, int) or number < 0:
            raise UsageError(f"numbers: expected whole numbers from 0 on, found {shown(number)}")
        yield Line(text, prefix, number, text)
    for name, rest in finite.items():
        if next(rest, None) is not None:
            raise DataError(f"{name}: found more than the {place + 1} lines; give one per line")


def buffered(lines: Iterator[Item], size: int) -> Iterator[list[Item]]:
    """Lines in lists of at most ``size``; if reading fails, lines before the failure come first."""
    failure: Exception | None = None
    while failure is None:
        buffer: list[Item] = []
        try:
            for line in islice(lines, size):
                buffer.append(line)
        except Exception as error:  # the caller's iterator may raise anything
            failure = error
        if buffer:
            yield buffer
        elif failure is None:
            return
    raise failure
