"""Lines of text, and their way through an engine: translations in order, in bounded memory.

Lines are read in buffers, and those of a buffer are sorted by length.  An engine that works on
several batches at once gets the first batches of the next buffer while it still works on the last
batches of this buffer, so that it never idles between buffers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import count, islice, repeat
from typing import NamedTuple, TypeVar

from dragoman.core.arguments import check_lines, check_list
from dragoman.core.errors import DataError, UsageError
from dragoman.core.wording import shown
from dragoman.search import Hypothesis, SearchConfig
from dragoman.text.markup_spans import SymbolisedText
from dragoman.text.terms.line_demands import LineDemands
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch
from dragoman.translation.outputs import Translation

Item = TypeVar("Item")


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
    demands: LineDemands | None = None
    """Demands on its translation; None if there are none on any."""
    in_capitals: bool = False
    """Whether ``text`` has lost its capitals, which its translation is to have."""
    markup: SymbolisedText | None = None
    """The markup in whose place ``text`` has symbols."""


class TranslatedLine(NamedTuple):
    """A line and its translations: the item of every stream of translations."""

    line: Line
    translations: list[Translation]
    """At least one, best first."""

    @property
    def broken(self) -> tuple[str, ...]:
        """Strings of programs that the best translation lacks or invents."""
        best, demands = self.translations[0], self.line.demands
        if demands is None or best.refused is not None:
            return ()
        codes = {one.name for one in demands.phrases if one.kind in demands.codes}
        if self.line.markup is not None:
            codes.update(span.begin for span in self.line.markup.spans)
        return (*(one for one in best.missing or () if one in codes), *(best.invented or ()))


Finish = Callable[[Line, list[Hypothesis]], list[Translation]]
"""From a line and its hypotheses to its translations."""


def numbered(
    lines: Iterable[str], prefix: str | Iterable[str], numbers: Iterable[int] | None
) -> Iterator[Line]:
    """Lines with their prefixes and numbers.

    ``prefix`` is one for all lines, or one per line.  Numbers are those in the whole input, from 0;
    None counts them here.  An iterator of numbers may go on for ever.

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


@dataclass(frozen=True)
class EncodedLines:
    """Lines as ids."""

    lines: Sequence[Line]
    sources: Sequence[list[int]]
    prefixes: Sequence[list[int]] | None
    """None if no line has a prefix."""
    translations: list[list[Translation]]
    """The translations of lines that need no search; placeholders for the others."""
    wanted: Sequence[int]
    """Indices of the lines that need search."""


class _Buffer:
    """Lines that are batched together."""

    def __init__(self, encoded: EncodedLines, done: int, tokens: int) -> None:
        self._encoded = encoded
        self.groups = list(
            group_by_length(encoded.wanted, lambda place: len(encoded.sources[place]) + 1, tokens)
        )
        self.waiting = len(self.groups)
        self.done = done + len(encoded.lines) - len(encoded.wanted)  # the others take no time

    def batch(self, places: list[int]) -> SourceBatch:
        """The batch that an engine gets for some of the lines."""
        encoded = self._encoded
        demands = [encoded.lines[place].demands or LineDemands() for place in places]
        return SourceBatch(
            [encoded.lines[place].number for place in places],
            [encoded.sources[place] for place in places],
            None if encoded.prefixes is None else [encoded.prefixes[place] for place in places],
            demands if any(demands) else None,
            places,
        )

    def answer(self, searched: SearchedBatch, finish: Finish) -> None:
        """Keep the translations of the lines of a batch."""
        lines, places = self._encoded.lines, searched.batch.places
        for place, hypotheses in zip(places, searched.hypotheses, strict=True):
            self._encoded.translations[place] = finish(lines[place], hypotheses)
        self.waiting -= 1
        self.done += len(places)

    def translated(self) -> Iterator[TranslatedLine]:
        """All lines with their translations."""
        return map(TranslatedLine, self._encoded.lines, self._encoded.translations)


class LineStream:
    """Translates lines as they come.

    ``progress`` is called with the number of lines translated so far, after each batch and whenever
    lines that need no search are reached.
    """

    def __init__(
        self,
        engine: Engine,
        config: SearchConfig,
        prepare: Callable[[list[Line]], EncodedLines],
        finish: Finish,
        progress: Callable[[int], object],
    ) -> None:
        self._engine, self._config = engine, config
        self._prepare, self._finish, self._progress = prepare, finish, progress
        self._tokens = max(1, config.tokens_at_once // config.rows)
        self._read = 0  # lines so far
        self._reported = 0  # to ``progress``
        self._failure: Exception | None = None
        self.at_end: Callable[[], object] | None = None
        """Called after the last line, unless reading or preparing lines failed."""

    def run(self, lines: Iterator[Line]) -> Iterator[TranslatedLine]:
        """Each line with its translations, in order.

        If reading ``lines`` fails, the lines before the failure are translated first.
        """
        while (first := self._next(lines)) is not None:
            opened: deque[_Buffer] = deque()  # the first of them gets the next answer
            for searched in self._engine.search(self._feed(first, lines, opened), self._config):
                opened[0].answer(searched, self._finish)
                self._report(opened[0].done)
                while opened and not opened[0].waiting:
                    self._report(opened[0].done)
                    yield from opened.popleft().translated()
            for buffer in opened:
                assert not buffer.waiting, "an engine answers every batch"
                self._report(buffer.done)
                yield from buffer.translated()
        if self._failure is not None:
            raise self._failure
        if self.at_end is not None:
            self.at_end()

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

    def _report(self, done: int) -> None:
        """Report progress, unless there is none."""
        if done > self._reported:
            self._reported = done
            self._progress(done)

    def _feed(
        self, first: _Buffer, lines: Iterator[Line], opened: deque[_Buffer]
    ) -> Iterator[SourceBatch]:
        """Batches, until a buffer has none or must be answered at once."""
        buffer: _Buffer | None = first
        while buffer is not None:
            opened.append(buffer)
            for group in buffer.groups:
                yield buffer.batch(group)
            # Reading on would delay the answer to a caller who needs it to give the next line.
            if not buffer.groups or self._config.buffer_lines == 1:
                return
            buffer = self._next(lines)


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
