"""Gains and losses of an adaptation: scores before and after, in-domain and general."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dragoman.core.errors import SavedError
from dragoman.core.files import atomic_write
from dragoman.core.text_tables import markdown_table, terminal_table
from dragoman.evaluation.metrics import EvaluationConfig, MetricName, score_corpus
from dragoman.evaluation.significance import compare_systems, difference_interval
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig
from dragoman.run.revision import BOUNDS, ended_by
from dragoman.run.scores_file import read_share
from dragoman.saved.model import vocabularies_of
from dragoman.saved.system_parts import UNPROTECTED
from dragoman.techniques.adaptation.adaptation_plan import REPLAY_TASK
from dragoman.techniques.host import Host
from dragoman.text.corpora.cleaning_report import CountedLines
from dragoman.text.corpora.corpus import evaluation_pairs, part_labels, reference_sets
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.tags import missing_tags
from dragoman.training.checkpoint import Progress
from dragoman.translation.translator import Translator

REPORT_FILE = "adaptation.md"
_FEWEST_FOR_INTERVALS = 10
_METRICS = frozenset(["bleu", "chrf", "ter", "exact_match"])
"""Metrics that only need the text of a translation and its reference."""
_EXPLAINED = {
    "held out": "held out (a side of them is in a dev or test set)",
    "duplicate": "repeating an earlier one",
}
"""Plain descriptions of the reasons of cleaning."""


@dataclass(frozen=True)
class AdaptationScore:
    """One metric of one set, before and after."""

    set: str
    """Name of the set."""
    kind: str
    """``domain``, or ``general`` for a set whose loss is bounded."""
    direction: str
    """Translation direction, such as ``en-de``."""
    pairs: int
    metric: str
    before: float | None
    """Score before; None if the model did not know the language, or another tag."""
    after: float
    interval: tuple[float, float] | None
    """95 % interval of the difference by paired bootstrap; None for fewer than 10 pairs."""
    p_value: float | None
    """p-value of the difference, by paired bootstrap; None for fewer than 10 pairs."""

    @property
    def difference(self) -> float | None:
        """The gain in score; None without a score before."""
        return None if self.before is None else self.after - self.before

    def cells(self) -> list[str]:
        """The row of a table."""
        low_high = "-" if self.interval is None else "{:+.2f} to {:+.2f}".format(*self.interval)
        known = self.before is not None
        return [
            self.set,
            self.direction,
            f"{self.pairs:,}",
            self.metric,
            f"{self.before:.2f}" if known else "-",
            f"{self.after:.2f}",
            f"{self.difference:+.2f}" if known else "-",
            low_high,
            "-" if self.p_value is None else f"{self.p_value:.3f}",
        ]


_HEAD = ["set", "direction", "pairs", "metric", "before", "after", "change", "95 % interval", "p"]
_ALIGNMENT = "ll" + "r" * (len(_HEAD) - 2)


@dataclass(frozen=True)
class AdaptationReport:
    """A finished adaptation in figures."""

    model: str
    """The model that was adapted."""
    steps: int
    """Steps taken."""
    kept_step: int
    """The step whose weights are the model, wholly or in part; 0 for the original model."""
    ended_by: str
    """The limit that ended training, such as ``training.max_steps: 40``."""
    scores: tuple[AdaptationScore, ...]
    notes: tuple[str, ...] = ()
    share: float = 1.0
    """Interpolation factor between the original weights (0) and those of that step (1)."""
    extended: bool = False
    """Whether the vocabulary was extended, so that the model differs before the first step."""
    within: bool = True
    """Whether the model is within all bounds."""

    @property
    def adapted(self) -> bool:
        """Whether the weights differ from those of the original model."""
        return self.kept_step > 0 or self.extended

    def outcome(self) -> str:
        """A sentence on the weights that became the model, and the reason."""
        if not self.kept_step:
            return f"{self._nothing_gained()} Give {self._remedy()}"
        where = f"that of step {self.kept_step:,} of {self.steps:,}"
        if self.share < 1:
            where = f"{self.share:.0%} of the way from what it was to step {self.kept_step:,}"
        return (
            f"The model is {where}, the best of the domain within the bound; ended by "
            f"{self.ended_by}"
        )

    def _nothing_gained(self) -> str:
        began = "the one that it began with"
        if self.extended:
            began += ", with the vocabulary extended"
        if not self.within:
            return (
                f"No step of {self.steps:,} was within the bound (ended by {self.ended_by}): the "
                f"model is {began}, which alone costs more than the bound allows."
            )
        return (
            f"Nothing was gained within the bound in {self.steps:,} steps (ended by "
            f"{self.ended_by}): the model is {began}."
        )

    def _remedy(self) -> str:
        if not self.within:
            return "--vocabulary keep or a wider --may-lose"
        if self.ended_by == BOUNDS:
            return (
                "more in-domain pairs, a lower training.schedule.peak_learning_rate, a higher "
                "--ratio or a wider --may-lose"
            )
        return (
            "more in-domain pairs, a larger training.max_steps or a higher "
            "training.schedule.peak_learning_rate"
        )

    def table(self) -> str:
        """The scores for a terminal."""
        rows = [_HEAD, *(score.cells() for score in self.scores)]
        return terminal_table(rows, _ALIGNMENT)

    def markdown(self) -> str:
        """The whole report in Markdown."""
        lines = ["# Adaptation", "", f"Of `{Path(self.model).name}`. {self.outcome()}.", ""]
        lines += [markdown_table(_HEAD, (score.cells() for score in self.scores))]
        lines += ["", "Sets that are bounded are general; all others are of the domain."]
        lines += [f"- {note}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        scores = [asdict(score) | {"difference": score.difference} for score in self.scores]
        return {**asdict(self), "adapted": self.adapted, "scores": scores}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> AdaptationReport:
        """The report from the result of :meth:`to_json`."""
        return TypeAdapter(cls).validate_python(values)


def measure(
    parent: Path, experiment: Experiment, progress: Progress, notes: tuple[str, ...], host: Host
) -> AdaptationReport:
    """Translate all sets with the original model and the finished run's, and compare."""
    config = experiment.config
    best = progress.best
    kept, within = progress.step if best is None else best.step, True
    if progress.watched is not None and (config.training.averaged or best is None):
        within = progress.watched.kept_step is not None
        kept = progress.watched.kept_step or 0
    share = read_share(experiment.run)
    if share is not None:
        kept, within = progress.step, True
    start = config.training.start_from
    extended = start is not None and start.vocabulary == "extend"
    sets = {**config.dev_sets(), **config.test_sets()}
    search = config.decoding.model_dump()
    scores: list[AdaptationScore] = []
    with (
        Translator.load(parent, search=search, terms=UNPROTECTED) as old,
        Translator.load(experiment.run, terms=UNPROTECTED) as new,
    ):
        tags = _tags_of(parent)
        for name, part in sets.items():
            is_new = bool(missing_tags(part.symbols(), tags))
            models = [new] if is_new else [old, new] if kept or extended else [old]
            scores += _scores(experiment, name, part, models, host, is_new=is_new)
    ended = ended_by(config, experiment.run) or "an interruption"
    result = str(parent), progress.step, kept, ended, tuple(scores)
    return AdaptationReport(
        *result, notes=notes, share=share or 1.0, extended=extended, within=within
    )


