"""The errors that a finished model makes on its dev sets, by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from dragoman.core.errors import DataError
from dragoman.recipe import ExperimentConfig
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.short_pairs import glossary_of_short_pairs
from dragoman.translation.checking.error_summary import (
    CheckedLine,
    ErrorSummary,
    summarise_errors,
)
from dragoman.translation.checking.line_checks import TranslationChecks
from dragoman.validation import Evaluated, Rendered

MOST_LINES = 2_000
"""Most lines of each dev set that are checked, at even distances."""
_MOST_PAIRS = 200_000
"""Most training pairs of each part that are read for their terms, from its beginning."""


def dev_errors(
    config: ExperimentConfig, evaluated: Mapping[str, Evaluated]
) -> dict[str, ErrorSummary]:
    """A summary for each dev set that the model translated into text."""
    found = {}
    for name, part in config.dev_sets().items():
        lines = evaluated[name].translations
        if config.writes_text and lines is not None and part.back_translation is None:
            checks = TranslationChecks.of(
                part.direction.target_language, glossary=_glossary(config, part)
            )
            found[name] = summarise_errors(checks, map(_checked, _sampled(lines)))
    return found


def _sampled(lines: Sequence[Rendered]) -> Sequence[Rendered]:
    count = len(lines)
    if count <= MOST_LINES:
        return lines
    return [lines[number * count // MOST_LINES] for number in range(MOST_LINES)]


def _checked(line: Rendered) -> CheckedLine:
    return CheckedLine(line.line, line.source, line.reference, line.text)


def _glossary(config: ExperimentConfig, part: CorpusPart) -> Glossary:
    """The glossary of the recipe, or the terms that its training text translates alone."""
    direction = part.direction
    languages = direction.source_language, direction.target_language
    if config.evaluation.glossary is not None:
        return Glossary.read(config.evaluation.glossary, languages)
    return glossary_of_short_pairs(_training_pairs(config, languages), languages[0])


def _training_pairs(
    config: ExperimentConfig, languages: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    for part in config.train_parts():
        direction = part.direction
        if (direction.source_language, direction.target_language) != languages:
            continue
        if not part.has_source or part.is_labelled or part.context is not None:
            continue
        with suppress(DataError):  # the text may have been removed since
            yield from (
                (pair.source, pair.target) for pair in islice(read_pairs(part), _MOST_PAIRS)
            )
