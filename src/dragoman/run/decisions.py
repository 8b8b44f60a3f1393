"""Decisions made once when a run begins, and kept in its configuration wherever it is resumed."""

from __future__ import annotations

import logging
from pathlib import Path

from dragoman.core.device import DecidedPrecision, decide_precision, is_emulated
from dragoman.data.store import Store
from dragoman.recipe import ExperimentConfig
from dragoman.saved.model import CONFIG_FILE
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.training.distributed import World

log = logging.getLogger(__name__)


def with_precision(config: ExperimentConfig, run: Path, world: World) -> ExperimentConfig:
    """The configuration with a precision that the leader's hardware has, for all processes.

    The leader warns if the hardware of any of them has to emulate it.
    """
    training, device = config.training, world.device
    found = world.gather(
        lambda: [decide_precision(training.precision, device), is_emulated("bfloat16", device)]
    )
    precision: DecidedPrecision = found[0][0]
    emulated = precision == "bfloat16" and any(emulating for _, emulating in found)
    if world.is_leader and emulated:
        log.warning(
            "%s computes in bfloat16, which this hardware lacks: it is emulated, which is "
            "slow; start a run in float32 with: dragoman train %s --run OTHER "
            "--set training.precision=float32",
            run,
            run / CONFIG_FILE,
        )
    if training.precision == precision:
        return config
    return config.model_copy(
        update={"training": training.model_copy(update={"precision": precision})}
    )


def with_length_ratio(config: ExperimentConfig, store: Store) -> ExperimentConfig:
    """The configuration with the usual length ratio, by which search notices unusual translations.

    The ratio is left out for a run whose text has no sources with words, and for a run in which
    only the sources have context.  There, a sentence without context, such as the first of a
    document, would have an output several times as long as usual for its source, and be cut.
    """
    search, context = config.search, config.data.context
    if context is not None and not context.target:
        return config
    translates = config.training.objective.translates and not config.model.writes_labels
    if search.length_ratio is not None or not (config.model.reads_source and translates):
        return config
    parts = [number for number, part in enumerate(config.data.train) if _has_words(part)]
    if (ratio := store.length_ratio(parts)) is None:
        return config
    return config.model_copy(update={"search": search.model_copy(update={"length_ratio": ratio})})


def _has_words(part: CorpusPart) -> bool:
    """Whether the stored sources of a part have words: not a lone symbol, nor made later."""
    made = (transform for transform in part.prepared_transforms if transform.makes_source)
    return part.has_source or any(transform.uses_target for transform in made)
