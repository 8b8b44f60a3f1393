"""From files and a model to a configuration that adapts the model to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from dragoman.core.claims import new_outputs
from dragoman.core.device import available_memory, best_device
from dragoman.core.errors import ConfigError
from dragoman.core.wording import in_shell
from dragoman.evaluation.tokenizers import best_tokenizer
from dragoman.exchange.hub import is_hub_name
from dragoman.models.cost import Cost, cost
from dragoman.models.layers.low_rank import AdapterConfig
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.formats import Pair
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.training.settings import TrainingConfig
from dragoman.training.warm_start import StartConfig
from dragoman.workflows.init import measure
from dragoman.workflows.init.adapting_choice import (
    AdaptingPlan,
    LearningMethod,
    choose_method,
    plan_adapting,
    step_tokens_for,
    warnings_of_adapting,
)
from dragoman.workflows.init.adapting_recipe import (
    AdaptingChoices,
    adapting_notes,
    adapting_values,
)
from dragoman.workflows.init.choose import Plan
from dragoman.workflows.init.commented_recipe import Parts
from dragoman.workflows.init.initial_text import InitialText, Tell, folder_to_split, text_of
from dragoman.workflows.init.look import name_of
from dragoman.workflows.init.rate_trial import (
    MOST_DEV_PAIRS,
    RateTrial,
    trial_steps,
    try_rates,
)
from dragoman.workflows.init.start import REMEDY, plan_from_nothing, write_recipe
from dragoman.workflows.material import Material
from dragoman.workflows.rehearsal import Measured, Rehearsal

_MOST_MEASURED_TOKENS = 1000  # of a step; large models take long


@dataclass(frozen=True)
class StartedFromModel:
    """The files written, and facts to report about them."""

    choices: AdaptingChoices
    config: Path
    text: Path | None
    """The folder of the sets that were split off, if any."""
    warnings: list[str]


@dataclass(frozen=True)
class _Continued:
    """A model whose training goes on, with text in its pieces."""

    parent: ParentModel
    training: TrainingConfig
    text: measure.EncodedSample
    dev: measure.EncodedSample
    limit: int
    """Maximum pieces."""

    def measured(self, step_tokens: int) -> Measured:
        """Speed and memory of its steps."""
        model = self.parent.config.model
        return measure.measure_continued(model, self.training, self.text, step_tokens, self.limit)

    def tried(self, plan: AdaptingPlan, steps: int) -> RateTrial:
        """Some steps, which fit into memory, with each of several rates."""
        step_tokens = plan.device_tokens or plan.step_tokens
        held_out = measure.batches_of(self.dev, step_tokens, self.limit)
        return try_rates(
            plan.peak_learning_rate, steps, partial(self._begun, step_tokens), held_out
        )

    def _begun(self, step_tokens: int) -> Rehearsal:
        return Rehearsal(
            self.parent.config.model,
            self.training,
            self.text.vocabularies,
            measure.endless_steps(self.text, step_tokens, self.limit),
            seed=1,
            takes_over=True,
        )


def start_from_model(
    material: Material,
    model: Path,
    config: Path,
    *,
    method: LearningMethod | None,
    minutes: float,
    tell: Tell,
) -> StartedFromModel:
    """Write a configuration that adapts a model to a text.

    Nothing is written until everything is known, and nothing is replaced.

    Args:
        material: the text.
        model: a model or run.
        config: the file to write.
        method: what learns; None to choose.
        minutes: for training and scoring.
        tell: takes a line for the user.
    """
    languages = material.source_language, material.target_language
    if is_hub_name(model):
        raise ConfigError(_to_import(str(model), languages))
    parent = ParentModel.open(model)
    parent.direction_for(languages, name_of(material.train))  # before much is read
    folder = folder_to_split([material], config)
    with new_outputs(filter(None, (config, folder)), REMEDY):
        with text_of([material], folder, tell) as text:
            tell(f"measuring how fast {model} learns from it")
            choices, warnings = _chosen(parent, languages, text, method, minutes=minutes, tell=tell)
        choices = replace(choices, was_split=folder is not None)
        known = choices.parts.train[0]
        head = (
            f"{known.source_language} to {known.target_language}, by dragoman init: adapts "
            f"{model.name} to this text in about {choices.plan.minutes}\non the machine where it "
            "was written.  Every key: docs/configuration.md"
        )
        write_recipe(config, adapting_values(choices, config.parent), adapting_notes(choices), head)
    return StartedFromModel(choices, config, folder, warnings)


def _to_import(name: str, languages: tuple[str, str]) -> str:
    output = f"models/{name.partition('@')[0].rpartition('/')[2]}"
    return (
        f"--from {name}: import it first: dragoman import {in_shell(name)} --languages "
        f"{','.join(languages)} --text FILE --output {output}, and give --from {output}"
    )


def _chosen(
    parent: ParentModel,
    languages: tuple[str, str],
    text: InitialText,
    wanted: LearningMethod | None,
    *,
    minutes: float,
    tell: Tell,
) -> tuple[AdaptingChoices, list[str]]:
    """All choices, and warnings."""
    tags = parent.direction_for(languages, "FILES").tags
    vocabularies = parent.vocabularies()
    encoded = _encoded(vocabularies, text.sample, tags)
    pieces = measure.lengths(text.facts, encoded, text.dev, text.test)
    device = best_device()
    available = available_memory(device)
    sizes = _sizes(parent, vocabularies)
    method = choose_method(wanted, sizes, pieces.epoch_tokens, available)
    model, chosen = parent.config.model, method.method
    continued = _Continued(
        parent=parent,
        training=TrainingConfig(
            start_from=StartConfig(model=str(parent.path)),
            adapter=AdapterConfig() if chosen == "lora" else None,
        ),
        text=encoded,
        dev=_encoded(vocabularies, text.dev[:MOST_DEV_PAIRS], tags),
        limit=pieces.limit,
    )
    step_tokens = step_tokens_for(pieces, model.d_model, chosen)
    measured = continued.measured(min(step_tokens, _MOST_MEASURED_TOKENS))
    plan = plan_adapting(
        text.facts,
        pieces,
        model.d_model,
        chosen,
        sizes=sizes[chosen],
        measured=measured,
        available=available,
        minutes=minutes,
    )
    tell("trying learning rates")
    seconds = pieces.tokens_per_step(plan.step_tokens) / measured.tokens_per_second
    trial = continued.tried(plan, trial_steps(plan, seconds))
    plan = replace(plan, peak_learning_rate=trial.chosen)
    choices = AdaptingChoices(
        parent=parent,
        facts=text.facts,
        parts=_directed(parent, text.parts, languages),
        method=method,
        sizes=sizes[chosen],
        plan=plan,
        trial=trial,
        limit=pieces.limit,
        speed=measured.tokens_per_second,
        device=device.type,
        tokenizer=best_tokenizer(text.facts.target.scripts),
        was_split=False,
        survey=text.survey,
        from_nothing=_from_nothing(text, minutes),
    )
    known, used = _used(encoded)
    spare = (known - used) * model.d_model
    warnings = warnings_of_adapting(plan, minutes, pieces=known, used=used, weights_to_trim=spare)
    return choices, warnings


def _from_nothing(text: InitialText, minutes: float) -> Plan:
    """The training of a new model in the same time, to compare."""
    encoded = measure.encode(text.facts, text.sample, [*text.dev, *text.test])
    pieces = measure.lengths(text.facts, encoded, text.dev, text.test)
    return plan_from_nothing(text.facts, encoded, pieces, minutes)[0]


def _directed(parent: ParentModel, parts: Parts, languages: tuple[str, str]) -> Parts:
    """The parts with the model's names for their languages, and their tags."""
    dev, test = (
        {name: parent.directed(part, languages) for name, part in sets.items()}
        for sets in (parts.dev, parts.test)
    )
    return Parts([parent.directed(part, languages) for part in parts.train], dev, test)


