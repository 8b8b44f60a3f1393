"""Adapters on disk: small files that belong to one model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_model import save_tiny_adapter, save_tiny_model
from torch import Tensor

from dragoman.core.errors import SavedError
from dragoman.saved.adapter import ADAPTER_FILE, read_adapter
from dragoman.saved.model import load_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors, weights_digest, write_tensors


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_tiny_model(tmp_path / "model")


def merged_by_hand(model: Path, factors: dict[str, Tensor]) -> dict[str, Tensor]:
    found = {name: tensor.double() for name, tensor in read_tensors(model / WEIGHTS_FILE).items()}
    for name, up in factors.items():
        if name.endswith(".up"):
            layer = name.removesuffix(".low_rank.up")
            down = factors[f"{layer}.low_rank.down"].double()
            for row in range(len(up)):
                for k in range(len(down)):
                    found[f"{layer}.weight"][row] += 8 * up[row, k].double() * down[k]
    return found


def test_a_loaded_model_has_the_adapter_in_its_weights(model: Path, tmp_path: Path) -> None:
    path = save_tiny_adapter(tmp_path / "a.safetensors", model)
    adapter = read_adapter(path)
    assert adapter.factors["decoder.0.feed_forward.outer.low_rank.factor"] == 8  # 16 / rank 2
    found = dict(load_model(model, "cpu", adapter).model.named_parameters())
    expected = merged_by_hand(model, adapter.factors)
    assert found.keys() == expected.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor.double(), expected[name], rtol=1e-6, atol=1e-7)
    assert path.stat().st_size < (model / WEIGHTS_FILE).stat().st_size
    plain = dict(load_model(model, "cpu").model.named_parameters())
    changed = {name for name in plain if not torch.equal(plain[name], found[name])}
    assert changed == adapter.matrices


def test_a_run_stands_for_its_adapter(model: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(SavedError, match=r"run: no adapter here \(adapter.safetensors is missing"):
        read_adapter(tmp_path / "run")
    path = save_tiny_adapter(tmp_path / "run" / ADAPTER_FILE, model)
    assert read_adapter(tmp_path / "run").path == path


def test_an_adapter_of_another_model_is_refused(model: Path, tmp_path: Path) -> None:
    other = save_tiny_model(tmp_path / "other", seed=2)
    adapter = read_adapter(save_tiny_adapter(tmp_path / "a.safetensors", other))
    with pytest.raises(SavedError, match=r"a.safetensors: an adapter of another model.*start_from"):
        load_model(model, "cpu", adapter)


def test_files_that_are_no_adapter_or_damaged_are_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(SavedError, match="nothing: no adapter; a finished run with"):
        read_adapter(tmp_path / "nothing")
    with pytest.raises(SavedError, match="not an adapter but other weights"):
        read_adapter(model / WEIGHTS_FILE)
    path = save_tiny_adapter(tmp_path / "a.safetensors", model)
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    with pytest.raises(SavedError, match="truncated or damaged"):
        read_adapter(path)
    path.write_bytes(whole[:-3] + b"abc")
    with pytest.raises(SavedError, match="altered"):
        read_adapter(path)
    path.write_bytes(b"no tensors")
    with pytest.raises(SavedError, match="truncated or damaged"):
        read_adapter(path)


def test_factors_of_other_layers_or_shapes_are_refused(model: Path, tmp_path: Path) -> None:
    path = save_tiny_adapter(tmp_path / "a.safetensors", model)
    factors = read_adapter(path).factors
    metadata = {"adapter": "low_rank", "of": weights_digest(model)}

    def refused(changed: dict[str, Tensor], said: str) -> None:
        write_tensors(path, changed, metadata)
        with pytest.raises(SavedError, match=said):
            load_model(model, "cpu", read_adapter(path))

    refused({name.replace("decoder", "coder"): t for name, t in factors.items()}, "does not fit")
    refused({name: t for name, t in factors.items() if not name.endswith("up")}, "does not fit")
    wide = {name: t[:, :3] if name.endswith("down") else t for name, t in factors.items()}
    refused(wide, "does not fit the layers")
    refused({name: t * torch.nan for name, t in factors.items()}, "NaN")
