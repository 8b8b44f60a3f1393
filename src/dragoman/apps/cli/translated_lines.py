"""Output of 'dragoman translate': lines of text, or a JSON object for each input line."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.apps.results import to_json

if TYPE_CHECKING:
    from dragoman.translation.outputs import Translation


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


def objects(sources: Remembered, translated: Iterable[list[Translation]]) -> Iterator[str]:
    """A JSON object for each input line, as docs/command-line.md describes it."""
    for number, (best, *others) in enumerate(translated, 1):
        values = {"line": number, "source": sources.next(), **_values(best)}
        values["refused"] = best.refused
        values["alternatives"] = [_values(translation) for translation in others]
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
    translated: Iterable[list[Translation]], *, numbered: bool, scores: bool
) -> Iterator[str]:
    """A line for each translation, its fields separated by tabs."""
    for number, translations in enumerate(translated, 1):
        for translation in translations if numbered else translations[:1]:
            text = one_line(translation.text)
            if numbered:
                yield f"{number}\t{translation.score:.4f}\t{text}"
            else:
                yield f"{translation.score:.4f}\t{text}" if scores else text


def one_line(text: str) -> str:
    """``text`` with spaces for line ends and tabs, which byte pieces can produce."""
    return text.replace("\n", " ").replace("\t", " ")
