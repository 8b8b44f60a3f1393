"""The command ``dragoman export``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import MODEL
from dragoman.cli.options import json_option


@click.command()
@click.argument("model", type=MODEL)
@declare.options("""
    --to: ctranslate2 | onnx | huggingface | marian as target required
        Program or format to export to.
    --output DIRECTORY: PATH required
        Where to write it.
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
