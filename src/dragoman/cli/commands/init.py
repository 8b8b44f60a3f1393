"""The command ``dragoman init``."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import json_option, pairs_options, unreviewed_option

if TYPE_CHECKING:
    from dragoman.workflows.init.from_model import StartedFromModel
    from dragoman.workflows.init.look import Facts
    from dragoman.workflows.init.start import Started
    from dragoman.workflows.init.survey import Contradiction, FoundPart, Survey
    from dragoman.workflows.text_features import TextFeatures

log = logging.getLogger(__name__)

_SHOWN = 3  # sources with several translations
_REASONS = {"held out": "repeats dev or test"}


@click.command()
@click.argument("files", metavar="FILES|FOLDERS...", type=PATH, nargs=-1, required=True)
@pairs_options
@unreviewed_option
@declare.options("""
    --dev ...: PATH
        Dev set, in the same form as FILES; give it twice for two plain files.  [default: split off
        from FILES]
    --test ...: PATH
        Test set, in the same form.  [default: split off from FILES]
    --from MODEL: MODEL as from_model
        Model or run to adapt to the text, such as an imported one.  [default: a new model]
    --method: full | lora
        With --from: train all weights, or a low-rank adapter.  [default: chosen by the size of the
        model, the text and the memory]
    --minutes: 1 <= number <= 1000000 = 10
        Time budget for training and scoring on this machine.
    --output: FILE = my.yaml
        Configuration file to write.
