"""Several rows at once (``--jobs``): in turns, each stage once, and ended together."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Barrier

import pytest
import yaml
from small_table import TABLE, InThisProcess

from dragoman.core.errors import StorageError
from dragoman.training.interruption import Interruption
from studies.tables.plan import read_table
from studies.tables.running import StoppedError
from studies.tables.work import Work
from studies.tables.workplace import STAGES, Workplace, shell


class Pretending(InThisProcess):
    """Writes what a stage or a row would, after it has met another."""

    meet: Callable[[str], None] = print

    def run(self, arguments: Sequence[str], log: Path, *, fine: Collection[int] = (0,)) -> float:
        self.check()
        command, place = arguments[0], Path(arguments[-1])
        self.commands.append(f"{command} {place.name}")
        self.meet(place.name)
        written = place / "end" if command == "copy" else place
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text("1\n", encoding="utf-8")
        return 1.0


SIDES = {"left", "right"}


@pytest.fixture
def apart(folder: Path, tmp_path: Path) -> Workplace:
    """A table of two rows, ``left`` and ``right``, with a stage each and one that both need."""
    return with_rows(folder, tmp_path, {side: f"{{{side}}}" for side in ("left", "right")})


def with_rows(folder: Path, tmp_path: Path, arguments: dict[str, str]) -> Workplace:
    stages = {
        "shared": {"command": "copy {shared}", "done": "end"},
        "left": {"command": "copy {shared} {left}", "done": "end"},
        "right": {"command": "copy {shared} {right}", "done": "end"},
    }
    rows = {name: {"label": name, "translate": given} for name, given in arguments.items()}
    section = {"title": "All", "tests": ["news"], "rows": rows}
    values = {**TABLE, "stages": stages, "sections": [section]}
    file = tmp_path / "table.yaml"
    file.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    for corpus in folder.glob("*.tsv"):
        (tmp_path / corpus.name).write_bytes(corpus.read_bytes())
    return Workplace(read_table(file), file, tmp_path / "out")


def test_several_rows_are_made_at_once_and_what_they_share_once(apart: Workplace) -> None:
    together = Barrier(2)
    runner = Pretending(Interruption(), jobs=2)

    def meet(name: str) -> None:
        if "shared" not in name:
            together.wait(20)  # for ever, if one were made after the other

    runner.meet = meet
    done: list[int] = []
    work = Work(apart, runner, lambda _: None)
    work.carry_out(["left", "right"], lambda: done.append(1))
    assert not work.failures
    assert not work.problems
    assert runner.commands[0] == "copy shared"
    assert sorted(runner.commands[1:]) == [
        "copy left", "copy right", "translate left.news", "translate right.news"
    ]  # fmt: skip
    assert done == [1, 1]


def test_what_one_row_needs_is_made_at_once(folder: Path, tmp_path: Path) -> None:
    """In its order, ``right`` would be begun only when ``left`` is done."""
    together = Barrier(2)
    runner = Pretending(Interruption(), jobs=2)

    def meet(name: str) -> None:
        if name in SIDES:
            together.wait(20)

    runner.meet = meet
    work = Work(with_rows(folder, tmp_path, {"both": "{left} {right}"}), runner, lambda _: None)
    work.carry_out(["both"], lambda: None)
    assert not work.failures
    assert sorted(runner.commands[1:3]) == ["copy left", "copy right"]
    assert [runner.commands[0], *runner.commands[3:]] == ["copy shared", "translate both.news"]


def test_what_waits_for_its_turn_is_left_to_other_processes(apart: Workplace) -> None:
    runner = Pretending(Interruption(), jobs=2)
    work = Work(apart, runner, lambda _: None)
    first: list[str] = []

    def meet(name: str) -> None:
        if name in SIDES and not first:
            first.append(name)
            (other,) = SIDES - {name}
            wait_until(lambda: other in work._locks)
            time.sleep(0.1)  # the other row waits for its turn
            with apart.held(STAGES, other):
                pass

    runner.meet = meet
    with runner.turn():  # so that there is one for both
        work.carry_out(["left", "right"], lambda: None)
    assert first
    assert not work.failures
    assert not work.problems


def test_what_waits_for_its_turn_when_the_time_is_over_is_not_begun(apart: Workplace) -> None:
    runner = Pretending(Interruption(), jobs=2)
    told: list[str] = []
    work = Work(apart, runner, told.append)

    def meet(name: str) -> None:
        if name in SIDES:
            wait_until(lambda: work._locks.keys() >= SIDES)
            time.sleep(0.1)
            runner.interruption.signal = signal.SIGTERM
            raise StoppedError

    runner.meet = meet
    with runner.turn(), pytest.raises(StoppedError):
        work.carry_out(["left", "right"], lambda: None)
    (begun,) = [name for name in SIDES if apart.record(STAGES, name)]
    assert [line for line in told if line.startswith(tuple(SIDES))] == [
        f"{begun}: {shell(apart.command(begun))}"
    ]


def test_an_error_stops_what_is_made_beside_it(apart: Workplace) -> None:
    runner = Pretending(Interruption(), jobs=2)
    stopped: list[bool] = []

    def meet(name: str) -> None:
        if name == "left.news":
            wait_until(lambda: "copy right" in runner.commands)
        elif name == "right":
            with suppress(AssertionError):
                wait_until(runner._is_over)  # as a command that is told to stop
            stopped.append(runner._is_over())
            raise StoppedError

    def row_done() -> None:
        raise StorageError("table.md: no space left on device")

    runner.meet = meet
    with pytest.raises(StorageError, match="no space"):
        Work(apart, runner, lambda _: None).carry_out(["left", "right"], row_done)
    assert stopped == [True]


def wait_until(happens: Callable[[], bool]) -> None:
    """Look again and again, for a minute at most."""
    end = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.01)
