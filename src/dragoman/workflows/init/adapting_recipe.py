"""The configuration that adapts a model to a text, with a comment on each value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.wording import in_shell
from dragoman.evaluation.metric import BleuTokenizer
from dragoman.models.cost import Cost
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.workflows.init.adapting_choice import AdaptingPlan, ChosenMethod
from dragoman.workflows.init.choose import Plan
from dragoman.workflows.init.commented_recipe import (
    Parts,
    about_text,
    about_tokenizer,
    about_training_text,
    path_from,
)
from dragoman.workflows.init.look import Facts
from dragoman.workflows.init.rate_trial import RateTrial
from dragoman.workflows.init.survey import Survey
from dragoman.workflows.training_needs import bytes_in_words

_NUMBER_BYTES = 4


@dataclass(frozen=True)
class AdaptingChoices:
    """All choices that make up the configuration."""

    parent: ParentModel
    facts: Facts
    parts: Parts
    """The files, with the model's names for the languages and their tags."""
    method: ChosenMethod
    sizes: Cost
    """The model with what learns."""
    plan: AdaptingPlan
    trial: RateTrial
    limit: int
    """Maximum pieces."""
    speed: float
    """Target tokens per second."""
    device: str
    tokenizer: BleuTokenizer
    was_split: bool
    survey: Survey
    from_nothing: Plan
    """The training of a new model in the same time."""

    @property
    def beside(self) -> str:
        """What adapting takes, and what a new model would."""
        new = self.from_nothing
        return (
            f"adapting takes about {self.plan.minutes} for {self.plan.passes:.1f} passes over the "
            f"text; a new model of {new.size.layers} + {new.size.layers} layers of "
            f"{new.size.d_model} would take {new.minutes} for {new.epochs:.1f}"
        )

    @property
    def learned(self) -> str:
        """What learns, and the size of the file that holds it."""
        file = bytes_in_words(_NUMBER_BYTES * self.sizes.learned_parameters)
        if self.method.method == "full":
            return f"all {self.sizes.total_parameters:,} weights, {file}"
        whole = bytes_in_words(_NUMBER_BYTES * self.sizes.frozen_parameters)
        return (
            f"a low-rank adapter of {self.sizes.learned_parameters:,} weights, {file} beside the "
            f"{whole} of the model"
        )


def adapting_values(choices: AdaptingChoices, folder: Path) -> dict[str, Any]:
    """The configuration as plain values.

    Args:
        choices: all of them.
        folder: of the file; paths below it are made relative to it.
    """
    plan, parent, parts = choices.plan, choices.parent, choices.parts
    known = parent.values()
    model = parent.config.model.model_dump(mode="json", exclude_defaults=True)
    training: dict[str, Any] = {
        "start_from": path_from(str(parent.path.absolute()), folder),
        "adapter": {"rank": 8},
        "step_tokens": plan.step_tokens,
        "device_tokens": plan.device_tokens,
        "schedule": {
            "peak_learning_rate": plan.peak_learning_rate,
            "warmup_steps": plan.warmup_steps,
            "decay": "linear",
        },
        "max_steps": plan.steps,
        "max_minutes": plan.max_minutes,
        "validation_steps": plan.validation_steps,
        "checkpoint_steps": plan.validation_steps,
        "keep_checkpoints": 1,
        "average_checkpoints": 0,
        "best_metric": "chrf",
    }
    if choices.method.method == "full":
        del training["adapter"]
    if plan.device_tokens is None:
        del training["device_tokens"]
    values = {
        "seed": 1,
        "source_language": parts.train[0].source_language,
        "target_language": parts.train[0].target_language,
        "data": {
            **parts.values(folder),
            "max_pieces": choices.limit,
        },
        "vocabulary": known.get("vocabulary"),
        "model": {"family": parent.config.model.family, **model},
        "training": training,
        "search": known["search"],
        "evaluation": {"metrics": ["chrf", "bleu"], "bleu_tokenize": choices.tokenizer},
    }
    return {key: value for key, value in values.items() if value}


def adapting_notes(choices: AdaptingChoices) -> dict[str, str]:
    """The reason for each value and advice on changing it, by its key."""
    plan = choices.plan
    text = about_training_text(choices.facts, choices.parts, choices.survey)
    return {
        "data": about_text(choices.facts, was_split=choices.was_split),
        **({"data.train": text} if text else {}),
        "data.max_pieces": "at least 999 of 1,000 pairs are no longer; longer ones are excluded "
        "from training",
        "model": "that of the model below; of these values only dropout may change",
        "training": "what this text lacks is forgotten little by little; to mix in other text and "
        f"bound the loss: dragoman adapt {in_shell(choices.parent.path)} FILES --general FILES",
        "training.start_from": _about_start(choices),
        "training.adapter": f"{choices.method.why}, so an adapter learns: {choices.learned}; to "
        "train all weights: dragoman init --method full",
        "training.step_tokens": "an eighth of the text, within 800 and 2,500",
        "training.device_tokens": f"training takes about {bytes_in_words(plan.memory)} with this",
        "training.schedule.peak_learning_rate": f"{choices.trial.story}; a higher one learns and "
        "forgets faster",
        "training.schedule.decay": "to zero at max_steps; change both together",
        "training.max_steps": _about_adapting_steps(choices),
        "training.max_minutes": "if steps are slower than measured, the learning rate decays to "
        "zero within this time",
        "training.validation_steps": "each validation translates the dev set",
        "training.keep_checkpoints": "each holds all weights; the best one is kept, too",
        "training.average_checkpoints": "the best checkpoint becomes the model",
        "training.best_metric": "chrF counts characters and is steadier than BLEU with little text",
        "evaluation.bleu_tokenize": about_tokenizer(choices.facts, choices.tokenizer),
    }


def _about_start(choices: AdaptingChoices) -> str:
    said = (
        f"{choices.beside}; its vocabulary is kept; dragoman doctor says whether extending it pays"
    )
    if choices.method.method == "lora":
        return said
    return (
        f"all weights learn: {choices.method.why}; for an adapter, a small file beside the model: "
        f"dragoman init --method lora; {said}"
    )


def _about_adapting_steps(choices: AdaptingChoices) -> str:
    plan = choices.plan
    passes = f"{plan.passes:.1f} passes over the text"
    if not plan.is_cut_by_time:
        return f"{passes}, as dragoman adapt takes; more would learn the text by heart"
    return (
        f"{passes} at {choices.speed:,.0f} target tokens per second on this {choices.device}; "
        "for more time: dragoman init --minutes"
    )
