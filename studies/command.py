"""How a study is called: ``python -m studies.NAME`` from a checkout."""

from __future__ import annotations

from typing import Any

import click

from dragoman.core.errors import DragomanError


class StudyCommand(click.Command):
    """A command whose errors for people are one line and an exit code, as those of ``dragoman``."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it.

        Raises:
            click.ClickException: what Dragoman refused, with its exit code.
        """
        try:
            return super().invoke(ctx)
        except DragomanError as error:
            refused = click.ClickException(str(error))
            refused.exit_code = error.exit_code
            raise refused from error
