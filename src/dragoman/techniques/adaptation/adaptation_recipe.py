"""The recipe of an adaptation: an ordinary recipe, which can be read and resumed like any other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dragoman.core.config import laid_over, parse
from dragoman.core.errors import ConfigError
from dragoman.recipe import ExperimentConfig
from dragoman.recipe.description import DataConfig
from dragoman.techniques.adaptation.adaptation_plan import AdaptationPlan, Method
from dragoman.techniques.adaptation.domain import DomainText
from dragoman.techniques.adaptation.general import GeneralText
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.corpora.corpus_part import CorpusPart

REPLAY_TASK = "replay"
_EWC_WEIGHT, _EWC_PAIRS = 1.0, 500  # with weights of 100 and more, small models learned nothing


def recipe(
    parent: ParentModel,
    *,
    text: DomainText,
    general: GeneralText,
    plan: AdaptationPlan,
    method: Method,
    may_lose: float,
    before: Mapping[str, float] = MappingProxyType({}),
    longest: int = 0,
    vocabulary: dict[str, Any],
    overrides: dict[str, Any],
    where: Path | str,
) -> ExperimentConfig:
    """The recipe.

    Args:
        parent: the model to adapt.
        text: in-domain text.
        general: general text.
        plan: steps, batch size and rate.
        method: selects the weights that learn.
        may_lose: bound on the chrF of each general dev set.
        before: earlier scores of some dev sets, if losses do not count from the first validation.
        longest: pieces of the longest side of in-domain text that must be kept whole.
        vocabulary: ``vocabulary`` of ``training.start_from`` and the section ``vocabulary``.
        overrides: values of the user's recipe, which take precedence.
        where: the user's recipe, for messages.

    Raises:
        ConfigError: the values do not fit together.
    """
    if twice := sorted(text.dev.keys() & general.dev_sets.keys()):
        raise ConfigError(
            f"{where}: data.dev.{twice[0]}: a dev set of general text has this name, whose loss is "
            "bounded; call the in-domain one otherwise, such as domain"
        )
    replay = [part.model_copy(update={"task": REPLAY_TASK}) for part in general.parts]
    training: dict[str, Any] = {
        "start_from": {
            "model": str(parent.path.absolute()),
            "vocabulary": "extend" if vocabulary else "keep",
        },
        "step_tokens": plan.step_tokens,
        "schedule": {
            "peak_learning_rate": plan.peak_learning_rate,
            "warmup_steps": plan.warmup_steps,
            "decay": "linear",
        },
        "max_steps": plan.steps,
        "validation_steps": plan.validation_steps,
        "checkpoint_steps": plan.validation_steps,
        "keep_checkpoints": 2,
        "average_checkpoints": 0,
        "best_metric": "chrf",
        # The chrF of a few lines may fall for long while their loss falls; the best step is kept.
        "patience": None,
        "log_steps": max(1, plan.validation_steps // 2),
        "bounds": {
            name: {"may_lose": may_lose, "before": before.get(name)} for name in general.dev_sets
        },
    }
    train = list(text.train)
    if plan.replay_weight:
        train += replay
        training["tasks"] = {REPLAY_TASK: {"weight": plan.replay_weight}}
    if method == "lora":
        training["adapter"] = {}
    elif method == "ewc":
        training["consolidation"] = {
            "weight": _EWC_WEIGHT,
            "pairs": _EWC_PAIRS,
            "text": [_plain(part) for part in general.parts],
        }
    data: dict[str, Any] = {
        "train": [_plain(part) for part in train],
        "dev": {name: _plain(part) for name, part in (text.dev | general.dev_sets).items()},
        "test": {name: _plain(part) for name, part in text.test.items()},
        "cleaning": _cleaning(text.repeats, general),
        "processes": 1,
    }
    usual = DataConfig.model_fields["max_pieces"].default
    if parent.run is not None:
        usual = parent.run.data.max_pieces
        training["label_smoothing"] = parent.run.training.label_smoothing
    data["max_pieces"] = max(usual, longest)
    values = {**parent.values(), "data": data, "training": training}
    values["vocabulary"] = {**values.get("vocabulary", {}), **vocabulary}
    values = laid_over(values, overrides)
    return parse(ExperimentConfig, values, where)


def _cleaning(repeats_dev: bool, general: GeneralText) -> dict[str, Any]:
    """Settings of cleaning; of a few pairs, which were written by hand, nothing is dropped."""
    if repeats_dev:
        kept = dict.fromkeys(("max_characters", "max_length_ratio", "min_identical_words"))
        return {**kept, "keep_held_out": True}
    return {"keep_held_out": True} if general.shares_lines else {}


def _plain(part: CorpusPart) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude={"context"})
