"""Signs that a run learns nothing, reported early enough to stop it."""

from __future__ import annotations

from collections.abc import Mapping

EARLY_STEPS = 50
"""Number of first steps whose losses are kept."""
_JUDGED_FROM = 500
_CHECKED_EVERY = 500


def likelihood(figures: Mapping[str, float]) -> float:
    """The negative log-likelihood if the objective reports one, otherwise its loss."""
    return figures.get("nll", figures["loss"])


def learns_nothing(early_losses: list[float], loss: float, step: int) -> str | None:
    """A warning if the loss is hardly below that of the first steps.

    Even a model that ignores the source soon learns how frequent each piece is, which lowers the
    loss of a fresh model by several nats.  A drop of only 5 % means that something is wrong.
    Losses are in nats per token: of the first steps, and now, after ``step`` steps.
    """
    if step < _JUDGED_FROM or step % _CHECKED_EVERY or len(early_losses) < EARLY_STEPS:
        return None
    if loss < 0.95 * max(early_losses):
        return None
    return (
        f"nothing is being learned: the loss is {loss:.2f} nats per token, after "
        f"{max(early_losses):.2f} in the first steps; check that source and target lines "
        "belong together, and the learning rate"
    )


def output_is_constant(hypotheses: list[str]) -> str | None:
    """A warning if (nearly) all hypotheses of a dev set are the same sentence."""
    distinct = len(set(hypotheses))
    if len(hypotheses) < 20 or distinct > max(1, len(hypotheses) // 50):
        return None
    return (
        f"the output is constant: {distinct} different translations of {len(hypotheses)} "
        "sentences; normal in the first minutes, later a sign that nothing is being learned"
    )
