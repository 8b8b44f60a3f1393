"""The model of a run, made from its checkpoints, scored and written."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torch import Tensor

from dragoman.core.errors import SavedError
from dragoman.core.files import atomic_write
from dragoman.data.store import DATA_DIRECTORY, Store
from dragoman.data.vocabularies import counted_pieces
from dragoman.evaluation.metrics import is_better
from dragoman.models.layers.low_rank import merged
from dragoman.recipe import ExperimentConfig
from dragoman.run.monolingual_validation import ObjectiveValidation, RoundTripValidation
from dragoman.run.parents import story_of
from dragoman.run.training_facts import training_facts
from dragoman.run.weight_interpolation import best_between, step_outside
from dragoman.saved.adapter import ADAPTER_FILE, write_adapter
from dragoman.saved.language_pieces import write_pieces
from dragoman.saved.model import (
    CARD_FILE,
    CONFIDENCE_FILE,
    MODEL_DIRECTORY,
    PIECES_FILE,
    SHORTLIST_FILE,
    build_model,
    read_card,
    save_model,
)
from dragoman.saved.model_card import card_digest, model_card
from dragoman.saved.saved_config import SavedConfig, tags_learned
from dragoman.saved.weights import WEIGHTS_FILE, Undrawn, average_weights, load_weights
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import (
    chosen_checkpoints,
    moving_average,
    path_of,
    read_progress,
    step_of,
)
from dragoman.training.distributed import World
from dragoman.training.warm_start import digest_of
from dragoman.validation import (
    Report,
    Validation,
    figures,
    mean_figures,
    read_card_digest,
    write_scores,
)

log = logging.getLogger(__name__)

CHANGED_CARD = "model-card.before.md"
"""A card that a person changed, in the run."""


@dataclass(frozen=True)
class _Scorer:
    """Scores weights of a run on its sets, each process its share."""

    config: ExperimentConfig
    run: Path
    vocabularies: Vocabularies
    world: World
    tell: Callable[[str], object]

    def __call__(
        self, weights: dict[str, Tensor], sets: dict[str, CorpusPart], what: str = "the model"
    ) -> dict[str, Report]:
        """Reports by set; ``what`` names the weights in messages."""
        with Undrawn():
            model = build_model(self.config.model, self.vocabularies)
        load_weights(model, merged(weights), self.run, adopt=True)  # which scoring only reads
        model.to(self.world.device)
        reports = {}
        for name, part in sets.items():
            validation = validation_of(self.config, part, self.vocabularies, self.world)
            if self.world.is_leader:
                lines = f"{len(validation.references):,} sentences"
                self.tell(f"scoring {what} on {name}: {lines}")
            reports[name] = validation.report(model)
        return reports


@dataclass(frozen=True)
class _Made:
    """The weights that become the model of a run."""

    checkpoints: list[Path]
    """The checkpoints that the weights are made from, oldest first."""
    weights: dict[str, Tensor]
    """Weights by name, with an adapter's factors unmerged."""
    reports: dict[str, Report]
    """Reports of the dev sets."""
    share: float | None = None
    """Position between the first of two checkpoints and the second; None for their mean."""


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
    score = _Scorer(config, run, vocabularies, world, tell)
    made = _made(score)
    reports = made.reports | score(made.weights, config.test_sets())
    if not world.is_leader:
        return reports
    _warn_of_a_bad_mean(config, run, made.checkpoints, reports)
    training, last = config.training, made.checkpoints[-1]
    saved, weights = saved_config(config, vocabularies), merged(made.weights)
    facts = training_facts(config, run, read_progress(last), reports, world)
    card = model_card(saved, weights, story_of(config), facts)
    _keep_a_changed_card(run)
    names = [path.name for path in made.checkpoints]
    write_scores(run, names, reports, made.share, card_digest(card))
    if training.adapter is not None and training.start_from is not None:
        of = training.start_from.digest or digest_of(training.start_from)
        write_adapter(run / ADAPTER_FILE, made.weights, of)
    kept = _made_for_the_last(run / MODEL_DIRECTORY)
    kept += _pieces(run, vocabularies) if config.training.objective.translates else []
    save_model(  # last: with it, the run is finished
        run / MODEL_DIRECTORY, saved, vocabularies, weights, card=card, kept=kept
    )
    return reports


