"""Ray carries out work whatever happens to its workers.

What needs a Ray shares one, which only ``make test-cluster`` starts; the rest is quick.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("ray", reason="Ray, of the extra cluster, is not installed")

import ray
from cluster_work import KilledOnce, mistaken, refused, squared

import dragoman
from dragoman.core.errors import ConfigError, DataError, WorkerError
from dragoman.workflows import cluster
from dragoman.workflows.cluster import (
    RayRunner,
    _carry_out,
    _check_gpus,
    _Outcome,
    _result,
    connected,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray, about processes that it leaves running


@pytest.fixture(scope="module")
def runner() -> Iterator[RayRunner]:
    if "DRAGOMAN_TEST_CLUSTER" not in os.environ:
        pytest.skip("starts a Ray; make test-cluster sets DRAGOMAN_TEST_CLUSTER")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # as workers find an installed package
    try:
        with connected(None, 2) as runner:
            yield runner
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def test_everything_is_done_once(runner: RayRunner) -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(20):
            drawn.append(number)
            yield number

    found: dict[int, int] = {}
    for item, result in runner.carry_out(squared, items()):
        assert len(drawn) <= len(found) + 4, "only a few items are taken in advance"
        assert item not in found
        found[item] = result
    assert found == {number: number**2 for number in range(20)}
    assert runner.machines == 1


def test_errors_of_workers(runner: RayRunner) -> None:
    with pytest.raises(DataError, match=r"^file:3: not UTF-8$"):
        dict(runner.carry_out(refused, range(9)))
    with pytest.raises(ZeroDivisionError):
        dict(runner.carry_out(mistaken, range(9)))


def test_work_of_a_killed_worker_is_repeated(runner: RayRunner, tmp_path: Path) -> None:
    found = dict(runner.carry_out(KilledOnce(tmp_path), range(2)))
    assert found == {0: 0, 1: 1}
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("runner")
def test_a_worker_that_is_always_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_REPEATS", 0)
    with pytest.raises(WorkerError, match="fewer --workers or --shard-lines"):
        dict(RayRunner().carry_out(KilledOnce(None), [1]))


class TestATask:
    """What a worker does with it, here without one."""

    def test_results_and_errors_come_back_as_values(self) -> None:
        version, folder = dragoman.__version__, os.getcwd()
        assert _carry_out(squared, 3, version, folder).result == 9
        error = _carry_out(refused, 3, version, folder).error
        assert isinstance(error, DataError)
        with pytest.raises(ZeroDivisionError):
            _carry_out(mistaken, 2, version, folder)

    def test_machines_with_another_version(self) -> None:
        error = _carry_out(squared, 1, "99", os.getcwd()).error
        assert isinstance(error, ConfigError)
        assert "install the same version on all" in str(error)

    def test_machines_without_the_folder(self, tmp_path: Path) -> None:
        error = _carry_out(squared, 1, dragoman.__version__, str(tmp_path / "gone")).error
        assert isinstance(error, ConfigError)
        assert "a file system that all of them share" in str(error)

    def test_it_works_in_the_folder_of_the_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir("/")  # and back, after the test
        found = _carry_out(Path.absolute, Path("a"), dragoman.__version__, str(tmp_path))
        assert found.result == tmp_path / "a"


class TestWhatRaySays:
    """Of a task, with words of its own."""

    def result(self, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        def get(task: object) -> object:
            raise error

        monkeypatch.setattr(ray, "get", get)
        _result(None)

    def test_a_worker_that_is_lost_again_and_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(WorkerError, match=r"9 times .*fewer --workers or --shard-lines"):
            self.result(monkeypatch, ray.exceptions.WorkerCrashedError())

    def test_a_fault_of_ours_keeps_its_kind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fault = ray.exceptions.RayTaskError("work", "traceback", ZeroDivisionError("of ours"))
        with pytest.raises(ZeroDivisionError):
            self.result(monkeypatch, fault)


class TestWhatIsLeftBehind:
    """Of work that is given up between two results."""

    @pytest.mark.parametrize("connected", [True, False])
    def test_is_cancelled_unless_ray_has_ended(
        self, connected: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ray would be started to cancel what ended with it."""
        cancelled: list[object] = []
        task = SimpleNamespace(remote=lambda *_: object())
        doubles = {
            "remote": lambda **_: lambda _: task,
            "put": lambda one: one,
            "cluster_resources": lambda: {"CPU": 1.0},
            "wait": lambda tasks, num_returns: (tasks[:1], tasks[1:]),
            "get": lambda _: _Outcome(0),
            "is_initialized": lambda: connected,
            "cancel": lambda one, force: cancelled.append(one),
        }
        for name, double in doubles.items():
            monkeypatch.setattr(ray, name, double)
        results = iter(RayRunner().carry_out(squared, range(9)))
        assert next(results) == (0, 0)
        results.close()  # type: ignore[attr-defined]
        assert len(cancelled) == connected

    def test_memory_is_not_tried_for_without_end(self) -> None:
        assert ("RAY_task_oom_retries", str(cluster._REPEATS)) in os.environ.items()


def test_machines_are_counted_from_time_to_time_until_ray_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What work has cost is told at the end, long after the last task."""
    alive = [{"Alive": True}, {"Alive": True}, {"Alive": False}]
    monkeypatch.setattr(ray, "nodes", lambda: alive)
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "remote", lambda **_: lambda work: work)
    runner = RayRunner()
    assert runner.machines == 2
    alive.append({"Alive": True})
    assert runner.machines == 2  # seconds have not passed
    monkeypatch.setattr(cluster, "_MACHINES_SECONDS", -1.0)
    assert runner.machines == 3

    def not_started() -> None:
        raise ray.exceptions.RaySystemError("Ray has not been started yet")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "nodes", not_started)
    assert runner.machines == 3


class TestGpus:
    """Ray would wait for those that no machine has until the end of days, and say nothing."""

    @pytest.mark.parametrize(
        ("wanted", "there", "refused"),
        [(0, [0], False), (1, [0, 1], False), (0.5, [1], False), (1, [0], True), (2, [1, 1], True)],
    )
    def test_that_no_machine_has_are_refused(
        self, wanted: float, there: list[int], refused: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nodes = [{"Alive": True, "Resources": {"GPU": float(one)}} for one in there]
        nodes += [{"Alive": False, "Resources": {"GPU": 8.0}}, {"Alive": True, "Resources": {}}]
        monkeypatch.setattr(ray, "nodes", lambda: nodes)
        with pytest.raises(ConfigError, match="--gpus") if refused else nullcontext():
            _check_gpus(wanted)


def test_without_ray() -> None:
    script = "import sys; sys.modules['ray'] = None\nimport dragoman.workflows.cluster"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "MissingExtraError: Ray (the extra 'cluster') is not installed" in ended.stderr
