"""Commands that show the inside of a model, and how it learned: show attention, training."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import MODEL, PATH
from dragoman.cli.options import device_option, json_option
from dragoman.core.errors import DataError
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.workflows.reports.training_curves import Axis


@click.group(no_args_is_help=False, invoke_without_command=True)
@click.pass_context
def show(context: click.Context) -> None:
    """Show what a model does inside, and how it learned.

    \b
    Examples:
      dragoman show attention runs/demo "three hundred euros"
      dragoman show training runs/a runs/b --output curves.svg
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@show.command()
@click.argument("model", type=MODEL)
@click.argument("text", required=False)
@declare.options("""
    --target TEXT
        Translation to show attention for.  [default: the model's own]
    --layer N: 1 <= int
        Layer to show.  [default: the mean over all]
    --head N: 1 <= int
        Head of --layer to show.  [default: the mean over all]
    --of: source | encoder | decoder = source
        Attention to show: from target to source (source); or self-attention in the encoder or
        decoder.
    --view: mean | heads | lines = mean
        Draw the mean over the chosen heads; each head by itself; or lines between pieces, a colour
        for each head.
    --output FILE: PATH
        Draw it to FILE.svg, FILE.png or FILE.html.
""")
@json_option
@device_option
def attention(
    model: Path, text: str | None, output: Path | None, as_json: bool, **options: Any
) -> None:
    """Show which pieces of TEXT the model attends to for each piece of the translation.

    TEXT is one sentence; without it, one is read from standard input.  Each line shows a target
    piece and the three source pieces with the highest attention weights; the weights sum to one
    over the whole source.  A ␣ is a space.

    \b
    Examples:
      dragoman show attention runs/demo "three hundred euros"
      dragoman show attention runs/demo "three hundred euros" --layer 2 --head 1
      dragoman show attention runs/demo "one euro" --target "ein Euro" --output attention.svg
      dragoman show attention runs/demo "one euro" --view heads --output heads.png
      dragoman show attention runs/demo "one euro" --of encoder --layer 2 --view lines \\
        --output lines.svg
    """
    _check_drawing(output, options)
    from dragoman.translation.translator import Translator
    from dragoman.workflows.reports.heat_map import (
        draw_attention,
        head_maps,
        heat_map,
        heat_map_lines,
    )

    source = _one_line() if text is None else text
    of, layer, head = options["of"], options["layer"], options["head"]
    with Translator.load(model, device=options["device"]) as translator:
        attended = translator.attention(source, options["target"], of=of)
    each = options["view"] != "mean"
    shades = heat_map(attended, layer, head if layer or not each else None)
    if output is not None:
        maps = head_maps(attended, layer, head) if each else [shades]
        facts = {"source": source, "target": attended.text, "model": str(model)}
        draw_attention(maps, output, of, options["view"], facts)
    if as_json:
        layers, heads = attended.weights.shape[:2]
        shown = {
            "source": {"text": source, "pieces": attended.source},
            "target": {"text": attended.text, "pieces": attended.target},
            "model": {"layers": layers, "heads": heads},
            "shown": {"of": of, "layer": layer, "head": head},
            "weights": [[round(weight, 6) for weight in row] for _, row in shades.rows],
        }
        print_json(shown)
        return
    if shades.means:
        click.echo(f"{shades.means}\n")
    blocks = (sys.stdout.encoding or "").lower().startswith("utf")
    for line in heat_map_lines(shades, blocks=blocks):
        click.echo(line)


@show.command(name="training")
@click.argument("runs", metavar="RUN...", type=PATH, nargs=-1, required=True)
@declare.options("""
    --by: step | tokens | minutes = step as axis
        Horizontal axis of the curves.
    --output FILE: PATH
        Draw the curves to FILE.svg or FILE.png.
""")
@json_option
def training_curves(runs: tuple[Path, ...], axis: Axis, output: Path | None, as_json: bool) -> None:
    """Show how RUNs learned, several side by side: a table, and curves in one picture.

    RUN is a run directory, which may still be training.  The table has the best value of each
    figure on the dev set, with its step.

    \b
    Examples:
      dragoman show training runs/a
      dragoman show training runs/a runs/b runs/c --output curves.svg
      dragoman show training runs/a runs/b --by minutes --output curves.png
    """
    from dragoman.workflows.reports.training_curves import curves_table, read_curves

    if output is not None:
        _check_suffix(output, ".svg", ".png")
        from dragoman.workflows.reports.plots import draw_curves  # reports at once if missing
    curves = read_curves(runs)
    if output is not None:
        draw_curves(curves, output, axis)
    if as_json:
        print_json({"runs": [run.to_json() for run in curves]})
        return
    click.echo(curves_table(curves))


def _check_suffix(output: Path, *suffixes: str) -> None:
    if output.suffix not in suffixes:
        raise click.UsageError(
            f"--output {output}: expected a name that ends in one of {', '.join(suffixes)}"
        )


def _check_drawing(output: Path | None, options: Mapping[str, Any]) -> None:
    """Refuse invalid options of drawing, before a model is opened."""
    view = options["view"]
    if options["of"] == "encoder" and options["target"] is not None:
        raise click.UsageError("--of encoder reads no --target; leave one of them out")
    if output is None:
        if view != "mean":
            raise click.UsageError(f"--view {view} is a picture; add --output FILE.svg")
        return
    from dragoman.workflows.reports.heat_map import PAGE, SUFFIXES

    if view != "mean" and output.suffix == PAGE:
        raise click.UsageError(
            f"--output {output}: a page shows --view mean; draw {view} as .svg or .png"
        )

    _check_suffix(output, *SUFFIXES)
    if output.suffix == PAGE:
        import dragoman.workflows.reports.pages
    else:
        import dragoman.workflows.reports.attention_pictures  # noqa: F401 - reports at once if missing


def _one_line() -> str:
    """The sentence on standard input."""
    from dragoman.cli.options import STANDARD_INPUT
    from dragoman.text.lines import stream_lines

    lines = stream_lines(sys.stdin.buffer, STANDARD_INPUT)
    given = list(islice(lines, 1 if sys.stdin.isatty() else 2))
    if len(given) > 1:
        raise DataError(f"{STANDARD_INPUT}: line 2: attention is shown for a single line; give one")
    return given[0] if given else ""
