"""Training steps with a model that is thrown away: to measure speed, and to try values.

Used by ``doctor``, ``init`` and ``compare``.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import torch

from dragoman.core.device import best_device, keep_freed_memory, working_precision
from dragoman.data.batches import Batch
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.models import ModelConfig
from dragoman.models.layers.low_rank import add_adapters
from dragoman.run.task_list import with_candidates
from dragoman.saved.model import build_model
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.objectives.cross_entropy import CrossEntropy
from dragoman.training.recomputation import recompute_layers
from dragoman.training.settings import TrainingConfig
from dragoman.training.sharding.replicas import Replicas
from dragoman.training.step import activation_bytes, take_step
from dragoman.training.tasks import SingleStep, Stream
from dragoman.training.warm_start import take_over

_TIMED_STEPS = 3


@dataclass(frozen=True)
class Measured:
    """The time and memory of a few real steps."""

    tokens_per_second: float
    """Target tokens trained on, without padding."""
    bytes_per_token: float
    """Bytes kept for the backward pass, per padded target token."""


class Rehearsal:
    """Training steps with a fresh model, or with that of ``training.start_from``.

    If the objective needs candidates, they take longer than in training: a fresh model makes them
    as long as allowed.

    Args:
        steps: the batches of each step; at least as many steps as will be taken.
        takes_over: whether the weights are those of ``training.start_from``.
    """

    def __init__(
        self,
        model: ModelConfig,
        training: TrainingConfig,
        vocabularies: Vocabularies,
        steps: Iterator[Sequence[Batch]],
        seed: int,
        *,
        takes_over: bool = False,
    ) -> None:
        keep_freed_memory()
        self.device = best_device()
        torch.manual_seed(seed)
        self._model = build_model(model, vocabularies)
        if takes_over and training.start_from is not None:
            take_over(self._model, vocabularies, training.start_from)
        self._model.to(self.device).train()
        if training.adapter is not None:
            add_adapters(self._model, training.adapter, seed)
        if training.recompute == "layers":
            recompute_layers(self._model)
        precision = working_precision(training.precision, self.device)
        self._optimizer = Replicas(self._model, training.optimizer, precision)
        self._objective = training.objective.build(training.label_smoothing, model)
        self._steps = steps
        self._stream: Stream = SingleStep([])
        if wanted := training.objective.wanted_candidates():
            self._stream = with_candidates(self._stream, wanted, vocabularies, EvaluationConfig())

    def step(self, learning_rate: float = 0.0) -> int:
        """Take a step and return its target tokens.

        Args:
            learning_rate: 0 does all the work and changes nothing.
        """
        batches = [
            self._stream.completed(batch.to(self.device), self._model)
            for batch in next(self._steps)
        ]
        return take_step(self._model, self._optimizer, self._objective, batches, learning_rate)

    def loss(self, batches: Sequence[Batch]) -> float:
        """Negative log-likelihood of the targets, nats per token, as validations report it."""
        plain = CrossEntropy(smoothing=0.0)
        totals: dict[str, float] = defaultdict(float)
        self._model.eval()
        with torch.no_grad():
            for batch in batches:
                for name, total in plain.backward(self._model, batch.to(self.device)).items():
                    totals[name] += float(total)
        self._model.train()
        return plain.figures(totals)["nll"]

    def tokens_per_second(self, seconds: float) -> float:
        """Target tokens per second, measured for ``seconds`` after a warm-up."""
        self.step()
        started, tokens = time.perf_counter(), 0
        while (taken := time.perf_counter() - started) < seconds:
            tokens += self.step()
        return tokens / taken

    def kept_bytes(self) -> int:
        """Bytes that a step keeps for its backward pass."""
        return activation_bytes(self.step, self._model.parameters())


def measure(
    model: ModelConfig,
    training: TrainingConfig,
    vocabularies: Vocabularies,
    batch: Batch,
    seed: int,
) -> Measured:
    """Speed and memory of the fastest of a few steps on one batch."""
    stream = training.objective.reading(SingleStep([batch]), vocabularies, seed)
    rehearsal = Rehearsal(model, training, vocabularies, repeat(next(stream.window(0, 0))), seed)
    kept = rehearsal.kept_bytes()  # this step also warms up
    best = float("inf")
    for _ in range(_TIMED_STEPS):
        started = time.perf_counter()
        rehearsal.step()
        best = min(best, time.perf_counter() - started)
    return Measured(batch.target_tokens / best, kept / batch.target_output.numel())
