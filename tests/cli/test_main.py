from __future__ import annotations

import errno
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine, call, one_error

import dragoman
from dragoman.cli.main import SPIN_COUNT, StandardError, commands
from dragoman.core import errors

HEAVY = ("torch", "numpy", "pydantic", "sentencepiece", "sacrebleu", "matplotlib", "yaml", "tqdm")
DOCS = Path(__file__).parents[2] / "docs"
EXIT_CODES, COMMAND_LINE = DOCS / "exit-codes.md", DOCS / "command-line.md"


@pytest.mark.parametrize("command", ["", *commands.commands])
def test_help_has_an_example(command: str, dragoman: CommandLine) -> None:
    outcome = dragoman(*command.split(), "--help")
    assert outcome.code == 0
    assert re.search(r"Examples?:?.*\n +.*dragoman ", outcome.out)


@pytest.mark.parametrize("name", ["", "bulk", "corpora", "corrections", "embed", "keys", "show"])
def test_a_group_alone_prints_its_help(name: str, dragoman: CommandLine) -> None:
    outcome = dragoman(*name.split())
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == dragoman(*name.split(), "--help").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("dragoman tr", {"plain,train", "plain,translate"}),
        ("dragoman compare --fl", {"plain,--flops"}),
        ("dragoman translate --engine c", {"plain,ctranslate2"}),
        (
            "dragoman convert --output-format j",
            {"plain,jsonl", "plain,json-files", "plain,jsonl-files"},
        ),
        ("dragoman train demo/", {"file,demo/"}),
    ],
)
def test_shells_complete(words: str, said: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As bash asks and click answers; nothing heavy is loaded, see below."""
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    monkeypatch.setenv("_DRAGOMAN_COMPLETE", "bash_complete")
    outcome = call()
    assert outcome.code == 0
    assert set(outcome.out.splitlines()) == said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_of_completion(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/command-line.md has users load them."""
    monkeypatch.setattr("click.shell_completion.BashComplete._check_version", staticmethod(int))
    monkeypatch.setenv("_DRAGOMAN_COMPLETE", f"{shell}_source")
    outcome = call()
    assert (outcome.code, outcome.err) == (0, "")
    assert f"_DRAGOMAN_COMPLETE={shell}_complete" in outcome.out
    assert f"_DRAGOMAN_COMPLETE={shell}_source" in COMMAND_LINE.read_text(encoding="utf-8")
    monkeypatch.setenv("_DRAGOMAN_COMPLETE", "bsh_source")
    assert call().code == 1


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import os, sys; from dragoman.cli.main import run, commands\n"
        "for command in commands.commands: assert run([command, '--help']) == 0\n"
        "os.environ |= {'_DRAGOMAN_COMPLETE': 'bash_complete', 'COMP_CWORD': '3'}\n"
        "os.environ['COMP_WORDS'] = 'dragoman translate --engine c'\n"
        "assert run([]) == 0\n"
        f"print('heavy:', sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == "heavy: []"


def test_module_is_the_command() -> None:
    command = [sys.executable, "-m", "dragoman", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split()[-1] == dragoman.__version__


def test_without_arguments_it_says_what_it_can_do(dragoman: CommandLine) -> None:
    outcome = dragoman()
    assert outcome.code == 0
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", outcome.out, flags=re.M)
    assert listed == list(commands.commands)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trian"], "'train'"),
        (["translate", "model", "--bean", "4"], "--beam"),
        (["translate"], "MODEL"),
        (["translate", "model", "--beam", "0"], "--beam"),
        (["--wrong"], "--wrong"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], said: str, dragoman: CommandLine) -> None:
    assert said in one_error(dragoman(*arguments), 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["translate", "model", "--length-penalty", "inf"], "inf is not a finite number"),
        (["translate", "model", "--coverage-penalty", "nan"], "nan is not a finite number"),
        (["translate", "model", "--sample", "--temperature", "1e400"], "1e400 is not a finite"),
        (["translate", "model", "--sample", "--top-p", "nan"], "nan is not a finite number"),
        (["compare", "a.yaml", "--minutes", "inf"], "inf is not a finite number"),
        (["compare", "a.yaml", "--flops", "infinity"], "infinity is not a finite number"),
        (["translate", "model", "--workers", "100000"], "100000 is not in the range"),
    ],
)
def test_numbers_that_are_absurd_are_refused(
    arguments: list[str], said: str, dragoman: CommandLine
) -> None:
    assert said in one_error(dragoman(*arguments), 2)


