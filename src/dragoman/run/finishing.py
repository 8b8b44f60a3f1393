"""The model of a run, made from its checkpoints, scored and written."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import atomic_write
from dragoman.data.store import DATA_DIRECTORY, Store
from dragoman.data.vocabularies import counted_pieces
from dragoman.models.layers.low_rank import merged
from dragoman.recipe import ExperimentConfig
from dragoman.run.dev_calibration import dev_calibration
from dragoman.run.dev_errors import dev_errors
from dragoman.run.finish_record import (
    choice_in_words,
    confidence_in_words,
    finish_values,
    write_finish,
)
from dragoman.run.model_choice import make_model, reports_of
from dragoman.run.parents import story_of
from dragoman.run.scores_file import read_card_digest, write_scores
from dragoman.run.set_scoring import SetScorer, saved_config
from dragoman.run.training_facts import training_facts
from dragoman.saved.adapter import ADAPTER_FILE, write_adapter
from dragoman.saved.calibration import read_calibration, write_calibration
from dragoman.saved.language_pieces import write_pieces
from dragoman.saved.model import (
    CARD_FILE,
    CONFIDENCE_FILE,
    MODEL_DIRECTORY,
    PIECES_FILE,
    SHORTLIST_FILE,
    read_card,
    save_model,
)
from dragoman.saved.model_card import card_digest, model_card
from dragoman.saved.weights import digest_of_tensors
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import (
    path_of,
    read_progress,
)
from dragoman.training.distributed import World
from dragoman.training.warm_start import digest_of
from dragoman.translation.calibration_fitting import MeasuredConfidence
from dragoman.validation import Report

log = logging.getLogger(__name__)

CHANGED_CARD = "model-card.before.md"
"""A card that a person changed, in the run."""


def finish_run(
    config: ExperimentConfig,
    run: Path,
    vocabularies: Vocabularies,
    world: World,
    tell: Callable[[str], object],
) -> dict[str, Report]:
    """Make the model of a run from its checkpoints, and score it on dev and test sets.

    Every process scores its share, on its device; the leading one writes the model.

    Returns:
        Reports by set, as also written to ``scores.json``.
    """
    score = SetScorer(config, run, vocabularies, world, tell)
    made = make_model(score)
    config = made.config
    tested = replace(score, config=config)(made.weights, config.test_sets())
    reports = made.reports() | reports_of(tested)
    if not world.is_leader:
        return reports
    training, last = config.training, path_of(run, made.steps()[-1])
    saved, weights = saved_config(config, vocabularies), merged(made.weights)
    digest = digest_of_tensors(weights)
    calibrated = dev_calibration(config, made.dev, digest)
    values = finish_values(made, dev_errors(config, made.dev), calibrated)
    facts = training_facts(config, run, read_progress(last), reports, world)
    facts = replace(facts, choice=choice_in_words(values), confidence=confidence_in_words(values))
    card = model_card(saved, weights, story_of(config), facts)
    _keep_a_changed_card(run)
    names = [path_of(run, step).name for step in made.steps()]
    write_scores(run, names, reports, made.share, card_digest(card))
    write_finish(run, values)
    if training.adapter is not None and training.start_from is not None:
        of = training.start_from.digest or digest_of(training.start_from)
        write_adapter(run / ADAPTER_FILE, made.weights, of)
    kept = _made_for_the_last(run / MODEL_DIRECTORY) + _confidence(run, calibrated, digest)
    kept += _pieces(run, vocabularies) if config.training.objective.translates else []
    save_model(  # last: with it, the run is finished
        run / MODEL_DIRECTORY, saved, vocabularies, weights, card=card, kept=kept
    )
    return reports


def _keep_a_changed_card(run: Path) -> None:
    """Keep a copy, in the run, of a model card that a person changed and a new card replaces."""
    card = read_card(run / MODEL_DIRECTORY)
    with suppress(SavedError):
        if card is not None and read_card_digest(run) not in {None, *_digests(card)}:
            with atomic_write(run / CHANGED_CARD) as stream:
                stream.write(card)
            log.warning(
                "%s was changed by hand, and a new one replaces it; %s has what it was",
                run / MODEL_DIRECTORY / CARD_FILE,
                run / CHANGED_CARD,
            )


def _digests(card: str) -> tuple[str, str]:
    """The digest of a card, and that of its whole text, which older runs recorded."""
    return card_digest(card), hashlib.sha256(card.encode("utf-8", "replace")).hexdigest()


def _made_for_the_last(model: Path) -> list[Path]:
    """The shortlist of the replaced model, which is for the vocabularies: a run keeps them."""
    return [path for path in (model / SHORTLIST_FILE,) if path.is_file()]


def _confidence(run: Path, calibrated: MeasuredConfidence | str, digest: str) -> list[Path]:
    """The calibration of the finished model, if there is any.

    That of the replaced model stays if a person made it for the same weights, or if there is no
    other: of other weights it is refused in use, with the command that calibrates again.
    """
    before, own = run / MODEL_DIRECTORY / CONFIDENCE_FILE, run / CONFIDENCE_FILE
    with suppress(ConfigError, SavedError):
        found = read_calibration(before)
        made_here = own.is_file() and read_calibration(own) == found
        if found.conditions.weights == (digest,) and not made_here:
            return [before]
    if isinstance(calibrated, str):
        return [before] if before.is_file() else []
    write_calibration(own, calibrated.calibration)
    return [own]


def _pieces(run: Path, vocabularies: Vocabularies) -> list[Path]:
    """The run's file of the pieces of each language, if it has several languages."""
    frequencies = counted_pieces(Store.open(run / DATA_DIRECTORY), vocabularies)
    if len(frequencies.shares) < 2:
        return []
    write_pieces(run / PIECES_FILE, frequencies, vocabularies.target)
    return [run / PIECES_FILE]
