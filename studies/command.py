"""How a study is run: ``python -m studies.NAME`` from a checkout."""

from __future__ import annotations

from typing import Any

import click

from dragoman.core.errors import DragomanError


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
