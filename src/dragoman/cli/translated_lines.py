"""Output of 'dragoman translate': lines of text, or a JSON object for each input line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import shown
from dragoman.workflows.results import to_json

if TYPE_CHECKING:
    from dragoman.translation.classification import LineLabels
    from dragoman.translation.line_stream import TranslatedLine
    from dragoman.translation.line_translator import LineTranslator
    from dragoman.translation.outputs import Translation
    from dragoman.translation.translator import Translator
    from dragoman.workflows.parsing import ParsedLine

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


_FAULTS = {"repetition": "repeats itself", "length": "is far too long"}


def worded_faults(faults: Sequence[str]) -> str:
    """The faults of a degenerate translation, worded as a predicate."""
    return " and ".join(_FAULTS[fault] for fault in faults)


Line = TypeVar("Line", bound="ParsedLine | LineLabels")


class RefusedLines:
    """Warns of lines that are refused: at once, and again at the end.

    Args:
        done: what cannot be done with them, such as ``parsed``.
        outcome: what becomes of one, such as "its tree is left out".
    """

    def __init__(self, done: str, outcome: str) -> None:
        self._done, self._outcome = done, outcome
        self._reasons: list[str] = []

    def add(self, reason: str | None) -> None:
        """Warn of a line, unless there is no reason to refuse it."""
        if reason is not None:
            log.warning("%s; %s", reason, self._outcome)
            self._reasons.append(reason)

    def watch(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Pass lines on, and warn of refused ones."""
        for line in lines:
            self.add(line.refused)
            yield line

    def conclude(self) -> None:
        """Fail the command if a line was refused."""
        if self._reasons:
            raise DataError(
                f"{len(self._reasons):,} lines cannot be {self._done} and are left empty; the "
                f"first is {self._reasons[0]}"
            )


class LineReport:
    """Warns of lines to be reviewed: at once, and again at the end.

    Args:
        flag_below: the confidence below which a translation is flagged; with None, only what lacks
            or invents something protected is.
    """

    def __init__(self, flag_below: float | None) -> None:
        self._bound = flag_below
        self._lines = self._flagged = self._unlike = 0
        self._broken: list[str] = []
        self._refused = RefusedLines("translated", "its translation is left empty")

    @property
    def flags(self) -> bool:
        """Whether lines are flagged."""
        return self._bound is not None

    def is_flagged(self, translation: Translation) -> bool:
        """Whether a translation needs review: a refused line always, an empty line never."""
        if translation.refused is not None:
            return True
        if translation.missing or translation.invented:
            return True
        return self._is_doubtful(translation)

    def _is_doubtful(self, translation: Translation) -> bool:
        """Whether the confidence of a translation is too low."""
        if self._bound is None or translation.confidence is None:
            return False
        return translation.confidence < self._bound

    def add(self, translated: TranslatedLine) -> None:
        """Warn of a line whose best translation is refused, flagged or degenerate."""
        line, best = translated.line.number + 1, translated.translations[0]
        self._lines = line
        if translated.broken:
            self._broken.append(f"line {line}: {', '.join(map(shown, translated.broken))}")
        self._refused.add(best.refused)
        self._flagged += self.is_flagged(best)
        # Warnings of what is missing come from the translator itself.
        self._unlike += best.refused is None and bool(best.missing or best.invented)
        if best.refused is None and self._is_doubtful(best):
            log.warning("line %d: confidence %.2f, below %g", line, best.confidence, self._bound)
        if best.faults:
            said = worded_faults(best.faults)
            log.warning("line %d: the translation %s; check it", line, said)

    def conclude(self) -> None:
        """Report the number of flagged lines, and fail the command if a line is unusable."""
        if self._unlike:
            log.warning(
                "%s of %s lines: the translation lacks or invents something; check it",
                f"{self._unlike:,}",
                f"{self._lines:,}",
            )
        if self._flagged and self.flags:
            log.warning("flagged: %s of %s lines", f"{self._flagged:,}", f"{self._lines:,}")
        self._refused.conclude()
        if self._broken:
            raise DataError(
                f"{len(self._broken):,} of {self._lines:,} translations lack or invent "
                f"placeholders, tags or addresses; the first is {self._broken[0]}; correct them, "
                "or translate with --protect none"
            )


