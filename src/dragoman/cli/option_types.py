"""Types of the values of options and arguments."""

from __future__ import annotations

import errno
import math
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from dragoman.core.recipe_library import found_recipe
from dragoman.saved.installed_models import found_model

if TYPE_CHECKING:
    from dragoman.core.plugins import Registry


class Number(click.FloatRange):
    """A finite number in a range: refuses infinity and NaN, which Python would accept."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the text of an option."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class FormatName(click.ParamType[str]):
    """The name of a file format: built in, or from another package."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The known names, for ``--help``."""
        from dragoman.text.formats import format_names

        return f"[{'|'.join(format_names())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the text of an option."""
        from dragoman.text.formats import FormatError, format_named

        try:
            return format_named(value).name
        except FormatError as error:
            self.fail(f"{error}.", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin with what has been typed."""
        from dragoman.text.formats import format_names

        return [CompletionItem(name) for name in format_names() if name.startswith(incomplete)]


class KnownName(click.Choice[str]):
    """A name in a registry: built in, or added by another package.

    Args:
        registry: its module and name, which is imported only when needed; other packages are
            looked for only if a name is not built in.
        more: further names.
    """

    def __init__(self, registry: str, *more: str) -> None:
        self.case_sensitive = True
        self._place, self._more = registry, more

    def _registry(self) -> Registry[Any]:
        module, _, name = self._place.partition(":")
        found: Registry[Any] = getattr(import_module(module), name)
        return found

    @property
    def choices(self) -> list[str]:  # type: ignore[override]  # read only when needed
        """The known names."""
        return [*self._registry().names(), *self._more]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the text of an option."""
        if value in self._registry().built_in:
            return str(value)
        return super().convert(value, param, ctx)


class _MetricName(KnownName):
    """The name of a metric, also one that a program computes."""

    @property
    def choices(self) -> list[str]:  # type: ignore[override]  # read only when needed
        """The known names."""
        from dragoman.evaluation.metric_names import metric_names

        return metric_names()


TOKENIZER = click.Choice(
    (
        *("13a", "intl", "char", "zh", "none", "ja-mecab", "ko-mecab"),
        *("flores101", "flores200", "spBLEU-1K"),
    )
)
"""The tokenizers of BLEU, as in the configuration, which takes longer to import."""

STREAM = Path("-")
"""The name of standard input among files to read, and of standard output among files to write."""


class _Path(click.Path):
    """A path; refused at once if every operation on it would fail."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not value:
            self.fail("a path must not be empty.", param, ctx)
        try:
            os.stat(value)
        except OSError as error:
            # A missing path may be an output; a command that needs it as input reports it.
            if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
                self.fail(f"{os.fsdecode(value):.80}: {error.strerror}.", param, ctx)
        return Path(value)


class _AsTyped(_Path):
    """A path as text, which may end in a slash."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        super().convert(value, param, ctx)
        return os.fsdecode(value)


class _Output(_Path):
    """A file to write instead of standard output; None for ``-``, which is standard output."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        return None if os.fsdecode(value) == str(STREAM) else path


class _File(_Path):
    """A file to write, for a command that writes other output to standard output."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if os.fsdecode(value) == str(STREAM):
            self.fail("this is not written to standard output; name a file.", param, ctx)
        return super().convert(value, param, ctx)


class _Recipe(_Path):
    """A configuration file, or the name of a bundled recipe."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return found_recipe(super().convert(value, param, ctx))


class _Model(_Path):
    """A model or run directory, or the name of an installed model."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return found_model(super().convert(value, param, ctx))


PATH = _Path(path_type=Path)
"""A path to read or write; opening it later shows whether it exists."""


OUTPUT = _Output(path_type=Path)
"""A file to write instead of standard output, which may also be written ``-``."""


FILE = _File(path_type=Path)
"""A file to write that never is standard output."""


PATH_AS_TYPED = _AsTyped()
"""The same as text, for :func:`is_directory`: a :class:`Path` forgets a slash at its end."""


RECIPE = _Recipe(path_type=Path)
"""A path to a configuration, or the name of a bundled recipe."""


MODEL = _Model(path_type=Path)
"""A path to a model or run, or the name of an installed model."""


METRIC = _MetricName("dragoman.evaluation.metric_names:METRICS")
"""The name of a metric."""