def _encoded(
    vocabularies: Vocabularies, pairs: Sequence[Pair], tags: Sequence[str]
) -> measure.EncodedSample:
    """Pairs in the pieces of the model, with the tags in front."""
    in_front = vocabularies.source.ids(tags)
    sources = vocabularies.source.encode_batch([pair.source for pair in pairs])
    return measure.EncodedSample(
        VocabularyConfig(),
        vocabularies,
        [[*in_front, *ids] for ids in sources],
        vocabularies.target.encode_batch([pair.target for pair in pairs]),
    )


def _sizes(parent: ParentModel, vocabularies: Vocabularies) -> Mapping[LearningMethod, Cost]:
    """The model with each method; without an adapter if it can have none."""
    counts = [len(vocabulary) for vocabulary in vocabularies]
    found: dict[LearningMethod, Cost] = {"full": cost(parent.config.model, *counts)}
    with suppress(ConfigError):
        found["lora"] = cost(parent.config.model, *counts, adapter=AdapterConfig())
    return found


def _used(encoded: measure.EncodedSample) -> tuple[int, int]:
    """Pieces of the vocabularies, and those that the sample uses; of a joint one, once."""
    used = [{piece for ids in side for piece in ids} for side in (encoded.sources, encoded.targets)]
    if encoded.vocabularies.same_ids:
        return len(encoded.vocabularies.source), len(used[0] | used[1])
    return sum(map(len, encoded.vocabularies)), sum(map(len, used))
