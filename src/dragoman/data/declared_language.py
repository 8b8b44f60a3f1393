"""Checks that text without translations is in the language that a configuration declares.

A model learns to write the text it is given.  A small part in the wrong language beside a large
part in the right one shows neither in the loss nor as a share of all text, so each part is judged
separately.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from dragoman.evaluation.languages import MUCH_FOREIGN, foreign_lines, why_not_judged
from dragoman.text.corpora.corpus import kept_pairs
from dragoman.text.corpora.corpus_part import CorpusPart

log = logging.getLogger(__name__)

_READ = 1_000_000  # lines, in a few seconds; the judged lines are spread over all of them


@dataclass(frozen=True)
class DeclaredText:
    """A part without separate sources, and the share of its lines in another language."""

    key: str
    """Key in the configuration."""
    name: str
    """Name of the file."""
    language: str
    share: float | None
    """Share of its lines in another language, 0 to 1; None if it cannot be determined."""
    examples: str = ""
    """Some of the lines in another language, with their numbers."""

    @property
    def is_foreign(self) -> bool:
        """Whether the share exceeds the rate at which correct lines are ever taken for foreign."""
        return self.share is not None and self.share > MUCH_FOREIGN

    def __str__(self) -> str:
        return (
            f"{self.key} ({self.name}): {self.share or 0:.0%} of its lines, declared as "
            f"{self.language}, seem to be in another language ({self.examples}); look at them, and "
            "remove those that are, or correct target_language"
        )


def declared_texts(parts: Mapping[str, CorpusPart]) -> Iterator[DeclaredText]:
    """Judge the parts without separate sources, one by one.

    Args:
        parts: training text with its languages, by configuration key.
    """
    for key, part in parts.items():
        if not part.has_source:
            language = part.target_language or ""
            pairs = islice(kept_pairs(part), _READ)
            found = foreign_lines(((f"line {one.line}", one.target) for one in pairs), language)
            share, examples = (None, "") if found is None else (found.share, found.examples)
            yield DeclaredText(key, part.name, language, share, examples)


def warn_of_other_languages(parts: Mapping[str, CorpusPart]) -> None:
    """Warn of parts without a source whose text is in another language than declared."""
    for text in declared_texts(parts):
        if text.is_foreign:
            log.warning("%s", text)
        elif text.share is None and (reason := why_not_judged(text.language)) is not None:
            log.info("%s (%s): its language is not judged: %s", text.key, text.name, reason)
