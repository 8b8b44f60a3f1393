"""Lines through an engine: one unbroken stream of batches, translations in order, bounded memory.

Lines are read in buffers, and those of a buffer are sorted by length.  An engine that works on
several batches at once is given the first ones of the next buffer while the last ones of this are
at work, so that nobody waits at the seam.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from dragoman.search import Hypothesis, SearchConfig
from dragoman.translation.engine import Engine, SourceBatch
from dragoman.translation.outputs import Translation


class Line(NamedTuple):
    """What is to be translated."""

    text: str
    prefix: str
    """What its translation begins with."""
    number: int
    """In the whole input, from 0: sampling draws by it, and errors name it, counted from 1."""


@dataclass(frozen=True)
class EncodedLines:
    """Lines as ids."""

    numbers: Sequence[int]
    sources: Sequence[list[int]]
    prefixes: Sequence[list[int]] | None
    """None: of no line."""
    translations: list[list[Translation]]
    """Of each line that needs no search; of the others, to be replaced."""
    wanted: Sequence[int]
    """Places of those that need search."""


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
        """What an engine is given of a group of places."""
        lines = self._lines
        return SourceBatch(
            [lines.numbers[place] for place in group],
            [lines.sources[place] for place in group],
            None if lines.prefixes is None else [lines.prefixes[place] for place in group],
        )


class LineStream:
    """Translates lines as they come.

    Args:
        engine: what searches.
        config: how.
        prepare: from lines of text to ids.
        finish: from what search found to a translation.
        progress: called with the number of lines that are translated so far, after each batch.
    """

    def __init__(
        self,
        engine: Engine,
        config: SearchConfig,
        prepare: Callable[[list[Line]], EncodedLines],
        finish: Callable[[Hypothesis], Translation],
        progress: Callable[[int], object],
    ) -> None:
        self._engine, self._config = engine, config
        self._prepare, self._finish, self._progress = prepare, finish, progress
        self._tokens = max(1, config.batch_tokens // config.rows)
        self._read = 0  # lines so far
        self._failure: Exception | None = None

    def run(self, lines: Iterator[Line]) -> Iterator[list[Translation]]:
        """The translations of each line, in order.

        What comes before an error of ``lines`` themselves is translated first.
        """
        while (buffer := self._next(lines)) is not None:
            yield from self._unbroken(buffer, lines)
        if self._failure is not None:
            raise self._failure

    def _next(self, lines: Iterator[Line]) -> _Buffer | None:
        """The next buffer; None at the end, or when reading fails: others may be at work then."""
        if self._failure is not None:
            return None
        try:
            read = list(islice(lines, self._config.buffer_lines))
            if not read:
                return None
            buffer = _Buffer(self._prepare(read), self._read, self._tokens)
        except Exception as error:  # of the caller's own iterator anything
            self._failure = error
            return None
        self._read += len(read)
        return buffer

    def _unbroken(self, first: _Buffer, lines: Iterator[Line]) -> Iterator[list[Translation]]:
        """Translations of ``first`` and of the buffers after it, as long as one follows another."""
        opened: deque[_Buffer] = deque()
        at_work: deque[tuple[_Buffer, list[int]]] = deque()
        batches = self._feed(first, lines, opened, at_work)
        for found in self._engine.search(batches, self._config):
            buffer, group = at_work.popleft()
            for place, hypotheses in zip(group, found, strict=True):
                buffer.translations[place] = [self._finish(one) for one in hypotheses]
            buffer.waiting -= 1
            buffer.done += len(group)
            self._progress(buffer.done)
            while opened and not opened[0].waiting:
                yield from opened.popleft().translations
        assert not at_work, "an engine answers every batch"
        for buffer in opened:
            yield from buffer.translations

    def _feed(
        self,
        first: _Buffer,
        lines: Iterator[Line],
        opened: deque[_Buffer],
        at_work: deque[tuple[_Buffer, list[int]]],
    ) -> Iterator[SourceBatch]:
        """Batches, until a buffer has none or is to be answered at once."""
        buffer: _Buffer | None = first
        while buffer is not None:
            opened.append(buffer)
            for group in buffer.groups:
                at_work.append((buffer, group))
                yield buffer.batch(group)
            # Reading on would keep back the answer to somebody who waits for it before going on.
            if not buffer.groups or self._config.buffer_lines == 1:
                return
            buffer = self._next(lines)


def group_by_length(
    numbers: Iterable[int], length: Callable[[int], int], tokens: int
) -> Iterator[list[int]]:
    """Group line numbers so that a padded batch has at most ``tokens``, longest first.

    A line longer than that is a batch by itself.
    """
    batch: list[int] = []
    for number in sorted(numbers, key=length, reverse=True):
        if batch and length(batch[0]) * (len(batch) + 1) > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
