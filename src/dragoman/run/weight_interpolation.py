"""Weights between a run's first and its newest, for runs whose newest weights lose too much.

Bounds end a training that may still gain on the unbounded sets.  The straight line between the
weights before and after often has points with much of the gain and less of the loss (Wortsman et
al. 2022, "Robust fine-tuning of zero-shot models", arXiv:2109.01903, section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from dragoman.evaluation.metrics import is_better
from dragoman.models.layers.low_rank import is_down
from dragoman.recipe import ExperimentConfig
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.training.bounds import Watched
from dragoman.training.checkpoint import (
    checkpoints,
    moving_average,
    path_of,
    read_progress,
    step_of,
)
from dragoman.validation import Report, figures, mean_figures

SHARES = (0.75, 0.5, 0.25)
"""Positions from the first weights (0) to the newest (1), all of which are tried."""

Score = Callable[..., dict[str, Report]]
"""Scores ``weights`` on the dev sets; ``what`` names them in messages."""


@dataclass(frozen=True)
class Between:
    """Weights on the line between the first and the newest, which are within all bounds."""

    share: float
    """Position from the first weights to the newest."""
    weights: dict[str, Tensor]
    reports: dict[str, Report]
    """Reports of the dev sets."""


def step_outside(config: ExperimentConfig, run: Path) -> int | None:
    """The newest step, if its weights exceed a bound, and the first are a trained model's."""
    newest = checkpoints(run)[-1]
    watched = read_progress(newest).watched
    begun = config.training.start_from is not None and path_of(run, 0).is_dir()
    return step_of(newest) if begun and watched is not None and watched.outside else None


def best_between(
    config: ExperimentConfig, run: Path, step: int, reports: dict[str, Report], score: Score
) -> Between | None:
    """The best weights within all bounds, if they are better than any checkpoint within them.

    ``step`` is that of the newest checkpoint, which is outside of a bound.
    """
    training, newest = config.training, path_of(run, step)
    watched = read_progress(newest).watched
    assert watched is not None, "a score was outside of its bound"
    before, after = (read_tensors(path / WEIGHTS_FILE) for path in (path_of(run, 0), newest))
    if training.ema_decay is not None:
        after |= moving_average(newest)
    if not all(tensor.isfinite().all() for tensor in after.values()):
        return None
    best: Between | None = None
    value = None if watched.kept_step is None else _selected_by(config, reports)
    for share in SHARES:
        weights = interpolated(before, after, share)
        found = score(weights, what=f"weights {share:.0%} of the way to step {step:,}")
        now = {name: figures(found[f"dev_{name}"])[b.metric] for name, b in training.bounds.items()}
        other = _selected_by(config, found)
        is_within = not Watched(watched.before, now).passed(training.bounds)
        if is_within and (value is None or is_better(training.best_metric, other, value)):
            best, value = Between(share, weights, found), other
    return best


def interpolated(
    before: Mapping[str, Tensor], after: Mapping[str, Tensor], share: float
) -> dict[str, Tensor]:
    """``(1 - share) before + share after``, computed in float64, also for the matrices of adapters.

    The product of an adapter's factors is added to a matrix, and one factor begins as zero: only
    that factor is interpolated.
    """
    return {
        name: new
        if is_down(name) or not new.is_floating_point()
        else ((1 - share) * before[name].double() + share * new.double()).to(new.dtype)
        for name, new in after.items()
    }


def _selected_by(config: ExperimentConfig, reports: dict[str, Report]) -> float:
    """The figure that selects the best checkpoint, over the dev sets without a bound."""
    apart = config.bounded_sets()
    sets = {name: figures(reports[name]) for name in config.dev_sets() if name not in apart}
    return mean_figures(sets)[config.training.best_metric]
