"""Carrying out a back-translation, round by round; finished work is not repeated.

Sennrich et al. 2016 (arXiv:1511.06709) translate text in the target language back and train on it.
Hoang et al. 2018 (Iterative Back-Translation for Neural Machine Translation) repeat it in both
directions.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.errors import DataError, InterruptedRunError
from dragoman.core.files import read_json, write_json
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig
from dragoman.run.run_directory import begin
from dragoman.saved.model import CONFIG_FILE, has_model
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.backtranslation.directory import BackTranslationPlan, link_model, record
from dragoman.techniques.backtranslation.monolingual import (
    ChosenLines,
    prepare_texts,
    source_lines,
    target_lines,
)
from dragoman.techniques.backtranslation.parts import cleaned, with_synthetic
from dragoman.techniques.backtranslation.reversal import direction_of
from dragoman.techniques.backtranslation.selection_reports import (
    PairReport,
    read_report,
    write_report,
)
from dragoman.techniques.host import Host, train_to_repeat
from dragoman.techniques.teachers.taught_corpus import teach_corpus
from dragoman.text.corpora.cleaning import CleaningReport
from dragoman.text.formats import Pair
from dragoman.text.lines import read_lines, write_text
from dragoman.translation.shards import TEACHER_REPORT_FILE
from dragoman.translation.synthesis import SHARD_LINES, SyntheticCorpus, translate_corpus

TRANSLATED, PAIRS_FILE = "translated", "pairs.jsonl.gz"
WORST, SURPLUS = "low score", "beyond the ratio"
"""The reasons for dropping pairs: the lowest scores, or the last places where none has a score."""


@dataclass(frozen=True)
class Round:
    """A finished round."""

    number: int
    reverse: Path | None
    """Run of the reverse model, or the given model; None for a teacher."""
    forward: Path
    """Run of the forward model."""
    synthetic: PairReport
    """Report on the pairs that the forward model learned from."""
    reverse_synthetic: PairReport | None
    """Report on the pairs that the reverse model learned from; None for real pairs alone."""


@dataclass(frozen=True)
class BackTranslation:
    """A finished back-translation."""

    plan: BackTranslationPlan
    real_pairs: int
    rounds: list[Round]
    use: Path
    """The path to translate with."""


def carry_out(
    plan: BackTranslationPlan,
    host: Host,
    *,
    workers: int | None = None,
    shard_lines: int = SHARD_LINES,
) -> BackTranslation:
    """Do the remaining work of all rounds; it can be resumed after each shard of translations."""
    real_pairs = prepare_texts(plan, host)
    record(plan)  # only now, so that a mistake in the texts can be corrected
    work = _Work(plan, host, plan.settings.pairs_limit(real_pairs), workers, shard_lines)
    rounds = []
    try:
        for number in range(1, plan.settings.rounds + 1):
            rounds.append(work.carry_out(number))
            use = link_model(plan, rounds[-1].forward)
    except KeyboardInterrupt:  # outside of training, which handles signals itself
        raise InterruptedRunError(
            f"{plan.directory}: stopped; what is finished is saved; repeat the command to continue"
        ) from None
    return BackTranslation(plan, real_pairs, rounds, use)


@dataclass(frozen=True)
class _Work:
    """The steps of a round."""

    plan: BackTranslationPlan
    host: Host
    limit: int | None
    """Maximum number of synthetic pairs."""
    workers: int | None
    shard_lines: int

    def carry_out(self, number: int) -> Round:
        """The reverse model, its translations, and the forward model that learns from them."""
        plan = self.plan
        of_reverse, learned = self._reverse(number)
        folder = plan.round(number) / "synthetic"
        report = self._synthesise(
            of_reverse, target_lines(plan), plan.recipe, folder, turn=2 * number
        )
        recipe = with_synthetic(plan.recipe, folder / PAIRS_FILE, plan.settings)
        self._train(plan.forward(number), recipe, f"round {number}: forward model")
        return Round(number, of_reverse, plan.forward(number), report, learned)

    def _reverse(self, number: int) -> tuple[Path | None, PairReport | None]:
        """The reverse model of a round, and the report on its synthetic training pairs, if any.

        A teacher takes the place of a reverse model, which is then None.
        """
        plan, run = self.plan, self.plan.reverse(number)
        label = f"round {number}: reverse model"
        if plan.settings.teacher is not None:
            return None, None
        if number == 1:
            if plan.settings.reverse_model is None:
                assert plan.reverse_recipe is not None, "a plan has one or the other"
                self._train(run, plan.reverse_recipe, label)
            return run, None
        recipe = plan.reverse_recipe
        assert recipe is not None, "a plan of several rounds has one"
        folder = plan.round(number) / "reverse-synthetic"
        forward = plan.forward(number - 1)
        report = self._synthesise(forward, source_lines(plan), recipe, folder, turn=2 * number - 1)
        self._train(run, with_synthetic(recipe, folder / PAIRS_FILE, plan.settings), label)
        return run, report

    def _synthesise(
        self,
        model: Path | None,
        lines: ChosenLines,
        learner: ExperimentConfig,
        folder: Path,
        *,
        turn: int,
    ) -> PairReport:
        """Translate lines into synthetic pairs for a recipe, and filter them.

        ``model`` is None for the teacher.
        """
        output = folder / PAIRS_FILE
        if (report := read_report(output, PairReport)) is not None:
            return report
        settings = self.plan.settings
        language = direction_of(learner).source_language
        if model is None:
            corpus = self._taught(lines, folder, language)
        else:
            self.host.tell(f"{folder}: translating into {language} with {model}")
            corpus = translate_corpus(
                TranslationSystem(
                    models=(model,),
                    target_language=language,
                    search=settings.search(turn),
                    workers=self.workers,
                ),
                lines,
                folder / TRANSLATED,
                known="target",
                shard_lines=self.shard_lines,
                progress=self._progress,
            )
        report = filter_pairs(
            corpus.path, learner, output, drop_worst=settings.drop_worst, limit=self.limit
        )
        self.host.tell(f"{folder}: {report}")
        return report

    def _taught(self, lines: ChosenLines, folder: Path, language: str) -> SyntheticCorpus:
        """The teacher's translations, with its report beside the pairs for the model card."""
        teacher = self.plan.teacher()
        assert teacher is not None, "without a model there is a teacher"
        self.host.tell(f"{folder}: translating into {language} with {teacher.config.address}")
        corpus = teach_corpus(
            teacher,
            lines,
            folder / TRANSLATED,
            known="target",
            shard_lines=self.shard_lines,
            progress=self._progress,
            tell=self.host.tell,
        )
        report = read_json(folder / TRANSLATED / TEACHER_REPORT_FILE)
        write_json(folder / TEACHER_REPORT_FILE, report)
        return corpus

    def _train(self, run: Path, recipe: ExperimentConfig, label: str) -> None:
        """Train and score a run that is not finished."""
        if has_model(run):
            self.host.tell(f"{label}: already trained")
            return
        self.host.tell(f"{label}: training in {run}")
        with begin(run):
            begun = (run / CONFIG_FILE).exists()
            experiment = Experiment.open(run) if begun else Experiment.create(recipe, run)
            train_to_repeat(experiment, self.host)

    def _progress(self, done: int, total: int) -> AbstractContextManager[Callable[[int], object]]:
        return self.host.counting("translating", "lines", total, done)


