"""Checks of the text itself: readable, clean, with matching sides, and possible to score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import StatisticsError, correlation

from dragoman.core.errors import ConfigError, DataError, MissingExtraError
from dragoman.data.origin import describe
from dragoman.evaluation.metrics import check_installed, check_references, metrics_of
from dragoman.evaluation.tokenizers import tokenizer_hint
from dragoman.recipe import ExperimentConfig
from dragoman.text.corpora.cleaning import clean_part
from dragoman.text.corpora.cleaning_report import CleaningReport
from dragoman.text.corpora.corpus import evaluation_pairs, kept_pairs
from dragoman.text.examples import Example
from dragoman.text.formats import Pair
from dragoman.text.reservoir import Reservoir
from dragoman.text.scripts import script_shares
from dragoman.text.terms.terminology import counters
from dragoman.workflows.doctor import Diagnosis, error, ok, warning

SAMPLE_PAIRS = 50_000
"""Number of training pairs examined closely; all are read."""

_FEW_DEV_PAIRS, _MANY_DEV_PAIRS = 100, 5000
_FREQUENT_WORDS = 200
ENOUGH_PAIRS = 50
"""Minimum pairs for a statistic."""


@dataclass
class Texts:
    """The readable text."""

    sample: list[tuple[Example, float]] = field(default_factory=list)
    """A sample of the training pairs that cleaning keeps, with their weights."""
    kept: int = 0
    """Number of training pairs that cleaning keeps."""
    dev: dict[str, list[Pair]] = field(default_factory=dict)
    """Pairs of each dev set with both sides filled, as a model reads them."""
    tests: dict[str, list[Pair]] = field(default_factory=dict)
    """Pairs of each test set, likewise."""

    held_out: set[int] = field(default_factory=set)
    """Keys of the pairs of the dev and test sets, and of further text that is held out."""

    @property
    def train(self) -> list[Pair]:
        """The pairs of the sample, as a model reads them."""
        return [
            Pair(example.tagged_source, example.target, example.line) for example, _ in self.sample
        ]

    @property
    def translated(self) -> list[Pair]:
        """The pairs of the sample that translate: neither copies nor text without a source."""
        return [
            Pair(example.tagged_source, example.target, example.line)
            for example in self.translated_examples
        ]

    @property
    def translated_examples(self) -> list[Example]:
        """The same without the tags in front of their sources."""
        return [
            example
            for example, _ in self.sample
            if example.source and example.source_language != example.target_language
        ]

    @property
    def evaluation(self) -> dict[str, list[Pair]]:
        """Dev and test sets by name."""
        return {**self.dev, **self.tests}


def check_evaluation(config: ExperimentConfig, texts: Texts) -> Iterator[Diagnosis]:
    """Check that dev and test sets are readable, filled and of a sensible size.

    Further text that is held out need only be readable.
    """
    dev_sets = config.dev_sets()
    for name, part in {**dev_sets, **config.test_sets()}.items():
        try:
            pairs = list(kept_pairs(part))
        except DataError as problem:
            yield error(name, str(problem))
            continue
        texts.held_out |= config.held_out([part])
        filled = list(evaluation_pairs(part))
        (texts.dev if name in dev_sets else texts.tests)[name] = filled
        empty = next((pair.line for pair in pairs if not part.fills(pair)), None)
        yield from _check_size(name, len(pairs), len(filled), empty)
        if name in dev_sets and len(filled) > _MANY_DEV_PAIRS and config.evaluation.metrics:
            yield warning(
                name, f"{len(filled):,} pairs are many: each validation translates all of them"
            )
    if not config.data.test:
        yield warning("test", "no test set: the model will not be scored; add data.test")
    for number, part in enumerate(config.data.held_out):
        try:
            texts.held_out |= config.held_out([part])
        except DataError as problem:
            yield error(f"held_out.{number}", str(problem))


def _check_size(name: str, pairs: int, filled: int, empty: int | None) -> Iterator[Diagnosis]:
    if not filled:
        yield error(name, "no pair has both sides filled; look at the files and filters")
        return
    yield ok(name, f"{filled:,} pairs")
    if empty is not None:
        yield warning(
            name,
            f"{pairs - filled:,} pairs have an empty side (first: line {empty}); "
            "they are not scored",
        )
    if filled < _FEW_DEV_PAIRS:
        yield warning(name, f"{filled} pairs are few: scores will fluctuate; use some hundreds")


def check_training(config: ExperimentConfig, texts: Texts) -> Iterator[Diagnosis]:
    """Check that the training text is readable, and that cleaning keeps enough of it."""
    held_out = frozenset(texts.held_out)
    report = CleaningReport()
    sample: Reservoir[tuple[Example, float]] = Reservoir(SAMPLE_PAIRS, config.seed)
    for part in config.train_parts():
        try:
            for pair in clean_part(part, config.cleaning, report, held_out=held_out):
                sample.add((pair, part.weight))
            # Those that draw are applied in training only.
            describe(file for transform in part.transforms for file in transform.files())
        except DataError as problem:
            yield error("train", str(problem))
    texts.sample, texts.kept = sample.items, sample.seen
    if report.read:
        yield from _check_cleaning(report)
        sets = "dev, test or held-out" if config.data.held_out else "dev or test"
        reads_folders = any(part.file_format.is_folder for part in config.data.train)
        yield from _check_leakage(report, sets, reads_folders=reads_folders)


def _check_cleaning(report: CleaningReport) -> Iterator[Diagnosis]:
    reasons: Counter[str] = Counter()
    for part in report.parts.values():
        reasons.update({reason: finding.count for reason, finding in part.dropped.items()})
    why = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
    text = f"{report.kept:,} of {report.read:,} pairs remain after cleaning"
    text += f" (dropped: {why})" if why else ""
    if not report.kept:
        yield error("train", f"{text}; loosen data.cleaning or look at the text")
    elif report.kept < 0.8 * report.read:
        yield warning("train", f"{text}; if that is too many, loosen data.cleaning")
    else:
        yield ok("train", text)


def _check_leakage(
    report: CleaningReport, sets: str, *, reads_folders: bool
) -> Iterator[Diagnosis]:
    """Check that no dev or test pair is trained on; those split off a folder remain in it."""
    dropped = report.dropped("held out")
    kept = sum(
        part.noted["held out, kept"].count
        for part in report.parts.values()
        if "held out, kept" in part.noted
    )
    if kept:
        yield warning(
            "leakage",
            f"{kept:,} training pairs repeat a {sets} sentence and are trained on: scores "
            "will look better than the model is; set data.cleaning.keep_held_out: false",
        )
    elif dropped and reads_folders:
        yield ok("leakage", f"{dropped:,} pairs repeat a {sets} sentence and are left out")
    elif dropped:
        yield warning(
            "leakage",
            f"{dropped:,} training pairs repeat a {sets} sentence; they will be dropped",
        )
    else:
        yield ok("leakage", f"no training pair repeats a {sets} sentence")


def check_sides(config: ExperimentConfig, texts: Texts) -> Iterator[Diagnosis]:
    """Check that source and target are two languages, the same everywhere, aligned by line."""
    train = texts.translated
    if len(train) < ENOUGH_PAIRS or config.model.writes_labels:
        return
    identical = sum(pair.source == pair.target for pair in train) / len(train)
    if identical > 0.2:
        yield warning(
            "sides",
            f"{identical:.0%} of the training pairs have the same text on both sides; are source "
            "and target the same file?",
        )
    related = _length_correlation(train)
    if related is not None and related < 0.3:
        yield warning(
            "sides",
            f"the lengths of source and target hardly correlate ({related:.2f}); do the lines with "
            "the same number mean the same?",
        )
    made = {name for name, part in config.dev_sets().items() if part.back_translation}
    for name, pairs in texts.evaluation.items():
        if name not in made and len(pairs) >= ENOUGH_PAIRS and _is_swapped(train, pairs):
            yield error(
                "sides",
                f"the source of {name} looks like the target of the training text; swap source "
                f"and target of {name}, or of train",
            )


def _length_correlation(pairs: list[Pair]) -> float | None:
    """Pearson's correlation of lengths in characters; None if a side's are all equal."""
    try:
        return correlation([len(p.source) for p in pairs], [len(p.target) for p in pairs])
    except StatisticsError:
        return None


def _is_swapped(train: list[Pair], other: list[Pair]) -> bool:
    """Whether more frequent words are shared with the opposite side than with the same one."""
    a, b = (_frequent(getattr(pair, side) for pair in train) for side in ("source", "target"))
    c, d = (_frequent(getattr(pair, side) for pair in other) for side in ("source", "target"))
    return len(a & d) + len(b & c) > 1.5 * (len(a & c) + len(b & d)) + 5


def _frequent(texts: Iterable[str]) -> set[str]:
    counts = Counter(word for text in texts for word in text.casefold().split())
    return {word for word, _ in counts.most_common(_FREQUENT_WORDS)}


def check_scores(config: ExperimentConfig, texts: Texts) -> Iterator[Diagnosis]:
    """Check that metrics have the inputs they need, and that BLEU finds words in the target."""
    try:
        for evaluation in config.evaluations():
            check_installed(evaluation)
    except (ConfigError, MissingExtraError) as problem:
        yield error("evaluation", str(problem))
    yield from _check_sets(config, texts)
    if "bleu" not in config.evaluation.metrics:
        return
    characters = Counter("".join(pair.target for pairs in texts.dev.values() for pair in pairs))
    hint = tokenizer_hint(
        config.evaluation.bleu_tokenize, script_shares(characters), "evaluation.bleu_tokenize: {}"
    )
    if hint is not None:
        yield warning("evaluation", hint)


def _check_sets(config: ExperimentConfig, texts: Texts) -> Iterator[Diagnosis]:
    """Check that scores of each set can be computed: with a glossary, with a seed, or of trees."""
    metrics, glossary = config.evaluation.metrics, config.evaluation.glossary
    of_trees = tuple(metrics_of("trees", metrics))
    for name, part in {**config.dev_sets(), **config.test_sets()}.items():
        if not (part.gives_source and texts.evaluation.get(name)):
            continue  # unreadable: reported before; without a source: not translated
        direction = part.direction
        try:
            counters(glossary, (direction.source_language, direction.target_language))
            read = evaluation_pairs(part.scored()) if of_trees else ()
            evaluation = config.evaluation_of(part).model_copy(update={"metrics": of_trees})
            check_references([pair.target for pair in read], evaluation)
        except (ConfigError, DataError) as problem:
            yield error(name, str(problem))
