"""The command ``python -m studies.layers``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from dragoman.cli.option_types import PATH
from dragoman.cli.options import device_option, json_option, rising_numbers
from dragoman.workflows.progress import counting, quiet_option, tell
from dragoman.workflows.results import print_json
from studies.command import StudyCommand

if TYPE_CHECKING:
    from studies.layers.measurement import Plan
    from studies.layers.result import Result

_FEWEST = 3
"""Minimum number of sizes: a line through two has no standard error."""
_LARGEST = 1_000_000
"""Maximum of any size."""

Function = TypeVar("Function", bound=Callable[..., object])


def _sizes(context: click.Context, option: click.Parameter, value: str) -> tuple[int, ...]:
    """Several numbers, separated by commas."""
    numbers = rising_numbers(context, option, (value,))
    if len(numbers) < _FEWEST or numbers[0] < 2 or numbers[-1] > _LARGEST:
        raise click.BadParameter(
            f"{value!r:.80} is not {_FEWEST} or more increasing numbers from 2 to {_LARGEST:,}"
        )
    return numbers


def _centred(context: click.Context, option: click.Parameter, value: int) -> int:
    """An odd number of positions, so that one is in the middle."""
    if value % 2 == 0:
        raise click.BadParameter(f"{value} is even and has no centre")
    return value


def _numbers(option: str, default: str, text: str) -> Callable[[Function], Function]:
    return click.option(
        option, metavar="N,N,...", default=default, show_default=True, callback=_sizes, help=text
    )


def _number(option: str, default: int, text: str) -> Callable[[Function], Function]:
    kind = click.IntRange(1, _LARGEST)
    return click.option(option, type=kind, default=default, show_default=True, help=text)


def _odd(option: str, default: int, text: str) -> Callable[[Function], Function]:
    kind = click.IntRange(3, _LARGEST)
    return click.option(
        option, type=kind, default=default, show_default=True, callback=_centred, help=text
    )


@click.command(
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@_numbers("--lengths", "64,96,128,192,256,384,512,768", "Positions n, at --fixed-width.")
@_numbers("--widths", "64,96,128,192,256,384,512,768", "Widths d, at --fixed-length.")
@_number("--fixed-length", 256, "n where d varies.")
@_number("--fixed-width", 256, "d where n varies.")
@_numbers("--path-lengths", "16,32,64,128,256", "Positions at which dependence is traced.")
@_odd("--window", 33, "Positions that restricted self-attention sees (r).")
@_odd("--kernel", 3, "Positions that a convolution sees (k).")
@_number("--heads", 8, "Heads of attention; they divide every width.")
@_number("--batch", 4, "Sentences.")
@_number("--rounds", 11, "Samples of each time; their median is reported.")
@click.option("--threads", type=click.IntRange(1, 1024), help="CPU threads.  [default: PyTorch's]")
@device_option
@click.option(
    "--output", metavar="DIRECTORY", type=PATH, help="Write layers.json, .md and .svg there."
)
@json_option
def layers(
    *,
    lengths: tuple[int, ...],
    widths: tuple[int, ...],
    fixed_length: int,
    fixed_width: int,
    path_lengths: tuple[int, ...],
    window: int,
    kernel: int,
    heads: int,
    batch: int,
    rounds: int,
    threads: int | None,
    device: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure Table 1 of "Attention Is All You Need" on this machine.

    Self-attention, recurrence and convolutions: time, memory and operations of one layer, how they
    grow with length and width, what must wait for what, and how far signals travel.  Needs no
    data; takes about two minutes on two idle cores.

    \b
    Example:
      python -m studies.layers --output table1
    """
    for width in (*widths, fixed_width):
        if width % heads:
            said = f"{heads} heads do not divide the width {width}"
            raise click.BadParameter(said, param_hint="--heads")
    from studies.layers.layer_types import Sizes
    from studies.layers.measurement import Plan
    from studies.layers.page import tables

    sizes = Sizes(d_model=fixed_width, heads=heads, window=window, kernel_width=kernel)
    plan = Plan(sizes, lengths, widths, fixed_length, path_lengths, batch, rounds)
    if output is not None:
        import dragoman.workflows.reports.plots  # noqa: F401 - reports a missing package at once
    result = _run(plan, device, threads)
    if as_json:
        print_json(result.values())
    else:
        click.echo(tables(result))
    if output is not None:
        _write(result, output)


def _run(plan: Plan, device: str | None, threads: int | None) -> Result:
    import torch

    from dragoman.core.device import find_device, keep_freed_memory
    from studies.layers.layer_types import LAYER_TYPES
    from studies.layers.measurement import steps
    from studies.layers.result import produce

    where = find_device(device)
    keep_freed_memory()
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        with counting("layers", "measurements", steps(plan, LAYER_TYPES)) as show:
            done = count(1)
            return produce(plan, where, lambda: show(next(done)))
    finally:
        torch.set_num_threads(before)


def _write(result: Result, directory: Path) -> None:
    from dragoman.core.files import atomic_write, write_json
    from studies.layers.page import write_page
    from studies.layers.picture import picture

    write_json(directory / "layers.json", result.values())
    with atomic_write(directory / "layers.svg") as stream:
        stream.write(picture(result))
    write_page(directory / "layers.md", result, "layers.svg")
    tell(f"written: {directory / 'layers.json'}, layers.md and layers.svg")


if __name__ == "__main__":
    layers()
