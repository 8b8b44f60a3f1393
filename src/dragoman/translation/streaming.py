"""Lines through an engine: one unbroken stream of batches, translations in order, bounded memory.

Lines are read in buffers, and those of a buffer are sorted by length.  An engine that works on
several batches at once gets the first batches of the next buffer while it still works on the last
ones of this buffer, so that it never idles between buffers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from dragoman.search import Hypothesis, SearchConfig
from dragoman.text.terms.terminology import LexicalConstraint
from dragoman.translation.engines.engine import Engine, SourceBatch
from dragoman.translation.outputs import Translation

Item = TypeVar("Item")
Constraints = tuple[LexicalConstraint, ...] | None
"""What a translation must contain; None if no one asks."""


class Line(NamedTuple):
    """A line to translate."""

    text: str
    prefix: str
    """What its translation begins with."""
    number: int
    """Its number in the whole input, from 0: sampling draws by it, and errors report it, counted
    from 1."""
    constraints: Constraints = None
    """What its translation must contain."""


@dataclass(frozen=True)
class EncodedLines:
    """Lines as ids."""

    numbers: Sequence[int]
    sources: Sequence[list[int]]
    prefixes: Sequence[list[int]] | None
    """None if no line has one."""
    translations: list[list[Translation]]
    """The translations of lines that need no search; placeholders for the others."""
    wanted: Sequence[int]
    """Indices of the lines that need search."""
    constraints: Sequence[Constraints]
    """What the translation of each must contain."""


class _Buffer:
    """Lines that are batched together."""

    def __init__(self, lines: EncodedLines, done: int, tokens: int) -> None:
        self._lines = lines
        self.translations = lines.translations
        self.groups = list(
            group_by_length(lines.wanted, lambda place: len(lines.sources[place]) + 1, tokens)
        )
        self.waiting = len(self.groups)
        self.done = done + len(lines.numbers) - len(lines.wanted)  # the others take no time

    def batch(self, group: list[int]) -> SourceBatch:
        """The batch that an engine gets for a group of places."""
        lines = self._lines
        constraints = [lines.constraints[place] or () for place in group]
        return SourceBatch(
            [lines.numbers[place] for place in group],
            [lines.sources[place] for place in group],
            None if lines.prefixes is None else [lines.prefixes[place] for place in group],
            constraints if any(constraints) else None,
        )

    def constraints(self, place: int) -> Constraints:
        """What the translation of a line must contain."""
        return self._lines.constraints[place]


class LineStream:
    """Translates lines as they come.

    Args:
        engine: carries out the searches.
        config: of search.
        prepare: converts lines of text to ids.
        finish: converts a hypothesis, and what it must contain, to a translation.
        progress: called with the number of lines translated so far, after each batch and whenever
            lines that need no search are reached.
    """

    def __init__(
        self,
        engine: Engine,
        config: SearchConfig,
        prepare: Callable[[list[Line]], EncodedLines],
        finish: Callable[[Hypothesis, Constraints], Translation],
        progress: Callable[[int], object],
    ) -> None:
        self._engine, self._config = engine, config
        self._prepare, self._finish, self._progress = prepare, finish, progress
        self._tokens = max(1, config.tokens_at_once // config.rows)
        self._read = 0  # lines so far
        self._told = 0  # to ``progress``
        self._failure: Exception | None = None

    def run(self, lines: Iterator[Line]) -> Iterator[list[Translation]]:
        """The translations of each line, in order.

        If reading ``lines`` fails, the lines before the failure are translated first.
        """
        while (buffer := self._next(lines)) is not None:
            yield from self._unbroken(buffer, lines)
        if self._failure is not None:
            raise self._failure

    def _next(self, lines: Iterator[Line]) -> _Buffer | None:
        """The next buffer; None at the end and after a failure, while others may be at work."""
        if self._failure is not None:
            return None
        read: list[Line] = []
        try:
            for line in islice(lines, self._config.buffer_lines):
                read.append(line)
        except Exception as error:  # the caller's iterator may raise anything
            self._failure = error  # after the lines before it
        if not read:
            return None
        try:
            buffer = _Buffer(self._prepare(read), self._read, self._tokens)
        except Exception as error:
            self._failure = error
            return None
        self._read += len(read)
        return buffer

    def _unbroken(self, first: _Buffer, lines: Iterator[Line]) -> Iterator[list[Translation]]:
        """Translations of ``first`` and of the buffers that directly follow it."""
        opened: deque[_Buffer] = deque()
        at_work: deque[tuple[_Buffer, list[int]]] = deque()
        batches = self._feed(first, lines, opened, at_work)
        for found in self._engine.search(batches, self._config):
            buffer, group = at_work.popleft()
            for place, hypotheses in zip(group, found, strict=True):
                wanted = buffer.constraints(place)
                buffer.translations[place] = [self._finish(one, wanted) for one in hypotheses]
            buffer.waiting -= 1
            buffer.done += len(group)
            self._tell(buffer.done)
            while opened and not opened[0].waiting:
                self._tell(opened[0].done)
                yield from opened.popleft().translations
        assert not at_work, "an engine answers every batch"
        for buffer in opened:
            self._tell(buffer.done)
            yield from buffer.translations

    def _tell(self, done: int) -> None:
        """Report progress, unless there is none."""
        if done > self._told:
            self._told = done
            self._progress(done)

    def _feed(
        self,
        first: _Buffer,
        lines: Iterator[Line],
        opened: deque[_Buffer],
        at_work: deque[tuple[_Buffer, list[int]]],
    ) -> Iterator[SourceBatch]:
        """Batches, until a buffer has none or must be answered at once."""
        buffer: _Buffer | None = first
        while buffer is not None:
            opened.append(buffer)
            for group in buffer.groups:
                at_work.append((buffer, group))
                yield buffer.batch(group)
            # Reading on would delay the answer to a caller who needs it to give the next line.
            if not buffer.groups or self._config.buffer_lines == 1:
                return
            buffer = self._next(lines)


def buffered(lines: Iterator[Item], size: int) -> Iterator[list[Item]]:
    """Lines in lists of at most ``size``; if reading fails, those before the failure come first."""
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


def group_by_length(
    numbers: Iterable[int], length: Callable[[int], int], tokens: int
) -> Iterator[list[int]]:
    """Group line numbers so that a padded batch has at most ``tokens``, longest lines first.

    A longer line forms a batch by itself.
    """
    batch: list[int] = []
    for number in sorted(numbers, key=length, reverse=True):
        if batch and length(batch[0]) * (len(batch) + 1) > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
