"""How fast systems train and translate, measured in turn in one process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import median

import torch

from dragoman.data.batches import Batch, Batches
from dragoman.device import best_device, keep_freed_memory, working_precision
from dragoman.experiment import ExperimentConfig, Prepared
from dragoman.saved import build_model
from dragoman.training.optimizer import FlatOptimizer
from dragoman.training.step import take_step
from dragoman.translator import Translator

ROUNDS = 3
SECONDS = 4.0  # of training in a round
_SENTENCES = 200  # translated in a round
_PEAK_SIZE = 2048


@dataclass
class Speed:
    """Of one system; medians over the rounds."""

    tokens_per_second: float | None
    """Target tokens learned from; None of an ensemble."""
    sentences_per_second: float
    """Translated, with the recipe's own search."""


@dataclass
class Machine:
    """What the systems ran on."""

    device: str
    threads: int
    precision: str
    peak: float
    """Operations a second of a large matrix product in that precision."""


class Rehearsal:
    """Steps of training with a fresh model that is thrown away, on the real batches."""

    def __init__(self, config: ExperimentConfig, prepared: Prepared) -> None:
        keep_freed_memory()
        device = best_device()
        torch.manual_seed(config.seed)
        self._model = build_model(config.model, prepared.vocabularies).to(device).train()
        precision = working_precision(config.training.precision, device)
        self._optimizer = FlatOptimizer(self._model, config.training.optimizer, precision)
        self._smoothing = config.training.label_smoothing
        source = Batches(prepared.store, config.training.batches, seed=config.seed)
        epochs = (source.epoch(epoch) for epoch in count())
        self._batches: Iterator[Batch] = (batch.to(device) for epoch in epochs for batch in epoch)

    def step(self) -> int:
        """Take one and give its target tokens."""
        batch = next(self._batches)
        take_step(self._model, self._optimizer, batch, self._smoothing)
        return batch.target_tokens


@dataclass
class _Rounds:
    training: list[float] = field(default_factory=list)
    translating: list[float] = field(default_factory=list)


def measure_speeds(
    rehearsals: Mapping[str, Rehearsal],
    translators: Mapping[str, Translator],
    sources: Sequence[str],
    rounds: int = ROUNDS,
) -> dict[str, Speed]:
    """Let every system train and translate for a moment, one after another, several times.

    What else the machine does at times then falls on all of them.

    Args:
        rehearsals: training of systems by name.
        translators: all systems by name.
        sources: sentences, of which some are translated.
        rounds: how often each has its turn, after one that warms up.
    """
    found = {name: _Rounds() for name in translators}
    for number in range(rounds + 1):
        for name, figures in found.items():
            trained = _train(rehearsals[name]) if name in rehearsals else None
            translated = _translate(translators[name], sources[:_SENTENCES])
            if number == 0:
                continue
            figures.translating.append(translated)
            if trained is not None:
                figures.training.append(trained)
    return {
        name: Speed(median(f.training) if f.training else None, median(f.translating))
        for name, f in found.items()
    }


def _train(rehearsal: Rehearsal) -> float:
    started, tokens = time.perf_counter(), 0
    while (taken := time.perf_counter() - started) < SECONDS:
        tokens += rehearsal.step()
    return tokens / taken


def _translate(translator: Translator, sources: Sequence[str]) -> float:
    started = time.perf_counter()
    translator.translate(sources)
    return len(sources) / (time.perf_counter() - started)


def this_machine(config: ExperimentConfig) -> Machine:
    """The device that training takes, and what it can do at most."""
    device = best_device()
    precision = working_precision(config.training.precision, device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    a = torch.ones(_PEAK_SIZE, _PEAK_SIZE, dtype=precision, device=device)
    best = min(_seconds_of_product(a) for _ in range(8))
    peak = 2 * _PEAK_SIZE**3 / best
    return Machine(name, torch.get_num_threads(), str(precision).removeprefix("torch."), peak)


def _seconds_of_product(a: torch.Tensor) -> float:
    started = time.perf_counter()
    (a @ a)[0, 0].item()  # reads a number back, so the device has finished
    return time.perf_counter() - started
