"""Whether a run was trained as its recipe says now."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from dragoman.core.errors import SavedError
from dragoman.recipe import ExperimentConfig
from dragoman.revision import changed_keys, plain_values
from dragoman.training.warm_start import digest_of

_NOT_LEARNED_FROM = (
    "data.test",
    "data.processes",
    "evaluation",
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
    move.  A run that started from other weights than the model to start from has now differs in
    ``training.start_from.digest``.

    Args:
        found: the configuration that the run has.
        wanted: that of its recipe.
    """
    before, after = _plain(found), _plain(wanted)
    if after["training"]["precision"] == "auto":  # the run has decided
        after["training"]["precision"] = before["training"]["precision"]
    _know_the_start(before, after, wanted)
    return [
        key
        for key in changed_keys(before, after)
        if not any(key == one or key.startswith(f"{one}.") for one in _NOT_LEARNED_FROM)
    ]


def _know_the_start(
    before: dict[str, Any], after: dict[str, Any], wanted: ExperimentConfig
) -> None:
    start, ran = after["training"]["start_from"], before["training"]["start_from"]
    if wanted.training.start_from is None or start["digest"] is not None or ran is None:
        return
    try:
        start["digest"] = digest_of(wanted.training.start_from)
    except SavedError:  # moved away, so that nothing says otherwise
        start["digest"] = ran["digest"]


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
