"""Products of integers of eight bits are what the formula says, and those of a row its own."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from command_line import CommandLine
from families import VOCABULARY, build, random_ids, teacher_force, variations
from hypothesis import given, settings
from hypothesis import strategies as st
from largest_tensor import LargestTensor
from tiny_model import save_tiny_model
from torch import Tensor, nn
from torch.nn import functional

from dragoman.core.errors import ConfigError
from dragoman.models import ModelConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import settle_weights
from dragoman.saved.system import TranslationSystem
from dragoman.translation.engines import quantised
from dragoman.translation.engines.packing import put_weight
from dragoman.translation.engines.quantised import (
    QuantisedLinear,
    check_int8,
    quantise_weights,
    release_weights,
)
from dragoman.translation.opening import open_system
from dragoman.translation.translator import Translator

CPU = torch.device("cpu")
here = pytest.mark.skipif(
    not quantised.input_levels(), reason="PyTorch has no products of 8-bit integers here"
)


@pytest.fixture
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of any size are quantised."""
    monkeypatch.setattr(quantised, "LEAST_WEIGHTS", 1)


def by_formula(x: Tensor, linear: nn.Linear, levels: int) -> Tensor:
    """The sums of integers, exactly, and what they stand for in float64."""
    a = (x.abs().amax(-1, keepdim=True) / levels).double()
    b = (linear.weight.detach().abs().amax(1) / 127).double()
    q, w = (x / a.float()).round().long(), (linear.weight.detach() / b.float()[:, None]).round()
    bias = 0 if linear.bias is None else linear.bias.detach().double()
    return (q @ w.long().T) * a * b + bias


@here
@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(1, 6),
    inputs=st.integers(1, 70),
    outputs=st.integers(1, 40),
    bias=st.booleans(),
    levels=st.sampled_from([63, 127]),
    seed=st.integers(0, 99),
)
@torch.no_grad()
def test_products_are_those_of_the_formula(
    rows: int, inputs: int, outputs: int, bias: bool, levels: int, seed: int
) -> None:
    torch.manual_seed(seed)
    linear = nn.Linear(inputs, outputs, bias=bias)
    x = torch.randn(rows, inputs) * 10 ** torch.randint(-3, 4, (rows, 1))
    with pytest.MonkeyPatch.context() as patch:
        levels = min(levels, quantised.input_levels())
        patch.setattr(quantised, "input_levels", lambda: levels)
        found = QuantisedLinear(linear)(x)
        expected = by_formula(x, linear, levels)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)


@here
@torch.no_grad()
def test_the_largest_sums_do_not_overflow() -> None:
    """As pairs of products would in 16 bits, on processors that add them up there."""
    linear = nn.Linear(512, 16, bias=False)
    linear.weight.fill_(1.0)
    x = torch.ones(3, 512)
    torch.testing.assert_close(QuantisedLinear(linear)(x), torch.full((3, 16), 512.0))
    torch.testing.assert_close(QuantisedLinear(linear)(-x), torch.full((3, 16), -512.0))


@here
@torch.no_grad()
def test_a_row_does_not_depend_on_its_neighbours() -> None:
    torch.manual_seed(1)
    layer = QuantisedLinear(nn.Linear(40, 24))
    x = torch.randn(50, 40) * torch.rand(50, 1) * 1000
    together = layer(x)
    assert torch.equal(together, torch.cat([layer(row.unsqueeze(0)) for row in x]))
    assert torch.equal(together.view(5, 10, 24), layer(x.view(5, 10, 40)))
    spoilt = x.clone()
    spoilt[3], spoilt[4] = torch.nan, 0.0
    found = layer(spoilt)
    assert found[3].isnan().all()
    assert torch.equal(found[4], layer.bias)
    assert torch.equal(found[5:], together[5:])
    assert layer(x[:0]).shape == (0, 24)


@here
@torch.no_grad()
def test_a_large_matrix_is_quantised_without_another_of_its_size() -> None:
    """That of an output over 256,000 pieces takes a gigabyte."""
    torch.manual_seed(1)
    linear = nn.Linear(16, 9000, bias=False)
    linear.weight[7] = 0
    matrix = linear.weight.detach()
    with LargestTensor() as sizes:
        weights = quantised.QuantisedWeights.of(matrix)
    assert sizes.largest_real <= 4096 * 16
    x = torch.randn(2, 16)
    expected = by_formula(x, linear, quantised.input_levels())
    found = quantised._product(x, weights, None, quantised.input_levels())
    keep = linear.weight.abs().amax(1) > 0
    torch.testing.assert_close(found[:, keep].double(), expected[:, keep], rtol=1e-4, atol=1e-5)
    assert not found[:, ~keep].any()


@here
@torch.no_grad()
def test_changed_weights_are_quantised_again() -> None:
    layer, x = QuantisedLinear(nn.Linear(5, 3)), torch.randn(2, 5)
    layer(x)
    layer.weight.copy_(torch.randn(3, 5))  # as adapters are exchanged
    torch.testing.assert_close(
        layer(x), functional.linear(x, layer.weight, layer.bias), rtol=0.05, atol=0.05
    )


