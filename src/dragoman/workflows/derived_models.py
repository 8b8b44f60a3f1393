"""Models made from the weights of others: the mean of checkpoints, or a model with its adapter."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.core.claims import new_output
from dragoman.core.errors import ConfigError, SavedError
from dragoman.models.layers.low_rank import merged
from dragoman.recipe import read_experiment
from dragoman.run.run_directory import claim, is_run
from dragoman.run.training_facts import training_text
from dragoman.saved.adapter import read_adapter
from dragoman.saved.directions import check_same_languages
from dragoman.saved.language_pieces import pieces_beside
from dragoman.saved.model import (
    CONFIG_FILE,
    MODEL_DIRECTORY,
    home_of,
    load_model,
    model_directory,
    read_card,
    read_merged_weights,
    save_model,
)
from dragoman.saved.model_card import TrainingFacts, TrainingText, model_card
from dragoman.saved.saved_config import SavedModel
from dragoman.saved.weights import WEIGHTS_FILE, average_weights, weights_of
from dragoman.training.checkpoint import newest_checkpoints, read_progress
from dragoman.training.warm_start import OF_TRAINING, differences_of_kind

log = logging.getLogger(__name__)


def average_models(paths: Sequence[Path], last: int, output: Path) -> list[Path]:
    """Write the mean of checkpoints as a model to ``output``, and return their paths.

    Args:
        paths: runs, of which the newest ``last`` checkpoints are taken; checkpoints; models.
    """
    with new_output(output, "name a directory that does not"):
        return _average(paths, last, output)


def _average(paths: Sequence[Path], last: int, output: Path) -> list[Path]:
    chosen = [directory for path in paths for directory in _weights_of(path, last)]
    _check_distinct(chosen)
    first = load_model(chosen[0], "cpu")
    for path in chosen[1:]:
        _check_alike(first, load_model(path, "cpu"))
    _save(
        output,
        first,
        _mean(chosen),
        origin=f"It is the mean of {len(chosen)} {_kind(chosen)}.",
        facts=_facts(chosen),
        earlier=[card for path in chosen if (card := read_card(path)) is not None],
        kept=pieces_beside(chosen[0]),
    )
    return chosen


def _save(
    output: Path, like: SavedModel, weights: dict[str, Tensor], kept: list[Path], **facts: Any
) -> None:
    """Save a model, and keep others from the run that ``output`` is in, if any, meanwhile."""
    runs = [parent for parent in output.absolute().parents if is_run(parent)]
    card = model_card(like.config, weights, **facts)
    with claim(runs[0]) if runs else nullcontext():
        save_model(output, like.config, like.vocabularies, weights, card=card, kept=kept)


def _mean(chosen: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights, with any adapters merged into them.

    Within a run, low-rank factors are averaged like all weights, as training does.  Those of
    several runs have nothing in common: each adapter is merged into its weights before.
    """
    files = (path / WEIGHTS_FILE for path in chosen)
    if len({home_of(path).resolve() for path in chosen}) == 1:
        return merged(average_weights(files))
    return average_weights(files, read_merged_weights)


def _weights_of(path: Path, last: int) -> list[Path]:
    """The directories of weights that ``path`` refers to."""
    if newest := newest_checkpoints(path, last):
        if read_progress(newest[-1]).watched is not None:
            raise ConfigError(
                f"{path}: training.bounds holds for single checkpoints of it, and a mean may be "
                f"outside; name its {MODEL_DIRECTORY}, or checkpoints one by one"
            )
        if len(newest) < last:
            log.warning(
                "%s: has %d checkpoints, and %d were to be averaged; training.keep_checkpoints "
                "sets how many a run keeps",
                *(path, len(newest), last),
            )
        return newest
    if os.path.isfile(path / WEIGHTS_FILE):
        return [path]
    raise SavedError(f"{path}: neither a run with checkpoints, nor a checkpoint or model")


def _check_distinct(chosen: Sequence[Path]) -> None:
    """Check that no path is named twice, as it would count twice."""
    seen: dict[Path, Path] = {}
    for path in chosen:
        if (before := seen.setdefault(path.resolve(), path)) is not path:
            also = "" if before == path else f", the other time as {before}"
            raise ConfigError(f"{path}: named twice{also}; name each model once")


def _kind(chosen: Sequence[Path]) -> str:
    """The kind of the averaged paths, for the model card."""
    checkpoint = all(home_of(path) != path for path in chosen)
    return "checkpoints" if checkpoint else "models"


def _facts(chosen: Sequence[Path]) -> TrainingFacts:
    """The text of the runs with these checkpoints; a model's is in its card."""
    runs = dict.fromkeys(home_of(path) for path in chosen if home_of(path) != path)
    text: list[TrainingText] = []
    for run in runs:
        with suppress(ConfigError):  # its configuration is of an older release
            text += training_text(read_experiment(run / CONFIG_FILE))
    return TrainingFacts(text=tuple(text))


_READ = {"context", "term_annotation", "inline_tags", "markup", "translates"}
"""Settings of a saved model, besides its sizes, that define its sources and targets."""


def _check_alike(first: SavedModel, other: SavedModel) -> None:
    """Check that weights of the same names and shapes mean the same."""
    if other.vocabularies.fingerprints != first.vocabularies.fingerprints:
        raise SavedError(
            f"{other.path}: its vocabulary is not that of {first.path}; average checkpoints of one "
            "run, or of runs with the same vocabulary"
        )
    free = OF_TRAINING - {"language_tags"}
    differences = list(differences_of_kind(other.config.model, first.config.model, free=free))
    theirs, ours = (model.config.model_dump(include=_READ) for model in (other, first))
    differences += [f"another {name}" for name in ours if theirs[name] != ours[name]]
    if differences:
        raise SavedError(
            f"{other.path}: cannot be averaged with {first.path}: it is of another configuration: "
            f"{'; '.join(differences)}"
        )
    check_same_languages(first, other)


def merge_adapter(model: Path, adapter: Path, output: Path) -> None:
    """Write a model whose weights are those of another with an adapter.

    Args:
        model: a model, run or checkpoint.
        adapter: a file, or the run that it was trained in.
    """
    with new_output(output, "name a directory that does not"):
        merged_in = read_adapter(adapter)
        saved = load_model(model, "cpu", merged_in)
        cards = [_card(model), _card(merged_in.path.parent)]
        _save(
            output,
            saved,
            weights_of(saved.model),
            origin=f"It is the model with the weights {merged_in.of} and an adapter.",
            earlier=[card for card in cards if card is not None],
            kept=pieces_beside(saved.path),
        )


def _card(path: Path) -> str | None:
    """The card of a model or run; None without a card, as beside a copied adapter."""
    try:
        return read_card(model_directory(path))
    except SavedError:
        return None
