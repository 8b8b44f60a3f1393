"""One model learns one operation and is tested on longer numbers than it was trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor

from studies.learning import Schedule, SmallTransformer, learn
from studies.neural_gpu.arithmetic import SYMBOLS, TASKS, Curriculum
from studies.neural_gpu.models import ExtendedNeuralGPU, NeuralGPU, Sizes

JOINED_AFTER = 0.6
"""Share of the steps after which relaxed weights are joined."""
_PULL = 0.01
"""What draws relaxed weights together grows to this with the steps."""
_TEST_BATCH = 64


@dataclass(frozen=True)
class Trial:
    """What is trained, and how."""

    model: str
    task: str
    bits: int
    """Maximum bits of a number in training."""
    batch: int
    seed: int
    schedule: Schedule
    sizes: Sizes
    questions: int = 256
    """Number of test questions of each length."""


@dataclass(frozen=True)
class Accuracy:
    """Accuracy on questions of one length, in per cent."""

    bits: int
    whole: float
    """Answers without a wrong bit."""
    digits: float
    """Right bits."""


@dataclass(frozen=True)
class Result:
    """What a trial gave."""

    trial: Trial
    parameters: int
    reached: int
    """Bits that the curriculum reached."""
    minutes: float
    accuracy: tuple[Accuracy, ...]

    def values(self) -> dict[str, Any]:
        """The result in plain values."""
        return asdict(self)


def run(trial: Trial, advance: Callable[[int], object]) -> Result:
    """Train and test; ``advance`` is called with the number of steps done."""
    torch.manual_seed(trial.seed)
    rng = Random(trial.seed)
    task = TASKS[trial.task]
    model = _build(trial)
    curriculum = Curriculum(trial.bits)

    def batch_loss(step: int) -> tuple[Tensor, float]:
        bits, done = curriculum.draw(rng), step / trial.schedule.steps
        relaxed = model if isinstance(model, NeuralGPU) and trial.sizes.relaxed > 1 else None
        if relaxed and done >= JOINED_AFTER:
            relaxed.join()  # again after each step, which moves the sets apart
        loss, wrong = model.loss(*task.draw(bits, trial.batch, rng))
        curriculum.heard(bits, wrong)
        if relaxed and done < JOINED_AFTER:
            loss = loss + relaxed.pull(_PULL * done)
        return loss, wrong

    minutes = learn(model, batch_loss, trial.schedule, advance)
    if isinstance(model, NeuralGPU):
        model.join()
    lengths = (trial.bits, 2 * trial.bits, 4 * trial.bits)
    tests = tuple(_measure(model, trial, bits) for bits in lengths)
    parameters = sum(p.numel() for p in model.parameters())
    return Result(trial, parameters, curriculum.current, minutes, tests)


def _build(trial: Trial) -> NeuralGPU | SmallTransformer:
    if trial.model == "transformer":
        return SmallTransformer(SYMBOLS)
    kind = ExtendedNeuralGPU if trial.model == "extended" else NeuralGPU
    return kind(SYMBOLS, trial.sizes)


def _measure(model: NeuralGPU | SmallTransformer, trial: Trial, bits: int) -> Accuracy:
    """Accuracy on new questions of this many bits."""
    rng, task = Random(f"{trial.seed} {bits}"), TASKS[trial.task]
    whole, digits, left = 0, 0.0, trial.questions
    while left:
        source, answers = task.draw(bits, min(left, _TEST_BATCH), rng)
        right = model.answer(source, answers.shape[1]) == answers
        whole += int(right.all(-1).sum())
        digits += float(right.double().mean(-1).sum())
        left -= len(right)
    return Accuracy(bits, 100 * whole / trial.questions, 100 * digits / trial.questions)
