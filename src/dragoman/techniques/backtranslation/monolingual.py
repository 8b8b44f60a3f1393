"""Text in one language: cleaning it, and choosing lines to translate.

The lines are chosen before any training, so that mistakes show at once.  ``text/`` has a copy of
the chosen lines, so that later changes to a file have no effect.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path
from random import Random
from typing import Literal

from dragoman.core.errors import DataError, SavedError
from dragoman.core.files import atomic_directory, read_json, write_json
from dragoman.evaluation.languages import MUCH_FOREIGN, why_not_judged, wrong_language_share
from dragoman.recipe import ExperimentConfig
from dragoman.techniques.backtranslation.directory import (
    BackTranslationPlan,
    is_begun,
    recorded_rounds,
)
from dragoman.techniques.backtranslation.parts import (
    cleaned,
    count_real_pairs,
    shared_case,
)
from dragoman.techniques.backtranslation.reversal import direction_of, real_parts
from dragoman.techniques.backtranslation.selection_reports import TextReport, write_report
from dragoman.techniques.host import Host
from dragoman.text.corpora.cleaning import CleaningReport
from dragoman.text.corpora.corpus import kept_pairs
from dragoman.text.examples import Example, Origin
from dragoman.text.formats import Pair
from dragoman.text.lines import read_lines, write_text
from dragoman.text.transforms import transformed
from dragoman.translation.synthesis import GivenLine

log = logging.getLogger(__name__)

_REAL_FILE = "real.json"
_TARGET_FILE, _SOURCE_FILE = "target.jsonl.gz", "source.jsonl.gz"
_FILES = frozenset([_REAL_FILE, _TARGET_FILE, _SOURCE_FILE, "target.json", "source.json"])


@dataclass(frozen=True)
class ChosenLines:
    """The lines to translate; the file is complete if its report exists."""

    path: Path
    """JSON lines with ``line``, the number in the original file, and ``text``."""

    def __iter__(self) -> Iterator[GivenLine]:
        for row in map(json.loads, read_lines(self.path)):
            yield GivenLine(row["text"], row["line"])


@dataclass(frozen=True)
class _Lines:
    """The lines of a file as targets, which can be read repeatedly."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the text in its report."""
        return self.path.name

    def __iter__(self) -> Iterator[Pair]:
        return (Pair("", line, number) for number, line in enumerate(read_lines(self.path), 1))


@dataclass(frozen=True)
class _Targets:
    """The targets of the real pairs that a recipe keeps, numbered through all parts."""

    recipe: ExperimentConfig
    name: str = "real sources"

    def __iter__(self) -> Iterator[Pair]:
        pairs = (pair for part in real_parts(self.recipe) for pair in kept_pairs(part))
        return (pair._replace(source="", line=number) for number, pair in enumerate(pairs, 1))


def prepare_texts(plan: BackTranslationPlan, host: Host) -> int:
    """Count the real pairs and choose the lines to translate, if that is not done.

    Returns:
        The number of real pairs.
    """
    if not is_begun(plan.directory):
        with atomic_directory(plan.text, _FILES) as folder:
            _count(plan, folder, host)
            _choose(plan, folder, host)
    elif plan.settings.rounds > 1 and recorded_rounds(plan.directory) == 1:
        # Even if an interrupted call has chosen some, as it may have been given another text.
        _choose_source(plan, plan.text, _real_pairs(plan.text), host)
    return _real_pairs(plan.text)


def target_lines(plan: BackTranslationPlan) -> ChosenLines:
    """The chosen lines in the target language, the same in all rounds."""
    return ChosenLines(plan.text / _TARGET_FILE)


def source_lines(plan: BackTranslationPlan) -> ChosenLines:
    """The chosen lines in the source language, the same in all rounds from the second."""
    return ChosenLines(plan.text / _SOURCE_FILE)


def _count(plan: BackTranslationPlan, folder: Path, host: Host) -> None:
    with host.counting("counting", "real pairs") as count:
        pairs = count_real_pairs(plan.recipe, count)
    if not pairs:
        raise DataError("data.train: cleaning leaves no real pair; back-translation needs some")
    write_json(folder / _REAL_FILE, {"pairs": pairs})


