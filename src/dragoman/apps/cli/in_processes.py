"""The options that run a command in several processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from dragoman.apps.progress import is_quiet


def _process_count(value: str) -> int | str:
    if value == "auto" or (value.isdecimal() and int(value)):
        return value if value == "auto" else int(value)
    raise click.BadParameter(f"{value!r} is neither auto nor a positive whole number")


_launch_options = (
    click.option(
        "--processes",
        metavar="N|auto",
        type=_process_count,
        default="1",
        show_default=True,
        help="Number of processes on this machine, each with its own GPU or share of the cores; "
        "auto is one per GPU.",
    ),
    click.option(
        "--nodes",
        metavar="M",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Number of machines to train on; run the same command on each.",
    ),
    click.option(
        "--rendezvous",
        metavar="HOST:PORT",
        help="Where the machines meet: the address of one of them and a free port on it.",
    ),
)


def in_processes(command: Callable[..., None]) -> Callable[..., None]:
    """Add options that run a command in several cooperating processes.

    Each process gets the same command line without these options.
    """

    @wraps(command)
    def carry_out(
        *, processes: int | str, nodes: int, rendezvous: str | None, **values: Any
    ) -> None:
        if (processes, nodes, rendezvous) == (1, 1, None):
            command(**values)
            return
        from dragoman.apps.cli.launch import Launch

        launch = Launch.of(processes, nodes, rendezvous)
        if launch.alone:
            command(**values)
        else:
            launch.carry_out(_spell(click.get_current_context(), values))

    for option in reversed(_launch_options):
        option(carry_out)
    return carry_out


def _spell(context: click.Context, values: dict[str, Any]) -> list[str]:
    """The command line that passes these values to a command."""
    words, arguments = ["--debug"] if context.obj.debug else [], []
    words += ["--quiet"] if is_quiet() else []
    words.append(str(context.command.name))
    for parameter in context.command.params:
        value = values.get(str(parameter.name))
        if isinstance(parameter, click.Argument):
            arguments.append(str(value))
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            words += [parameter.opts[0]] if value else []
        elif value is not None:
            for one in value if parameter.multiple else [value]:
                words += [parameter.opts[0], str(one)]
    return [*words, "--", *arguments]