@pytest.mark.parametrize("command", ["doctor", "train", "cost", "translate", "resume", "evaluate"])
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "a path must not be empty"),
        ("x" * 5000, "File name too long"),
        ("loop", "Too many levels of symbolic links"),
        ("two\nlines", "two lines: no such "),
        ("undecodable\udcff", "undecodable\\udcff: no such "),
    ],
    ids=["empty", "long", "circle", "lines", "bytes"],
)
def test_odd_paths(
    command: str,
    path: str,
    said: str,
    dragoman: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    if command == "resume":
        said = said.replace("no such ", "no run here")
    outcome = dragoman(command, path, *(["reference"] if command == "evaluate" else []))
    assert said in one_error(outcome, outcome.code)
    assert outcome.code in {2, 3, 4}
    assert len(outcome.err) < 300


@pytest.mark.parametrize("path", [".", "folder", "file/below"])
def test_translations_are_not_written_where_no_file_can_be(
    path: str, trained: Path, dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    outcome = dragoman("translate", trained, "--output", path, stdin=b"one\n")
    assert f"cannot write {path}: a " in one_error(outcome, errors.StorageError.exit_code)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
    ],
)
def test_want_of_memory_is_not_unexpected(
    error: Exception, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(monkeypatch, error)
    line = one_error(dragoman("cost", "x.yaml"), errors.NotEnoughMemoryError.exit_code)
    assert "error: out of memory" in line
    assert "unexpected" not in line


def _break(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("dragoman.recipe.read_experiment", fail)


def test_unexpected_error_is_one_line_and_debug_shows_its_place(
    dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(monkeypatch, ZeroDivisionError("two\nlines"))
    line = one_error(dragoman("cost", "x.yaml"), 1)
    assert "ZeroDivisionError: two lines" in line
    assert "--debug" in line
    outcome = dragoman("--debug", "cost", "x.yaml")
    assert outcome.code == 1
    assert "Traceback" in outcome.err
    assert "in fail" in outcome.err


def test_interrupt_gives_130(dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, KeyboardInterrupt())
    assert one_error(dragoman("cost", "x.yaml"), 130).endswith("interrupted")


def test_sigterm_gives_143(dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, errors.InterruptedRunError("stopped", signal.SIGTERM))
    assert one_error(dragoman("cost", "x.yaml"), 143).endswith("stopped")
    assert "| 143 |" in EXIT_CODES.read_text(encoding="utf-8")


def test_debug_keeps_the_line_of_a_known_error(dragoman: CommandLine) -> None:
    outcome = dragoman("--debug", "cost", "nowhere.yaml")
    assert outcome.code == 2
    assert "Traceback" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("dragoman: error: nowhere.yaml: ")


def _kinds(kind: type[errors.DragomanError]) -> list[type[errors.DragomanError]]:
    return [kind, *(below for sub in kind.__subclasses__() for below in _kinds(sub))]


@pytest.mark.parametrize("kind", _kinds(errors.DragomanError))
def test_exit_codes_are_distinct_and_documented(
    kind: type[errors.DragomanError], dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(monkeypatch, kind("what, where, remedy"))
    assert "what, where, remedy" in one_error(dragoman("cost", "x.yaml"), kind.exit_code)
    assert f"| {kind.exit_code} |" in EXIT_CODES.read_text(encoding="utf-8")
    own = [other.exit_code for other in _kinds(errors.DragomanError) if "exit_code" in vars(other)]
    assert own.count(kind.exit_code) == 1  # an error may have that of the one it is a kind of


def test_a_closed_pipe_ends_quietly(trained: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", "translate", trained],
        input=b"one\n",
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(("setting", "said"), [("", ""), ("default", "UserWarning: careful")])
def test_warnings_of_libraries_are_for_programmers(setting: str, said: str) -> None:
    """Also in processes that are started, as for 'translate --workers'."""
    warning = "import warnings; warnings.warn('careful', UserWarning)"
    script = (
        "import subprocess, sys; from dragoman.cli.main import main\n"
        "sys.argv[1:] = ['--version']\n"
        f"try: main()\nexcept SystemExit: subprocess.run([sys.executable, '-c', {warning!r}])"
    )
    environment = {**os.environ, "PYTHONWARNINGS": setting}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert said in done.stderr
    assert bool(said) == bool(done.stderr)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, SPIN_COUNT),
        ({"GOMP_SPINCOUNT": "7"}, "7"),
        ({"OMP_WAIT_POLICY": "active"}, None),
    ],
)
def test_threads_spin_less_unless_the_environment_says_how_to_wait(
    given: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the program's environment, before PyTorch is imported."""
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    script = (
        "import os, sys; from dragoman.cli.main import main\n"
        "sys.argv[1:] = ['--version']\n"
        "try: main()\n"
        "except SystemExit: print('torch' in sys.modules, os.environ.get('GOMP_SPINCOUNT'))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **given}
    )
    assert done.stdout.splitlines()[-1] == f"False {expected}"


def test_log_messages_look_like_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    record = logging.LogRecord("x", logging.WARNING, "f", 1, "be %s", ("careful",), None)
    StandardError().emit(record)
    assert capsys.readouterr().err == "dragoman: warning: be careful\n"
    chosen = logging.LogRecord("x", logging.INFO, "f", 1, "engine %s", ("pytorch",), None)
    StandardError().emit(chosen)
    assert capsys.readouterr().err == "dragoman: engine pytorch\n"
