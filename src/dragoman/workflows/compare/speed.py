"""Speeds of training and translation of several systems, measured in turn in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import median

import torch

from dragoman.core.device import best_device, decide_precision
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig
from dragoman.run.prepared_text import Prepared
from dragoman.saved.system_parts import UNPROTECTED
from dragoman.training.distributed import World
from dragoman.translation.translator import Translator
from dragoman.workflows.rehearsal import Rehearsal

ROUNDS = 3
SECONDS = 4.0  # of training per round
_SENTENCES = 200  # translated per round
_WARM_SENTENCES = 16
_PEAK_SIZE = 2048


@dataclass
class Speed:
    """Speeds of one system; medians over the rounds."""

    tokens_per_second: float | None
    """Target tokens trained on per second; None for an ensemble."""
    sentences_per_second: float
    """Sentences translated per second, with the recipe's own search."""


@dataclass
class Machine:
    """The machine that the systems ran on."""

    device: str
    threads: int
    peaks: dict[str, float]
    """FLOPs per second of a large matrix product, by the precisions that recipes train in."""


def rehearsal_of(experiment: Experiment, prepared: Prepared) -> Rehearsal:
    """Training steps on the real batches, with a fresh model that is thrown away."""
    (task,) = experiment.tasks(prepared, World.alone())
    steps = (
        step
        for epoch in count()
        for window in range(task.stream.windows(epoch))
        for step in task.stream.window(epoch, window)
    )
    config = experiment.config
    return Rehearsal(config.model, config.training, prepared.vocabularies, steps, config.seed)


@dataclass
class _Rounds:
    training: list[float] = field(default_factory=list)
    translating: list[float] = field(default_factory=list)


def measure_speeds(
    systems: Mapping[str, Sequence[Experiment]],
    sources: Mapping[str, Sequence[str]],
    rounds: int = ROUNDS,
    *,
    progress: Callable[[int], object],
) -> dict[str, Speed]:
    """Train and translate briefly with every system in turn, several times.

    Other load on the machine then affects all of them.  Only one system is in memory at a time.

    Args:
        systems: finished runs by name; several form an ensemble, which is not trained.
        sources: sentences by system, of which some are translated.
        progress: called after each turn with the number of turns taken.
    """
    measured, turns = {name: _Rounds() for name in systems}, count(1)
    for _ in range(rounds):
        for name, runs in systems.items():
            if len(runs) == 1:
                rehearsal = rehearsal_of(runs[0], runs[0].prepare())
                measured[name].training.append(rehearsal.tokens_per_second(SECONDS))
                del rehearsal  # only one system at a time is in memory
            translator = Translator.load(*(run.run for run in runs), terms=UNPROTECTED)
            measured[name].translating.append(_translate(translator, sources[name][:_SENTENCES]))
            progress(next(turns))
    return {
        name: Speed(median(f.training) if f.training else None, median(f.translating))
        for name, f in measured.items()
    }


def _translate(translator: Translator, sources: Sequence[str]) -> float:
    translator.translate(sources[:_WARM_SENTENCES])
    started = time.perf_counter()
    translator.translate(sources)
    return len(sources) / (time.perf_counter() - started)


def precision_of(config: ExperimentConfig) -> str:
    """The name of the number type in which a recipe trains here."""
    return decide_precision(config.training.precision, best_device())


def this_machine(precisions: Iterable[str]) -> Machine:
    """The device used for training, and its peak rate in these precisions."""
    device = best_device()
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    peaks = {}
    for precision in dict.fromkeys(precisions):
        a = torch.ones(_PEAK_SIZE, _PEAK_SIZE, dtype=getattr(torch, precision), device=device)
        best = min(_seconds_of_product(a) for _ in range(8))
        peaks[precision] = 2 * _PEAK_SIZE**3 / best
    return Machine(name, torch.get_num_threads(), peaks)


def _seconds_of_product(a: torch.Tensor) -> float:
    started = time.perf_counter()
    (a @ a)[0, 0].item()  # reads a number back, so it waits for the device
    return time.perf_counter() - started
