"""Choosing a size and a plan from facts about a text, a speed and minutes; measures nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dragoman.core.ranges import IntArray
from dragoman.data.grouping import group_by_length
from dragoman.text.scripts import overlap
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.optimizers.interface import OptimizerConfig
from dragoman.training.optimizers.muon import MuonConfig
from dragoman.workflows.init.look import Facts, Side

_START_SECONDS = 15.0  # starting Python and PyTorch twice: for the estimate, and at the end
_PREPARED_PER_SECOND = 8000.0  # pairs cleaned, used for the vocabulary and encoded
# Translating a token costs as much as training on this many: beam search takes a step for each, for
# four hypotheses.  `dragoman compare` measured 14,940 tokens per second in training and 208
# sentences of 15 in translation (docs/results/models.md).
_TRANSLATED_TOKEN = 6.0
_MOST_EPOCHS = 150  # like the recipes for 9,500 and 29,000 pairs (131 and 145)
_WANTED_STEPS = 1500  # fewer, larger steps learn less from the same text
_FEWEST_STEP_TOKENS = 1000
_VALIDATIONS = 5
_SLACK = 1.05  # of the time for steps, which varies a little
_SHARE_OF_VALIDATION = 0.15  # maximum, of the time
_DECISIONS = 2  # translations of the dev set by which the end of a run chooses what it keeps
_LIMITS = (64, 100, 128, 200, 256)  # of pieces
_FEW_PAIRS = 5000


@dataclass(frozen=True)
class Pieces:
    """Lengths of the text in pieces, from a sample."""

    source: IntArray
    """Pieces of each source sentence, end symbol included."""
    target: IntArray
    scale: float
    """Pairs of the text per pair of the sample."""
    dev_tokens: int
    """Target pieces of the dev set, end symbols included."""
    test_tokens: int
    """Target pieces of the test set, end symbols included."""

    @property
    def epoch_tokens(self) -> float:
        """Target tokens of an epoch."""
        return float(self.target.sum()) * self.scale

    def tokens_per_step(self, step_tokens: int) -> float:
        """Target tokens of a mean batch with this budget of padded tokens."""
        batches = len(group_by_length(self.source, self.target, step_tokens))
        return float(self.target.sum()) / max(1, batches)

    @property
    def limit(self) -> int:
        """A length limit in pieces that drops at most 0.1% of the pairs, where possible."""
        longest = float(np.quantile(np.maximum(self.source, self.target), 0.999))
        return next((limit for limit in _LIMITS if limit >= longest), _LIMITS[-1])


@dataclass(frozen=True)
class Plan:
    """A training run that ends in time."""

    size: Size
    step_tokens: int
    steps: int
    warmup_steps: int
    validation_steps: int
    checkpoint_steps: int
    epochs: float
    dropout: float
    seconds: float
    """Seconds from ``dragoman train`` to its last score."""
    max_minutes: float
    """Time for the steps, in which training ends with a finished decay even if they are slow."""
    is_cut_by_epochs: bool
    """Whether the amount of text, rather than the time, limits the training."""

    @property
    def minutes(self) -> str:
        """The time in words."""
        return minutes_in_words(self.seconds)


def minutes_in_words(seconds: float) -> str:
    """A time, rounded to minutes."""
    count = max(1, round(seconds / 60))
    return "1 minute" if count == 1 else f"{count:,} minutes"


def seconds_of_training(facts: Facts, pieces: Pieces, minutes: float, speed: float) -> float:
    """Time left for steps after starting, preparing, validation and scoring."""
    paid = _START_SECONDS + facts.pairs / _PREPARED_PER_SECOND
    paid += _scoring(pieces, _VALIDATIONS, speed, 60 * minutes)
    return max(0.5 * 60 * minutes, 60 * minutes - paid)


def affordable_validations(pieces: Pieces, speed: float, minutes: float) -> int:
    """How often the dev set can be translated within a small share of the time."""
    once = _TRANSLATED_TOKEN * pieces.dev_tokens / speed
    affordable = int(_SHARE_OF_VALIDATION * 60 * minutes / max(once, 1e-9))
    return max(1, min(_VALIDATIONS, affordable))


def seconds_beside_steps(facts: Facts, pieces: Pieces, minutes: float, speed: float) -> float:
    """Time for starting, preparing, validation and scoring."""
    validations = affordable_validations(pieces, speed, minutes)
    preparing = _START_SECONDS + facts.pairs / _PREPARED_PER_SECOND
    return preparing + _scoring(pieces, validations, speed, 60 * minutes)


def _scoring(pieces: Pieces, validations: int, speed: float, seconds: float) -> float:
    once = _TRANSLATED_TOKEN * pieces.dev_tokens / speed
    final_tokens = (1 + _DECISIONS) * pieces.dev_tokens + pieces.test_tokens
    final = _TRANSLATED_TOKEN * final_tokens / speed
    return min(validations * once, _SHARE_OF_VALIDATION * seconds) + final


def worth_measuring(
    facts: Facts, pieces: Pieces, speeds: Mapping[str, float], minutes: float
) -> Size | None:
    """The next size to measure, or None if the choice can be made.

    A larger model is never faster, so sizes that would not fit even at the speed of a smaller model
    are skipped.
    """
    for number, size in enumerate(SIZES):
        if size.name in speeds:
            continue
        if number == 0:
            return size
        known = speeds[SIZES[number - 1].name]
        return size if _fits(size, facts, pieces, known, minutes) else None
    return None


def choose_size(facts: Facts, pieces: Pieces, speeds: Mapping[str, float], minutes: float) -> Size:
    """The largest model that the text can train and the time allows.

    Args:
        speeds: target tokens per second of the measured sizes, by name, with the smallest.
    """
    chosen = SIZES[0]
    for size in SIZES[1:]:
        speed = speeds.get(size.name)
        if speed is None or not _fits(size, facts, pieces, speed, minutes):
            break
        chosen = size
    return chosen


def _fits(size: Size, facts: Facts, pieces: Pieces, speed: float, minutes: float) -> bool:
    learned = speed * seconds_of_training(facts, pieces, minutes, speed)
    learned = min(learned, _MOST_EPOCHS * pieces.epoch_tokens)
    return pieces.epoch_tokens >= size.least_text and learned >= size.least_learned


def choose_step(facts: Facts, pieces: Pieces, size: Size, speed: float, minutes: float) -> int:
    """A token budget per step that allows enough steps, rounded to 500."""
    learned = speed * seconds_of_training(facts, pieces, minutes, speed)
    learned = min(learned, _MOST_EPOCHS * pieces.epoch_tokens)
    fullness = pieces.tokens_per_step(_FEWEST_STEP_TOKENS) / _FEWEST_STEP_TOKENS
    wanted = learned / _WANTED_STEPS / fullness
    rounded = 500 * round(wanted / 500)
    return int(min(size.most_step_tokens, max(_FEWEST_STEP_TOKENS, rounded)))


def plan_training(
    facts: Facts, pieces: Pieces, size: Size, *, step_tokens: int, speed: float, minutes: float
) -> Plan:
    """Choose the number of steps that fit, and the settings that depend on it.

    Args:
        speed: target tokens per second of that size with that budget.
    """
    per_step = pieces.tokens_per_step(step_tokens)
    training_seconds = seconds_of_training(facts, pieces, minutes, speed)
    in_time = training_seconds * speed / per_step
    by_text = _MOST_EPOCHS * pieces.epoch_tokens / per_step
    steps = max(10, round(min(in_time, by_text)))
    steps = steps if steps < 100 else steps // 10 * 10
    validations = affordable_validations(pieces, speed, minutes)
    epochs = steps * per_step / pieces.epoch_tokens
    seconds = steps * per_step / speed + seconds_beside_steps(facts, pieces, minutes, speed)
    return Plan(
        size=size,
        step_tokens=step_tokens,
        steps=steps,
        warmup_steps=max(1, min(4000, steps // 8)),
        validation_steps=math.ceil(steps / validations),
        checkpoint_steps=max(1, steps // 40),
        epochs=epochs,
        dropout=_dropout(epochs),
        seconds=seconds,
        max_minutes=minutes_of_steps(training_seconds),
        is_cut_by_epochs=by_text < in_time,
    )


def _dropout(epochs: float) -> float:
    """By how often each sentence is read; text that is read hardly twice is not learned by heart.

    Below two passes, none gained 1.5 BLEU over 0.1 at equal steps (docs/learning-speed.md).
    """
    return 0.3 if epochs >= 40 else 0.2 if epochs >= 8 else 0.1 if epochs >= 2 else 0.0


def minutes_of_steps(seconds: float) -> float:
    """The limit in minutes for steps that take ``seconds`` as measured, to a tenth."""
    return math.ceil(_SLACK * seconds / 6) / 10


def warnings(facts: Facts, plan: Plan, minutes: float) -> list[str]:
    """Warnings to read before waiting for training."""
    texts = []
    if facts.pairs < _FEW_PAIRS:
        texts.append(
            f"{facts.pairs:,} pairs are few: expect a model that repeats phrases it has seen and "
            "guesses otherwise; a useful one needs tens of thousands of pairs"
        )
    if plan.epochs < 1:
        enough = minutes * 3 / max(plan.epochs, 1e-3)
        texts.append(
            f"{minutes:g} minutes are enough for {plan.epochs:.0%} of the text; for three epochs, "
            f"give --minutes {math.ceil(enough):,}"
        )
    kept = facts.pairs / max(1, facts.read)
    if kept < 0.5 and sum(facts.dropped.values()) - facts.dropped.get("empty", 0) > facts.pairs:
        texts.append(
            f"only {facts.pairs:,} of {facts.read:,} pairs remain after cleaning; do the lines "
            "with the same number mean the same?"
        )
    return texts


@dataclass(frozen=True)
class Size:
    """A Transformer, and the text and training from which it pays off."""

    name: str
    layers: int
    """Layers of the encoder, and of the decoder."""
    d_model: int
    d_ff: int
    heads: int
    optimizer: OptimizerConfig
    peak_learning_rate: float
    most_step_tokens: int
    least_text: float
    """Minimum target tokens per epoch; with less text the model only memorises."""
    least_learned: float
    """Target tokens over all epochs from which it is better than the next smaller model."""


_ADAM, _MUON = AdamConfig(), MuonConfig()

SIZES = (
    Size("tiny", 2, 128, 256, 4, _MUON, 0.003, 4000, 0, 0),
    Size("small", 4, 128, 512, 4, _MUON, 0.003, 8000, 50_000, 8e6),
    Size("medium", 4, 256, 1024, 4, _ADAM, 0.0015, 8000, 1e6, 4e7),
    Size("base", 6, 512, 2048, 8, _ADAM, 0.0007, 25_000, 1.5e7, 4e8),
)
"""Smallest first; the last one is the paper's base model.  Muon was compared with Adam at a width
of 128 only (docs/learning-speed.md)."""


_SIZE_STEPS = (500, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 32_000)


_SMALLEST = (400, 300)  # bytes included; for short texts that repeat few words


# A line through recipes that work: 2,000 pieces for 0.2 million characters (Home Assistant,
# en-ko), 8,000 for 1.8 million (Multi30k).  It reaches the 32,000 of large corpora at 20 million.
_PIECES, _CHARACTERS, _GROWTH = 8000, 1.8e6, 0.6


_BYTES = 256


_SPECIAL = 4


MANY_CHARACTERS = 300
"""Minimum of different characters for which bytes spell those that the text lacks; an alphabet with
punctuation has fewer."""


_VERY_MANY_CHARACTERS = 2000


_SHARED = 0.5


def shares_scripts(facts: Facts) -> bool:
    """Whether both languages are mostly written in the same script."""
    return overlap(facts.source.scripts, facts.target.scripts) >= _SHARED


def plan_vocabulary(facts: Facts, *, is_lacking: bool = False) -> VocabularyConfig:
    """The vocabulary for a text; it may still be larger than a small text allows.

    Args:
        is_lacking: whether the text lacks characters that are to be translated.
    """
    sides = (facts.source, facts.target)
    different = max(side.characters for side in sides)
    byte_fallback = is_lacking or different > MANY_CHARACTERS
    length = sum(side.length for side in sides) / len(sides)
    wanted = _PIECES * (length / _CHARACTERS) ** _GROWTH
    # Room for pieces of several characters in addition to single characters.
    least = 1.5 * different + _SPECIAL + (_BYTES if byte_fallback else 0)
    size = next((step for step in _SIZE_STEPS if step >= wanted * 0.8), _SIZE_STEPS[-1])
    size = next((step for step in _SIZE_STEPS if step >= max(size, least)), _SIZE_STEPS[-1])
    return VocabularyConfig(
        size=size,
        joint=shares_scripts(facts),
        byte_fallback=byte_fallback,
        character_coverage=0.9995 if different > _VERY_MANY_CHARACTERS else 1.0,
    )


def smaller_vocabularies(config: VocabularyConfig) -> list[VocabularyConfig]:
    """``config``, and alternatives for a text that is too small for it."""
    sizes = [step for step in reversed(_SIZE_STEPS) if step <= config.size]
    # Few pieces may not cover all characters: the rare ones are then spelt in bytes.
    in_bytes = {"byte_fallback": True, "character_coverage": 0.98}
    last = [{"size": step, **in_bytes} for step in (*sizes, *_SMALLEST)]
    changes = [{"size": step} for step in sizes] + last
    return [config.model_copy(update=change) for change in changes]


def script_names(side: Side) -> str:
    """The scripts with at least a tenth of the letters of a side, in words."""
    names = [name for name, share in side.scripts.items() if share >= 0.1]
    return " and ".join(names) or "no letters"
