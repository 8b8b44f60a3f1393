"""The command that trains a student on the translations of a teacher: distill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.training import tensorboard_option
from dragoman.cli.option_types import RECIPE
from dragoman.cli.options import default_run, device_option, json_option, run_option, set_option
from dragoman.cli.system_options import lay_over
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem

_search_options = declare.options("""
    --beam: 1 <= int -> search.beam
        Beam size of the teacher.  [default: the teacher's]
    --nbest N: 2 <= int -> search.nbest
        Train on the one of the N best translations that is closest to the reference, instead of the
        best.
""")
_engine_options = declare.Options(
    declare.options("""
        --engine: pytorch | ctranslate2 -> engine
            Inference engine of the teacher.  [default: pytorch]
        --precision: float32 | bfloat16 | int8 | auto -> precision
            Number type of the teacher's weights.  [default: float32]
        --workers N: 1 <= int <= 1024 -> workers
            Processes (ctranslate2: threads) in which the teacher translates.
    """),
    device_option,
)
_teacher_options = declare.Options(_search_options, _engine_options)


@click.command()
@click.argument("student", metavar="STUDENT", type=RECIPE)
@declare.options("""
    --teacher MODEL...: PATH as teachers
        Model or run that translates; may be repeated for an ensemble.
    --system FILE: PATH as system_file
        Instead of --teacher: read the teacher from FILE, a description as written by 'dragoman
        translate --write-system'.
""")
@run_option
@set_option
@_search_options
@declare.options("""
    --closest: bleu | chrf
        With --nbest: the measure of closeness.  [default: bleu]
    --keep-references WEIGHT: 1e-06 <= number <= 1000000.0 as references
        Also train on the real pairs, WEIGHT times as often as on the translations.
""")
@_engine_options
@tensorboard_option
@json_option
def distill(
    *,
    student: Path,
    teachers: tuple[Path, ...],
    system_file: Path | None,
    run_directory: Path | None,
    settings: tuple[str, ...],
    closest: str | None,
    references: float | None,
    tensorboard: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train the recipe STUDENT on a teacher's translations of its training text.

    This is sequence-level knowledge distillation: a small model learns more easily what a large one
    or an ensemble says than what people wrote.  The teacher translates in shards that are kept; the
    same command resumes where it was interrupted.

    \b
    Examples: from one model; from an ensemble; the closest of five translations
      dragoman distill student.yaml --teacher runs/teacher
      dragoman distill student.yaml --teacher runs/one --teacher runs/two --beam 5
      dragoman distill student.yaml --teacher runs/teacher --nbest 5 --closest bleu
    """
    from dragoman.recipe import read_experiment
    from dragoman.techniques.distillation import Distillation
    from dragoman.workflows.runs import CommandLineHost, check_one_process, conclude_run

    check_one_process("distill trains")
    if closest is not None and options["nbest"] is None:
        raise ConfigError("--closest chooses among several translations; add --nbest")
    teacher = _teacher(teachers, system_file, options)
    distilled = Distillation(
        read_experiment(student, settings),
        teacher,
        run_directory or default_run(student),
        None if options["nbest"] is None else closest or "bleu",  # type: ignore[arg-type]  # click checks it
        references,
    ).carry_out(CommandLineHost(tensorboard=tensorboard))
    learned_from = {
        "teachers": [str(path) for path in teacher.models],
        "synthetic": distilled.values(),
    }
    conclude_run(distilled.experiment, as_json=as_json, more_values=learned_from)


def _teacher(
    teachers: tuple[Path, ...], file: Path | None, options: dict[str, Any]
) -> TranslationSystem:
    from dragoman.core.config import parse
    from dragoman.saved.system import TranslationSystem, read_values

    if bool(teachers) == (file is not None):
        raise click.UsageError("name at least one --teacher MODEL or --system FILE, but not both")
    values: dict[str, Any] = {"models": teachers} if file is None else read_values(file)
    lay_over(values, _teacher_options.set_fields(options))
    return parse(TranslationSystem, values, file or "distill")
