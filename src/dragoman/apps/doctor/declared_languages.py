"""Checks that the training text is in the languages that the configuration declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from dragoman.apps.doctor.findings import Finding, ok, warning
from dragoman.apps.doctor.text_checks import Texts
from dragoman.core.errors import DataError
from dragoman.data.declared_language import declared_texts
from dragoman.evaluation.languages import MUCH_FOREIGN, why_not_judged, wrong_language_share
from dragoman.recipe import ExperimentConfig


def check_languages(config: ExperimentConfig, texts: Texts) -> Iterator[Finding]:
    """Check each language of either side, as far as it can be told from others here.

    Text without a source is judged part by part.
    """
    fine: dict[str, None] = {}
    unchecked: dict[str, None] = {}
    for (side, language), lines in _lines(config, texts).items():
        if (reason := why_not_judged(language)) is not None:
            unchecked[reason.partition("; it knows")[0]] = None
        elif (share := wrong_language_share(lines, language)) is None:
            unchecked[f"{side} text in {language} has no letters"] = None
        elif share > MUCH_FOREIGN:
            yield warning(
                "language",
                f"{share:.0%} of the {side} lines declared as {language} are in another language; "
                f"remove them, or correct {side}_language",
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


def _lines(config: ExperimentConfig, texts: Texts) -> dict[tuple[str, str], list[str]]:
    """Pairs of the sample by side and declared language, as far as there are any."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    alone = {part.name for part in config.train_parts() if not part.has_source}
    for example, _ in texts.sample:
        if example.origin.part in alone:
            continue
        if config.model.reads_source and example.source:
            found["source", example.source_language].append(example.source)
        found["target", example.target_language].append(example.target)
    return dict(found)
