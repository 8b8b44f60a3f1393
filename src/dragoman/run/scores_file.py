"""``scores.json``: the scores of a finished run, and the checkpoints that make up its model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.core.errors import SavedError
from dragoman.core.files import read_json, write_json
from dragoman.core.wording import in_shell
from dragoman.validation import Report

SCORES_FILE = "scores.json"


def write_scores(
    run: Path,
    checkpoints: list[str],
    reports: dict[str, Report],
    share: float | None = None,
    card: str | None = None,
) -> None:
    """Write ``scores.json``: the checkpoints that make up the model, and a report for each set.

    Args:
        run: its directory.
        checkpoints: names; the model is their mean.
        reports: by set.
        share: position of the model between the first of two checkpoints (0) and the second (1);
            None: it is their mean.
        card: digest of the model card as it is written.
    """
    told = {"checkpoints": checkpoints, "share": share, "card": card}
    given = {name: value for name, value in told.items() if value is not None}
    write_json(run / SCORES_FILE, {**given, **reports})


def read_scores(run: Path) -> dict[str, Report]:
    """The reports of a finished run, by set."""
    return {name: one for name, one in _read(run).items() if isinstance(one, dict)}


def read_share(run: Path) -> float | None:
    """Position of a finished run's model between its first and its newest checkpoint, or None."""
    return _read(run).get("share")


def read_card_digest(run: Path) -> str | None:
    """The digest of a finished run's model card as it was written, if that was recorded."""
    return _read(run).get("card")


def _read(run: Path) -> dict[str, Any]:
    path = run / SCORES_FILE
    try:
        return dict(read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise SavedError(
            f"{path}: missing or damaged; make it with 'dragoman resume {in_shell(run)}'"
        ) from error
