"""Processes that a server forks once it has imported PyTorch, instead of fresh interpreters."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from typing_extensions import override

from dragoman.core.processes import hidden_script


class _Forked(ForkServerProcess):
    @override
    def start(self) -> None:
        with hidden_script():
            super().start()


class Context(ForkServerContext):
    """In place of the context of a pool."""

    Process = _Forked

    def __init__(self) -> None:
        super().__init__()
        self.set_forkserver_preload(["dragoman.experiment"])


def forked_program(
    file: Path,
    *arguments: object,
    paths: Sequence[Path] = (),
    environment: Mapping[str, str] = {},
) -> ForkServerProcess:
    """Start ``python FILE ARGUMENTS``.

    Args:
        file: the program.
        arguments: its arguments.
        paths: further folders of modules.
        environment: variables besides those of this process.
    """
    words = [str(file), *map(str, arguments)]
    variables = {**os.environ, **environment}
    process = Context().Process(
        target=_run, args=(words, [*map(str, paths)], variables), daemon=True
    )
    process.start()
    return process


def _run(words: list[str], paths: list[str], variables: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:0] = paths
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")
