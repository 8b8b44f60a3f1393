"""Linear layers with packed weights compute what they did, and notice when weights change."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tiny_model import save_tiny_model
from torch import nn
from torch.nn import functional

from dragoman.saved.system import TranslationSystem
from dragoman.translation.engines import packing
from dragoman.translation.engines.packing import PackedLinear, pack_weights
from dragoman.translation.opening import open_system

here = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="PyTorch without oneDNN packs nothing"
)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack on any processor, and matrices of any size."""
    monkeypatch.setattr(packing, "packs_weights", lambda device: True)
    monkeypatch.setitem(packing._LEAST_WEIGHTS, torch.float32, 1)


@here
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
@torch.no_grad()
def test_products_are_the_same(dtype: torch.dtype, bias: bool) -> None:
    if not packing.computes_packed(dtype):
        pytest.skip(f"the oneDNN of this processor packs no {dtype}")
    torch.manual_seed(1)
    plain = nn.Linear(7, 11, bias=bias).to(dtype)
    packed = PackedLinear(plain)
    for shape in ((3, 7), (2, 5, 7), (1, 7), (0, 7)):
        x = torch.randn(shape).to(dtype)
        exact = functional.linear(
            x.double(), plain.weight.double(), None if plain.bias is None else plain.bias.double()
        )
        near = 2e-2 if dtype is torch.bfloat16 else 1e-5
        torch.testing.assert_close(packed(x).double(), exact, rtol=near, atol=near)


@here
@torch.no_grad()
def test_changed_weights_are_packed_again() -> None:
    packed = PackedLinear(nn.Linear(5, 3))
    x = torch.randn(2, 5)
    packed(x)
    packed.weight.copy_(torch.randn(3, 5))  # as adapters are exchanged
    torch.testing.assert_close(packed(x), functional.linear(x, packed.weight, packed.bias))
    packed.to(torch.float64).to(torch.float32)  # new memory for the same parameter
    packed.weight.data = torch.randn(3, 5)
    torch.testing.assert_close(packed(x), functional.linear(x, packed.weight, packed.bias))


@here
def test_the_parameters_stay_what_they_were() -> None:
    torch.manual_seed(1)  # with some weights, no unit is above 0
    plain = nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 2))
    before = plain.state_dict()
    pack_weights(plain)
    assert [type(one) for one in plain] == [PackedLinear, nn.ReLU, PackedLinear]
    with torch.no_grad():
        found = plain(torch.ones(1, 5))
    after = plain.state_dict()
    assert after.keys() == before.keys()
    assert all(after[name].data_ptr() == before[name].data_ptr() for name in before)
    with torch.no_grad():
        torch.testing.assert_close(copy.deepcopy(plain)(torch.ones(1, 5)), found)
    plain(torch.ones(1, 5)).sum().backward()  # gradients go the ordinary way
    gradient = plain.get_parameter("0.weight").grad
    assert gradient is not None
    assert gradient.abs().sum() > 0


@here
def test_systems_are_opened_packed(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    opened = open_system(TranslationSystem(models=(model,), device="cpu"))
    linear = [m for m in opened.models[0].modules() if isinstance(m, nn.Linear)]
    assert {type(one) for one in linear} == {PackedLinear}


@pytest.mark.parametrize(
    ("weight", "packs"),
    [
        (torch.zeros(4, 4), True),
        (torch.zeros(4, 3), False),
        (torch.zeros(4, 3, dtype=torch.bfloat16), True),
        (torch.zeros(4, 4, dtype=torch.float64), False),
        (torch.zeros(4, 4, device="meta"), False),
    ],
)
def test_only_larger_matrices_on_processors_that_gain(
    weight: torch.Tensor, packs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(packing._LEAST_WEIGHTS, torch.float32, 16)
    monkeypatch.setattr(packing, "packs_weights", lambda device: device.type == "cpu")
    linear = nn.Linear(4, 4)
    linear.weight = nn.Parameter(weight)
    model = nn.Sequential(linear)
    pack_weights(model)
    packs = packs and packing.computes_packed(weight.dtype)
    assert isinstance(model[0], PackedLinear) is packs


class TestWithoutTheOperations:
    """They are not documented: a PyTorch that lacks or changes them computes as it always does."""

    @pytest.fixture(autouse=True)
    def untried(self) -> Iterator[None]:
        packing.computes_packed.cache_clear()
        yield
        packing.computes_packed.cache_clear()

    @pytest.mark.parametrize("name", ["_reorder_linear_weight", "_linear_pointwise"])
    @pytest.mark.parametrize("error", [AttributeError, TypeError, RuntimeError, None])
    def test_weights_stay_as_they_are(
        self, name: str, error: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def gone(*_: object) -> torch.Tensor:
            if error is not None:
                raise error(name)
            return torch.zeros(1, 2)  # or computes something else

        ops = SimpleNamespace(
            _reorder_linear_weight=lambda weight, _: weight,
            _linear_pointwise=lambda x, weight, *_: functional.linear(x, weight),
        )
        setattr(ops, name, gone)
        monkeypatch.setattr(torch.ops, "mkldnn", ops, raising=False)
        model = nn.Sequential(nn.Linear(4, 4))
        pack_weights(model)
        assert type(model[0]) is nn.Linear

    @here
    def test_here_they_are_there(self) -> None:
        assert packing.computes_packed(torch.float32)


def test_the_processor_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    for capability, packs in (("AVX512", True), ("AVX2", False), ("DEFAULT", False)):
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda c=capability: c)
        assert packing.packs_weights(cpu) is packs
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    assert not packing.packs_weights(torch.device("cuda"))
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not packing.packs_weights(cpu)
