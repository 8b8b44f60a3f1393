"""How a study is run: ``python -m studies.NAME`` from a checkout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dragoman.core.errors import DragomanError
from dragoman.core.files import write_json
from dragoman.workflows.progress import tell
from dragoman.workflows.results import print_json


class _RefusedError(click.ClickException):
    """An error for the user, with its exit code."""

    def __init__(self, error: DragomanError) -> None:
        super().__init__(" ".join(str(error).split()))
        self._code = error.exit_code

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """That of the error."""
        return self._code


class StudyCommand(click.Command):
    """A command whose errors are one line and an exit code, like those of ``dragoman``."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; click reports what Dragoman refuses."""
        try:
            return super().invoke(ctx)
        except DragomanError as error:
            raise _RefusedError(error) from error


def present(
    values: dict[str, Any], table: Callable[[], str], output: Path | None, *, as_json: bool
) -> None:
    """Print a result as a table or as JSON, and write its plain values to a file if one is named.

    Raises:
        StorageError: the disk refuses.
    """
    if output is not None:
        write_json(output, values)
        tell(f"written: {output}")
    if as_json:
        print_json(values)
    else:
        click.echo(table())
