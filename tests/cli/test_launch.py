"""Several processes that train together, as a user starts and stops them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from command_line import CommandLine, Outcome, experiment, one_error, write_experiment
from torch.distributed.elastic.rendezvous import RendezvousConnectionError
from worlds import ALONE, together

from dragoman.cli import launch, worker
from dragoman.cli.launch import Launch
from dragoman.cli.launching.rendezvous import History, RendezvousOverError, RendezvousTerms
from dragoman.cli.launching.supervision import FORWARDED, Supervision
from dragoman.cli.launching.worker_failures import Failures
from dragoman.core.config import read_yaml, to_yaml
from dragoman.core.errors import (
    DragomanError,
    InterruptedRunError,
    SavedError,
    StorageError,
    WorkerError,
)
from dragoman.experiment import Experiment
from dragoman.recipe import read_experiment
from dragoman.run.prepared_text import Prepared
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import checkpoints, step_of
from dragoman.validation import figures
from dragoman.workflows.runs import train_run

ENDLESS = 1_000_000


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not list(path.glob("*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)


def test_stopped_and_resumed_in_two_processes(
    text: Path, tmp_path: Path, dragoman: CommandLine, capfd: pytest.CaptureFixture[str]
) -> None:
    values = experiment()
    for part in (*values["data"]["train"], values["data"]["dev"], values["data"]["test"]["news"]):
        part["path"] = str(text / part["path"])
    values["training"] |= {"max_steps": ENDLESS, "validation_steps": ENDLESS}
    config, run = write_experiment(tmp_path, values), tmp_path / "run"
    command = ["train", config, "--run", run, "--processes", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", *map(str, command)], stderr=subprocess.PIPE, text=True
    )
    wait_for(run / "checkpoints", process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=100)
    line = one_error(Outcome(process.returncode, "", err), 143)
    assert f"everything is saved; continue with: dragoman resume {run}" in line
    newest = step_of(checkpoints(run)[-1])
    assert f"stopped at step {newest} " in line

    values = read_yaml(run / "config.yaml")
    values["training"] |= {"max_steps": newest + 2}
    (run / "config.yaml").write_text(to_yaml(values), encoding="utf-8")
    assert dragoman("resume", run, "--processes", 2).code == 0
    out, err = capfd.readouterr()
    assert out.count(f"Model:  {run / 'model'}") == 1, "the leading process alone talks"
    assert err.count("pairs read") == 1
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    alone = Experiment.open(run).finish(Vocabularies.load(run), ALONE)
    for name in ("dev", "news"):
        found, expected = figures(scores[name]), figures(alone[name])
        for figure in ("loss", "perplexity"):
            assert found.pop(figure) == pytest.approx(expected.pop(figure), rel=1e-5)
        # A model of so few steps is unsure of every piece, so that rounding may decide on one.
        assert found == pytest.approx(expected, abs=0.5)
        for metric in found:
            assert scores[name][metric]["signature"] == alone[name][metric]["signature"]


def test_the_leading_process_alone_prepares(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others would prepare anew, over its files, where they see other text than it does."""
    config = read_experiment(write_experiment(text, experiment()))
    one = Experiment.create(config, tmp_path / "run")
    prepare, found = Experiment.prepare, []

    def once(self: Experiment, *arguments: Any) -> Prepared:
        monkeypatch.setattr(Experiment, "prepare", None)
        return prepare(self, *arguments)

    monkeypatch.setattr(Experiment, "prepare", once)
    monkeypatch.setattr(Experiment, "train", lambda self, prepared, *_: found.append(prepared))
    for process in together(2, lambda world: train_run(one, world)):
        process.result()
    first, second = found
    assert first.store.manifest == second.store.manifest
    assert first.report == second.report
    for own, other in zip(first.vocabularies, second.vocabularies, strict=True):
        assert own.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--processes", "0"], "'0' is neither auto nor a positive whole number"),
        (["--processes", "many"], "'many' is neither auto nor a positive whole number"),
        (["--nodes", "2"], "--rendezvous HOST:PORT"),
        (["--rendezvous", "here:1"], "--nodes 2"),
        (["--processes", "2", "--nodes", "2", "--rendezvous", "a:b"], "--rendezvous a:b"),
        (["--nodes", "3:1"], "'3:1' is neither a positive whole number nor MIN:MAX"),
        (["--nodes", "1:3"], "--rendezvous HOST:PORT"),
        (["--restarts", "-1"], "--restarts"),
    ],
)
def test_options_that_make_no_sense(
    options: list[str], said: str, dragoman: CommandLine, tmp_path: Path
) -> None:
    assert said in one_error(dragoman("resume", tmp_path, *options), 2)


