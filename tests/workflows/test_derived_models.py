"""The mean of checkpoints with adapters: of factors in one run, of whole weights otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_model import save_tiny_adapter, save_tiny_model
from torch import Tensor

from dragoman.core.errors import ConfigError, SavedError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.layers.low_rank import AdapterConfig, add_adapters, is_factor, merged
from dragoman.saved.model import CARD_FILE, load_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors, weights_of, write_tensors
from dragoman.text.context import ContextConfig
from dragoman.text.examples import Direction
from dragoman.training.bounds import Watched
from dragoman.training.checkpoint import Progress, path_of, write_checkpoint
from dragoman.workflows.derived_models import average_models, merge_adapter


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


def test_a_run_with_bounds_is_not_averaged(tmp_path: Path) -> None:
    """It keeps the state before the first step and states outside, which are no models."""
    run = save_tiny_model(tmp_path / "run")
    weights = {name: one.detach() for name, one in weights_of(load_model(run, "cpu").model).items()}
    for step in (0, 10):
        watched = Watched({"general": 60.0}, {"general": 59.5}, step)
        write_checkpoint(run, Progress(step=step, watched=watched), weights, {})
    with pytest.raises(ConfigError, match=r"run: training.bounds holds for single checkpoints"):
        average_models([run], 5, tmp_path / "mean")
    average_models([path_of(run, 0), path_of(run, 10)], 5, tmp_path / "mean")


def test_models_that_read_something_else_are_not_averaged(tmp_path: Path) -> None:
    context = ContextConfig()
    tags = "<2de>", context.separator
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 8, "heads": 2}
    in_decoder = TransformerConfig(**sizes, language_tags="decoder")
    directions = (Direction(source_language="en", target_language="de", tags=("<2de>",)),)
    made = {
        "alone": save_tiny_model(
            tmp_path / "a", tags=tags, directions=directions, config=TransformerConfig(**sizes)
        ),
        "context": save_tiny_model(tmp_path / "b", context=context, tags=tags[:1], seed=2),
        "language_tags": save_tiny_model(
            tmp_path / "c", tags=tags, directions=directions, config=in_decoder, seed=2
        ),
    }
    for name in ("context", "language_tags"):
        for pair in (("alone", name), (name, "alone")):
            with pytest.raises(SavedError, match=f"of another configuration: .*{name}"):
                average_models([made[one] for one in pair], 5, tmp_path / "mean")


def test_the_card_keeps_that_of_the_model(tmp_path: Path) -> None:
    """What people wrote into it too, such as a licence."""
    model = save_tiny_model(tmp_path / "model")
    (model / CARD_FILE).write_text("# Mine\n\nLicence: CC-BY-4.0.\n", encoding="utf-8")
    adapter = save_tiny_adapter(tmp_path / "adapter.safetensors", model)
    merge_adapter(model, adapter, tmp_path / "merged")
    card = (tmp_path / "merged" / CARD_FILE).read_text(encoding="utf-8")
    assert "made with Dragoman. It is the model with the weights" in card
    assert "\n> # Mine\n>\n> Licence: CC-BY-4.0.\n" in card
    assert "not recorded here" not in card
    (model / CARD_FILE).unlink()
    merge_adapter(model, adapter, tmp_path / "again")
    assert "not recorded here" in (tmp_path / "again" / CARD_FILE).read_text(encoding="utf-8")
