"""Checks of the machine: memory, time and disk that a run will need."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.apps.doctor.corpus import Texts
from dragoman.apps.doctor.findings import Finding, error, ok, warning
from dragoman.apps.doctor.pieces import Encoded
from dragoman.apps.progress import duration
from dragoman.data.batches import Batch, make_batch
from dragoman.device import best_device, decide_precision, is_emulated, working_precision
from dragoman.models.cost import cost
from dragoman.models.memory import activation_bytes
from dragoman.recipe import ExperimentConfig
from dragoman.saved import build_model
from dragoman.training.objectives.chunks import CHUNK_SCORES
from dragoman.training.objectives.cross_entropy import CACHED_SCORES
from dragoman.training.optimizer import FlatOptimizer
from dragoman.training.step import take_step

_TIMED_STEPS = 3
_MEASURED_TOKENS = 1024
_LIBRARIES = 400e6  # bytes that PyTorch itself takes
_MANY_EPOCHS = 300


@dataclass(frozen=True)
class Measured:
    """What a few real steps took."""

    tokens_per_second: float
    """Target tokens learned from, padding left out."""
    bytes_per_token: float
    """Kept for the backward pass, per padded target token."""


def check_machine(
    config: ExperimentConfig, texts: Texts, encoded: Encoded, run: Path
) -> Iterator[Finding]:
    """Size of the model, then disk, memory and time."""
    assert encoded.vocabularies is not None
    sizes = cost(config.model, len(encoded.vocabularies.source), len(encoded.vocabularies.target))
    parameters = sizes.total_parameters
    yield ok("model", f"{parameters:,} parameters")
    yield _check_disk(config, parameters, run)
    device = best_device()
    yield from _check_precision(config, device)
    static = _static_memory(parameters)
    available = available_memory(device)
    if static > available:
        yield error("memory", f"weights and moments alone take {_size(static)}, {_of(available)}")
        return
    measured = _measure(config, encoded, device)
    yield _check_memory(config, static, measured, available)
    yield from _check_time(config, texts, encoded, measured, device)


def _check_disk(config: ExperimentConfig, parameters: int, run: Path) -> Finding:
    home = next(path for path in (run.absolute(), *run.absolute().parents) if path.exists())
    if not os.access(home, os.W_OK):
        return error("disk", f"{home} cannot be written to; choose another place with --run")
    # Weights and two moments in float32; the best and one being written besides those kept.
    checkpoint = 12 * parameters
    needed = checkpoint * (config.training.keep_checkpoints + 2) + 4 * parameters
    free = shutil.disk_usage(home).free
    text = f"checkpoints take {_size(needed)}, {_size(free)} are free at {home}"
    if needed > free:
        return error("disk", f"{text}; lower training.keep_checkpoints or choose another --run")
    return ok("disk", text)


def _check_precision(config: ExperimentConfig, device: torch.device) -> Iterator[Finding]:
    if is_emulated(decide_precision(config.training.precision, device), device):
        yield warning(
            "precision",
            f"this {device.type} has no bfloat16 arithmetic and emulates it, which is slow; set "
            "training.precision: float32",
        )


def _static_memory(parameters: int) -> float:
    """Weights, gradient and two moments in float32; PyTorch; one chunk of the loss."""
    # Of a chunk: the scores and their gradient, and the probabilities of a part of them.
    return 16 * parameters + _LIBRARIES + 8 * CHUNK_SCORES + 4 * CACHED_SCORES


def _check_memory(
    config: ExperimentConfig, static: float, measured: Measured, available: float
) -> Finding:
    training = config.training
    batch = measured.bytes_per_token * min(
        training.step_tokens, training.device_tokens or training.step_tokens
    )
    text = f"training takes about {_size(static + batch)}, {_of(available)}"
    if static + batch > available:
        fitting = int((available - static) / measured.bytes_per_token)
        return error(
            "memory",
            f"{text}; set training.device_tokens to {max(fitting, 0) // 100 * 100} or less",
        )
    return ok("memory", text)


def _check_time(
    config: ExperimentConfig,
    texts: Texts,
    encoded: Encoded,
    measured: Measured,
    device: torch.device,
) -> Iterator[Finding]:
    training = config.training
    sampled = sum(len(ids) + 1 for ids in encoded.targets)
    epoch = sampled * texts.kept / len(texts.train)
    speed = measured.tokens_per_second
    where = f"{speed:,.0f} target tokens a second on this {device.type}"
    yield ok("time", f"{where}: an epoch of {epoch:,.0f} takes {duration(epoch / speed)}")
    limits = [
        training.max_steps and training.max_steps * _tokens_a_step(config),
        training.max_epochs and training.max_epochs * epoch,
        training.max_minutes and training.max_minutes * 60 * speed,
    ]
    planned = min((limit for limit in limits if limit), default=None)
    if planned is None:
        yield ok("time", "when training ends is left to training.patience")
        return
    text = f"at most {duration(planned / speed)} for {planned / epoch:,.1f} epochs"
    if planned > _MANY_EPOCHS * epoch and training.patience is None:
        yield warning(
            "time",
            f"{text}; so many epochs of the same text teach it by heart: set training.patience or "
            "lower training.max_steps",
        )
    else:
        yield ok("time", f"{text}, validation left out")


def _tokens_a_step(config: ExperimentConfig) -> float:
    """Target tokens, of which a step is nine tenths full."""
    return 0.9 * config.training.step_tokens


def _measure(config: ExperimentConfig, encoded: Encoded, device: torch.device) -> Measured:
    """Take a few real steps with a fresh model and a small batch of the text."""
    assert encoded.vocabularies is not None
    torch.manual_seed(config.seed)
    model = build_model(config.model, encoded.vocabularies).to(device).train()
    precision = working_precision(config.training.precision, device)
    optimizer = FlatOptimizer(model, config.training.optimizer, precision)
    batch = _typical_batch(config, encoded).to(device)
    objective = config.training.objective()

    def step() -> None:
        take_step(model, optimizer, objective, [batch])

    kept = activation_bytes(step, model.parameters())  # this step also warms up
    best = float("inf")
    for _ in range(_TIMED_STEPS):
        started = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - started)
    return Measured(batch.target_tokens / best, kept / batch.target_output.numel())


def _typical_batch(config: ExperimentConfig, encoded: Encoded) -> Batch:
    """Pairs drawn at random, of similar length, up to a small number of tokens."""
    limit = config.data.max_pieces
    pairs = [
        pair
        for pair in zip(encoded.sources, encoded.targets, strict=True)
        if max(map(len, pair)) <= limit
    ] or [([], [])]
    drawn = random.Random(config.seed).choices(pairs, k=4096)
    drawn.sort(key=lambda pair: len(pair[1]))
    middle = drawn[len(drawn) // 2 :]  # from the median on
    wanted = min(_MEASURED_TOKENS, config.training.step_tokens)
    count = max(1, wanted // (len(middle[0][1]) + 1))
    return make_batch([pair[0] for pair in middle[:count]], [pair[1] for pair in middle[:count]])


def available_memory(device: torch.device) -> float:
    """Bytes that a run may use: the GPU's, or the system's within the limit of its container."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return min(_system_memory(), _container_memory())


def _system_memory() -> float:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _container_memory() -> float:
    """What is left of a control group's limit; infinity if there is none."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        used = (group / "memory.current").read_text(encoding="ascii")
        return float("inf") if limit == "max" else float(limit) - float(used)
    except (OSError, ValueError):
        return float("inf")


def _of(available: float) -> str:
    return f"{_size(available)} are available"


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
