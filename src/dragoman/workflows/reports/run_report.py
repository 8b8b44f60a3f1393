"""``report.html``: a run in one file that opens anywhere, with nothing to download."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.files import atomic_write, read_json
from dragoman.core.version import __version__
from dragoman.data.prepare import REPORT
from dragoman.data.store import DATA_DIRECTORY
from dragoman.evaluation.metrics import EvaluationConfig, sentence_chrf
from dragoman.experiment import METRICS_FILE, Experiment
from dragoman.models.interface import TranslationModel
from dragoman.recipe import ExperimentConfig
from dragoman.run.finish_record import choice_in_words, confidence_in_words, read_finish
from dragoman.run.scores_file import read_scores
from dragoman.saved.directions import usage
from dragoman.saved.model import (
    CONFIG_FILE,
    MODEL_DIRECTORY,
    load_for_search,
    load_model,
    read_config,
)
from dragoman.saved.system_parts import UNPROTECTED
from dragoman.text.corpora.cleaning_report import CleaningReport, PartReport
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.formats import Pair
from dragoman.training.checkpoint import Progress, checkpoints, read_progress
from dragoman.translation.translator import Translator
from dragoman.workflows.progress import counting
from dragoman.workflows.reports.figures import to_svg
from dragoman.workflows.reports.heat_map import HeatMap, heat_map
from dragoman.workflows.reports.pages import Markup, render
from dragoman.workflows.reports.plots import learning_curves
from dragoman.workflows.reports.training_curves import read_records

REPORT_FILE = "report.html"
_READ, _RANDOM, _WORST = 400, 20, 10
"""Numbers of sentences: translated for the report, shown at random, and shown for low chrF."""
Item = TypeVar("Item")
_HEAT_MAP_PIECES = (3, 24)  # pieces of a sentence whose picture is readable


class Sample(NamedTuple):
    """One sentence of a test set, translated."""

    source: str
    reference: str
    hypothesis: str
    chrf: float
    """chrF of this sentence against its reference, from 0 to 100."""


@dataclass(frozen=True)
class Samples:
    """Translations of a set that the report shows: random ones, and the worst."""

    name: str
    """Name of the set."""
    sentences: int
    """Sentences in the set."""
    read: int
    """Sentences drawn at random and translated; the worst are chosen from them."""
    seed: int
    random: list[Sample]
    """Random samples, in the order of the set."""
    worst: list[Sample]
    """Translations with the lowest chrF, the worst first, except any that equal their reference."""


def write_report(experiment: Experiment, more_scores: Mapping[str, float] | None = None) -> Path:
    """Write the report of a finished run into its directory.

    Args:
        more_scores: figures to show in addition to ``scores.json``, by name.

    Returns:
        The file.
    """
    run, config = experiment.run, experiment.config
    translator = _opened(run, config)
    models = [load_model(run, "cpu").model] if translator is None else translator.models
    name, part = next(iter({**config.test_sets(), **config.dev_sets()}.items()))
    samples = None
    if translator is not None and config.model.reads_source:
        samples = draw_samples(
            translator, list(evaluation_pairs(part.with_single_targets())), name, config
        )
    progress, finish = read_progress(checkpoints(run)[-1]), read_finish(run)
    page = render(
        REPORT_FILE,
        config=config,
        settings=list(flatten(config.model_dump(mode="json"))),
        version=__version__,
        run=run,
        usage=usage(run, read_config(run / MODEL_DIRECTORY / CONFIG_FILE)),
        facts=_facts(models, progress),
        scores=read_scores(run),
        more_scores=more_scores or {},
        decided=[choice_in_words(finish), confidence_in_words(finish)],
        errors=finish.get("errors", {}),
        curves=Markup(to_svg(learning_curves(read_records(run / METRICS_FILE)))),
        samples=samples,
        heat_map=sample_heat_map(translator, samples.random) if translator and samples else None,
        cleaning=_cleaning(run),
    )
    path = run / REPORT_FILE
    with atomic_write(path) as stream:
        stream.write(page)
    return path


def _opened(run: Path, config: ExperimentConfig) -> Translator | None:
    """The model of a run; None if it writes nothing.  Labels are shown like translations."""
    if not config.training.objective.translates:
        return None
    if not config.model.writes_labels:
        return Translator.load(run, terms=UNPROTECTED)
    saved = load_for_search(run)
    return Translator([saved.model], saved.vocabularies, config.decoding)


def draw_samples(
    translator: Translator, pairs: list[Pair], name: str, config: ExperimentConfig
) -> Samples:
    """Translate some of ``pairs``, drawn with the seed of the run, and choose examples to show.

    Args:
        pairs: of a dev or test set, both sides filled.
    """
    generator = random.Random(config.seed)
    read = _drawn(generator, pairs, _READ)
    with counting("report: translating", "sentences", len(read)) as count:
        translated = translate_samples(translator, read, config.evaluation, progress=count)
    different = [sample for sample in translated if sample.hypothesis != sample.reference]
    return Samples(
        name=name,
        sentences=len(pairs),
        read=len(read),
        seed=config.seed,
        random=_drawn(generator, translated, _RANDOM),
        worst=sorted(different, key=lambda sample: sample.chrf)[:_WORST],
    )


def translate_samples(
    translator: Translator, pairs: list[Pair], evaluation: EvaluationConfig, **options: Any
) -> list[Sample]:
    """Translate some pairs, to show beside their references; ``options`` are translate's."""
    hypotheses = translator.translate([pair.source for pair in pairs], **options)
    scores = sentence_chrf(hypotheses, [pair.target for pair in pairs], evaluation)
    return [
        Sample(pair.source, pair.target, hypothesis, score)
        for pair, hypothesis, score in zip(pairs, hypotheses, scores, strict=True)
    ]


def sample_heat_map(translator: Translator, samples: list[Sample]) -> HeatMap | None:
    """Attention of the first sample of a readable length; None without such a sample."""
    fewest, most = _HEAT_MAP_PIECES
    for sample in samples:
        try:
            attention = translator.attention(sample.source, sample.hypothesis)
        except ConfigError:  # a family without attention over the source
            return None
        except DataError:  # a source without words
            continue
        if fewest <= len(attention.source) <= most and fewest <= len(attention.target) <= most:
            return heat_map(attention)
    return None


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as ``a.b`` with their values as in YAML, without unset ones."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for number, item in enumerate(value, 1):
                yield from flatten(item, f"{name} {number}.")
        elif value is not None and value not in ([], ""):
            yield name, value if isinstance(value, str) else json.dumps(value)


def _facts(models: Sequence[TranslationModel], progress: Progress) -> dict[str, str]:
    parameters = sum(p.numel() for model in models for p in model.parameters())
    minutes, seconds = divmod(round(progress.seconds), 60)
    return {
        "parameters": f"{parameters:,}",
        "steps": f"{progress.step:,}",
        "target tokens": f"{progress.target_tokens:,}",
        "training time": f"{minutes}:{seconds:02d} min",
        "tokens per second": f"{progress.target_tokens / max(progress.seconds, 1e-9):,.0f}",
    }


def _cleaning(run: Path) -> dict[str, PartReport]:
    """Pairs dropped from each part of the text; empty if the run's data was removed."""
    path = run / DATA_DIRECTORY / REPORT
    try:
        return CleaningReport.from_json(read_json(path)).parts
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _drawn(generator: random.Random, items: list[Item], count: int) -> list[Item]:
    """At most ``count`` random items, in their original order."""
    numbers = generator.sample(range(len(items)), min(count, len(items)))
    return [items[number] for number in sorted(numbers)]
