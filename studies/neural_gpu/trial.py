"""One model learns one operation and is tested on longer numbers than it was trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor

from studies.learning import Schedule, SmallTransformer, learn
from studies.neural_gpu.arithmetic import SYMBOLS, TASKS, Arithmetic, Curriculum
from studies.neural_gpu.models import ExtendedNeuralGPU, NeuralGPU, Sizes

JOINED_AFTER = 0.6
"""Share of the steps after which relaxed weights are joined."""
_PULL = 0.01
"""What draws relaxed weights together grows to this with the steps."""
_TESTED, _TEST_BATCH = 256, 64


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


@dataclass(frozen=True)
class Accuracy:
    """Accuracy on 256 questions of one length, in per cent."""

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
    tests = tuple(measure(model, task, bits, Random(f"{trial.seed} {bits}")) for bits in lengths)
    parameters = sum(p.numel() for p in model.parameters())
    return Result(trial, parameters, curriculum.current, minutes, tests)


def _build(trial: Trial) -> NeuralGPU | SmallTransformer:
    if trial.model == "transformer":
        return SmallTransformer(SYMBOLS)
    kind = ExtendedNeuralGPU if trial.model == "extended" else NeuralGPU
    return kind(SYMBOLS, trial.sizes)


def measure(
    model: NeuralGPU | SmallTransformer, task: Arithmetic, bits: int, rng: Random
) -> Accuracy:
    """Accuracy on new questions of this many bits."""
    whole, digits = 0.0, 0.0
    for _ in range(_TESTED // _TEST_BATCH):
        source, answers = task.draw(bits, _TEST_BATCH, rng)
        right = model.answer(source, answers.shape[1]) == answers
        whole += right.all(-1).float().mean().item()
        digits += right.float().mean().item()
    share = 100 * _TEST_BATCH / _TESTED
    return Accuracy(bits, whole * share, digits * share)
