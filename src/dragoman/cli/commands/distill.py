"""The command that trains a student on the translations of a teacher: distill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import RECIPE
from dragoman.cli.options import default_run, device_option, json_option, run_option, set_option
from dragoman.cli.system_options import lay_over
from dragoman.cli.tracker_options import chosen_trackers, tracker_options
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem
    from dragoman.techniques.teachers.teacher_config import TeacherConfig

_search_options = declare.options("""
    --beam: 1 <= int -> search.beam
        Beam size of the teacher.  [default: the teacher's]
    --nbest N: 2 <= int -> search.nbest
        Train on the translation among the N best that is closest to the reference.
""")
_engine_options = declare.Options(
    declare.options("""
        --engine: ENGINE -> engine
            Inference engine of the teacher; auto is the fastest that gives the same
            text.  [default: auto]
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
    --teacher MODEL|URL|FILE... as teachers
        Model or run that translates, repeated for an ensemble; or the address of a server that
        translates, or a YAML file with its settings (docs/teachers.md).
    --teacher-set KEY=VALUE... as teacher_settings
        Setting of a teacher that is a server, such as model=NAME or max_cost=5; may be repeated.
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
@tracker_options
@json_option
def distill(
    *,
    student: Path,
    teachers: tuple[str, ...],
    teacher_settings: tuple[str, ...],
    system_file: Path | None,
    run_directory: Path | None,
    settings: tuple[str, ...],
    closest: str | None,
    references: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Train the recipe STUDENT on a teacher's translations of its training text.

    This is sequence-level knowledge distillation: a small model learns more easily what a large one
    or an ensemble says than what people wrote.  The teacher translates in shards that are kept; the
    same command resumes where it was interrupted.

    \b
    Examples: from one model; from an ensemble; the closest of five translations; from a server
      dragoman distill student.yaml --teacher runs/teacher
      dragoman distill student.yaml --teacher runs/one --teacher runs/two --beam 5
      dragoman distill student.yaml --teacher runs/teacher --nbest 5 --closest bleu
      dragoman distill student.yaml --teacher http://localhost:8000/v1 \\
        --teacher-set max_requests=500
    """
    from dragoman.recipe import read_experiment
    from dragoman.techniques.distillation import Distillation
    from dragoman.workflows.runs import CommandLineHost, check_one_process, conclude_run

    tracking = chosen_trackers(options)
    check_one_process("distill trains")
    if closest is not None and options["nbest"] is None:
        raise ConfigError("--closest chooses among several translations; add --nbest")
    server = _server(teachers, teacher_settings, system_file, options)
    teacher = server or _system(teachers, system_file, options)
    distilled = Distillation(
        read_experiment(student, settings),
        teacher,
        run_directory or default_run(student),
        None if options["nbest"] is None else closest or "bleu",  # type: ignore[arg-type]  # click checks it
        references,
    ).carry_out(CommandLineHost(tracking))
    learned_from = {
        "teachers": [str(path) for path in getattr(teacher, "models", teachers)],
        "synthetic": distilled.values(),
    }
    conclude_run(distilled.experiment, as_json=as_json, more_values=learned_from)


def _server(
    teachers: tuple[str, ...], settings: tuple[str, ...], file: Path | None, options: dict[str, Any]
) -> TeacherConfig | None:
    """The teacher that is a server; None if it is a system here."""
    from dragoman.techniques.teachers.teacher_config import is_remote, read_teacher

    if file is not None or not any(map(is_remote, teachers)):
        if settings:
            raise click.UsageError("--teacher-set is for a --teacher that is a server")
        return None
    if len(teachers) > 1:
        raise click.UsageError("a server is a teacher alone; leave the other --teacher out")
    given = _teacher_options.set_fields({**options, "nbest": None})
    if unread := [name for name, value in given.items() if value is not None]:
        raise click.UsageError(f"a server chooses itself how it translates; remove {unread[0]}")
    if options["nbest"] is not None:
        settings = (*settings, f"candidates={options['nbest']}")
    return read_teacher(teachers[0], settings)


def _system(
    teachers: tuple[str, ...], file: Path | None, options: dict[str, Any]
) -> TranslationSystem:
    from dragoman.core.config import parse
    from dragoman.saved.system import TranslationSystem, read_values

    if bool(teachers) == (file is not None):
        raise click.UsageError("name at least one --teacher MODEL or --system FILE, but not both")
    values: dict[str, Any] = {"models": teachers} if file is None else read_values(file)
    lay_over(values, _teacher_options.set_fields(options))
    return parse(TranslationSystem, values, file or "distill")
