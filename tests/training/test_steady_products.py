"""Linear layers that compute with few different numbers of rows compute what they did."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch
from families import VARIATIONS, build, variations
from hypothesis import given
from hypothesis import strategies as st
from reversal import Reversal
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from dragoman.data.batches import Batch
from dragoman.models import ModelConfig
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.low_rank import AdapterConfig, add_adapters
from dragoman.training import steady_products
from dragoman.training import trainer as trainer_module
from dragoman.training.objectives import CrossEntropy
from dragoman.training.steady_products import (
    SteadyLinear,
    gains_from_steady_products,
    make_products_steady,
    steady_rows,
)
from dragoman.training.trainer import Trainer


@given(st.integers(1, 200_000))
def test_few_rows_are_added(rows: int) -> None:
    more = steady_rows(rows)
    assert rows <= more < rows + max(16, rows / 8)
    assert more % 16 == 0
    assert steady_rows(more) == more


def test_there_are_few_sizes_of_large_products() -> None:
    assert len({steady_rows(rows) for rows in range(2049, 4097)}) == 16
    assert steady_rows(2049) == 2176
    assert steady_rows(4096) == 4096


def steady(layer: nn.Linear) -> nn.Linear:
    make_products_steady(layer)
    assert type(layer) is SteadyLinear
    return layer


def results(layer: nn.Module, x: Tensor, gradient: Tensor) -> dict[str, Tensor]:
    """Product and gradients of a layer, in float64."""
    x = x.clone().requires_grad_()
    product = layer(x)
    names, parameters = zip(*layer.named_parameters(), strict=True)
    found = torch.autograd.grad(product, [x, *parameters], gradient)
    return {"product": product, "x": found[0]} | dict(zip(names, found[1:], strict=True))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(5, 7), (3, 11, 7), (17, 7), (1, 7), (0, 7), (16, 7)])
def test_products_and_gradients_are_the_same(
    shape: tuple[int, ...], dtype: torch.dtype, bias: bool
) -> None:
    torch.manual_seed(1)
    plain = nn.Linear(7, 13, bias=bias).to(dtype)
    x, gradient = torch.randn(shape).to(dtype), torch.randn(*shape[:-1], 13).to(dtype)
    expected = results(copy.deepcopy(plain).double(), x.double(), gradient.double())
    near = 2e-2 if dtype is torch.bfloat16 else 1e-12
    for name, found in results(steady(plain), x, gradient).items():
        assert found.dtype is dtype
        torch.testing.assert_close(found.double(), expected[name], rtol=near, atol=near)


def test_inputs_without_a_gradient_and_turned_ones() -> None:
    layer = steady(nn.Linear(7, 13))
    x = torch.randn(7, 5).t()
    torch.testing.assert_close(layer(x), functional.linear(x, layer.weight, layer.bias))
    layer(x).sum().backward()
    assert layer.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(13, 7))
    layer.weight.requires_grad_(False)
    y = x.clone().requires_grad_()
    layer(y).sum().backward()
    torch.testing.assert_close(y.grad, layer.weight.sum(0).expand(5, 7))


class LinearRows(TorchFunctionMode):
    """Notes how many rows linear layers are given."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[int] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if function is functional.linear:
            self.found.append(args[0].numel() // args[0].shape[-1])
        return function(*args, **(kwargs or {}))


def gradients(model: nn.Module, batch: Batch) -> dict[str, Tensor]:
    """Of the loss of a batch, by the names of the parameters."""
    CrossEntropy(0.1).backward(cast(TranslationModel, model), batch, 1.0)
    return {name: one.grad for name, one in model.named_parameters() if one.grad is not None}


def test_products_may_be_changed_in_place() -> None:
    layer = steady(nn.Linear(7, 1))
    product = layer(torch.randn(3, 5, 7)).squeeze(-1)
    product *= 2
    product.sum().backward()
    assert layer.bias.grad == 30


@pytest.mark.parametrize("config", variations())
@pytest.mark.no_cover
def test_models_learn_the_same(config: ModelConfig) -> None:
    check_that_it_learns_the_same(build(config))


@pytest.mark.parametrize("name", ["transformer", "recurrent"])
def test_adapters_learn_the_same(name: str) -> None:
    model = build(VARIATIONS[name])
    add_adapters(model, AdapterConfig(rank=2), 1)
    check_that_it_learns_the_same(model.double())


def check_that_it_learns_the_same(plain: TranslationModel) -> None:
    changed = copy.deepcopy(plain)
    make_products_steady(changed)
    assert not any(type(module) is nn.Linear for module in changed.modules())
    batch = next(Reversal(sentences=5).all_batches())
    expected, found = gradients(plain, batch), gradients(changed, batch)
    assert found.keys() == expected.keys()
    for key in expected:
        torch.testing.assert_close(found[key], expected[key])


def test_a_transformer_learns_from_few_numbers_of_rows() -> None:
    model = build(VARIATIONS["transformer"])
    make_products_steady(model)
    with LinearRows() as rows:
        gradients(model, next(Reversal(sentences=5).all_batches()))
    learned = [count for count in rows.found if count > 1]  # one row: how many scores it has
    assert len(learned) > 10
    assert all(count % 16 == 0 for count in learned)


def test_search_has_plain_products() -> None:
    layer = steady(nn.Linear(7, 13))
    with torch.no_grad(), LinearRows() as rows:
        layer(torch.randn(3, 7))
    assert rows.found == [3]


def test_only_bfloat16_on_a_cpu_with_amx_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(steady_products, "computes_bfloat16", lambda device: True)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    assert gains_from_steady_products(cpu, torch.bfloat16)
    assert not gains_from_steady_products(cpu, torch.float32)
    assert not gains_from_steady_products(torch.device("cuda"), torch.bfloat16)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert not gains_from_steady_products(cpu, torch.bfloat16)


def test_a_trainer_makes_products_steady_where_that_gains(
    trainer: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = []
    for gains in (False, True):
        monkeypatch.setattr(
            trainer_module, "gains_from_steady_products", lambda *_, gains=gains: gains
        )
        one = trainer(tmp_path / str(gains))
        one.train()
        made.append(one)
    found = [any(type(m) is SteadyLinear for m in one.model.modules()) for one in made]
    assert found == [False, True]
    first, second = (one.sharding.weights() for one in made)
    assert first.keys() == second.keys()
    for name, expected in first.items():
        torch.testing.assert_close(second[name], expected, rtol=1e-3, atol=1e-3)
