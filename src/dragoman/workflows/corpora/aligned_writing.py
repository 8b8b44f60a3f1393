"""Writing the pairs of a corpus as two files of lines, and counting what is left out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from dragoman.core.errors import DataError
from dragoman.text.corpora.cleaning import Seen
from dragoman.text.corpora.fetched_corpus import AlignedText, text_file
from dragoman.text.lines import write_text
from dragoman.text.normalization import CONTROLS
from dragoman.workflows.corpora.lenient_reading import Flaws, TextPair

EMPTY, DUPLICATE = "empty", "duplicate"
_MOST_BROKEN = 0.1  # of all pairs
_SHOWN_EACH = 1000  # pairs


class _Side:
    """A file of lines, and the figures of its text."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self._bytes = self._lines = 0

    def add(self, text: str) -> None:
        line = f"{text}\n"
        self._stream.write(line)
        raw = line.encode("utf-8")
        self._digest.update(raw)
        self._bytes += len(raw)
        self._lines += 1

    def figures(self) -> AlignedText:
        return AlignedText(bytes=self._bytes, lines=self._lines, sha256=self._digest.hexdigest())


def write_aligned(
    folder: Path,
    split: str,
    languages: TextPair,
    pairs: Iterable[TextPair],
    *,
    flaws: Flaws,
    seen: Seen,
    show: Callable[[int], object] = lambda _: None,
) -> tuple[dict[str, AlignedText], Counter[str]]:
    """Write a set as ``SPLIT.SOURCE.gz`` and ``SPLIT.TARGET.gz``.

    A line break or a control character inside a text becomes a space.  Pairs with an empty side,
    and those that occurred before, are left out.

    Args:
        flaws: filled while ``pairs`` are read: those that cannot be read.
        seen: recognises pairs that occurred before.
        show: called now and then with the number of pairs.

    Returns:
        The figures of both files by their names, and the pairs left out by reason.

    Raises:
        DataError: no pair is left, or over a tenth of them cannot be read.
        StorageError: the disk is full.
    """
    names = [text_file(split, language) for language in languages]
    dropped: Counter[str] = Counter()
    kept = 0
    with ExitStack() as opened:
        sides = [_Side(opened.enter_context(write_text(folder / name))) for name in names]
        for count, pair in enumerate(pairs):
            if count % _SHOWN_EACH == 0:
                show(count)
            source, target = map(_as_line, pair)
            if not (source and target):
                dropped[EMPTY] += 1
            elif seen(source, target):
                dropped[DUPLICATE] += 1
            else:
                kept += 1
                sides[0].add(source)
                sides[1].add(target)
        dropped += flaws
        _check(split, kept, dropped, flaws)
    return dict(zip(names, [side.figures() for side in sides], strict=True)), dropped


def _as_line(text: str) -> str:
    """The text without line breaks, and without white space around it."""
    if not text.isprintable():
        text = CONTROLS.sub(" ", text).replace("\n", " ").replace("\r", " ")
    return text.strip()


def _check(split: str, kept: int, dropped: Counter[str], flaws: Flaws) -> None:
    read, broken = kept + dropped.total(), flaws.total()
    if broken > _MOST_BROKEN * read:
        raise DataError(
            f"{split}: {broken:,} of {read:,} pairs cannot be read ({reasons(flaws)}), which is "
            "over a tenth; the corpus has another format than its list says, and was not written"
        )
    if not kept:
        raise DataError(f"{split}: no pair is left of {read:,} ({reasons(dropped) or 'none'})")


def reasons(dropped: Counter[str] | dict[str, int]) -> str:
    """Counts with their reasons, most frequent first: ``12 duplicate, 3 empty``."""
    return ", ".join(f"{count:,} {reason}" for reason, count in _sorted(dropped))


def _sorted(dropped: Counter[str] | dict[str, int]) -> Iterator[tuple[str, int]]:
    return ((one, n) for one, n in Counter(dropped).most_common() if n)