def filter_pairs(
    corpus: Path,
    learner: ExperimentConfig,
    output: Path,
    *,
    drop_worst: float,
    limit: int | None,
) -> PairReport:
    """Write the pairs that are fit for training, the best by score; each keeps its origin.

    Cleaning is that of the recipe: length ratio, identical sides, duplicates and so on.

    Args:
        corpus: JSON lines with ``source``, ``target`` and ``score``; a teacher's have no score, and
            the first ones count as the best.
        learner: recipe of the model that learns from them.
        output: file to write; the report is written beside it.
        drop_worst: share of the cleaned pairs with the lowest scores to drop.
        limit: maximum number of pairs; further pairs with the lowest scores are also dropped.
    """
    cleaning = CleaningReport()
    rows = enumerate(_clean(corpus, learner, cleaning))
    scored = [(row.get("score", -place), "score" in row) for place, row in rows]
    scores = np.array([score for score, _ in scored], dtype=np.float64)
    part = cleaning.part(corpus.name)
    report = PairReport(part.read, 0, {name: lines.count for name, lines in part.dropped.items()})
    worst = int(round(drop_worst * len(scores), 6))  # 0.29 of 100 are 29
    if limit is not None:
        worst = max(worst, len(scores) - limit)
    dropped = set(np.argsort(scores, kind="stable")[:worst].tolist())
    if dropped:
        report.dropped[WORST if scored[0][1] else SURPLUS] = len(dropped)
    report.kept = len(scores) - len(dropped)
    if not report.kept:
        raise DataError(
            f"{corpus}: {report}; train a better reverse model or ask another teacher, or filter "
            "less"
        )
    with write_text(output) as stream:
        for number, row in enumerate(_clean(corpus, learner, CleaningReport())):
            if number not in dropped:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    write_report(output, report)
    return report


def _clean(
    corpus: Path, learner: ExperimentConfig, report: CleaningReport
) -> Iterator[dict[str, Any]]:
    """The rows whose pairs pass cleaning, unchanged."""
    waiting: deque[tuple[int, dict[str, Any]]] = deque()

    def pairs() -> Iterator[Pair]:
        for number, line in enumerate(read_lines(corpus), 1):
            row = json.loads(line)
            waiting.append((number, row))
            yield Pair(row["source"], row["target"], number)

    for pair in cleaned(pairs(), learner, report, name=corpus.name):
        while (first := waiting.popleft())[0] != pair.line:
            pass  # dropped
        yield first[1]
