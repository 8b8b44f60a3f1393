"""The command ``dragoman init``."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import json_option, pairs_options

if TYPE_CHECKING:
    from dragoman.workflows.init.start import Started

log = logging.getLogger(__name__)

_REASONS = {"held out": "repeats dev or test"}


@click.command()
@click.argument("files", metavar="FILES...", type=PATH, nargs=-1, required=True)
@pairs_options
@declare.options("""
    --dev ...: PATH
        Dev set, in the same form as FILES; give it twice for two plain files.  [default: split off
        from FILES]
    --test ...: PATH
        Test set, in the same form.  [default: split off from FILES]
    --minutes: 1 <= number <= 1000000 = 10
        Time budget for training and scoring on this machine.
    --output: FILE = my.yaml
        Configuration file to write.
""")
@json_option
def init(
    files: tuple[Path, ...],
    minutes: float,
    output: Path,
    as_json: bool,
    **choices: Any,
) -> None:
    """Write a configuration with a model that fits the text in FILES and the time.

    FILES is one file with both sides (TSV with a header, JSONL, TMX, PO, XLIFF) or two plain files,
    source first, such as train.en train.de.  Examines the text, measures training speed on this
    machine, and explains each chosen value in a comment.  Dev and test sets that are not given are
    split off into a folder beside the configuration.

    \b
    Examples:
      dragoman init train.tsv --source en --target ko
      dragoman init train.en train.de --dev val.en --dev val.de --minutes 60
    """
    from dragoman.workflows.init.start import start
    from dragoman.workflows.material import find_material
    from dragoman.workflows.progress import tell
    from dragoman.workflows.results import print_json

    started = start(find_material(files, **choices), output, minutes, tell)
    for warning in started.warnings:
        log.warning(warning)
    if as_json:
        print_json(_figures(started))
    else:
        click.echo(_summary(started))


def _summary(started: Started) -> str:
    from dragoman.workflows.init.choose import script_names

    chosen = started.chosen
    facts, plan, vocabulary = chosen.facts, chosen.plan, chosen.vocabulary
    out = ", ".join(f"{_REASONS.get(why, why)} {n:,}" for why, n in facts.dropped.items())
    left_out = f" (of {facts.read:,}; left out: {out})" if out else ""
    sides = [
        f"{side.language} in {script_names(side)}, {side.length / facts.pairs:.0f}"
        for side in (facts.source, facts.target)
    ]
    shared = "shared" if vocabulary.joint else "per side"
    lines = [
        ("Text", f"{facts.pairs:,} training pairs{left_out}"),
        ("", f"{sides[0]} and {sides[1]} characters per sentence"),
        ("Scored on", f"{facts.dev_pairs:,} pairs (dev), {facts.test_pairs:,} pairs (test)"),
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
        ("Time", f"about {plan.minutes} including scoring, on this machine at its present load"),
        ("Written", f"{started.config}" + (f", {started.text}/" if started.text else "")),
    ]
    name = shlex.quote(str(started.config))
    text = "\n".join(f"{label + ':' if label else '':<11} {said}" for label, said in lines)
    return f"{text}\n\nNext:\n  dragoman doctor {name}\n  dragoman train {name}"


def _figures(started: Started) -> dict[str, Any]:
    chosen = started.chosen
    facts, plan = chosen.facts, chosen.plan
    return {
        "config": str(started.config),
        "text": None if started.text is None else str(started.text),
        "pairs": {"read": facts.read, "train": facts.pairs, "left_out": facts.dropped}
        | {"dev": facts.dev_pairs, "test": facts.test_pairs},
        "languages": [facts.source.language, facts.target.language],
        "scripts": [facts.source.scripts, facts.target.scripts],
        "model": plan.size.name,
        "parameters": started.parameters,
        "steps": plan.steps,
        "epochs": plan.epochs,
        "target_tokens_per_second": chosen.speed,
        "seconds": plan.seconds,
        "warnings": started.warnings,
    }
