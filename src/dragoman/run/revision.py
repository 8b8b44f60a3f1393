"""Settings of a run that are decided when it begins, and those that may still change afterwards."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dragoman.core.config import override, parse
from dragoman.core.device import DecidedPrecision, decide_precision, is_emulated
from dragoman.core.errors import ConfigError
from dragoman.core.wording import in_shell, listed
from dragoman.data.store import Store
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.recipe import ExperimentConfig
from dragoman.saved.model import CONFIG_FILE
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.public_corpora import from_folder
from dragoman.training.checkpoint import Progress, checkpoints, read_progress
from dragoman.training.distributed import World

log = logging.getLogger(__name__)

CHANGEABLE = (
    "training.max_steps",
    "training.max_epochs",
    "training.max_minutes",
    "training.patience",
    "training.device_tokens",
    "training.send_gradients",
    "training.sharding",
    "training.recompute",
    "training.validation_steps",
    "training.checkpoint_steps",
    "training.keep_checkpoints",
    "training.average_checkpoints",
    "training.best_metric",
    "training.log_steps",
    "training.non_finite_steps",
    "data.processes",
    "finish",
    "search",
    "evaluation",
)
"""Keys and whole sections: changing them leaves the steps already taken valid."""

_MEASURES = ("search", "evaluation")
"""Settings that scores of a dev set depend on."""
_NO_MEASURE = (
    "search.batch_tokens",
    "search.buffer_lines",
    "evaluation.metrics",
    "evaluation.confidence_samples",
)
"""Keys among these settings that the scores do not depend on."""

BOUNDS = "training.bounds"
"""The reason of a run's end if its bounded dev sets have lost too much."""

_JUMP = 0.1  # of the larger rate: smaller jumps are lost in Adam's normalisation


def revised(config: ExperimentConfig, settings: Sequence[str], run: Path) -> ExperimentConfig:
    """The configuration of a run that has begun, overridden by ``settings``.

    Warns if the learning rate would jump.

    Args:
        config: the contents of the run's ``config.yaml``.
        settings: such as ``training.max_steps=4000``; a path is relative to the current directory.
        run: its directory, whose newest checkpoint shows its progress.

    Raises:
        ConfigError: another setting would change, a limit is already passed, or a value is wrong.
    """
    where = run / CONFIG_FILE
    before = plain_values(config)
    stated = {setting.partition("=")[0] for setting in settings}
    if "search.length_penalty" in stated and "finish.length_penalties" not in stated:
        settings = [*settings, "finish.length_penalties=[]"]
    values = override(before, list(settings))
    here = from_folder(Path.cwd())  # among changeable settings, only a glossary has a path
    values = {**values, "evaluation": here.of(EvaluationConfig, values["evaluation"])}
    after = parse(ExperimentConfig, values, where)
    changed = list(changed_keys(before, plain_values(after)))
    bounded = any(value.metric != "loss" for value in config.training.bounds.values())
    if bounded and (measures := [key for key in changed if _measures(key)]):
        raise ConfigError(
            f"{run}: {', '.join(measures)} cannot change, since training.bounds counts from scores "
            "that were measured before the first step"
        )
    if refused := [key for key in changed if not _may_change(key)]:
        raise ConfigError(
            f"{run}: {', '.join(refused)} cannot change in a run that has begun; start another "
            f"with: dragoman train {in_shell(where)} --run OTHER --set KEY=VALUE. What can change: "
            f"{', '.join(CHANGEABLE)}"
        )
    progress = progress_of(run)
    passed = after.training.limits_passed(progress)
    if problems := [text for name, text in passed if f"training.{name}" in changed]:
        raise ConfigError(f"{run}: {listed(problems)} already; name a later end")
    _warn_of_a_jump(config, after, progress)
    return after


def progress_of(run: Path) -> Progress:
    """The progress of a run, by its newest checkpoint."""
    found = checkpoints(run)
    return read_progress(found[-1]) if found else Progress()


def ended_by(config: ExperimentConfig, run: Path) -> str | None:
    """The limit that a run has reached, such as "training.max_steps: 4000"; None if none."""
    name = config.training.limit_reached(progress_of(run))
    if name == "bounds":
        return BOUNDS
    return None if name is None else f"training.{name}: {getattr(config.training, name)}"


def as_decided(wanted: ExperimentConfig, begun: ExperimentConfig) -> ExperimentConfig:
    """A recipe with its open settings as a run of it decided them when it began.

    They are the precision, the digests of other runs, and the usual ratio of lengths.
    """
    decided: dict[str, Any] = {}
    if wanted.training.precision == "auto":
        decided["precision"] = begun.training.precision
    for name in ("start_from", "embeddings"):
        given, taken = getattr(wanted.training, name), getattr(begun.training, name)
        if given is not None and given.digest is None and taken is not None:
            decided[name] = given.model_copy(update={"digest": taken.digest})
    decided["components"] = {
        part: one.model_copy(update={"digest": taken.digest})
        if one.digest is None and (taken := begun.training.components.get(part)) is not None
        else one
        for part, one in wanted.training.components.items()
    }
    vocabulary, search = wanted.vocabulary, wanted.search
    if vocabulary.of is not None and vocabulary.digest is None:
        vocabulary = vocabulary.model_copy(update={"digest": begun.vocabulary.digest})
    if search.length_ratio is None:
        search = search.model_copy(update={"length_ratio": begun.search.length_ratio})
    training = wanted.training.model_copy(update=decided)
    changes = {"training": training, "vocabulary": vocabulary, "search": search}
    return wanted.model_copy(update=changes)


def plain_values(config: ExperimentConfig) -> dict[str, Any]:
    """All values of a configuration, as in JSON."""
    values: dict[str, Any] = json.loads(config.model_dump_json())
    return values


def changed_keys(before: Any, after: Any, key: str = "") -> Iterator[str]:
    """The keys with different values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            place = f"{key}.{name}" if key else name
            yield from changed_keys(before.get(name), after.get(name), place)
    elif before != after:
        yield key


def measuring_digest(config: ExperimentConfig) -> str:
    """A digest of the settings that scores of a dev set depend on."""
    values = plain_values(config)
    found = {
        f"{section}.{key}": value
        for section in _MEASURES
        for key, value in values[section].items()
        if f"{section}.{key}" not in _NO_MEASURE
    }
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _measures(key: str) -> bool:
    return key.startswith(tuple(f"{setting}." for setting in _MEASURES)) and key not in _NO_MEASURE


def _may_change(key: str) -> bool:
    return any(key == setting or key.startswith(f"{setting}.") for setting in CHANGEABLE)


def _warn_of_a_jump(before: ExperimentConfig, after: ExperimentConfig, progress: Progress) -> None:
    """Warn if the new limits change the rate at once, as when a decay that ended begins again."""
    step = progress.step
    old, new = (
        config.training.learning_rate(step + 1, config.model.d_model, progress)
        for config in (before, after)
    )
    if abs(new - old) > _JUMP * max(new, old):
        log.warning(
            "with the new limits the learning rate of step %d is %.3g, not %.3g: the %s decay "
            "now ends at max_steps, as if planned from the first step; %s",
            step + 1,
            new,
            old,
            after.training.schedule.decay,
            "the loss may rise for a while" if new > old else "the remaining steps change less",
        )


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
