"""Output of 'dragoman translate': lines of text, or a JSON object for each input line."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import DataError
from dragoman.workflows.results import to_json

if TYPE_CHECKING:
    from dragoman.translation.outputs import Translation


log = logging.getLogger(__name__)


def write_lines(path: Path | None, lines: Iterable[str]) -> None:
    """Write lines to a file, whole or not at all, or to standard output as they come."""
    from dragoman.core.files import atomic_write

    if path is not None:
        with atomic_write(path) as stream:
            stream.writelines(line + "\n" for line in lines)
        return
    output = sys.stdout.buffer
    for line in lines:
        output.write(line.encode("utf-8") + b"\n")
        output.flush()


class Remembered:
    """Keeps lines that were read ahead until their translations arrive."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self._kept = iter(lines), deque[str]()

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._kept.append(line)
            yield line

    def next(self) -> str:
        """The first line that was not returned yet."""
        return self._kept.popleft()


@dataclass(frozen=True)
class PrintedFields:
    """What is printed before each translation."""

    scores: bool = False
    confidence: bool = False


class Flags:
    """Warns of translations that a person should look at.

    Args:
        bound: the confidence below which a translation is flagged; None flags nothing.
    """

    def __init__(self, bound: float | None) -> None:
        self._bound = bound
        self._lines = self._flagged = 0

    @property
    def wanted(self) -> bool:
        """Whether there is a bound."""
        return self._bound is not None

    def is_flagged(self, translation: Translation) -> bool:
        """Whether to look at a translation: a refused line always, an empty one never."""
        if self._bound is None:
            return False
        if translation.refused is not None:
            return True
        return translation.confidence is not None and translation.confidence < self._bound

    def watch(self, translated: Iterable[list[Translation]]) -> Iterator[list[Translation]]:
        """Pass translations on, and warn of those that are flagged unless they were refused."""
        for number, translations in enumerate(translated, 1):
            best, self._lines = translations[0], number
            if self.is_flagged(best):
                self._flagged += 1
                if best.refused is None:
                    log.warning(
                        "line %d: confidence %.2f, below %g", number, best.confidence, self._bound
                    )
            yield translations

    def conclude(self) -> None:
        """Say how many lines are flagged."""
        if self._flagged:
            log.warning("flagged: %s of %s lines", f"{self._flagged:,}", f"{self._lines:,}")


_FAULTS = {"repetition": "repeats itself", "length": "is far too long"}


def warned_of_faults(translated: Iterable[list[Translation]]) -> Iterator[list[Translation]]:
    """Pass translations on, and warn of those that are degenerate all the same."""
    for number, translations in enumerate(translated, 1):
        if faults := translations[0].faults:
            log.warning("line %d: the translation %s; check it", number, worded_faults(faults))
        yield translations


def worded_faults(faults: Sequence[str]) -> str:
    """What a degenerate translation does, as a predicate.

    Args:
        faults: those of the translation, at least one.
    """
    return " and ".join(_FAULTS[fault] for fault in faults)


class Refusals:
    """Reports lines that cannot be translated: when they come, and again at the end."""

    def __init__(self) -> None:
        self._count, self._first = 0, ""

    def watch(self, translated: Iterable[list[Translation]]) -> Iterator[list[Translation]]:
        """Pass translations on, and warn of refused lines."""
        for translations in translated:
            if (reason := translations[0].refused) is not None:
                log.warning("%s; its translation is left empty", reason)
                self._count, self._first = self._count + 1, self._first or reason
            yield translations

    def complain(self) -> None:
        """Fail the command if any line was refused.

        Raises:
            DataError: there were.
        """
        if self._count:
            raise DataError(
                f"{self._count:,} lines cannot be translated and are left empty; the first is "
                f"{self._first}"
            )


def objects(
    sources: Remembered,
    translated: Iterable[list[Translation]],
    *,
    has_confidence: bool,
    flags: Flags,
) -> Iterator[str]:
    """A JSON object for each input line, as docs/command-line.md describes it.

    Args:
        sources: the lines.
        translated: their translations.
        has_confidence: whether confidences are written.
        flags: decides which lines are flagged.
    """

    def described(translation: Translation) -> dict[str, Any]:
        values = _values(translation)
        return values | {"confidence": translation.confidence} if has_confidence else values

    for number, (best, *others) in enumerate(translated, 1):
        values = {"line": number, "source": sources.next(), **described(best)}
        values["refused"] = best.refused
        if flags.wanted:
            values["flagged"] = flags.is_flagged(best)
        values["alternatives"] = [described(translation) for translation in others]
        yield to_json(values)


def _values(translation: Translation) -> dict[str, Any]:
    values: dict[str, Any] = {
        "translation": translation.text,
        "score": translation.score,
        "log_probability": translation.log_probability,
        "pieces": translation.pieces,
        "ended": translation.ended,
        "faults": list(translation.faults),
    }
    if translation.missing is not None:
        values["missing"] = list(translation.missing)
    return values if translation.pivot is None else {**values, "pivot": translation.pivot}


def formatted(
    translated: Iterable[list[Translation]], *, numbered: bool, shown: PrintedFields
) -> Iterator[str]:
    """A line for each translation, its fields separated by tabs.

    Args:
        translated: the translations.
        numbered: whether all of a line are written, with its number and their scores.
        shown: what else precedes each; where nothing was translated, confidence is empty.
    """
    for number, translations in enumerate(translated, 1):
        for translation in translations if numbered else translations[:1]:
            fields = [str(number)] if numbered else []
            if numbered or shown.scores:
                fields.append(f"{translation.score:.4f}")
            if shown.confidence:
                known = translation.confidence
                fields.append("" if known is None else f"{known:.4f}")
            yield "\t".join([*fields, one_line(translation.text)])


def one_line(text: str) -> str:
    """``text`` with spaces for line ends of any kind and tabs, which byte pieces can produce."""
    return " ".join(text.replace("\t", " ").splitlines())
