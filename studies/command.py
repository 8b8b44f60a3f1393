"""How a study is called: ``python -m studies.NAME`` from a checkout."""

from __future__ import annotations

from typing import Any

import click

from dragoman.core.errors import DragomanError


class _RefusedError(click.ClickException):
    """An error for people, with its exit code."""

    def __init__(self, error: DragomanError) -> None:
        super().__init__(" ".join(str(error).split()))
        self._code = error.exit_code

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """That of the error."""
        return self._code


class StudyCommand(click.Command):
    """A command whose errors for people are one line and an exit code, as those of ``dragoman``."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, and let click tell what Dragoman refused."""
        try:
            return super().invoke(ctx)
        except DragomanError as error:
            raise _RefusedError(error) from error
