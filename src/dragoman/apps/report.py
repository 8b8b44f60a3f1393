"""``report.html``: a run in one file that opens anywhere, with nothing to download."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import dragoman
from dragoman.apps.attention import HeatMap
from dragoman.apps.attention import heat_map as attention_map
from dragoman.apps.pages import Markup, render
from dragoman.apps.plots import learning_curves, read_records, to_svg
from dragoman.data.prepare import REPORT
from dragoman.data.store import DATA_DIRECTORY
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import METRICS_FILE, Experiment
from dragoman.files import atomic_write, read_json
from dragoman.text.corpus import Pair, read_pairs
from dragoman.text.report import CleaningReport, PartReport
from dragoman.training.checkpoint import Progress, checkpoints, read_progress
from dragoman.translator import Translator
from dragoman.validation import read_scores

REPORT_FILE = "report.html"
SAMPLES = 20
_HEAT_MAP_PIECES = (3, 24)  # a sentence of so many pieces makes a picture that can be read


class Sample(NamedTuple):
    """One sentence of a test set, translated."""

    source: str
    reference: str
    hypothesis: str


def write_report(experiment: Experiment, more_scores: Mapping[str, float] | None = None) -> Path:
    """Write the report of a finished run into its directory.

    Args:
        experiment: trained and scored.
        more_scores: figures to show beside those of ``scores.json``, by name.

    Returns:
        The file.

    Raises:
        SavedError: the run has no model or scores.
        StorageError: the disk refuses.
    """
    run, config = experiment.run, experiment.config
    translator = Translator.load(run)
    name, part = next(iter(config.data.test.items()), ("dev", config.data.dev))
    samples = []
    if config.model.reads_source:
        filled = [pair for pair in read_pairs(part) if part.fills(pair)]
        samples = translate_samples(translator, _spread(filled, SAMPLES))
    progress = read_progress(checkpoints(run)[-1])
    page = render(
        REPORT_FILE,
        config=config,
        settings=list(flatten(config.model_dump(mode="json"))),
        version=dragoman.__version__,
        run=run,
        facts=_facts(translator, progress),
        scores=read_scores(run),
        more_scores=more_scores or {},
        curves=Markup(to_svg(learning_curves(read_records(run / METRICS_FILE)))),
        samples=samples,
        sampled=name,
        heat_map=heat_map(translator, samples),
        cleaning=_cleaning(run),
    )
    path = run / REPORT_FILE
    with atomic_write(path) as stream:
        stream.write(page)
    return path


def translate_samples(translator: Translator, pairs: list[Pair]) -> list[Sample]:
    """Translate some pairs, to be shown beside their references."""
    hypotheses = translator.translate([pair.source for pair in pairs])
    return [
        Sample(pair.source, pair.target, hypothesis)
        for pair, hypothesis in zip(pairs, hypotheses, strict=True)
    ]


def heat_map(translator: Translator, samples: list[Sample]) -> HeatMap | None:
    """Attention of the first sample of a readable length; None if there is none."""
    fewest, most = _HEAT_MAP_PIECES
    for sample in samples:
        try:
            attention = translator.attention(sample.source, sample.hypothesis)
        except ConfigError:  # a family without attention over the source
            return None
        except DataError:  # a source without a word
            continue
        if fewest <= len(attention.source) <= most and fewest <= len(attention.target) <= most:
            return attention_map(attention)
    return None


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as ``a.b`` and their value as YAML would say it; unset ones left out."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for number, item in enumerate(value, 1):
                yield from flatten(item, f"{name} {number}.")
        elif value is not None and value not in ([], ""):
            yield name, value if isinstance(value, str) else json.dumps(value)


def _facts(translator: Translator, progress: Progress) -> dict[str, str]:
    """Size and effort, for the head of the page."""
    parameters = sum(p.numel() for model in translator.models for p in model.parameters())
    minutes, seconds = divmod(round(progress.seconds), 60)
    return {
        "parameters": f"{parameters:,}",
        "steps": f"{progress.step:,}",
        "target tokens": f"{progress.target_tokens:,}",
        "training time": f"{minutes}:{seconds:02d} min",
        "tokens a second": f"{progress.target_tokens / max(progress.seconds, 1e-9):,.0f}",
    }


def _cleaning(run: Path) -> dict[str, PartReport]:
    """What was dropped from each part of the text; nothing if the run's data was removed."""
    path = run / DATA_DIRECTORY / REPORT
    try:
        return CleaningReport.from_json(read_json(path)).parts
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _spread(pairs: list[Pair], count: int) -> list[Pair]:
    """So many pairs, from beginning to end."""
    return pairs[:: max(1, len(pairs) // count)][:count]
