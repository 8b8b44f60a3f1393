"""Whether a run was trained as its recipe says now, on the text that is there now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from dragoman.core.errors import DataError, DragomanError, SavedError
from dragoman.data.alignments import ALIGNMENTS_DIRECTORY
from dragoman.data.origin import describe, same_content
from dragoman.data.store import DATA_DIRECTORY, known_inputs
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.recipe import ExperimentConfig
from dragoman.run.parents import completed, parent_of
from dragoman.run.revision import as_decided, changed_keys, plain_values
from dragoman.training.components import digests_of
from dragoman.training.given_embeddings import digest_of_embeddings
from dragoman.training.warm_start import digest_of

_NOT_LEARNED_FROM = (
    "data.processes",
    "search.batch_tokens",
    "search.buffer_lines",
    "training.device_tokens",
    "training.keep_checkpoints",
    "training.log_steps",
    "training.non_finite_steps",
    "training.send_gradients",
)
"""What leaves the finished model as it is."""

_TEST = "data.test"
_OF_BLEU, _OF_CHRF = {"bleu_tokenize", "lowercase"}, {"chrf_word_order", "lowercase"}
_READ_BY_SCORE = {"bleu": _OF_BLEU, "gleu": _OF_BLEU, "round_trip": _OF_BLEU, "chrf": _OF_CHRF}
"""The settings of ``evaluation`` on which scores depend, of those that training may go by."""


def changes(
    found: ExperimentConfig, wanted: ExperimentConfig, scores: Iterable[str] = ()
) -> list[str]:
    """The keys in which a run differs from its recipe, other than those that change no weight.

    Files are the same if their names and those of their folders are, so that runs and corpora may
    move.  A run that began with other weights, vectors or another vocabulary than there are now
    differs in their digests; vectors and a vocabulary that are gone are taken for the same.

    Args:
        found: the configuration that the run has.
        wanted: that of its recipe.
        scores: what the model depends on besides the scores that ``wanted`` itself goes by.

    Raises:
        SavedError: a model from which training begins is missing or damaged.
    """
    found, wanted = completed(found), completed(wanted)  # as when the run began
    before, after = _plain(found), _plain(as_decided(wanted, found))
    _know_by_digests(before, after, wanted)
    changed = list(changed_keys(before, after))
    idle = [*_NOT_LEARNED_FROM, *_idle_settings(wanted, scores)]
    if any(_is_within(key, _TEST) for key in changed) and not _keeps_out_others(found, wanted):
        idle.append(_TEST)
    return [key for key in changed if not any(_is_within(key, one) for one in idle)]


def begun_values(recipe: ExperimentConfig) -> dict[str, Any]:
    """The values of a recipe as a run of it would record them now: with what it begins with.

    Raises:
        SavedError: a model from which training begins is missing or damaged.
    """
    recipe = completed(recipe)
    values = plain_values(recipe)
    for section, digest in _digests(recipe):
        _section(values, section)["digest"] = digest
    return values


def other_text(run: Path, wanted: ExperimentConfig) -> Iterator[str]:
    """What a run was trained on that its recipe now names with other content, wherever that lies.

    What is gone, or of a run that has kept none, is taken for the same.
    """
    parts = wanted.train_parts()
    texts = [path for part in parts for path in part.inputs()]
    links = [Path(part.alignments) for part in parts if part.alignments is not None]
    for what, directory, paths in (
        ("the text of data.train", DATA_DIRECTORY, texts),
        ("the word alignments of data.train", ALIGNMENTS_DIRECTORY, links),
    ):
        before = known_inputs(run / directory)
        with suppress(DataError):
            if before and not same_content(before, describe(paths, before)):
                yield what


def _digests(recipe: ExperimentConfig) -> Iterator[tuple[tuple[str, ...], str]]:
    """Digests of what a run of a recipe would begin with now, by the sections that record them."""
    training = recipe.training
    if training.start_from is not None:
        yield ("training", "start_from"), digest_of(training.start_from)
    for name, digest in digests_of(training.components).items():
        yield ("training", "components", name), digest
    if training.embeddings is not None:
        with suppress(DataError, SavedError):
            yield ("training", "embeddings"), digest_of_embeddings(training.embeddings)
    if recipe.vocabulary.of is not None:
        with suppress(SavedError):
            if (parent := parent_of(recipe)) is not None:
                yield ("vocabulary",), parent.vocabularies.digest


def _know_by_digests(
    before: dict[str, Any], after: dict[str, Any], wanted: ExperimentConfig
) -> None:
    """Know what training begins with by its content as it is now, and models not by their paths.

    What was recorded without a digest, as by older releases, is known by its path alone.
    """
    for section, digest in _digests(wanted):
        ran, now = _section(before, section), _section(after, section)
        if ran.get("digest") is not None:
            now["digest"] = digest
            if "model" in ran:
                now["model"] = ran["model"]


def _section(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """A section within sections; an empty one if it is not there."""
    for name in names:
        values = values.get(name) or {}
    return values


def _idle_settings(wanted: ExperimentConfig, scores: Iterable[str]) -> list[str]:
    """The settings of ``evaluation`` that no score reads by which training goes."""
    by = [*_scores_of(wanted), *scores]
    read = {setting for score in by for setting in _READ_BY_SCORE.get(score, ())}
    return [f"evaluation.{name}" for name in EvaluationConfig.model_fields if name not in read]


def _scores_of(config: ExperimentConfig) -> Iterator[str]:
    """The scores by which training goes: what it rewards, what ends it and what selects weights."""
    training = config.training
    for objective in (training.objective, *(one.objective for one in training.tasks.values())):
        candidates = None if objective is None else objective.wanted_candidates()
        if candidates is not None:
            yield candidates.reward
    by_dev = training.average_checkpoints == "dev" or not training.averaged
    if by_dev or training.patience is not None:
        yield training.best_metric
    yield from config.evaluation.metrics if config.length_penalties else ()
    yield from (bound.metric for bound in training.bounds.values())


def _keeps_out_others(found: ExperimentConfig, wanted: ExperimentConfig) -> bool:
    """Whether other lines are kept out of the training text now, or that cannot be told."""
    if wanted.data.cleaning.keep_held_out:
        return False
    try:
        before, now = (one.held_out(one.data.never_trained_on) for one in (found, wanted))
    except DragomanError:
        return True
    return before != now


def _is_within(key: str, section: str) -> bool:
    return key == section or key.startswith(f"{section}.")


def _plain(config: ExperimentConfig) -> dict[str, Any]:
    values: dict[str, Any] = _without_folders(plain_values(config))
    return values


def _without_folders(value: Any) -> Any:
    """Values with absolute paths cut to a file and its folder."""
    if isinstance(value, dict):
        return {key: _without_folders(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_folders(one) for one in value]
    if isinstance(value, str) and value.startswith("/"):
        return PurePath(*PurePath(value).parts[-2:]).as_posix()
    return value
