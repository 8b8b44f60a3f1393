"""The options that run a command in several processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from dragoman.cli import declare
from dragoman.workflows.progress import is_quiet


def _process_count(value: str) -> int | str:
    if value == "auto" or (value.isdecimal() and int(value)):
        return value if value == "auto" else int(value)
    raise click.BadParameter(f"{value!r} is neither auto nor a positive whole number")


def _node_counts(value: str) -> tuple[int, int]:
    numbers = value.split(":")
    if len(numbers) <= 2 and all(number.isdecimal() for number in numbers):
        fewest, most = int(numbers[0]), int(numbers[-1])
        if 0 < fewest <= most:
            return fewest, most
    raise click.BadParameter(
        f"{value!r} is neither a positive whole number nor MIN:MAX, such as 1:4"
    )


_launch_options = declare.options(
    """
    --processes N|auto = 1
        Number of processes on this machine, each with its own GPU or share of the cores; auto is
        one per GPU.
    --nodes M|MIN:MAX = 1
        Number of machines to train on; run the same command on each.  With MIN:MAX, training goes
        on without machines that are lost, and with those that come.
    --rendezvous HOST:PORT
        Meeting point of the machines: the address of one of them, which must stay, and a free port
        on it.
    --restarts N: 0 <= int
        Maximum restarts from the last checkpoint, after processes of this machine were killed or
        lost the others.  [default: 0; with --nodes MIN:MAX 10]
    --lost-after SECONDS: 4 <= number <= 3600 = 20.0
        With --nodes: a machine that is silent for longer counts as lost.
    """,
    processes={"type": _process_count},
    nodes={"type": _node_counts},
)


def in_processes(command: Callable[..., None]) -> Callable[..., None]:
    """Add options that run a command in several cooperating processes.

    Each process gets the same command line without these options.
    """

    @wraps(command)
    def carry_out(
        *,
        processes: int | str,
        nodes: tuple[int, int],
        rendezvous: str | None,
        restarts: int | None,
        lost_after: float,
        **values: Any,
    ) -> None:
        if (processes, nodes, rendezvous, restarts or 0) == (1, (1, 1), None, 0):
            command(**values)
            return
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # before PyTorch reads it
        from dragoman.cli.launch import Launch

        launch = Launch.of(processes, nodes, rendezvous, restarts, lost_after)
        if launch.alone:
            command(**values)
        else:
            launch.carry_out(_spell(click.get_current_context(), values))

    return _launch_options(carry_out)


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
            for item in value if parameter.multiple else [value]:
                words += [parameter.opts[0], str(item)]
    return [*words, "--", *arguments]
