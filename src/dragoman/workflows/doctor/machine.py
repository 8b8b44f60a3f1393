"""Checks of the machine: memory, time and disk that a run will need."""

from __future__ import annotations

import os
import random
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch

from dragoman.core.device import available_memory, best_device, decide_precision, is_emulated
from dragoman.data.batches import Batch, make_batch
from dragoman.models.cost import Cost, cost
from dragoman.recipe import ExperimentConfig
from dragoman.workflows.doctor import Diagnosis, error, ok, warning
from dragoman.workflows.doctor.pieces import Encoded
from dragoman.workflows.doctor.text_checks import Texts
from dragoman.workflows.progress import duration
from dragoman.workflows.rehearsal import Measured, measure
from dragoman.workflows.training_needs import (
    MOST_PARAMETERS_PER_TOKEN,
    bytes_in_words,
    static_memory,
)

_MEASURED_TOKENS = 1024
_MANY_EPOCHS = 300
_MANY_SECONDS = 2 * 86400


def check_machine(
    config: ExperimentConfig, texts: Texts, encoded: Encoded, run: Path
) -> Iterator[Diagnosis]:
    """Check the size of the model, then disk, memory and time."""
    assert encoded.vocabularies is not None
    pieces = [len(vocabulary) for vocabulary in encoded.vocabularies]
    sizes = cost(config.model, *pieces, adapter=config.training.adapter)
    yield _check_size(config, sizes, _epoch_tokens(texts, encoded))
    yield _check_disk(config, sizes, run)
    device = best_device()
    yield from _check_precision(config, device)
    static = static_memory(sizes)
    available = available_memory(device)
    if static > available:
        yield error(
            "memory", f"weights and moments alone take {bytes_in_words(static)}, {_of(available)}"
        )
        return
    measured = _measure(config, encoded)
    yield _check_memory(config, static, measured, available)
    yield from _check_time(config, texts, encoded, measured, device)


def _epoch_tokens(texts: Texts, encoded: Encoded) -> float:
    """Target tokens of an epoch, end symbols included."""
    sampled = sum(len(ids) + 1 for ids in encoded.targets)
    return sampled * texts.kept / len(texts.train)


def _check_size(config: ExperimentConfig, sizes: Cost, epoch: float) -> Diagnosis:
    text = f"{sizes.total_parameters:,} parameters"
    if sizes.frozen_parameters:
        text += f", of which {sizes.learned_parameters:,} learn,"
    if sizes.learned_parameters > MOST_PARAMETERS_PER_TOKEN * epoch:
        return warning(
            "model",
            f"{text} are far too many for {epoch:,.0f} target tokens of text: the model will "
            f"memorise them; {_smaller(config)}",
        )
    return ok("model", text.removesuffix(","))


def _smaller(config: ExperimentConfig) -> str:
    if not config.model.reads_source:
        return "reduce the sizes of the model"
    if config.training.start_from is not None:
        return "set training.adapter: {}, so that only small factors learn"
    return f"use the sizes that this command writes: {_init_command(config)}"


def _init_command(config: ExperimentConfig) -> str:
    """The command that writes a configuration of a suitable size for the same text."""
    part = config.data.train[0]
    files = [shlex.quote(str(path)) for path in part.paths()]
    named = {"--source": part.source, "--target": part.target}
    if not part.file_format.names_sides:
        named = {"--source": config.source_language, "--target": config.target_language}
    named["--format"] = part.format
    options = [f"{name} {shlex.quote(value)}" for name, value in named.items() if value]
    return " ".join(["dragoman init", *files, *options])


def _check_disk(config: ExperimentConfig, sizes: Cost, run: Path) -> Diagnosis:
    home = next(path for path in (run.absolute(), *run.absolute().parents) if path.exists())
    if not os.access(home, os.W_OK):
        return error("disk", f"{home} cannot be written to; choose another place with --run")
    # Weights and two moments in float32, of: the checkpoints kept, the best, one of an interruption
    # and one being written.
    checkpoint = 4 * sizes.total_parameters + 8 * sizes.learned_parameters
    needed = checkpoint * (config.training.keep_checkpoints + 3) + 4 * sizes.total_parameters
    free = shutil.disk_usage(home).free
    text = f"checkpoints take {bytes_in_words(needed)}, {bytes_in_words(free)} are free at {home}"
    if needed > free:
        return error("disk", f"{text}; lower training.keep_checkpoints or choose another --run")
    return ok("disk", text)


def _check_precision(config: ExperimentConfig, device: torch.device) -> Iterator[Diagnosis]:
    if is_emulated(decide_precision(config.training.precision, device), device):
        yield warning(
            "precision",
            f"this {device.type} has no bfloat16 arithmetic and emulates it, which is slow; set "
            "training.precision: float32",
        )


def _check_memory(
    config: ExperimentConfig, static: float, measured: Measured, available: float
) -> Diagnosis:
    training = config.training
    batch = measured.bytes_per_token * min(
        training.step_tokens, training.device_tokens or training.step_tokens
    )
    text = f"training takes about {bytes_in_words(static + batch)}, {_of(available)}"
    if static + batch > available:
        fitting = max(0, int((available - static) / measured.bytes_per_token)) // 100 * 100
        limit = f"set training.device_tokens to {fitting} or less"
        return error("memory", f"{text}; {limit if fitting else 'reduce the sizes of the model'}")
    return ok("memory", text)


def _check_time(
    config: ExperimentConfig,
    texts: Texts,
    encoded: Encoded,
    measured: Measured,
    device: torch.device,
) -> Iterator[Diagnosis]:
    training = config.training
    epoch = _epoch_tokens(texts, encoded)
    speed = measured.tokens_per_second
    where = f"{speed:,.0f} target tokens per second on this {device.type}"
    yield ok("time", f"{where}: an epoch of {epoch:,.0f} takes {duration(epoch / speed)}")
    limits = [
        training.max_steps and training.max_steps * _tokens_a_step(config),
        training.max_epochs and training.max_epochs * epoch,
        training.max_minutes and training.max_minutes * 60 * speed,
    ]
    planned = min((limit for limit in limits if limit), default=None)
    if planned is None:
        yield ok("time", "training.patience alone decides when training ends")
        return
    text = f"at most {duration(planned / speed)} for {planned / epoch:,.1f} epochs"
    if planned > _MANY_EPOCHS * epoch and training.patience is None:
        yield warning(
            "time",
            f"{text}; with that many the model will memorise the text: set training.patience or "
            "lower training.max_steps",
        )
    elif planned / speed > _MANY_SECONDS and config.model.reads_source:
        yield warning(
            "time",
            f"{text}; for a model and a number of steps that fit your time: "
            f"{_init_command(config)} --minutes 60",
        )
    else:
        yield ok("time", f"{text}, validation excluded")


def _tokens_a_step(config: ExperimentConfig) -> float:
    """Target tokens per step, assuming it is nine tenths full."""
    return 0.9 * config.training.step_tokens


def _measure(config: ExperimentConfig, encoded: Encoded) -> Measured:
    """Take a few real steps with a small batch of the text."""
    assert encoded.vocabularies is not None
    batch = _typical_batch(config, encoded)
    return measure(config.model, config.training, encoded.vocabularies, batch, config.seed)


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
    middle = drawn[len(drawn) // 2 :]  # from the median length on
    wanted = min(_MEASURED_TOKENS, config.training.step_tokens)
    count = max(1, wanted // (len(middle[0][1]) + 1))
    return make_batch([pair[0] for pair in middle[:count]], [pair[1] for pair in middle[:count]])


def _of(available: float) -> str:
    return f"{bytes_in_words(available)} are available"
