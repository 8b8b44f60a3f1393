"""Word alignments beside the translations of 'dragoman translate'."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.translated_lines import Remembered, one_line
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.translation.outputs import Translation

_TOGETHER = 256  # lines


class AlignmentOutput:
    """Writes the links of each line and its best translation, in Pharaoh format.

    Args:
        path: the file, which appears whole once all is translated.
        translator: has one model, or several, with attention.
        sources: the lines.

    Raises:
        ConfigError: the models have no attention over the source, or each line chooses its model.
    """

    def __init__(self, path: Path, translator: object, sources: Remembered) -> None:
        from dragoman.translation.forced import check_attention
        from dragoman.translation.translator import Translator

        if not isinstance(translator, Translator):
            raise ConfigError(
                "--alignment: links are of one system, and here each line has its own; leave out "
                "--route or further --adapter options"
            )
        translator.check_direct("--alignment")
        check_attention(translator.models)
        self._path, self._translator, self._sources = path, translator, sources

    def watch(self, translated: Iterable[list[Translation]]) -> Iterator[list[Translation]]:
        """Pass translations on, and write the links of the best ones."""
        from dragoman.core.files import atomic_write
        from dragoman.translation.aligning import PairReader
        from dragoman.workflows.pair_alignment import attended_links, pharaoh_lines

        with atomic_write(self._path) as stream:
            reader = PairReader(self._translator)
            pairs: list[tuple[str, str]] = []
            done = 0

            def write() -> None:
                nonlocal done
                links = attended_links(
                    self._translator, pairs, lambda _: None, first=done + 1, reader=reader
                )
                stream.writelines(line + "\n" for line in pharaoh_lines(links))
                done += len(pairs)
                pairs.clear()

            for translations in translated:
                source, best = self._sources.next(), translations[0]
                is_refused = best.refused is not None
                pairs.append(("", "") if is_refused else (source, one_line(best.text)))
                if len(pairs) == _TOGETHER:
                    write()
                yield translations
            write()
