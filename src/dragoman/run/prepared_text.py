"""The text of a run, prepared: its vocabularies, encoded pairs and word alignments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.errors import DataError, SavedError
from dragoman.data.alignments import ALIGNMENTS_DIRECTORY, prepare_alignments
from dragoman.data.bulk.bulk_preparation import BULK_DIRECTORY, BulkPreparation, BulkWorkers
from dragoman.data.declared_language import warn_of_other_languages
from dragoman.data.origin import InputFile, describe
from dragoman.data.prepare import open_prepared, prepare
from dragoman.data.store import DATA_DIRECTORY, Store, known_inputs, read_manifest
from dragoman.data.vocabularies import WeightedExamples, prepare_vocabularies
from dragoman.recipe import ExperimentConfig
from dragoman.run.parents import parent_of
from dragoman.saved.model import has_model
from dragoman.text.corpora.cleaning import CleaningReport
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import checkpoints

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """The prepared text that training reads."""

    vocabularies: Vocabularies
    store: Store
    report: CleaningReport
    alignments: Store | None = None
    """Word alignments of each row, if the objective reads them."""


def prepare_run(
    config: ExperimentConfig,
    run: Path,
    progress: Callable[[int], None] | None = None,
    workers: BulkWorkers | None = None,
) -> Prepared:
    """Make vocabularies and encoded text in a run that nobody else uses.

    Existing, unchanged parts are kept.  For new text, a warning names parts without sources whose
    language is not the declared one.  Another warns if training has begun with other text.  With
    ``workers``, text is cleaned and encoded shard by shard; otherwise by this process, in one go.
    """
    data, directory = config.data, run / DATA_DIRECTORY
    parts, before = config.train_parts(), _fingerprint(directory)
    held_out = config.held_out(data.never_trained_on)
    paths = [path for part in parts for path in part.inputs()]
    inputs = describe(paths, known_inputs(directory))
    shards, examples, encode = None, None, None
    if workers is not None:
        shards = BulkPreparation(
            run / BULK_DIRECTORY,
            parts,
            config.cleaning,
            held_out,
            inputs=inputs,
            workers=workers,
        )
        examples, encode = shards.examples, shards.encode
    vocabularies = _vocabularies(config, run, inputs, held_out, examples)
    store, report = prepare(
        directory,
        parts,
        vocabularies,
        config.cleaning,
        max_pieces=data.max_pieces,
        held_out=held_out,
        inputs=inputs,
        processes=data.processes,
        progress=progress,
        encode=encode,
    )
    if shards is not None:
        shards.remove()
    if store.fingerprint != before:
        if before is not None and checkpoints(run):
            log.warning(
                "%s: the training text is another one than before: training goes on with it, and "
                "the rest of this epoch may repeat pairs or leave some out; to train on it from "
                "the beginning, choose another directory with --run",
                run,
            )
        warn_of_other_languages(config.train_by_key())
    alignments = None
    if config.training.objective.reads_alignments:
        alignments = prepare_alignments(
            run / ALIGNMENTS_DIRECTORY,
            store,
            data.train,
            vocabularies,
            config.cleaning,
            held_out=held_out,
        )
    return Prepared(vocabularies, store, report, alignments)


def open_prepared_run(config: ExperimentConfig, run: Path) -> Prepared:
    """Open the text that another process has prepared for a run."""
    store, report = open_prepared(run / DATA_DIRECTORY)
    alignments = None
    if config.training.objective.reads_alignments:
        alignments = Store.open(run / ALIGNMENTS_DIRECTORY)
    return Prepared(Vocabularies.load(run), store, report, alignments)


def check_positions(config: ExperimentConfig, store: Store) -> None:
    """Check before training that the model has positions for all pairs.

    Raises:
        DataError: a pair is longer.
    """
    positions = config.model.position_limit
    if positions is None or config.data.max_pieces < positions:
        return
    source = store.longest("source") if config.model.reads_source else 0
    target = 0 if config.model.writes_labels else store.longest("target")
    if max(source, target) >= positions:
        raise DataError(
            f"data.train: a pair has {max(source, target)} pieces on a side, which with the end "
            f"symbol are more than model.max_positions {positions}; set data.max_pieces: "
            f"{positions - 1}, or train with more positions"
        )


def _fingerprint(directory: Path) -> str | None:
    """The fingerprint of the text prepared before; None without such text."""
    try:
        return read_manifest(directory).fingerprint
    except SavedError:
        return None


def _vocabularies(
    config: ExperimentConfig,
    run: Path,
    inputs: Sequence[InputFile],
    held_out: frozenset[int],
    examples: WeightedExamples | None,
) -> Vocabularies:
    """The vocabularies of a run, fixed once anything was trained with them."""
    if checkpoints(run) or has_model(run):
        return Vocabularies.load(run)
    return prepare_vocabularies(
        run,
        config.train_parts(),
        config.full_vocabulary(),
        config.cleaning,
        seed=config.seed,
        inputs=inputs,
        held_out=held_out,
        parent=parent_of(config),
        sets={**config.sets_by_key(), **config.general_text()},
        labels=config.model.writes_labels,
        examples=examples,
    )
