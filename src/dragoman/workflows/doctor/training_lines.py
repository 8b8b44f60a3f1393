"""Checks of training lines: their languages, strings for programs, examples of short input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress

from dragoman.core.errors import DataError
from dragoman.data.declared_language import declared_texts
from dragoman.evaluation.languages import FEWEST_WORDS, MUCH_FOREIGN, foreign_lines, why_not_judged
from dragoman.recipe import ExperimentConfig
from dragoman.text.transforms.casing import CaseConfig
from dragoman.workflows.doctor import Diagnosis, ok, warning
from dragoman.workflows.doctor.text_checks import ENOUGH_PAIRS, Texts
from dragoman.workflows.text_features import (
    EXAMINED_PAIRS,
    SHORT,
    TextFeatures,
    has_case,
    is_capital,
    is_number,
    is_short,
)


def check_languages(config: ExperimentConfig, texts: Texts) -> Iterator[Diagnosis]:
    """Check each language of either side, as far as it can be distinguished from others here.

    Text without a source is judged part by part.
    """
    fine: dict[str, None] = {}
    unchecked: dict[str, None] = {}
    for (side, language), lines in _lines(config, texts).items():
        if (reason := why_not_judged(language)) is not None:
            unchecked[reason.partition("; it knows")[0]] = None
        elif (foreign := foreign_lines(lines, language)) is None:
            text = f"{side} text in {language} has no line of {FEWEST_WORDS} words or more"
            unchecked[text] = None
        elif foreign.share > MUCH_FOREIGN:
            yield warning(
                "language",
                f"{foreign.share:.0%} of the {side} lines declared as {language} seem to be in "
                f"another language ({foreign.examples}); look at them, and remove those that are, "
                f"or correct {side}_language",
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
) -> Iterator[Diagnosis]:
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
    lines: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    alone = {part.name for part in config.train_parts() if not part.has_source}
    for example, _ in texts.sample:
        if example.origin.part in alone:
            continue
        place = f"{example.origin.part} line {example.line}"
        if config.model.reads_source and example.source:
            lines["source", example.source_language].append((place, example.source))
        lines["target", example.target_language].append((place, example.target))
    return dict(lines)


_FEW = 0.005
"""Share of the lines below which a model hardly learns from such lines."""


def check_short_lines(config: ExperimentConfig, texts: Texts) -> Iterator[Diagnosis]:
    """Check the shares of short lines, of lines in capitals, and of numbers or codes.

    Those of which a transform makes examples are left out.
    """
    sources = [example.source for example in texts.translated_examples]
    if len(sources) < ENOUGH_PAIRS or config.model.writes_labels:
        return
    shares = {
        f"of at most {SHORT} words": (_share(sources, is_short), "{kind: segment}"),
        "in capitals": (_share(sources, is_capital), "{kind: case, to: upper, sides: both}"),
        "of numbers or codes alone": (_share(sources, is_number), "{kind: pass_through}"),
    }
    if not any(map(has_case, sources)):
        del shares["in capitals"]
    made = _made(config)
    few = {
        name: (share, remedy)
        for name, (share, remedy) in shares.items()
        if share < _FEW and remedy not in made
    }
    if not few:
        yield ok("short", "the text has lines of few words, in capitals and of numbers")
        return
    lacking = ", ".join(f"{share:.1%} {name}" for name, (share, _) in few.items())
    remedies = ", ".join(remedy for _, remedy in few.values())
    yield warning(
        "short",
        f"few training sources are like short input: {lacking}; the model will do badly on such "
        f"lines: it may repeat itself or invent; add transforms with a share: {remedies} "
        "(docs/short-input.md)",
    )


def check_strings(config: ExperimentConfig, texts: Texts) -> Iterator[Diagnosis]:
    """Count placeholders, tags, addresses and numbers, and check that both sides have the same."""
    examples = texts.translated_examples[:EXAMINED_PAIRS]
    if config.model.writes_labels:
        return
    features = TextFeatures.of(
        (one.source, one.target, f"{one.origin.part} line {one.line}") for one in examples
    )
    if not features.strings:
        return
    counted = f"of {features.pairs:,} sources: {features.counted}"
    if features.sides_agree:
        yield ok("strings", f"{counted}; translating keeps them")
        return
    yield warning(
        "strings",
        f"{counted}; {features.differing:,} translations have other placeholders, tags or "
        f"addresses (first: {features.first_differing}); correct them: 'dragoman check' lists "
        "all, and a model learns to lose them",
    )


def _share(lines: list[str], is_such: Callable[[str], bool]) -> float:
    return sum(map(is_such, lines)) / len(lines)


def _made(config: ExperimentConfig) -> set[str]:
    """The remedies that a training part has already."""
    present = set()
    for part in config.train_parts():
        for transform in part.transforms:
            if transform.kind in {"segment", "pass_through"}:
                present.add(f"{{kind: {transform.kind}}}")
            if (
                isinstance(transform, CaseConfig)
                and transform.to == "upper"
                and transform.sides == "both"
            ):
                present.add("{kind: case, to: upper, sides: both}")
    return present