def _real_pairs(folder: Path) -> int:
    file = folder / _REAL_FILE
    try:
        return int(read_json(file)["pairs"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SavedError(f"{file}: missing or damaged; choose another --run") from error


def _choose(plan: BackTranslationPlan, folder: Path, host: Host) -> None:
    text, real_pairs = _Lines(plan.settings.monolingual), _real_pairs(folder)
    report = _choose_lines(plan, text, plan.recipe, folder / _TARGET_FILE, real_pairs)
    host.tell(str(report))
    if plan.settings.rounds > 1:
        _choose_source(plan, folder, real_pairs, host)


def _choose_source(plan: BackTranslationPlan, folder: Path, real_pairs: int, host: Host) -> None:
    """Choose the lines that are translated for the second round's reverse model."""
    output = folder / _SOURCE_FILE
    assert plan.reverse_recipe is not None, "a plan of several rounds has one"
    given = plan.settings.monolingual_source
    # A second translation of the sources of real pairs also helps: data diversification (Nguyen et
    # al. 2020, arXiv:1911.01986).
    text = _Targets(plan.reverse_recipe) if given is None else _Lines(given)
    host.tell(str(_choose_lines(plan, text, plan.reverse_recipe, output, real_pairs)))


def _choose_lines(
    plan: BackTranslationPlan,
    text: _Lines | _Targets,
    learner: ExperimentConfig,
    output: Path,
    real_pairs: int,
) -> TextReport:
    settings = plan.settings
    limit = settings.pairs_limit(real_pairs)
    if limit is not None:  # more, so that enough are left
        limit = ceil(limit / (1 - settings.drop_worst))
    return choose_lines(
        text, text.name, learner, output, limit=limit, choice=settings.choice, seed=settings.seed
    )


def choose_lines(
    text: Iterable[Pair],
    name: str,
    learner: ExperimentConfig,
    output: Path,
    *,
    limit: int | None,
    choice: Literal["random", "first"],
    seed: int,
) -> TextReport:
    """Clean a text in the learner's target language, and write the lines to translate.

    Empty lines, lines that are too long, duplicates and text that is never trained on are dropped.

    Args:
        text: lines as targets; read twice, so this must not be an iterator.
        name: of the text, in the report.
        learner: recipe of the model that learns to write this text.
        output: file to write, such as ``target.jsonl.gz``; the report is written beside it.
        limit: maximum lines; None for all.
        choice: the lines to take from a longer text.
        seed: of a random choice.
    """
    report, cleaning = TextReport(name), CleaningReport()
    for _ in cleaned(text, learner, cleaning, name=name, has_source=False):
        report.fit += 1
    part = cleaning.part(name)
    report.read = part.read
    report.dropped = {reason: lines.count for reason, lines in part.dropped.items()}
    if not report.fit:
        raise DataError(
            f"{name}: no line is fit for translation{report.reasons}; give another text"
        )
    report.chosen = report.fit if limit is None else min(limit, report.fit)
    cases = shared_case(real_parts(learner))
    target = direction_of(learner).target_language
    with write_text(output) as stream:
        fit = cleaned(text, learner, CleaningReport(), name=name, has_source=False)
        for pair in take(fit, report.fit, report.chosen, choice, seed):
            line = Example("", pair.target, "", target, (), Origin(name, pair.line))
            changed = transformed(line, cases, Random(0))
            assert changed is not None, "a change of case drops nothing"
            row = {"line": pair.line, "text": changed.target}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    report.wrong_language = wrong_language_share(
        (line.text for line in ChosenLines(output)), target
    )
    _warn_of_another_language(report, target)
    write_report(output, report)
    return report


def _warn_of_another_language(report: TextReport, language: str) -> None:
    if report.wrong_language is None:
        if (reason := why_not_judged(language)) is not None:
            why = reason.partition("; it knows")[0]
            log.warning("%s: its language is not judged: %s", report.name, why)
    elif report.wrong_language > MUCH_FOREIGN:
        log.warning(
            "%s: %.0f %% of its lines are not in %s; remove them, or check that this is the text "
            "that you meant",
            report.name,
            100 * report.wrong_language,
            language,
        )


def take(
    items: Iterable[Pair],
    total: int,
    wanted: int,
    choice: Literal["random", "first"],
    seed: int,
) -> Iterator[Pair]:
    """``wanted`` of ``total`` items in their order: the first, or each with the same probability.

    Selection sampling: Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S.
    """
    if choice == "first":
        yield from islice(items, wanted)
        return
    rng = Random(seed)
    for before, item in enumerate(items):
        if rng.random() * (total - before) < wanted:
            wanted -= 1
            yield item
