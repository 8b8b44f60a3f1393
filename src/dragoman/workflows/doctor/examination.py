"""The examination: first the text, then the vocabulary, then the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.core.errors import DragomanError
from dragoman.recipe import ExperimentConfig
from dragoman.run.parents import completed
from dragoman.run.run_directory import check_usable
from dragoman.workflows.doctor import (
    Diagnosis,
    chosen_engine,
    error,
    machine,
    pieces,
    text_checks,
    training_lines,
    warning,
)


def examine(config: ExperimentConfig, run: Path) -> Iterator[Diagnosis]:
    """Check everything that training needs, without training or writing anything.

    Findings are yielded as they are made.  Checks of text that cannot be read are left out.

    Args:
        config: the experiment, with absolute paths.
    """
    try:
        check_usable(run)
    except DragomanError as problem:
        yield error("run", str(problem))
    yield from chosen_engine.check_engine(run)
    try:
        config = completed(config)
    except DragomanError as problem:
        yield error("model", str(problem))
        return
    texts = text_checks.Texts()
    yield from text_checks.check_evaluation(config, texts)
    yield from text_checks.check_scores(config, texts)
    yield from text_checks.check_training(config, texts)
    if config.model.reads_source:
        yield from text_checks.check_sides(config, texts)
        yield from training_lines.check_strings(config, texts)
        yield from training_lines.check_short_lines(config, texts)
    yield from training_lines.check_languages(config, texts)
    yield from _check_schedule(config)
    if not texts.train:
        return
    encoded = pieces.Encoded()
    yield from pieces.check_vocabulary(config, texts, encoded)
    if encoded.vocabularies is None:
        return
    yield from pieces.check_lengths(config, texts, encoded)
    yield from machine.check_machine(config, texts, encoded, run)


def _check_schedule(config: ExperimentConfig) -> Iterator[Diagnosis]:
    training = config.training
    warmup = training.schedule.warmup_steps
    if training.max_steps is not None and warmup >= training.max_steps:
        yield warning(
            "schedule",
            f"the learning rate still rises when training ends: warmup_steps {warmup}, max_steps "
            f"{training.max_steps}; lower training.schedule.warmup_steps",
        )
    others = (training.max_epochs, training.max_minutes, training.patience)
    ends_sooner = any(limit is not None for limit in others)
    if (
        training.schedule.decay in {"linear", "cosine"}
        and ends_sooner
        and "max_steps" not in training.model_fields_set
    ):
        yield warning(
            "schedule",
            f"the learning rate falls until step {training.max_steps:,} and other limits may end "
            "training long before; set training.max_steps to the steps that they allow",
        )
    if training.max_steps is None and not ends_sooner:
        yield warning(
            "schedule",
            "nothing ends the training; set training.max_steps, max_epochs, max_minutes or "
            "patience",
        )
