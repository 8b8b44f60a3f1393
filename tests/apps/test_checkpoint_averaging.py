"""The mean of checkpoints with adapters: of factors in one run, of whole weights otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_model import save_tiny_model
from torch import Tensor

from dragoman.apps.checkpoint_averaging import average_models
from dragoman.models.layers.low_rank import AdapterConfig, add_adapters, is_factor, merged
from dragoman.saved.model import WEIGHTS_FILE, load_model, weights_of
from dragoman.saved.tensor_file import read_tensors, write_tensors
from dragoman.training.checkpoint import path_of


def checkpoint(run: Path, step: int, seed: int, rank: int = 2) -> Path:
    """A checkpoint of a run, with factors that a seed draws."""
    model = load_model(run, "cpu").model
    add_adapters(model, AdapterConfig(rank=rank), seed)
    torch.manual_seed(seed)
    weights = {
        name: torch.randn_like(tensor) if is_factor(name) and tensor.dim() else tensor
        for name, tensor in weights_of(model).items()
    }
    path_of(run, step).mkdir(parents=True)
    write_tensors(path_of(run, step) / WEIGHTS_FILE, weights)
    return path_of(run, step)


def mean(*weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: torch.stack([one[name].double() for one in weights]).mean(0).float()
        for name in weights[0]
    }


def check_equal(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-6, atol=1e-6)


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Three runs, of which the first and the last began with the same model."""
    return [save_tiny_model(tmp_path / name, seed=seed) for name, seed in (("a", 1), ("c", 2))] + [
        save_tiny_model(tmp_path / "b", seed=1)
    ]


def test_adapters_of_several_runs_are_merged_before_they_are_averaged(
    runs: list[Path], tmp_path: Path
) -> None:
    """The mean of factors that were drawn apart from one another is the factor of nothing."""
    found = [checkpoint(run, 1, seed) for seed, run in enumerate(runs, 1)]
    whole = [merged(read_tensors(path / WEIGHTS_FILE)) for path in found]
    average_models(found, 1, tmp_path / "mean")
    check_equal(read_tensors(tmp_path / "mean" / WEIGHTS_FILE), mean(*whole))


def test_adapters_of_different_ranks_and_models_without_one_are_averaged(
    runs: list[Path], tmp_path: Path
) -> None:
    found = [checkpoint(runs[0], 1, 1), checkpoint(runs[2], 1, 2, rank=3), runs[1]]
    whole = [merged(read_tensors(path / WEIGHTS_FILE)) for path in found]
    average_models(found, 1, tmp_path / "mean")
    check_equal(read_tensors(tmp_path / "mean" / WEIGHTS_FILE), mean(*whole))


def test_factors_of_one_run_are_averaged_as_training_does(runs: list[Path], tmp_path: Path) -> None:
    found = [checkpoint(runs[0], step, step) for step in (1, 2)]
    factors = mean(*(read_tensors(path / WEIGHTS_FILE) for path in found))
    average_models(found, 1, tmp_path / "mean")
    check_equal(read_tensors(tmp_path / "mean" / WEIGHTS_FILE), merged(factors))