def _made(score: _Scorer) -> _Made:
    """The checkpoints, or weights between two, that the configuration selects."""
    config, run, world = score.config, score.run, score.world
    training, dev = config.training, config.dev_sets()
    count = training.average_checkpoints
    if training.ema_decay is not None:
        count = min(1, count)  # each checkpoint has a mean already
    choice = partial(chosen_checkpoints, run, count, training.best_metric)
    steps = world.broadcast(lambda: [step_of(path) for path in choice()])
    chosen = [path_of(run, step) for step in steps]
    learned = average_weights(path / WEIGHTS_FILE for path in chosen)
    if training.ema_decay is not None:
        learned |= moving_average(chosen[-1])
    made = _Made(chosen, learned, score(learned, dev))
    newest = world.broadcast(lambda: step_outside(config, run))
    if newest is None:
        return made
    between = best_between(config, run, newest, made.reports, partial(score, sets=dev))
    if between is None:
        return made
    ends = [path_of(run, 0), path_of(run, newest)]
    return _Made(ends, between.weights, between.reports, between.share)


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
    """Files made for the replaced model, which name that model themselves.

    A shortlist is for the vocabularies, which a run keeps.  A calibration is for the weights: of
    others it is refused in use, with the command that calibrates again.
    """
    paths = (model / name for name in (CONFIDENCE_FILE, SHORTLIST_FILE))
    return [path for path in paths if path.is_file()]


def _pieces(run: Path, vocabularies: Vocabularies) -> list[Path]:
    """The run's file of the pieces of each language, if it has several languages."""
    frequencies = counted_pieces(Store.open(run / DATA_DIRECTORY), vocabularies)
    if len(frequencies.shares) < 2:
        return []
    write_pieces(run / PIECES_FILE, frequencies, vocabularies.target)
    return [run / PIECES_FILE]


def validation_of(
    config: ExperimentConfig, part: CorpusPart, vocabularies: Vocabularies, world: World
) -> Validation:
    """The validation of a run on a set, in training and at its end."""
    search, evaluation = config.decoding, config.evaluation_of(part)
    objective = config.training.objective
    if not objective.translates:
        return ObjectiveValidation(
            *(part, vocabularies, search, evaluation, world),
            objective=objective,
            model=config.model,
        )
    given = part, vocabularies, search, evaluation, world
    learned = saved_config(config, vocabularies).inline_tags
    if (back := config.back_tags(part)) is not None:
        return RoundTripValidation(*given, back=back, inline_tags=learned)
    return Validation(*given, inline_tags=learned)


def saved_config(config: ExperimentConfig, vocabularies: Vocabularies) -> SavedConfig:
    """The content of the model's own ``config.yaml``."""
    transforms = [transform for part in config.data.train for transform in part.transforms]
    start = config.training.model_dump()["start_from"]
    return SavedConfig(
        source_language=config.source_language,
        target_language=config.target_language,
        model=config.model,
        search=config.decoding.model_dump(),
        directions=tuple(config.directions()),
        context=config.data.context,
        translates=config.training.objective.translates,
        **tags_learned(transforms, start, lambda: vocabularies),
    )


def _warn_of_a_bad_mean(
    config: ExperimentConfig, run: Path, chosen: list[Path], reports: dict[str, Report]
) -> None:
    """Warn if weights are far apart: their mean is poor, which would otherwise go unnoticed."""
    apart = config.bounded_sets()
    dev = mean_figures(
        {name: figures(reports[name]) for name in config.dev_sets() if name not in apart}
    )
    best = read_progress(chosen[-1]).best
    if best is None or best.metric not in dev or [step_of(path) for path in chosen] == [best.step]:
        return
    value = dev[best.metric]
    # bfloat16 in training and float32 here differ by up to 2 % with the same weights.
    if not is_better(best.metric, best.value, value, margin=0.02):
        return
    if config.training.ema_decay is not None:
        log.warning(
            "the moving average of step %d has a dev %s of %.4g, that of step %d %.4g; take that "
            "one with: dragoman resume %s --set training.average_checkpoints=0",
            *(step_of(chosen[-1]), best.metric, value, best.step, best.value, run),
        )
        return
    log.warning(
        "the mean of %d checkpoints has a dev %s of %.4g, the checkpoint of step %d alone "
        "%.4g; make a model from that one with: dragoman average %s --output MODEL",
        *(len(chosen), best.metric, value, best.step, best.value, path_of(run, best.step)),
    )