def scores_before(
    parent: Path, config: ExperimentConfig, names: Sequence[str], host: Host
) -> dict[str, float]:
    """The original model's scores on sets whose translations are bounded."""
    sets, bounds = config.dev_sets(), config.training.bounds
    scores = {}
    search = config.decoding.model_dump()
    with Translator.load(parent, search=search, terms=UNPROTECTED) as model:
        for name in names:
            if name not in bounds or bounds[name].metric == "loss":  # of pieces, which change
                continue
            part = sets[f"dev_{name}"]
            pairs = list(evaluation_pairs(part))
            with host.counting(f"scoring dev_{name}", "lines", len(pairs)) as count:
                hypotheses = _translated(model, pairs)
                count(len(pairs))
            evaluation = config.evaluation_of(part).model_copy(
                update={"metrics": (bounds[name].metric,), "confidence_samples": 0}
            )
            references = reference_sets(part, pairs)
            scores[name] = score_corpus(hypotheses, references, evaluation)[0].value
    return scores


def _translated(model: Translator, pairs: Sequence[Pair]) -> list[str]:
    """Translations of the sources; empty for a source that is too long for the model."""
    sources = [pair.source for pair in pairs]
    return [best.text for best, *_ in model.translate_nbest(sources, nbest=1)]


def _scores(
    experiment: Experiment,
    name: str,
    part: CorpusPart,
    models: Sequence[Translator],
    host: Host,
    *,
    is_new: bool,
) -> Iterator[AdaptationScore]:
    """Each text metric of a set, of the first and the last of the models.

    For a new set, the original model cannot read the tags.  A line that is too long for a model,
    for example because the old vocabulary splits it into more pieces, has an empty translation by
    it.
    """
    pairs = list(evaluation_pairs(part))
    references = reference_sets(part, pairs)
    translations = []
    with host.counting(f"scoring {name}", "lines", len(models) * len(pairs)) as count:
        for number, model in enumerate(models):
            translations.append(_translated(model, pairs))
            count((number + 1) * len(pairs))
    before, after = translations[0], translations[-1]
    config = experiment.config
    evaluation = config.evaluation_of(part)
    metrics = tuple(_telling(evaluation, references))
    evaluation = evaluation.model_copy(update={"metrics": metrics, "confidence_samples": 0})
    enough = len(pairs) >= _FEWEST_FOR_INTERVALS and not is_new
    tests = compare_systems(before, {"adapted": after}, references, evaluation)
    for metric, test in zip(metrics, tests, strict=True):
        interval = None
        if enough:
            interval = difference_interval(before, after, references, evaluation, metric=metric)
        yield AdaptationScore(
            set=name,
            kind="general" if name in config.bounded_sets() else "domain",
            direction=part.direction.name,
            pairs=len(pairs),
            metric=test.metric,
            before=None if is_new else test.baseline_value,
            after=test.value,
            interval=interval,
            p_value=test.p_value if enough else None,
        )


