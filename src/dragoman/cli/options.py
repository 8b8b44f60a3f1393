"""Arguments and options that several commands share."""

from __future__ import annotations

import errno
import math
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from dragoman.cli import declare
from dragoman.core.errors import ConfigError
from dragoman.core.recipe_library import found_recipe
from dragoman.saved.installed_models import found_model


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


class MetricName(click.Choice[str]):
    """The name of a metric: built in, or from another package."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @property
    def choices(self) -> list[str]:  # type: ignore[override]  # read only when needed
        """The known names."""
        from dragoman.evaluation.metric_names import metric_names

        return metric_names()


STREAM = Path("-")
"""The name of standard input among files to read, and of standard output among files to write."""


class _Path(click.Path):
    """A path; refused at once if every operation on it would fail."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Read the text of an argument."""
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
        """Read the text of an argument."""
        super().convert(value, param, ctx)
        return os.fsdecode(value)


class _Output(_Path):
    """A file to write instead of standard output; None for ``-``, which is standard output."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text of an option."""
        path = super().convert(value, param, ctx)
        return None if os.fsdecode(value) == str(STREAM) else path


class _File(_Path):
    """A file to write, for a command that writes other output to standard output."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Read the text of an option."""
        if os.fsdecode(value) == str(STREAM):
            self.fail("this is not written to standard output; name a file.", param, ctx)
        return super().convert(value, param, ctx)


class _Recipe(_Path):
    """A configuration file, or the name of a bundled recipe."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Read the text of an argument."""
        return found_recipe(super().convert(value, param, ctx))


class _Model(_Path):
    """A model or run directory, or the name of an installed model."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Read the text of an argument."""
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

config_argument = click.argument("config", type=RECIPE)
run_option = declare.option(
    "--run DIRECTORY",
    "Run directory.  [default: runs/NAME for NAME.yaml]",
    PATH,
    name="run_directory",
)
set_option = declare.option(
    "--set KEY=VALUE...",
    "Override a value of CONFIG, such as training.max_steps=500; may be repeated.",
    name="settings",
)
device_option = declare.option(
    "--device",
    "Device to use, such as cpu or cuda:1.  [default: a GPU if there is one]",
    sets="device",
)
dev_set_option = declare.option(
    "--dev-set NAME", "Which dev set of the run to use.  [default: the only one, or that of --to]"
)
database_option = declare.option(
    "--database FILE|URL",
    "Database of the server: an SQLite file, or a URL such as postgresql://user@host/name.  "
    "[default: $DRAGOMAN_DATABASE, or server.sqlite in ~/.local/share/dragoman]",
    envvar="DRAGOMAN_DATABASE",
)
json_option = declare.flag("--json", "Print the result as JSON.", name="as_json")


model_language_option = declare.option(
    "--to LANGUAGE",
    "Target language, such as de, of a MODEL that was trained on several.",
    name="target_language",
)


def model_and_files(
    paths: tuple[Path, ...], language: str | None, device: str | None
) -> tuple[Path | None, tuple[Path, ...]]:
    """The arguments [MODEL] FILES...: a model is a directory.

    Args:
        paths: the arguments.
        language: of :data:`model_language_option`.
        device: of :data:`device_option`.

    Raises:
        ConfigError: a language or a device without a model.
    """
    if paths[0].is_dir():
        return paths[0], paths[1:]
    for option, value in (("--to", language), ("--device", device)):
        if value is not None:
            raise ConfigError(f"{option} is of a MODEL; name one, or leave it out")
    return None, paths


pairs_options = declare.Options(
    declare.option("--source", "Column, key or language of the source in FILES."),
    declare.option("--target", "Column, key or language of the target in FILES."),
    declare.option(
        "--format",
        "Format of FILES, if the suffix does not determine it.",
        FormatName(),
        name="file_format",
    ),
)
"""Options for reading the pairs in the argument FILES."""


def rising_numbers(context: click.Context, option: click.Parameter, value: str) -> tuple[int, ...]:
    """Parse an option's value as increasing whole numbers, separated by commas.

    Raises:
        click.BadParameter: it is not.
    """
    try:
        numbers = tuple(int(part) for part in value.split(",") if value)
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r} is not a list of whole numbers such as 64,128,256"
        ) from error
    if list(numbers) != sorted({*numbers}):
        raise click.BadParameter(f"the numbers in {value!r} do not increase")
    return numbers


def is_given(name: str) -> bool:
    """Whether the command line has an option, even with its default value."""
    return click.get_current_context().get_parameter_source(name) != ParameterSource.DEFAULT


def default_run(config: Path) -> Path:
    """The default run directory for a configuration.

    Raises:
        ConfigError: ``config`` is not a file name.
    """
    if not config.stem:
        raise ConfigError(f"{config}: not the name of a configuration file")
    return Path("runs") / config.stem


def train_command(config: Path, run: Path, settings: Iterable[str]) -> str:
    """The command that trains a run prepared with these settings of ``--set``."""
    given = [word for setting in settings for word in ("--set", setting)]
    return shlex.join(["dragoman", "train", str(config), "--run", str(run), *given])


input_option = declare.option(
    "--input FILE...",
    "Read FILE (compressed or not, - for standard input); may be repeated.  [default: "
    "standard input]",
    PATH,
    name="inputs",
)

output_option = declare.option(
    "--output FILE",
    "Write to FILE, which appears once everything is done, instead of standard output.",
    OUTPUT,
)


def is_directory(output: str) -> bool:
    """Whether an output, as typed, means a directory: one exists there, or it ends in a slash."""
    return output.endswith(("/", os.sep)) or os.path.isdir(output)


def check_no_input(output: Path, inputs: Iterable[Path], option: str = "--output") -> None:
    """Refuse to overwrite a file that a command reads.

    Args:
        output: file to be written.
        inputs: files that are read, which may be missing.
        option: names the output.

    Raises:
        ConfigError: the output is an input.
    """
    if any(one.exists() and output.exists() and os.path.samefile(output, one) for one in inputs):
        raise ConfigError(
            f"{option} {output}: this is an input, which would be overwritten; name another file"
        )


def check_description(output: Path | None, option: str = "--output") -> None:
    """Refuse to replace a file by a description of a system, unless the file is a description.

    Args:
        output: file to be written, if any.
        option: the option that names it.

    Raises:
        ConfigError: it is something else, such as a recipe, which is a YAML file as well.
    """
    from dragoman.saved.system import is_description

    if output is not None and output.is_file() and not is_description(output):
        raise ConfigError(
            f"{option} {output}: this file describes no translation system, and would be lost; "
            "name another file"
        )


def check_apart(output: Path | None, other: Path | None, option: str) -> None:
    """Refuse to write two things to one file.

    Args:
        output: file of ``--output``, if any.
        other: the other file, if any.
        option: names it.

    Raises:
        ConfigError: they are the same.
    """
    if output is None or other is None:
        return
    same = os.path.realpath(output) == os.path.realpath(other)
    if same or (output.exists() and other.exists() and os.path.samefile(output, other)):
        raise ConfigError(
            f"{option} {other}: this is the --output, which would be overwritten; name another file"
        )