@here
def test_only_larger_matrices_and_the_parameters_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantised, "LEAST_WEIGHTS", 15)
    model = nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 2))
    before = model.state_dict()
    quantise_weights(model)
    assert [type(one) for one in model] == [QuantisedLinear, nn.ReLU, nn.Linear]
    after = model.state_dict()
    assert {n: t.data_ptr() for n, t in after.items()} == {
        n: t.data_ptr() for n, t in before.items()
    }
    with torch.no_grad():
        found = model(torch.ones(1, 5))
        assert torch.equal(copy.deepcopy(model)(torch.ones(1, 5)), found)
    model(torch.ones(1, 5)).sum().backward()  # gradients go the ordinary way
    gradient = model.get_parameter("0.weight").grad
    assert gradient is not None
    assert gradient.abs().sum() > 0


@here
@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("config", variations())
def test_every_family_scores_nearly_as_in_float32(config: ModelConfig) -> None:
    model = build(config).float()
    settle_weights(model)
    source, target = random_ids(3, 5), random_ids(3, 4, seed=2)
    with torch.inference_mode():
        exact = teacher_force(model, source, torch.ones_like(source, dtype=torch.bool), target)
        quantise_weights(model)
        found = teacher_force(model, source, torch.ones_like(source, dtype=torch.bool), target)
        release_weights(model)
        again = teacher_force(model, source, torch.ones_like(source, dtype=torch.bool), target)
    assert torch.equal(again, found)
    assert any(isinstance(module, QuantisedLinear) for module in model.modules())
    assert not torch.equal(found, exact)
    assert found.shape[-1] == VOCABULARY
    differences = (found - exact).norm(dim=-1) / exact.norm(dim=-1)
    assert float(differences.median()) < 0.1  # some positions may go to other experts


@here
@torch.no_grad()
def test_a_layer_without_its_weights_takes_others() -> None:
    model, x = nn.Sequential(QuantisedLinear(nn.Linear(5, 3)), nn.Linear(3, 2)), torch.randn(2, 5)
    layer, other = model.get_submodule("0"), nn.Linear(5, 3)
    assert isinstance(layer, QuantisedLinear)
    other.bias.copy_(layer.bias)
    layer.release()
    assert [name for name, _ in layer.named_parameters()] == ["bias"]
    put_weight(model, "0.weight", other.weight.detach())  # as adapters are exchanged
    assert torch.equal(layer(x), QuantisedLinear(other)(x))
    put_weight(model, "1.weight", torch.zeros(2, 3))
    assert torch.equal(model(x), model.get_parameter("1.bias").expand(2, 2))


@here
@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("embeddings", ["shared", "separate"])
def test_only_weights_that_are_needed_otherwise_stay(embeddings: Any) -> None:
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 8}
    model = build(TransformerConfig(**sizes, heads=2, embeddings=embeddings)).float()
    quantise_weights(model)
    release_weights(model)
    left = {name for name, one in model.named_parameters(remove_duplicate=False) if one.dim() > 1}
    assert left == {"source_embedding.weight", "target_embedding.weight", "output.weight"}
    model.encode(torch.tensor([[5]]), torch.ones(1, 1, dtype=torch.bool))  # whatever gradients do


@here
@pytest.mark.usefixtures("every_size")
def test_systems_translate_in_int8_whatever_the_batch(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    system = TranslationSystem(models=(model,), device="cpu", precision="int8")
    opened = open_system(system)
    assert opened.system.precision == "int8"  # which workers read
    linear = [m for m in opened.models[0].modules() if isinstance(m, nn.Linear)]
    assert {type(one) for one in linear} == {QuantisedLinear}
    lines = ["abc", "ca", "bbbb cc", "a"]
    with Translator.load(model, device="cpu", precision="int8") as translator:
        together = translator.translate_nbest(lines)
        alone = [translator.translate_nbest([line])[0] for line in lines]
    assert [best[0].text for best in together] == [best[0].text for best in alone]
    for many, one in zip(together, alone, strict=True):
        assert many[0].score == pytest.approx(one[0].score, rel=0.02)


@here
def test_the_command_line_takes_it(tmp_path: Path, dragoman: CommandLine) -> None:
    model = save_tiny_model(tmp_path / "model")
    outcome = dragoman("translate", model, "--precision", "int8", stdin=b"abc\n")
    assert (outcome.code, outcome.out.count("\n")) == (0, 1)


def test_other_devices_are_refused() -> None:
    with pytest.raises(ConfigError, match="for the cpu, not for meta; choose bfloat16 there"):
        check_int8(torch.device("meta"))


class TestWithoutTheOperations:
    """They are not documented: with a PyTorch that lacks or changes them there is no int8."""

    @pytest.fixture(autouse=True)
    def untried(self) -> Iterator[None]:
        quantised.input_levels.cache_clear()
        yield
        quantised.input_levels.cache_clear()

    @pytest.mark.parametrize("error", [AttributeError, TypeError, RuntimeError, None])
    def test_it_is_refused(
        self, error: type[Exception] | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def gone(x: Tensor, *_: Any) -> Tensor:
            if error is not None:
                raise error("gone")
            return torch.zeros(len(x), 3)  # or computes something else

        ops = SimpleNamespace(qlinear_prepack=lambda weight, _: weight, qlinear_pointwise=gone)
        monkeypatch.setattr(torch.ops, "onednn", ops, raising=False)
        with pytest.raises(ConfigError, match=r"no products of 8-bit .*; choose another precision"):
            open_system(
                TranslationSystem(
                    models=(save_tiny_model(tmp_path / "model"),), device="cpu", precision="int8"
                )
            )