def _telling(
    evaluation: EvaluationConfig, references: Sequence[Sequence[str]]
) -> Iterator[MetricName]:
    """The metrics of a set that its report shows.

    BLEU is shown only if the references themselves score more than 0.  If no line has four tokens,
    BLEU is 0 even for perfect translations.
    """
    for metric in evaluation.metrics:
        if metric == "bleu":
            alone = evaluation.model_copy(update={"metrics": (metric,), "confidence_samples": 0})
            (best,) = score_corpus(references[0], references, alone)
            if best.value:
                yield metric
        elif metric in _METRICS:
            yield metric


def unlearned(experiment: Experiment) -> Iterator[str]:
    """Notes on in-domain pairs that preparation dropped, or kept although a set has them."""
    config = experiment.config
    try:
        prepared = experiment.prepared().report.parts
    except SavedError:  # the prepared text was removed
        return
    labels = zip(part_labels(config.train_parts()), config.data.train, strict=True)
    domain = [
        prepared[label] for label, part in labels if part.task != REPLAY_TASK and label in prepared
    ]
    pairs = sum(part.read for part in domain)
    dropped = _counts(part.dropped for part in domain)
    if lost := sum(dropped.values()):
        reasons = ", ".join(
            f"{count:,} {_EXPLAINED.get(name, name)}" for name, count in dropped.items()
        )
        yield f"{lost:,} of {pairs:,} in-domain pairs were not learned from: {reasons}"
    held_out = _counts(part.noted for part in domain)["held out, kept"]
    if 0 < held_out < pairs:
        yield (
            f"{held_out:,} of {pairs:,} in-domain pairs were learned from although a side of them "
            "is in a dev or test set, whose score is the better for it"
        )


def _counts(findings: Iterable[Mapping[str, CountedLines]]) -> Counter[str]:
    """The number of pairs of each finding, over all parts."""
    counts: Counter[str] = Counter()
    for part in findings:
        counts.update({name: lines.count for name, lines in part.items()})
    return counts


def _tags_of(model: Path) -> list[str]:
    """The tags that a model knows."""
    source = vocabularies_of(model).source
    return source.pieces(source.tags)


def write_report(run: Path, report: AdaptationReport) -> None:
    """Write ``adaptation.md`` into the run."""
    with atomic_write(run / REPORT_FILE) as stream:
        stream.write(report.markdown())
