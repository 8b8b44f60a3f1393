"""The precision of a run: decided once, from the hardware, and kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from command_line import experiment, write_experiment

from dragoman.core import device
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text import synthetic
from dragoman.training.distributed import World

CPU = World(0, 1, torch.device("cpu"))


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run whose precision is left to the hardware, and that translates nothing."""
    folder = tmp_path_factory.mktemp("recipe")
    synthetic.write(folder, 100, dev=10, test=10)
    values = experiment()
    del values["data"]["test"]
    values["evaluation"] = {"metrics": []}
    values["training"] |= {"precision": "auto", "max_steps": 8}
    return write_experiment(folder, values)


def begin(recipe: Path, run: Path, *settings: str) -> Experiment:
    return Experiment.create(read_experiment(recipe, settings), run)


def train(experiment: Experiment) -> None:
    experiment.train(experiment.prepare(), CPU, lambda step: [])


def recorded(run: Path) -> str:
    text = (run / "config.yaml").read_text(encoding="utf-8")
    found: str = yaml.safe_load(text)["training"]["precision"]
    return found


def has_bfloat16(monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:
    monkeypatch.setattr(device, "computes_bfloat16", lambda where: answer)


@pytest.mark.parametrize(("first", "decided"), [(True, "bfloat16"), (False, "float32")])
def test_a_run_keeps_the_precision_that_it_began_with(
    first: bool,
    decided: str,
    recipe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Resumed on hardware of the other kind it ends with the same weights, bit for bit."""
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    has_bfloat16(monkeypatch, not first)
    begin(recipe, parted, "training.max_steps=4").prepare()
    assert recorded(parted) == "auto"  # training decides, perhaps elsewhere
    has_bfloat16(monkeypatch, first)
    train(begin(recipe, whole))
    train(Experiment.open(parted))
    assert recorded(whole) == recorded(parted) == decided
    assert "in bfloat16" not in caplog.text
    has_bfloat16(monkeypatch, not first)
    path = parted / "config.yaml"
    path.write_text(path.read_text("utf-8").replace("max_steps: 4", "max_steps: 8"), "utf-8")
    resumed = Experiment.open(parted)
    train(resumed)
    assert recorded(parted) == resumed.config.training.precision == decided
    warned = [record.message for record in caplog.records if "in bfloat16" in record.message]
    assert len(warned) == (decided == "bfloat16")
    for message in warned:
        assert message.startswith(f"{parted} computes in bfloat16")
        assert "slow" in message
        assert f"{path} --run OTHER --set training.precision=float32" in message
    expected, found = (read_tensors(run / "model" / WEIGHTS_FILE) for run in (whole, parted))
    assert expected.keys() == found.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


def test_an_older_run_that_says_auto_is_decided_when_it_is_resumed(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_bfloat16(monkeypatch, False)
    train(begin(recipe, tmp_path, "training.max_steps=2"))
    path = tmp_path / "config.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("precision: float32", "precision: auto"), encoding="utf-8")
    train(Experiment.open(tmp_path))
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("leading", [True, False])
def test_all_processes_take_the_precision_of_the_leading_one(
    leading: bool, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pair(World):
        """A process of two; what the other one says is given."""

        def gather(self, work: Callable[[], Any]) -> list[Any]:
            lead, follow = (name(leading), not leading), (name(not leading), leading)
            mine = work()
            assert mine in (None, list(lead if self.is_leader else follow))
            return [lead, follow] if mine else [None, None]

    def name(has: bool) -> str:
        return "bfloat16" if has else "float32"

    def decided(one: Experiment, rank: int) -> ExperimentConfig:
        one._decide_precision(Pair(rank, 2, CPU.device))
        return one.config

    has_bfloat16(monkeypatch, leading)
    leader = decided(begin(recipe, tmp_path / "run"), 0)
    has_bfloat16(monkeypatch, not leading)
    assert decided(Experiment(read_experiment(recipe), tmp_path / "none"), 1) == leader
    assert leader.training.precision == ("bfloat16" if leading else "float32")
    assert recorded(tmp_path / "run") == leader.training.precision
    assert not (tmp_path / "none").exists()  # the leading process writes
