"""The commands ``dragoman export``, ``import`` and ``push``: models of and for other programs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import MODEL, PATH
from dragoman.cli.options import json_option


@click.command()
@click.argument("model", type=MODEL)
@declare.options("""
    --to: EXPORTER as target required
        Program or format to export to.
    --output DIRECTORY: PATH required
        Directory to write.
    --adapter FILE|RUN: PATH
        Low-rank adapter to merge into the weights.
    --quantisation TYPE
        Type of the weights for ctranslate2: int8, int8_float16, int16, float16, bfloat16
        ...  [default: float32]
""")
@json_option
def export(model: Path, target: str, output: Path, *, as_json: bool, **options: Any) -> None:
    """Write MODEL for another program, and compare what that program makes of it.

    MODEL is a model or run directory, or an installed model.  Settings that the other program does
    not know are refused by name.  The output has a README.md that says how to use it, what was
    compared and what is different.  An earlier export in DIRECTORY is replaced, other files never.

    \b
    Examples:
      dragoman export runs/my --to ctranslate2 --quantisation int8 --output my-ct2
      dragoman export runs/my --to onnx --output my-onnx
      dragoman export runs/my --adapter runs/ui --to ctranslate2 --output ui-ct2
    """
    from dragoman.exchange.exporting import export_model, said
    from dragoman.workflows.progress import tell
    from dragoman.workflows.results import print_json

    report = export_model(model, target, output, tell=tell, **options)
    if as_json:
        print_json({"output": str(output), "to": target, **asdict(report)})
        return
    click.echo(f"{output}: {said(report)}")
    for text in report.differences:
        click.echo(f"  {text}")


@click.command("import")
@click.argument("path", metavar="DIRECTORY_OR_FILE|hf:NAME", type=PATH)
@declare.options("""
    --from: IMPORTER as toolkit
        Toolkit of the model.  [default: recognised by its files]
    --from-language TAG
        Source language, if the files do not say it.
    --to-language TAG
        Target language, if the files do not say it.
    --languages TAG,...
        With --text: keep only these languages of a model of many.
    --text FILE...: PATH
        Keep only the pieces of the vocabulary that occur in this text, in the model's languages,
        which makes a multilingual model smaller; may be repeated.
    --output MODEL: PATH required
        Model to create.
""")
@json_option
def import_foreign(
    path: Path,
    toolkit: str | None,
    from_language: str | None,
    to_language: str | None,
    output: Path,
    *,
    languages: tuple[str, ...],
    text: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Write a model of another toolkit as a model of your own.

    A name such as hf:org/model, or hf:org/model@revision, is fetched from the Hugging Face Hub,
    whose own variables apply (HF_TOKEN, HF_HOME, HF_HUB_OFFLINE); the card notes the revision.

    It then translates, adapts, serves and exports like any other.  Nothing in the files is run: a
    checkpoint that holds more than data is refused.  The model's README.md names its origin, its
    licence if the files state one, and what is different here.

    \b
    Examples: NLLB by its name on the Hub; OPUS-MT as published; a checkpoint of fairseq
      dragoman import hf:facebook/nllb-200-distilled-600M --output models/nllb
      dragoman import opus-mt-en-de --output models/en-de
      dragoman import checkpoints/ --from fairseq --from-language en --to-language de \\
        --output models/en-de
      dragoman import hf:facebook/nllb-200-distilled-600M --languages en,ko --text train.en \\
        --text train.ko --output models/nllb-en-ko
    """
    from dragoman.exchange.importing import import_model
    from dragoman.exchange.trimming import Trimming
    from dragoman.workflows.progress import tell
    from dragoman.workflows.results import print_json

    report = import_model(
        path,
        output,
        toolkit=toolkit,
        languages=(from_language, to_language),
        trimming=Trimming(text, languages) if text or languages else None,
        tell=tell,
    )
    if as_json:
        print_json({"output": str(output), **asdict(report)})
        return
    direction = f"{report.source_language} to {report.target_language}"
    click.echo(f"{output}: {direction}, {report.parameters:,} parameters, from {report.origin}")
    for note in report.notes:
        click.echo(f"  {note}")


@click.command()
@click.argument("model", type=MODEL)
@click.argument("name", metavar="ORG/NAME")
@declare.options("""
    --licence ID required
        Licence of the model, such as cc-by-4.0; its README.md has the terms of its text and its
        parent models.
    --private
        Make a new repository that only its owner sees.
""")
@json_option
def push(model: Path, name: str, licence: str, *, private: bool, as_json: bool) -> None:
    """Publish MODEL on the Hugging Face Hub as ORG/NAME, with its card.

    The card's front matter has the languages, the licence and the scores, so that the Hub lists the
    model where people look for it.  Set HF_TOKEN to a token that may write.

    \b
    Example:
      dragoman push runs/my me/en-de-interfaces --licence cc-by-4.0
    """
    from dragoman.exchange.hub import push as published
    from dragoman.exchange.hub_card import front_matter
    from dragoman.saved.model import model_directory
    from dragoman.workflows.results import print_json

    address = published(model_directory(model), name, front_matter(model, licence), private=private)
    if as_json:
        print_json({"model": str(model), "address": address})
        return
    click.echo(f"{model}: published, {address}")
