"""Checks that the training text is in the languages that the configuration declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from dragoman.core.errors import DataError
from dragoman.data.declared_language import declared_texts
from dragoman.evaluation.languages import (
    FEWEST_WORDS,
    MUCH_FOREIGN,
    foreign_lines,
    why_not_judged,
)
from dragoman.recipe import ExperimentConfig
from dragoman.workflows.doctor.findings import Finding, ok, warning
from dragoman.workflows.doctor.text_checks import Texts


def check_languages(config: ExperimentConfig, texts: Texts) -> Iterator[Finding]:
    """Check each language of either side, as far as it can be distinguished from others here.

    Text without a source is judged part by part.
    """
    fine: dict[str, None] = {}
    unchecked: dict[str, None] = {}
    for (side, language), lines in _lines(config, texts).items():
        if (reason := why_not_judged(language)) is not None:
            unchecked[reason.partition("; it knows")[0]] = None
        elif (found := foreign_lines(lines, language)) is None:
            text = f"{side} text in {language} has no line of {FEWEST_WORDS} words or more"
            unchecked[text] = None
        elif found.share > MUCH_FOREIGN:
            yield warning(
                "language",
                f"{found.share:.0%} of the {side} lines declared as {language} seem to be in "
                f"another language ({found.examples}); look at them, and remove those that are, or "
                f"correct {side}_language",
            )
        else:
            fine[language] = None
    yield from _check_alone(config, fine, unchecked)
    if fine:
        yield ok("language", f"the text is in the languages declared: {', '.join(fine)}")
    for reason in unchecked:
        yield ok("language", f"not checked: {reason}")


def _check_alone(
    config: ExperimentConfig, fine: dict[str, None], unchecked: dict[str, None]
) -> Iterator[Finding]:
    """Judge text without a source; text that cannot be read was reported with the rest."""
    for key, part in config.train_by_key().items():
        with suppress(DataError):
            for text in declared_texts({key: part}):
                if text.is_foreign:
                    fine.pop(text.language, None)
                    yield warning("language", str(text))
                elif text.share is not None:
                    fine[text.language] = None
                elif (reason := why_not_judged(text.language)) is not None:
                    unchecked[reason.partition("; it knows")[0]] = None


def _lines(config: ExperimentConfig, texts: Texts) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The sample's lines with their places, by side and declared language."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    alone = {part.name for part in config.train_parts() if not part.has_source}
    for example, _ in texts.sample:
        if example.origin.part in alone:
            continue
        place = f"{example.origin.part} line {example.line}"
        if config.model.reads_source and example.source:
            found["source", example.source_language].append((place, example.source))
        found["target", example.target_language].append((place, example.target))
    return dict(found)
