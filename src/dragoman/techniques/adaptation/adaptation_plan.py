"""Duration and learning rate of an adaptation, chosen from the amount of in-domain text.

A handful of pairs must not ruin a model: the number of steps follows the text.  The rate is at
most a third of the paper's for training from scratch, and less if the text is so small that it is
repeated more than 30 times.  General text keeps its weight until a step has hardly any in-domain
text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["full", "ewc", "lora"]

PASSES = 30
"""Passes over the in-domain text, within the bounds on steps; docs/results.md, "Adaptation", has
the results of fewer passes."""
FEWEST_STEPS, MOST_STEPS = 240, 2000
_STEP_TOKENS = (800, 2500)  # per side: small steps for little text
_STEPS_IN_A_PASS = 8
_FILLED = 0.8  # of a batch; the rest is padding
_PAPER_WARMUP = 4000
_SHARE_OF_RATE = 0.3
# Adam's steps do not shrink as a few pairs are learned by heart.  With the full rate, ten pairs
# were learned by step 60, and general text was outside its bound at step 24 (decision 047).
_LEAST_RATE = 0.1
# Maximum weight of general text relative to a step's in-domain text.  A whole batch beside a single
# pair has nearly sixty times its weight, and the pair is not learned by the end (decision 047).
_MOST_TIMES = 8
# Only small factors learn, starting from zero: Hu et al. 2021 (arXiv:2106.09685, appendix D) use
# rates about ten times those of fine-tuning.
_FASTER = {"full": 1.0, "ewc": 1.0, "lora": 10.0}
_VALIDATIONS = 10
_PER_STEP, _FEWEST_GENERAL, _MOST_GENERAL = 40, 500, 20_000


@dataclass(frozen=True)
class AdaptationPlan:
    """The numbers of an adaptation."""

    steps: int
    step_tokens: int
    """Maximum padded tokens per step and side, of in-domain and of general text each."""
    peak_learning_rate: float
    warmup_steps: int
    validation_steps: int
    replay_weight: float
    """Weight of a token of general text relative to an in-domain token."""
    general_pairs: int
    """General pairs to draw."""

    def told(self, ratio: float) -> str:
        """A line that describes the plan to the user."""
        mixed = f"{ratio:g} of general text for 1 of the domain" if ratio else "no general text"
        return (
            f"at most {self.steps:,} steps of {self.step_tokens:,} tokens, learning rate up to "
            f"{self.peak_learning_rate:.2g}, {mixed}"
        )


def planned(tokens: int, d_model: int, ratio: float, method: Method = "full") -> AdaptationPlan:
    """The plan for some in-domain text.

    A step takes ``step_tokens`` of the domain, or all of it if it is smaller, and a whole batch of
    general text.  Each token of general text counts ``ratio`` times as much as an in-domain token,
    or less if the batch would count more than eight times ``ratio`` as much as all in-domain text.

    Args:
        tokens: target tokens of the in-domain text.
        d_model: width of the model.
        ratio: weight of a token of general text relative to an in-domain token, 0 for none.
        method: selects the weights that learn.
    """
    low, high = _STEP_TOKENS
    step_tokens = min(high, max(low, tokens // _STEPS_IN_A_PASS // 100 * 100))
    per_step = _FILLED * step_tokens
    a_pass = max(1.0, tokens / per_step)
    steps = round(min(PASSES * a_pass, max(MOST_STEPS, a_pass)))
    steps = max(FEWEST_STEPS, steps)
    share = min(1.0, PASSES * tokens / (FEWEST_STEPS * per_step))
    paper = float((d_model * _PAPER_WARMUP) ** -0.5)
    weight = ratio * min(1.0, _MOST_TIMES * tokens / per_step)
    rate = _SHARE_OF_RATE * paper * _FASTER[method] * max(_LEAST_RATE, share**0.5)
    return AdaptationPlan(
        steps=steps,
        step_tokens=step_tokens,
        peak_learning_rate=float(f"{rate:.3g}"),
        warmup_steps=max(1, min(50, steps // 10)),
        validation_steps=max(4, steps // _VALIDATIONS),
        replay_weight=float(f"{weight:.3g}"),
        general_pairs=min(_MOST_GENERAL, max(_FEWEST_GENERAL, _PER_STEP * steps)),
    )
