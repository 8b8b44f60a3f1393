"""Lines that a model here translates and a teacher repairs: 'dragoman translate --repair'."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import STREAM
from dragoman.cli.options import check_no_input, refuse_options
from dragoman.cli.system_options import described
from dragoman.cli.translated_lines import RefusedLines, one_line, write_lines
from dragoman.core.errors import ConfigError
from dragoman.workflows.progress import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.techniques.teachers.repairing import Repaired
    from dragoman.translation.synthesis import GivenFiles

repair_options = declare.options("""
    --repair URL|FILE
        Let a server repair the least confident lines: its address, or a YAML file with its settings
        (docs/teachers.md).  Needs --input and --output; calibrate MODEL first.
    --repair-share SHARE: 0 < number <= 1
        With --repair: ask for at most this share of the lines.  [default: 0.1]
    --repair-below P: 0 <= number <= 1
        With --repair: ask only for lines with a lower confidence than P.  [default: 0.5]
    --repair-set KEY=VALUE... as repair_settings
        With --repair: setting of the server, such as model=NAME or max_cost=5; may be repeated.
""")
_OTHER_OUTPUT = (
    *("nbest", "scores", "token_scores", "confidence", "flag_below", "alignment", "as_json"),
    *("buffer_lines", "write_system"),
)
"""Options for the output of every line, or for the description of a system alone."""


def repair_lines(
    models: tuple[Path, ...],
    inputs: tuple[Path, ...],
    output: Path | None,
    options: dict[str, Any],
) -> None:
    """Translate files with models, let a server repair doubtful lines, and write the lines.

    Args:
        models: the models.
        inputs: the files.
        output: the file to write.
        options: all options of the command.

    Raises:
        DataError: lines are left empty, as no one can translate them.
    """
    from dragoman.techniques.teachers.remote_teacher import RemoteTeacher
    from dragoman.techniques.teachers.repairing import Doubt, direction_of, repair_text
    from dragoman.techniques.teachers.teacher_config import is_remote, read_teacher
    from dragoman.translation.synthesis import GivenFiles
    from dragoman.workflows.runs import CommandLineHost

    refuse_options(_OTHER_OUTPUT, options, "--repair writes lines alone; leave out {option}")
    if output is None or not inputs or STREAM in inputs:
        raise click.UsageError("--repair reads --input FILE and writes --output FILE; name both")
    if not is_remote(options["repair"]):
        raise ConfigError(
            f"--repair {options['repair']}: neither an address nor a YAML file; serve a model with "
            "'dragoman serve', and name its address"
        )
    system = described(models, {**options, "confidence": True})
    check_no_input(output, system.paths(), "--output")
    config = read_teacher(options["repair"], options["repair_settings"])
    teacher = RemoteTeacher(config, direction_of(system), repairs=True)
    given = {"share": options["repair_share"], "below": options["repair_below"]}
    doubt = Doubt(**{name: value for name, value in given.items() if value is not None})
    text, directory = GivenFiles(inputs), Path(f"{output}.repair")
    repaired = repair_text(system, teacher, text, directory, doubt=doubt, host=CommandLineHost())
    refused = RefusedLines("translated", "its translation is left empty")
    write_lines(output, _lines(repaired, text, refused))
    _tell_outcome(repaired)
    refused.conclude()


def _lines(repaired: Repaired, text: GivenFiles, refused: RefusedLines) -> Iterator[str]:
    for number, translation in enumerate(repaired.translations(text), 1):
        if translation is None:
            refused.add(f"line {number}: neither the model nor the server translates it")
        yield one_line(translation or "")


def _tell_outcome(repaired: Repaired) -> None:
    """Say what the teacher was asked for, what became of it, and what it cost."""
    from dragoman.techniques.teachers.answer_checks import PROBLEMS

    lines, spent = repaired.report["lines"], repaired.report["spent"]
    refused = sum(lines[problem] for problem in PROBLEMS)
    cost = f", cost {spent['cost']:,.4g}" if spent["cost"] else ""
    tell(
        f"repaired: asked for {lines['asked']:,} of {lines['all']:,} lines, {lines['changed']:,} "
        f"changed, {lines['unchanged']:,} unchanged, {refused:,} answers did not pass the checks; "
        f"{spent['requests']:,} requests{cost}; see {repaired.path.parent}"
    )
