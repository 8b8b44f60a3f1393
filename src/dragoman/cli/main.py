"""The command ``dragoman``: its subcommands, and how errors are reported.

Only light modules are imported here and at the top of the command modules; PyTorch and the
like are imported when a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

import dragoman
from dragoman.cli import declare
from dragoman.cli.commands.adapt import adapt
from dragoman.cli.commands.align import align_words
from dragoman.cli.commands.backtranslation import backtranslate
from dragoman.cli.commands.bulk import bulk
from dragoman.cli.commands.calibrate import calibrate
from dragoman.cli.commands.check import check
from dragoman.cli.commands.classification import classify
from dragoman.cli.commands.comparison import compare
from dragoman.cli.commands.convert import convert
from dragoman.cli.commands.corpora import corpora
from dragoman.cli.commands.corrections import corrections
from dragoman.cli.commands.distill import distill
from dragoman.cli.commands.embed import embed
from dragoman.cli.commands.evaluation import evaluate
from dragoman.cli.commands.filter import filter_
from dragoman.cli.commands.foreign_models import export, import_foreign, push
from dragoman.cli.commands.init import init
from dragoman.cli.commands.inspection import cost, doctor, plugins, recipes
from dragoman.cli.commands.install import install, pack
from dragoman.cli.commands.keys import keys
from dragoman.cli.commands.parsing import parse
from dragoman.cli.commands.segments import segments
from dragoman.cli.commands.serve import serve
from dragoman.cli.commands.shortlist import shortlist
from dragoman.cli.commands.show import show
from dragoman.cli.commands.terms import terms
from dragoman.cli.commands.training import average, demo, merge, prepare, resume, train
from dragoman.cli.commands.translation import score, translate
from dragoman.cli.commands.tuning import tune
from dragoman.cli.streams import BROKEN_PIPE, discard, guarded_streams, open_closed_streams
from dragoman.core.errors import DragomanError, NotEnoughMemoryError, is_out_of_memory, memory_words
from dragoman.core.wording import CHOICES
from dragoman.workflows.progress import quiet_option, tell, write_line

UNEXPECTED = 1
SPIN_COUNT = "3000"
"""Rounds for which a waiting thread of GNU OpenMP spins; OpenMP's default is 300,000."""
INTERRUPTED = 128 + signal.SIGINT
COMPLETION = "_DRAGOMAN_COMPLETE"
"""The variable by which a shell requests completions; see docs/command-line.md."""


@dataclass
class Session:
    """Settings of one call, for any command."""

    debug: bool = False


class Commands(click.Group):
    """Lists its commands in the order in which they are usually needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which they were added."""
        return list(self.commands)


@click.group(
    cls=Commands,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(dragoman.__version__, prog_name="dragoman")
@declare.options("""
    --debug
        Show the traceback of an error.
""")
@click.pass_context
def commands(context: click.Context, debug: bool) -> None:
    """Train, evaluate and use your own translation models.

    \b
    Example: train on two text files, then translate
      dragoman train my.yaml
      echo "Hello." | dragoman translate runs/my

    Exit codes are listed in docs/exit-codes.md.
    """
    context.obj.debug = debug
    if os.environ.get("NO_COLOR"):  # https://no-color.org; click ignores it
        context.color = False
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    *(demo, init, convert, doctor, prepare, train, resume, translate, parse, classify, evaluate),
    *(score, check, filter_, tune, calibrate, shortlist, average, adapt, merge, distill),
    *(backtranslate, embed, compare, terms, segments, align_words, show, cost),
    *(bulk, recipes, corpora, plugins),
    *(serve, keys, corrections),
    *(install, pack, import_foreign, export, push),
):
    commands.add_command(_command)


def _with_quiet(command: click.Command) -> None:
    """Add ``--quiet`` to a command and all its subcommands."""
    command.params.append(quiet_option)
    for below in getattr(command, "commands", {}).values():
        _with_quiet(below)


_with_quiet(commands)


def print_error(error: BaseException, message: str, code: int) -> int:
    """Report an error on standard error."""
    click.echo(f"dragoman: error: {message}", err=True)
    return code


Tell = Callable[[BaseException, str, int], int]
"""Reports an error, its message and its exit code; returns the exit code of the process."""


def run(arguments: Sequence[str], tell: Tell = print_error) -> int:
    """Run a command line and return its exit code; errors go to ``tell``."""
    with guarded_streams():
        return _run(list(arguments), tell)


def _run(arguments: list[str], tell: Tell) -> int:
    session = Session()
    try:
        code = commands.main(arguments, prog_name="dragoman", standalone_mode=False, obj=session)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if COMPLETION in os.environ and isinstance(error, SystemExit):
            sys.stdout.flush()
            return int(error.code or 0)
        discard(sys.stdout)  # click turns a BrokenPipeError into a SystemExit
        return BROKEN_PIPE
    except click.exceptions.NoArgsIsHelpError as error:  # "dragoman keys" alone, as "dragoman"
        click.echo(error.format_message())
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if session.debug:
            traceback.print_exc()
        message, code = _explain(error, session)
        return tell(error, message, code)
    return code if isinstance(code, int) else 0


def _explain(error: BaseException, session: Session) -> tuple[str, int]:
    """The message, in one line, and the exit code."""
    if isinstance(error, DragomanError):
        return _one_line(error), error.exit_code
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        where = f"; see '{context.command_path} --help'" if context else ""
        return _one_line(error.format_message()).rstrip(".") + where, error.exit_code
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return "interrupted", INTERRUPTED
    if is_out_of_memory(error):
        said = f"out of memory ({memory_words(error)})"
        remedy = "reduce the model, the batch size or the beam"
        return f"{said}; {remedy}", NotEnoughMemoryError.exit_code
    hint = "" if session.debug else "; run 'dragoman --debug ...' to see the traceback"
    return f"unexpected {type(error).__name__}: {_one_line(error)}{hint}", UNEXPECTED


def main(tell: Tell = print_error) -> None:
    """The program: ``dragoman`` and ``python -m dragoman``."""
    open_closed_streams()
    _yield_while_waiting()
    # Of processes that train together, only the leader warns.
    is_leader = os.environ.get("RANK", "0") == "0"
    level = logging.WARNING if is_leader else logging.ERROR
    logging.basicConfig(level=level, handlers=[StandardError()])
    if is_leader:
        logging.getLogger(CHOICES).setLevel(logging.INFO)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # they are for developers; PYTHONWARNINGS shows them
        # Also in child processes: when a signal ends this one, Python's resource tracker would
        # warn that it cleaned up their semaphores.
        os.environ["PYTHONWARNINGS"] = "ignore"
    sys.exit(run(sys.argv[1:], tell))


def _yield_while_waiting() -> None:
    """Let PyTorch's threads spin less before they sleep, unless the environment sets how they wait.

    GNU OpenMP reads this when PyTorch is imported.  Its threads wait for one another by spinning.
    On a busy machine, the threads that they wait for then get no core (decision 115).
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)


class StandardError(logging.Handler):
    """Log messages as ``dragoman: warning: ...``, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one message; what is not even a warning, as the rest of the progress."""
        if record.levelno < logging.WARNING:
            tell(record.getMessage())
            return
        write_line(f"dragoman: {record.levelname.lower()}: {record.getMessage()}")


def _one_line(message: object) -> str:
    return " ".join(str(message).split())
