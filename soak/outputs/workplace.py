"""A folder in which commands run, and what is recorded of them."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from soak.outputs.commands import ended
from soak.outputs.masks import masked

_AT_ONCE = 2  # commands, each in one thread of its own


class Workplace:
    """Commands run in ``folder``, so that paths in their outputs are relative.

    Args:
        folder: empty; also the home directory of commands.
        record: folder of the record.
    """

    def __init__(self, folder: Path, record: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.record = folder.resolve(), record.resolve()
        self.names = {str(self.folder): "FOLDER", str(package()): "PACKAGE", sys.prefix: "PREFIX"}
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("DRAGOMAN", "XDG"))},
            "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in paths if path),
            "HOME": str(self.folder),
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def write(self, name: str, content: str | bytes | dict[str, Any]) -> None:
        """Write a file for commands; a mapping becomes YAML."""
        if isinstance(content, dict):
            content = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def keep(self, name: str, content: str, *, is_timed: bool = True) -> None:
        """Add a file to the record, with placeholders, also for times if it has measured ones."""
        path = self.record / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(masked(content, self.names, is_timed=is_timed), encoding="utf-8")

    def run(self, command: str, stdin: str = "", **environment: str) -> str:
        """What a command of ``dragoman`` came to: its code and both outputs.

        Args:
            command: without ``dragoman``, as in a shell.
            stdin: its input.
            environment: variables to add.
        """
        environment = {**self.environment, **environment}
        code, out, err = ended(shlex.split(command), self.folder, environment, stdin.encode())
        return f"$ dragoman {command}\ncode {code}\n== output\n{out}== errors\n{err}"

    def need(self, command: str) -> None:
        """Run a command whose results others need.

        Raises:
            RuntimeError: it fails.
        """
        came = self.run(command)
        if not came.partition("\n")[2].startswith("code 0\n"):
            raise RuntimeError(came)


def package() -> Path:
    """Where the code that is recorded is.

    Raises:
        RuntimeError: there is none on the path.
    """
    spec = importlib.util.find_spec("dragoman")
    if spec is None or spec.origin is None:
        raise RuntimeError("there is no dragoman on the path; set PYTHONPATH")
    return Path(spec.origin).parent


def in_parallel(jobs: Iterable[Callable[[], None]]) -> None:
    """Do all, two at a time; the first error is raised once those that have begun are over."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for job in [pool.submit(job) for job in jobs]:
            job.result()