def test_no_launcher_below_another(
    dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    line = one_error(dragoman("resume", tmp_path, "--processes", 2), 2)
    assert "drop either --processes" in line


def test_every_process_has_a_gpu_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert Launch.of("auto") == Launch(3)
    with pytest.raises(DragomanError, match="there are 3"):
        Launch.of(4)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert Launch.of("auto").alone
    assert not Launch.of(4).alone


def test_workers_get_the_command_line_without_the_launcher(
    dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(Launch, "carry_out", lambda self, words: given.append((self, words)))
    settings = ("--set", "a=1", "--set", "b=$x")
    dragoman("--debug", "train", "c.yaml", *settings, "--processes", 2, "--tensorboard")
    two = ["--nodes", "2", "--rendezvous", "a:1"]
    dragoman("resume", *two, "--quiet", "--json", "--", "-odd")
    assert given == [
        (Launch(2), ["--debug", "train", *settings, "--tensorboard", "--", "c.yaml"]),
        (Launch(1, RendezvousTerms(2, 2, "a:1")), ["--quiet", "resume", "--json", "--", "-odd"]),
    ]


def test_cores_are_divided_unless_the_user_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(7), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS")
    for processes, threads in ((2, "3"), (8, "1")):
        with launch._environment(Launch(processes)):
            assert os.environ["OMP_NUM_THREADS"] == threads
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    with launch._environment(Launch(2)):
        assert os.environ["OMP_NUM_THREADS"] == "5"


class OneProcess:
    """An agent of one process, which sends the launcher a signal as soon as it is there."""

    def __init__(self, number: signal.Signals) -> None:
        self.number, self.process = number, subprocess.Popen(["sleep", "100"])
        self.code: int | None = None

    def send(self, number: int) -> bool:
        os.kill(self.process.pid, number)
        return True

    def run(self) -> Any:
        os.kill(os.getpid(), self.number)
        self.code = self.process.wait()
        return SimpleNamespace(is_failed=lambda: True)


class NoRendezvous:
    """One machine meets nobody."""

    is_cut_off = False

    def __init__(self) -> None:
        self.stopped_by: list[int] = []

    def stop(self, received: int) -> None:
        self.stopped_by.append(received)

    def part(self) -> None:
        """Nothing to leave."""

    def shutdown(self) -> None:
        """Nothing to end."""


@pytest.mark.parametrize("number", FORWARDED)
def test_signals_are_passed_on(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # these tests may run under nohup
    agent, rendezvous = OneProcess(number), NoRendezvous()
    try:
        supervision = Supervision(agent, rendezvous, False)  # type: ignore[arg-type]
        supervision.run()
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert supervision.error is None
    assert agent.code == -number
    assert supervision.received == number
    assert rendezvous.stopped_by == [number]


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    seen: list[Any] = []
    result = SimpleNamespace(is_failed=lambda: False)
    try:
        agent = SimpleNamespace(
            run=lambda: seen.append(signal.getsignal(signal.SIGHUP)) or result  # type: ignore[func-returns-value]
        )
        supervision = Supervision(agent, NoRendezvous(), False)  # type: ignore[arg-type]
        supervision.run()
        assert seen == [signal.SIG_IGN]
        assert supervision.finished
    finally:
        signal.signal(signal.SIGHUP, before)


class CutOff(NoRendezvous):
    """A machine that cannot reach the others."""

    is_cut_off = True


def test_a_machine_that_is_cut_off_ends_its_processes() -> None:
    process = subprocess.Popen(["sleep", "100"])
    agent = SimpleNamespace(run=process.wait, kill=lambda: os.kill(process.pid, signal.SIGKILL))
    supervision = Supervision(agent, CutOff(), True)  # type: ignore[arg-type]
    supervision.run()
    assert supervision.cut_off
    assert process.wait() == -signal.SIGKILL


def own(code: int) -> dict[str, Any]:
    return {"message": f"own {code}", "exit_code": code, "echo": False}


def echo(code: int) -> dict[str, Any]:
    return {"message": f"echo {code}", "exit_code": code, "echo": True}


@pytest.mark.parametrize(
    ("errors", "codes", "said", "code"),
    [
        ([echo(3), own(3)], {0: 3, 1: 3}, "own 3", 3),
        ([echo(8), own(6)], {0: 6, 1: -15}, "own 6", 6),
        ([own(143), own(1)], {1: 1}, "own 1", 1),
        ([echo(3)], {0: 3, 1: -15}, "echo 3", 3),
        ([own(143), own(143)], {}, "own 143", 143),
        ([echo(8)], {0: 8, 1: -9}, "process 1 was killed by SIGKILL", 8),
        ([echo(8)], {0: 8, 1: -15}, "echo 8", 8),
        ([], {1: 3}, "process 1 ended without a message, with exit code 3", 8),
    ],
)
def test_the_cause_is_told_and_not_its_consequences(
    errors: list[dict[str, Any]], codes: dict[int, int], said: str, code: int
) -> None:
    with pytest.raises(DragomanError) as caught:
        launch.conclude(Failures(errors, codes), None)
    assert str(caught.value).startswith(said)
    assert caught.value.exit_code == code


@pytest.mark.parametrize(
    ("begun", "error", "errors", "said", "code"),
    [
        (False, RendezvousConnectionError("gone"), [], "--rendezvous a:1: 2 machines did not", 2),
        (True, RendezvousConnectionError("gone"), [], "another machine stopped or cannot be", 8),
        (True, RendezvousConnectionError("gone"), [echo(3)], "echo 3", 3),
        (True, RendezvousOverError(WorkerError("there: bad", 3)), [echo(8)], "there: bad", 3),
        (True, RendezvousOverError(WorkerError("there: bad", 3)), [own(6)], "own 6", 6),
    ],
)
def test_machines_that_do_not_meet_and_one_that_leaves(
    begun: bool, error: Exception, errors: list[dict[str, Any]], said: str, code: int
) -> None:
    supervision: Any = SimpleNamespace(error=error, received=None)
    with pytest.raises(DragomanError) as caught:
        Launch(1, RendezvousTerms(2, 2, "a:1"))._conclude(
            supervision, Failures(errors), History(begun)
        )
    assert str(caught.value).startswith(said)
    assert caught.value.exit_code == code


def test_a_signal_that_nothing_was_saved_at() -> None:
    for number in FORWARDED:
        with pytest.raises(InterruptedRunError, match=number.name) as caught:
            launch.conclude(Failures((), {0: -number, 1: -15}), number)
        assert caught.value.exit_code == 128 + number


def test_the_exit_code_is_that_of_the_signal_whoever_heard_it_first() -> None:
    with pytest.raises(WorkerError, match="own 143") as caught:
        launch.conclude(Failures([own(130), own(143)]), signal.SIGTERM)
    assert caught.value.exit_code == 143


def test_nothing_failed() -> None:
    launch.conclude(Failures(), None)
    with pytest.raises(BrokenPipeError):
        launch.conclude(Failures((), {0: 141, 1: -15}), None)


def test_a_worker_leaves_its_error_to_the_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "error.json"
    monkeypatch.setenv(worker.ERROR_FILE, str(file))
    for error, code, status in (
        (SavedError("no"), 4, 4),
        (WorkerError("no", 4), 4, 4),
        (InterruptedRunError("no", signal.SIGTERM), 143, 0),  # the launcher ends nobody
    ):
        assert worker.record_error(error, "no", code) == status
        found = json.loads(file.read_text(encoding="utf-8"))
        assert (found["message"], found["exit_code"]) == ("no", code)
        assert found["echo"] == isinstance(error, WorkerError)


def test_a_worker_whose_error_is_refused_by_a_full_disk_prints_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(worker.ERROR_FILE, str(tmp_path / "file" / "error.json"))
    assert worker.record_error(StorageError("full"), "the disk is full", 6) == 6
    assert capsys.readouterr().err == "dragoman: error: the disk is full\n"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no folder in memory")
def test_what_a_process_says_needs_no_disk(
    tmp_path: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    line = one_error(dragoman("resume", tmp_path / "none", "--restarts", 1), 4)
    assert "no run here" in line


def test_a_worker_ends_with_its_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([7, 7, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        worker.end_with(7, seconds=0.0)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM]
    assert not list(parents)