""")
@json_option
def init(
    files: tuple[Path, ...],
    *,
    from_model: Path | None,
    method: Any,
    minutes: float,
    output: Path,
    as_json: bool,
    **choices: Any,
) -> None:
    """Write a configuration with a model that fits the text in FILES and the time.

    FILES are files with both sides (TSV with a header, JSONL, TMX, PO, XLIFF), two plain files,
    source first, or folders with the translations of a project: gettext, JSON, Rails, Android, iOS,
    XLIFF, TMX.  Examines the text, measures training speed on this machine, and explains each
    chosen value in a comment.  Dev and test sets that are not given are split off into a folder
    beside the configuration.  Several target languages, separated by commas, share a model.  With
    --from, the configuration adapts a model that exists to the text, at the learning rate that is
    best in short trials.

    \b
    Examples:
      dragoman init train.tsv --source en --target ko
      dragoman init train.en train.de --dev val.en --dev val.de --minutes 60
      dragoman init train.tsv --source en --target ko --from models/nllb
      dragoman init locale/ --source en --target de
      dragoman init app/res/ ios/ memory.tmx --source en --target de,fr,ko
    """
    from dragoman.workflows.init.from_model import start_from_model
    from dragoman.workflows.init.start import start
    from dragoman.workflows.pile import find_materials
    from dragoman.workflows.progress import tell
    from dragoman.workflows.results import print_json

    if method is not None and from_model is None:
        raise click.UsageError("--method says how to adapt the model of --from; add it")
    materials = find_materials(files, **choices)
    if from_model is None:
        started = start(materials, output, minutes, tell)
        told: tuple[Any, str] = _figures(started), _summary(started)
        warnings = started.warnings
    elif len(materials) > 1:
        raise click.UsageError("--target: a model is adapted to one language; name one")
    else:
        adapting = start_from_model(
            materials[0], from_model, output, method=method, minutes=minutes, tell=tell
        )
        told = _figures_of_adapting(adapting), _summary_of_adapting(adapting)
        warnings = adapting.warnings
    for warning in warnings:
        log.warning(warning)
    if as_json:
        print_json(told[0])
    else:
        click.echo(told[1])


def _summary(started: Started) -> str:
    chosen = started.chosen
    plan, vocabulary = chosen.plan, chosen.vocabulary
    shared = "shared" if vocabulary.joint else "per side"
    lines = [
        (
            "Model",
            f"Transformer of {started.parameters / 1e6:.1f} million parameters "
            f"({plan.size.layers} + {plan.size.layers} layers, d_model {plan.size.d_model}), "
            f"{vocabulary.size:,} pieces {shared}",
        ),
        (
            "Training",
            f"{plan.steps:,} steps, {plan.epochs:.1f} epochs, at "
            f"{chosen.speed:,.0f} target tokens per second",
        ),
        ("Time", _time(plan.minutes)),
    ]
    return _table([*_about_text(chosen.facts, chosen.survey), *lines], started.config, started.text)


def _summary_of_adapting(started: StartedFromModel) -> str:
    from dragoman.workflows.training_needs import bytes_in_words

    choices = started.choices
    plan, known = choices.plan, choices.parts.train[0]
    lines = [
        (
            "Model",
            f"{choices.parent.path}, which translates {known.source_language} into "
            f"{known.target_language}",
        ),
        ("Learns", choices.learned),
        ("", choices.method.why),
        (
            "Training",
            f"{plan.steps:,} steps, {plan.passes:.1f} passes over the text, at "
            f"{choices.speed:,.0f} target tokens per second",
        ),
        ("Rate", f"{choices.trial.chosen:.3g}, {choices.trial.story}"),
        ("Memory", f"about {bytes_in_words(plan.memory)}"),
        ("Time", _time(plan.minutes)),
        ("", choices.beside),
    ]
    return _table(
        [*_about_text(choices.facts, choices.survey), *lines], started.config, started.text
    )


def _about_text(facts: Facts, survey: Survey) -> list[tuple[str, str]]:
    from dragoman.workflows.init.choose import script_names

    out = ", ".join(f"{_REASONS.get(why, why)} {n:,}" for why, n in facts.dropped.items())
    left_out = f" (of {facts.read:,}; left out: {out})" if out else ""
    sides = [
        f"{side.language} in {script_names(side)}, {side.length / facts.pairs:.0f}"
        for side in (facts.source, facts.target)
    ]
    return [
        *(("Found", str(part)) for part in survey.parts if _is_listed(survey.parts)),
        *_contradicting(survey.contradictions),
        ("Text", f"{facts.pairs:,} training pairs{left_out}"),
        ("", f"{sides[0]} and {sides[1]} characters per sentence"),
        *_of_features(facts.features),
        ("Scored on", f"{facts.dev_pairs:,} pairs (dev), {facts.test_pairs:,} pairs (test)"),
    ]


def _of_features(features: TextFeatures) -> Iterator[tuple[str, str]]:
    """Placeholders and the like, by pairs, and short lines."""
    sampled = f"of {features.pairs:,} sources"
    if features.strings:
        yield "Strings", f"{sampled}: {features.counted}"
    if not features.sides_agree:
        yield "", f"{features.differing:,} pairs differ, such as {features.first_differing}"
    if features.pairs:
        yield "Lines", f"{sampled}: {features.lines_counted}"


def _is_listed(found: Sequence[FoundPart]) -> bool:
    """Whether it does not go without saying what was found."""
    return len(found) > 1 or found[0].part.file_format.is_folder or found[0].unreviewed > 0


def _contradicting(contradictions: Sequence[Contradiction]) -> Iterator[tuple[str, str]]:
    if contradictions:
        count = len(contradictions)
        sources = "1 source has" if count == 1 else f"{count:,} sources have"
        yield "Differing", f"{sources} several translations, such as"
        yield from (("", str(one)) for one in contradictions[:_SHOWN])


def _time(minutes: str) -> str:
    return f"about {minutes} including scoring, on this machine at its present load"


def _table(lines: list[tuple[str, str]], config: Path, folder: Path | None) -> str:
    lines.append(("Written", f"{config}" + (f", {folder}/" if folder else "")))
    name = shlex.quote(str(config))
    text = "\n".join(f"{label + ':' if label else '':<11} {said}" for label, said in lines)
    return f"{text}\n\nNext:\n  dragoman doctor {name}\n  dragoman train {name}"


def _figures(started: Started) -> dict[str, Any]:
    chosen, plan = started.chosen, started.chosen.plan
    return {
        **_figures_of_text(started, chosen.facts, chosen.survey),
        "model": plan.size.name,
        "parameters": started.parameters,
        "steps": plan.steps,
        "epochs": plan.epochs,
        "target_tokens_per_second": chosen.speed,
        "seconds": plan.seconds,
        "warnings": started.warnings,
    }


def _figures_of_adapting(started: StartedFromModel) -> dict[str, Any]:
    choices, plan = started.choices, started.choices.plan
    return {
        **_figures_of_text(started, choices.facts, choices.survey),
        "from": str(choices.parent.path),
        "method": choices.method.method,
        "why": choices.method.why,
        "parameters": choices.sizes.total_parameters,
        "learned_parameters": choices.sizes.learned_parameters,
        "steps": plan.steps,
        "peak_learning_rate": plan.peak_learning_rate,
        "learning_rate_trial": asdict(choices.trial),
        "epochs": plan.passes,
        "target_tokens_per_second": choices.speed,
        "memory": plan.memory,
        "seconds": plan.seconds,
        "from_nothing": {
            "model": choices.from_nothing.size.name,
            "steps": choices.from_nothing.steps,
            "epochs": choices.from_nothing.epochs,
            "seconds": choices.from_nothing.seconds,
        },
        "warnings": started.warnings,
    }


def _figures_of_text(
    started: Started | StartedFromModel, facts: Facts, survey: Survey
) -> dict[str, Any]:
    return {
        "config": str(started.config),
        "text": None if started.text is None else str(started.text),
        "found": [part.to_json() for part in survey.parts],
        "contradictions": [asdict(one) for one in survey.contradictions],
        "pairs": {"read": facts.read, "train": facts.pairs, "left_out": facts.dropped}
        | {"dev": facts.dev_pairs, "test": facts.test_pairs},
        "features": facts.features.to_json(),
        "languages": [facts.source.language, facts.target.language],
        "scripts": [facts.source.scripts, facts.target.scripts],
    }
