"""Facts of a training, for the model card."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dragoman.core.device import processor_name
from dragoman.core.errors import SavedError
from dragoman.core.files import read_json
from dragoman.data.prepare import open_prepared
from dragoman.data.store import DATA_DIRECTORY
from dragoman.recipe import ExperimentConfig
from dragoman.saved.model_card import CardScore, TextTeacher, TrainingFacts, TrainingText
from dragoman.text.corpora.corpus_manifest import corpora
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.corpora.fetched_corpus import fetched_corpus
from dragoman.text.public_corpora import corpus_of
from dragoman.training.checkpoint import Progress
from dragoman.training.distributed import World
from dragoman.translation.shards import PAIRS_FILE, TEACHER_REPORT_FILE
from dragoman.validation import Report


def training_facts(
    config: ExperimentConfig,
    run: Path,
    progress: Progress,
    reports: Mapping[str, Report],
    world: World,
) -> TrainingFacts:
    """Gather the facts for a model card.

    The progress is that of the newest checkpoint in the model.
    """
    training = config.training
    count = f"{world.size} x " if world.size > 1 else ""
    return TrainingFacts(
        text=training_text(config),
        scores=tuple(_scores(reports)),
        pairs=_pairs(run),
        steps=progress.step,
        target_tokens=progress.target_tokens,
        seconds=progress.seconds,
        processor=count + processor_name(world.device),
        precision=str(training.precision),
        max_pieces=config.data.max_pieces,
    )


def training_text(config: ExperimentConfig) -> tuple[TrainingText, ...]:
    """The text that a run trains on, with known licences."""
    return tuple(_text(config.resolved(part)) for part in config.train_parts())


def _text(part: CorpusPart) -> TrainingText:
    """Its files without their folders, and the licence stated by the recipe or of the corpus."""
    files = part.paths()
    names = {corpus_of(Path(os.path.abspath(file))) for file in files}
    name = names.pop() if len(names) == 1 else None
    known = None if name is None else corpora().get(name) or fetched_corpus(files[0].parent)
    listed = " + ".join(file.name for file in files)
    return TrainingText(
        name=listed if known is None else f"{name}: {listed}",
        direction=part.direction.name,
        licence=part.licence or (None if known is None else known.licence),
        home=None if known is None else known.home,
        teacher=_teacher(files),
    )


def _teacher(files: Iterable[Path]) -> TextTeacher | None:
    """The server that translated a text, if there is a report of it beside the text."""
    for file in files:
        if file.name == PAIRS_FILE:
            try:
                report = read_json(file.with_name(TEACHER_REPORT_FILE))
                models = tuple(str(model) for model in report["models"] if model)
                return TextTeacher(str(report["url"]), models, str(report["terms_of_use"]))
            except (OSError, ValueError, LookupError, TypeError):
                return None  # there is none, or it is of something else
    return None


def _scores(reports: Mapping[str, Report]) -> Iterator[CardScore]:
    """All figures of all sets, with their signatures, if any."""
    for data, report in reports.items():
        for metric, value in report.items():
            if isinstance(value, dict):
                signature = str(value.get("signature", ""))
                yield CardScore(data, metric, float(value["value"]), signature)
            elif not isinstance(value, str):
                yield CardScore(data, metric, float(value))


def _pairs(run: Path) -> int | None:
    """Pairs after cleaning; None if the prepared text was removed."""
    try:
        return open_prepared(run / DATA_DIRECTORY)[1].kept
    except SavedError:
        return None
