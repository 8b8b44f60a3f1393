"""The section ``finish`` of a configuration."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dragoman.core.config import Config

USUAL_LENGTH_PENALTIES = (0.2, 1.0, 1.5)
"""Length penalties that are tried besides the paper's."""


class FinishConfig(Config):
    """Decisions on the dev sets when training ends, besides `training.average_checkpoints`."""

    length_penalties: tuple[Annotated[float, Field(ge=0, le=10)], ...] | None = Field(
        None, max_length=20
    )
    """Length penalties to try on up to 200 lines of each dev set, besides that of `search`; the
    model keeps one that is clearly better. By default 0.2, 1.0 and 1.5, unless the recipe sets
    `search.length_penalty` or a number of `training.average_checkpoints`; an empty list tries
    none."""
    calibrate: bool = True
    """Whether to calibrate [confidence](confidence.md) on the translations of the dev sets, if they
    have at least 100 lines. Several target languages are calibrated together."""
