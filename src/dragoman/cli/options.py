"""Arguments and options that several commands share."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dragoman.cli import declare
from dragoman.cli.option_types import RECIPE, STREAM
from dragoman.core.errors import ConfigError
from dragoman.core.files import make_directory

STANDARD_INPUT = "standard input"
"""The name of standard input in errors."""

config_argument = click.argument("config", type=RECIPE)
run_option = declare.options("""
    --run DIRECTORY: PATH as run_directory
        Run directory.  [default: runs/NAME for NAME.yaml]
""")
set_option = declare.options("""
    --set KEY=VALUE... as settings
        Override a value of CONFIG, such as training.max_steps=500; may be repeated.
""")
device_option = declare.options("""
    --device: text -> device
        Device to use, such as cpu or cuda:1.  [default: a GPU if there is one]
""")
dev_set_option = declare.options("""
    --dev-set NAME
        Dev set of the run.  [default: the only one, or that of --to]
""")
database_option = declare.options(
    """
    --database FILE|URL
        Database of the server: an SQLite file, or a URL such as
        postgresql://user@host/name.  [default: $DRAGOMAN_DATABASE, or server.sqlite in
        ~/.local/share/dragoman]
    """,
    database={"envvar": "DRAGOMAN_DATABASE"},
)
json_option = declare.options("""
    --json as as_json
        Print the result as JSON.
""")


model_language_option = declare.options("""
    --to LANGUAGE as target_language
        Target language, such as de, of a MODEL that was trained on several.
""")


def model_and_files(
    paths: tuple[Path, ...], language: str | None, device: str | None
) -> tuple[Path | None, tuple[Path, ...]]:
    """The arguments [MODEL] FILES...: a model is a directory with files of a model.

    A directory without files after it is not a model, but the folder of a project.
    """
    if paths[0].is_dir() and len(paths) > 1 and _is_model(paths[0]):
        return paths[0], paths[1:]
    for option, value in (("--to", language), ("--device", device)):
        if value is not None:
            raise ConfigError(f"{option} is of a MODEL; name one, or leave it out")
    return None, paths


def _is_model(directory: Path) -> bool:
    """Whether a directory has files of a model, or no translations of a project either."""
    from dragoman.saved.model import CONFIG_FILE, home_of
    from dragoman.text.formats import project_formats

    if (home_of(directory) / CONFIG_FILE).is_file():
        return True
    return not any(form.offered_sides(directory) for form in project_formats())


pairs_options = declare.options("""
    --source: text
        Column, key or language of the source in FILES.
    --target: text
        Column, key or language of the target in FILES.
    --format: FORMAT as file_format
        Format of FILES, if the suffix does not determine it.
""")
"""Options for reading the pairs in the argument FILES."""

unreviewed_option = declare.options("""
    --unreviewed
        Also read unreviewed translations: fuzzy messages of PO, and XLIFF in the state
        needs-review-translation.
""")


def rising_numbers(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> tuple[int, ...]:
    """Parse the values of a list as increasing whole numbers."""
    value = ",".join(given)
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
    """The default run directory for a configuration."""
    if not config.stem:
        raise ConfigError(f"{config}: not the name of a configuration file")
    return Path("runs") / config.stem


def train_command(config: Path, run: Path, settings: Iterable[str]) -> str:
    """The command that trains a run prepared with these settings of ``--set``."""
    given = [word for setting in settings for word in ("--set", setting)]
    return shlex.join(["dragoman", "train", str(config), "--run", str(run), *given])


input_option = declare.options("""
    --input FILE...: PATH as inputs
        Read FILE (compressed or not, - for standard input); may be repeated.  [default: standard
        input]
""")


def input_lines(inputs: tuple[Path, ...]) -> Iterator[str]:
    """The lines of files; those of standard input for ``-`` or without files."""
    from dragoman.text.lines import read_lines, stream_lines

    for path in inputs or (STREAM,):
        if path == STREAM:
            yield from stream_lines(sys.stdin.buffer, STANDARD_INPUT)
        else:
            yield from read_lines(path)


output_option = declare.options("""
    --output FILE: OUTPUT
        Write to FILE, which appears once everything is done, instead of standard output.
""")


def is_directory(output: str) -> bool:
    """Whether an output, as typed, means a directory: one exists there, or it ends in a slash."""
    return output.endswith(("/", os.sep)) or os.path.isdir(output)


def check_no_input(output: Path, inputs: Iterable[Path], option: str = "--output") -> None:
    """Refuse to overwrite a file that a command reads; inputs may be missing."""
    if output.exists() and any(os.path.samefile(output, path) for path in inputs if path.exists()):
        raise ConfigError(
            f"{option} {output}: this is an input, which would be overwritten; name another file"
        )


def check_description(output: Path | None, option: str = "--output") -> None:
    """Refuse to replace a file by a description of a system, unless the file is a description."""
    from dragoman.saved.system import is_description

    if output is not None and output.is_file() and not is_description(output):
        raise ConfigError(
            f"{option} {output}: this file describes no translation system, and would be lost; "
            "name another file"
        )


def check_replaceable(
    output: Path,
    inputs: Iterable[Path],
    is_such: Callable[[Path], bool],
    problem: str,
    example: str,
) -> None:
    """Check before the work that ``--output`` can be written, and make its folder.

    Args:
        is_such: whether an existing file is of this kind, and may be replaced.
        problem: with a file of another kind, such as "is no calibration".
    """
    if output.is_dir():
        raise ConfigError(f"--output {output}: this is a directory; name a file, such as {example}")
    check_no_input(output, inputs)
    if output.is_file() and not is_such(output):
        raise ConfigError(
            f"--output {output}: this file {problem}, and would be lost; name another file"
        )
    make_directory(output.parent, output)


def refuse_options(names: Iterable[str], given: Mapping[str, Any], problem: str) -> None:
    """Refuse options that something does not read.

    Args:
        names: parameters of the command, by their keys.
        problem: message, with ``{option}`` for the first that was given.
    """
    spelt = {option.name: option.opts[0] for option in click.get_current_context().command.params}
    for name in names:
        if given[name]:
            raise click.UsageError(problem.format(option=spelt[name]))


def check_apart(output: Path | None, other: Path | None, option: str) -> None:
    """Refuse to write two things to one file: that of ``--output``, and that of ``option``."""
    if output is None or other is None:
        return
    same = os.path.realpath(output) == os.path.realpath(other)
    if same or (output.exists() and other.exists() and os.path.samefile(output, other)):
        raise ConfigError(
            f"{option} {other}: this is the --output, which would be overwritten; name another file"
        )
