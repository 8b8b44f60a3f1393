"""Word alignments beside the translations of 'dragoman translate'."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dragoman.cli.translated_lines import one_line
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.translation.line_stream import TranslatedLine
    from dragoman.translation.line_translator import LineTranslator
    from dragoman.translation.translator import Translator

_TOGETHER = 256  # lines


class AlignmentOutput:
    """Writes the links of each line and its best translation, in Pharaoh format.

    Args:
        translator: has models with attention.
        stream: the file.
    """

    def __init__(self, translator: Translator, stream: IO[str]) -> None:
        from dragoman.translation.aligning import PairReader

        self._translator, self._stream = translator, stream
        self._reader = PairReader(translator)
        self._pairs: list[tuple[str, str]] = []
        self._written = 0

    @classmethod
    @contextmanager
    def open(cls, path: Path, translator: LineTranslator) -> Iterator[AlignmentOutput]:
        """Opens a file, which appears complete once everything is translated.

        Raises:
            ConfigError: the models have no attention over the source, or each line chooses its
                model.
        """
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
