"""Whether a run was trained as its recipe says now, on the text that is there now."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

from dragoman.core.errors import DataError
from dragoman.data.origin import describe, same_content
from dragoman.data.prepare import known_inputs
from dragoman.data.store import DATA_DIRECTORY
from dragoman.recipe import ExperimentConfig
from dragoman.run.parents import completed
from dragoman.run.revision import as_decided, changed_keys, plain_values
from dragoman.training.components import digests_of
from dragoman.training.warm_start import digest_of

_NOT_LEARNED_FROM = (
    "data.test",
    "data.processes",
    "evaluation",
    "search.batch_tokens",
    "search.buffer_lines",
    "training.device_tokens",
    "training.keep_checkpoints",
    "training.log_steps",
    "training.non_finite_steps",
    "training.send_gradients",
)
"""What leaves the finished model as it is."""


def changes(found: ExperimentConfig, wanted: ExperimentConfig) -> list[str]:
    """The keys in which a run differs from its recipe, other than those that change no weight.

    Files are the same if their names and those of their folders are, so that runs and corpora may
    move.  A run that began with other weights than the models that it names have now differs in
    their digests.

    Args:
        found: the configuration that the run has.
        wanted: that of its recipe.

    Raises:
        SavedError: a model from which training begins is missing or damaged.
    """
    wanted = completed(wanted)  # as when the run began
    before, after = _plain(found), _plain(as_decided(wanted, found))
    _know_the_parents(before["training"], after["training"], wanted)
    return [
        key
        for key in changed_keys(before, after)
        if not any(key == one or key.startswith(f"{one}.") for one in _NOT_LEARNED_FROM)
    ]


def has_other_text(run: Path, wanted: ExperimentConfig) -> bool:
    """Whether a run was trained on other text than its recipe names now, wherever that lies.

    Text that is gone, or of a run that has kept none, is taken for the same.
    """
    before = known_inputs(run / DATA_DIRECTORY)
    paths = [path for part in wanted.train_parts() for path in part.inputs()]
    try:
        return bool(before) and not same_content(before, describe(paths, before))
    except DataError:
        return False


def _know_the_parents(
    ran: dict[str, Any], training: dict[str, Any], wanted: ExperimentConfig
) -> None:
    """Know the models from which training begins by their weights as they are now, not by paths."""
    if wanted.training.start_from is not None:
        training["start_from"]["digest"] = digest_of(wanted.training.start_from)
        _take_path(ran["start_from"], training["start_from"])
    for name, digest in digests_of(wanted.training.components).items():
        training["components"][name]["digest"] = digest
        _take_path(ran["components"].get(name), training["components"][name])


def _take_path(before: dict[str, Any] | None, after: dict[str, Any]) -> None:
    if before is not None:
        after["model"] = before["model"]


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
