"""A local cluster of two raylets, as if they were two machines; ``make test-cluster`` runs this."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from tiny_model import save_tiny_model

pytest.importorskip("ray", reason="Ray, of the extra cluster, is not installed")

from cluster_work import Slow

pytestmark = [
    pytest.mark.skipif(
        "DRAGOMAN_TEST_CLUSTER" not in os.environ,
        reason="a minute of work; make test-cluster sets DRAGOMAN_TEST_CLUSTER",
    ),
    pytest.mark.filterwarnings("ignore"),  # of Ray, about processes that it leaves running
]


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """Two of them, with a core each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        node: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
        cluster = Cluster()
        for _ in range(2):
            _add_node(cluster, {**node, "include_dashboard": False})
        cluster.wait_for_nodes()
        yield cluster
        cluster.shutdown()


def _add_node(cluster: Any, node: dict[str, Any]) -> None:
    """Start one; a busy machine may not do so in half a minute, for which Ray waits."""
    for left in reversed(range(5)):
        try:
            cluster.add_node(**node)
            return
        except Exception:
            if not left:
                raise


def test_all_commands_give_what_one_process_gives(
    machines: Any, config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    model = save_tiny_model(tmp_path / "model")
    rng = random.Random(1)
    lines = (" ".join(rng.choices("abcde", k=rng.randint(1, 6))) for _ in range(60))
    (tmp_path / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    commands = {
        "prepare": (config, "--run"),
        "clean": (config, "--output"),
        "count": (config, "--output"),
        "translate": (model, "--text", tmp_path / "text", "--output"),
    }
    for name, arguments in commands.items():
        for how in (("--workers", 0), ("--cluster", machines.address)):
            output = tmp_path / name / how[0].strip("-")
            given = ("bulk", name, *arguments, output, "--shard-lines", 20, *how)
            outcome = dragoman(*given)
            assert outcome.code == 0, outcome.err
        alone, shared = (tmp_path / name / how for how in ("workers", "cluster"))
        files = [file.relative_to(alone) for file in alone.rglob("*") if file.is_file()]
        compared = [file for file in files if not file.name.startswith(".")]
        assert len(compared) > 1
        for file in compared:
            if file.name != "store.json":  # which has times
                assert (alone / file).read_bytes() == (shared / file).read_bytes(), file


def test_a_machine_that_is_lost(machines: Any, tmp_path: Path) -> None:
    """Its work is done by the other, and nothing waits for it."""
    from dragoman.workflows.cluster import connected

    (tmp_path / "warm").mkdir()
    with connected(machines.address, None) as runner:
        assert runner.machines == 2
        warm = dict(runner.carry_out(Slow(tmp_path / "warm"), range(12)))
        assert len(set(warm.values())) == 2, "both work"
        (lost,) = machines.worker_nodes
        killer = threading.Timer(2, machines.remove_node, (lost,), {"allow_graceful": False})
        killer.start()
        found = dict(runner.carry_out(Slow(tmp_path), range(24)))
        killer.join()
        assert found.keys() == set(range(24))
        assert len(list(tmp_path.glob("*.done"))) == 24


def test_no_cluster_there(dragoman: CommandLine, config: Path, tmp_path: Path) -> None:
    outcome = dragoman(
        "bulk", "clean", config, "--output", tmp_path / "made", "--cluster", "127.0.0.1:1"
    )
    assert outcome.code == 2, outcome.err
    assert "no Ray cluster can be reached there" in outcome.err