@dataclass(frozen=True)
class PrintedFields:
    """The fields printed for each translation beside its text."""

    nbest: bool = False
    """All translations of a line, with its number and their scores."""
    scores: bool = False
    confidence: bool = False
    token_scores: bool = False


def json_line(translated: TranslatedLine, report: LineReport, shown: PrintedFields) -> str:
    """The JSON object of an input line, as docs/command-line.md describes it."""
    line, (best, *others) = translated
    values = {"line": line.number + 1, "source": line.given, **_values(best, shown)}
    values["refused"] = best.refused
    values["flagged"] = report.is_flagged(best)
    values["alternatives"] = [_values(other, shown) for other in others]
    return to_json(values)


def _values(translation: Translation, shown: PrintedFields) -> dict[str, Any]:
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
    if translation.invented is not None:
        values["invented"] = list(translation.invented)
    if translation.pivot is not None:
        values["pivot"] = translation.pivot
    if shown.confidence:
        values["confidence"] = translation.confidence
    if shown.token_scores:
        values["token_scores"] = translation.token_scores
    return values


def text_lines(translated: TranslatedLine, shown: PrintedFields) -> Iterator[str]:
    """A line for each translation of an input line, its fields separated by tabs.

    If nothing was translated, the field of its confidence is empty.
    """
    line, translations = translated
    for translation in translations if shown.nbest else translations[:1]:
        fields = [str(line.number + 1)] if shown.nbest else []
        if shown.nbest or shown.scores:
            fields.append(f"{translation.score:.4f}")
        if shown.confidence:
            known = translation.confidence
            fields.append("" if known is None else f"{known:.4f}")
        yield "\t".join([*fields, one_line(translation.text)])


def one_line(text: str) -> str:
    """``text`` with spaces for line ends of any kind and tabs, which byte pieces can produce."""
    return " ".join(text.replace("\t", " ").splitlines())


_TOGETHER = 256  # lines


class AlignmentOutput:
    """Writes the links of each line and its best translation, in Pharaoh format."""

    def __init__(self, translator: Translator, stream: IO[str]) -> None:
        from dragoman.translation.aligning import PairReader

        self._translator, self._stream = translator, stream
        self._reader = PairReader(translator)
        self._pairs: list[tuple[str, str]] = []
        self._written = 0

    @classmethod
    @contextmanager
    def open(cls, path: Path, translator: LineTranslator) -> Iterator[AlignmentOutput]:
        """Opens a file, which appears complete once everything is translated."""
        from dragoman.core.files import atomic_write
        from dragoman.translation.forced import check_attention
        from dragoman.translation.translator import Translator

        if not isinstance(translator, Translator):
            raise ConfigError(
                "--alignment: links are of one system, and here each line has its own; leave out "
                "--route or further --adapter options"
            )
        translator.check_direct("--alignment")
        check_attention(translator.models)
        with atomic_write(path) as stream:
            output = cls(translator, stream)
            yield output
            output._write()

    def add(self, translated: TranslatedLine) -> None:
        """Write the links of a line and its best translation, together with those of others."""
        line, (best, *_) = translated
        is_refused = best.refused is not None
        self._pairs.append(("", "") if is_refused else (line.given, one_line(best.text)))
        if len(self._pairs) == _TOGETHER:
            self._write()

    def _write(self) -> None:
        from dragoman.workflows.pair_alignment import attended_links, pharaoh_lines

        first = self._written + 1
        links = attended_links(
            self._translator, self._pairs, lambda _: None, first=first, reader=self._reader
        )
        self._stream.writelines(line + "\n" for line in pharaoh_lines(links))
        self._written += len(self._pairs)
        self._pairs.clear()
