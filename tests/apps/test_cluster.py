"""Ray carries out work whatever happens to its workers; one Ray is started for all tests here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray, of the extra cluster, is not installed")

from cluster_work import KilledOnce, mistaken, refused, squared

from dragoman.apps import cluster
from dragoman.apps.cluster import RayRunner, connected
from dragoman.core.errors import ConfigError, DataError, WorkerError

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray, about processes that it leaves running


@pytest.fixture(scope="module")
def runner() -> Iterator[RayRunner]:
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # as workers find an installed package
    try:
        with connected(None, 2) as runner:
            yield runner
    except WorkerError as error:
        pytest.skip(f"this machine is too busy: {error}")
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


def test_machines_with_another_version(runner: RayRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.__version__", "99")
    with pytest.raises(ConfigError, match="install the same version on all"):
        dict(runner.carry_out(squared, [1]))


def test_machines_without_the_folder(
    runner: RayRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    monkeypatch.setattr(os, "getcwd", lambda: str(tmp_path / "here"))
    with pytest.raises(ConfigError, match="a file system that all of them share"):
        dict(runner.carry_out(squared, [1]))


def test_without_ray() -> None:
    script = "import sys; sys.modules['ray'] = None\nimport dragoman.apps.cluster"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "MissingExtraError: Ray (the extra 'cluster') is not installed" in ended.stderr
