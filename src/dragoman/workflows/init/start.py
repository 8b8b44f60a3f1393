"""From files to a configuration: read, split, measure, choose, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.claims import new_outputs
from dragoman.core.device import best_device
from dragoman.core.files import atomic_write
from dragoman.evaluation.tokenizers import best_tokenizer
from dragoman.recipe.schema import schema_file
from dragoman.saved.model import build_model
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.workflows.init import measure
from dragoman.workflows.init.choose import (
    Pieces,
    Plan,
    choose_size,
    choose_step,
    plan_training,
    warnings,
    worth_measuring,
)
from dragoman.workflows.init.commented_recipe import (
    Chosen,
    commented_yaml,
    notes_of,
    values_of,
)
from dragoman.workflows.init.initial_text import Tell, folder_to_split, text_of
from dragoman.workflows.init.look import Facts
from dragoman.workflows.init.survey import Survey
from dragoman.workflows.material import Material

_UNEQUAL = 2  # times as many pairs of the largest target language as of the smallest
_TEMPERATURE = 5.0  # Arivazhagan et al. 2019
REMEDY = "move it away or choose another name with --output"


@dataclass(frozen=True)
class Started:
    """The files written, and facts to report about them."""

    chosen: Chosen
    config: Path
    text: Path | None
    """The folder of the sets that were split off, if any."""
    parameters: int
    warnings: list[str]


def start(materials: Sequence[Material], config: Path, minutes: float, tell: Tell) -> Started:
    """Write a configuration for a text, with dev and test sets if it has none.

    Nothing is written until everything is known, and nothing is replaced.

    Args:
        materials: the text of each direction; all have the same source language.
    """
    folder = folder_to_split(materials, config)
    with new_outputs(filter(None, (config, folder)), REMEDY):
        return _start(materials, config, folder, minutes, tell)


def _start(
    materials: Sequence[Material], config: Path, folder: Path | None, minutes: float, tell: Tell
) -> Started:
    with text_of(materials, folder, tell) as text:
        tell("measuring training speed on it")
        encoded = measure.encode(text.facts, text.sample, [*text.dev, *text.test])
        pieces = measure.lengths(text.facts, encoded, text.dev, text.test)
        plan, speed = plan_from_nothing(text.facts, encoded, pieces, minutes)
    chosen = Chosen(
        facts=text.facts,
        pieces=pieces,
        vocabulary=_balanced(encoded.config, text.survey),
        plan=plan,
        speed=speed,
        device=best_device().type,
        tokenizer=best_tokenizer(text.facts.target.scripts),
        parts=text.parts,
        was_split=folder is not None,
        survey=text.survey,
    )
    _write(chosen, config)
    model = measure.model_of(plan.size, joint=encoded.config.joint, dropout=plan.dropout)
    built = build_model(model, encoded.vocabularies)
    parameters = sum(parameter.numel() for parameter in built.parameters())
    return Started(chosen, config, folder, parameters, warnings(text.facts, plan, minutes))


def _balanced(config: VocabularyConfig, survey: Survey) -> VocabularyConfig:
    """The vocabulary, with a temperature if the target languages have text of unequal size."""
    sizes = survey.pairs_by_target().values()
    is_unequal = max(sizes) > _UNEQUAL * min(sizes)
    return config.model_copy(update={"balance": _TEMPERATURE}) if is_unequal else config


def plan_from_nothing(
    facts: Facts, encoded: measure.EncodedSample, pieces: Pieces, minutes: float
) -> tuple[Plan, float]:
    """The plan of a new model, and the speed on which it is based: that of this machine."""
    speeds: dict[str, float] = {}
    while size := worth_measuring(facts, pieces, speeds, minutes):
        step_tokens = measure.first_step_tokens(size)
        speeds[size.name] = measure.measure_speed(size, encoded, step_tokens, pieces.limit)
    size = choose_size(facts, pieces, speeds, minutes)
    speed = speeds[size.name]
    step_tokens = choose_step(facts, pieces, size, speed, minutes)
    if step_tokens != measure.first_step_tokens(size):
        speed = measure.measure_speed(size, encoded, step_tokens, pieces.limit)
    plan = plan_training(facts, pieces, size, step_tokens=step_tokens, speed=speed, minutes=minutes)
    return plan, speed


def _write(chosen: Chosen, config: Path) -> None:
    facts = chosen.facts
    # A language may be any column name.
    languages = [" ".join(side.language.split()) for side in (facts.source, facts.target)]
    head = (
        f"{languages[0]} to {languages[1]}, by dragoman init, for a training run of about "
        f"{chosen.plan.minutes}\non the machine where it was written.  "
        "Every key: docs/configuration.md"
    )
    write_recipe(config, values_of(chosen, config.parent), notes_of(chosen), head)


def write_recipe(
    config: Path, values: Mapping[str, Any], notes: Mapping[str, str], head: str
) -> None:
    """Write a configuration with its comments, for editors that know the schema."""
    schema = f"yaml-language-server: $schema={schema_file().as_uri()}\n"
    with atomic_write(config) as stream:
        stream.write(commented_yaml(values, notes, schema + head))
