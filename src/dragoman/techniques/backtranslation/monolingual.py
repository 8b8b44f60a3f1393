"""Text in one language: cleaning it, and choosing lines to translate."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Literal

from dragoman.core.errors import DataError
from dragoman.evaluation.languages import MUCH_FOREIGN, why_not_judged, wrong_language_share
from dragoman.recipe import ExperimentConfig
from dragoman.techniques.backtranslation.parts import held_out, shared_case, synthetic_cleaning
from dragoman.techniques.backtranslation.reversal import direction_of, real_parts
from dragoman.techniques.backtranslation.selection_reports import TextReport, write_report
from dragoman.text.corpora.cleaning import CleaningReport, clean
from dragoman.text.examples import Example, Origin
from dragoman.text.formats import Pair
from dragoman.text.lines import read_lines, write_text
from dragoman.text.transforms import transformed
from dragoman.translation.synthesis import GivenLine

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChosenLines:
    """The lines to translate; the file is complete if its report exists."""

    path: Path
    """JSON lines with ``line``, the number in the original file, and ``text``."""

    def __iter__(self) -> Iterator[GivenLine]:
        for row in map(json.loads, read_lines(self.path)):
            yield GivenLine(row["text"], row["line"])


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

    Raises:
        DataError: the text cannot be read, or no line is fit.
    """
    report = TextReport(name)
    cleaned = CleaningReport()
    for _ in _fit(text, name, learner, cleaned):
        report.fit += 1
    part = cleaned.part(name)
    report.read = part.read
    report.dropped = {reason: found.count for reason, found in part.dropped.items()}
    if not report.fit:
        raise DataError(
            f"{name}: no line is fit for translation{report.reasons}; give another text"
        )
    report.chosen = report.fit if limit is None else min(limit, report.fit)
    cases = shared_case(real_parts(learner))
    target = direction_of(learner).target_language
    with write_text(output) as stream:
        fit = _fit(text, name, learner, CleaningReport())
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


def _fit(
    text: Iterable[Pair], name: str, learner: ExperimentConfig, report: CleaningReport
) -> Iterator[Pair]:
    """The lines that pass cleaning."""
    return clean(
        text,
        synthetic_cleaning(learner),
        report,
        part=name,
        has_source=False,
        held_out=held_out(learner),
    )
