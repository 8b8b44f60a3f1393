"""The command ``dragoman import``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import json_option


@click.command("import")
@click.argument("path", metavar="DIRECTORY_OR_FILE", type=PATH)
@declare.options("""
    --from: huggingface-marian | fairseq | joeynmt | opennmt | sockeye | argos as toolkit
        Toolkit that the model is from; recognised by its files if not given.
    --from-language TAG
        Source language, if the files do not say it.
    --to-language TAG
        Target language, if the files do not say it.
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
    as_json: bool,
) -> None:
    """Write a model of another toolkit as a model of your own.

    It then translates, adapts, serves and exports like any other.  Nothing in the files is run: a
    checkpoint that holds more than data is refused.  The model's README.md names its origin, its
    licence if the files state one, and what is different here.

    \b
    Examples: OPUS-MT as published; a checkpoint of fairseq with its dictionaries
      dragoman import opus-mt-en-de --output models/en-de
      dragoman import checkpoints/ --from fairseq --from-language en --to-language de \\
        --output models/en-de
    """
    from dragoman.exchange.importing import import_model
    from dragoman.workflows.progress import tell
    from dragoman.workflows.results import print_json

    languages = from_language, to_language
    report = import_model(path, output, toolkit=toolkit, languages=languages, tell=tell)
    if as_json:
        print_json({"output": str(output), **asdict(report)})
        return
    direction = f"{report.source_language} to {report.target_language}"
    click.echo(f"{output}: {direction}, {report.parameters:,} parameters, from {report.origin}")
    for note in report.notes:
        click.echo(f"  {note}")
