"""Replicas with Adam against PyTorch's own Adam on separate tensors."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from dragoman.core.errors import SavedError
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.interface import AVERAGE
from dragoman.training.sharding.replicas import Replicas


def network() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Tanh(), nn.Linear(7, 2, bias=False))


def backward(model: nn.Module, seed: int) -> None:
    x = torch.randn(11, 5, generator=torch.Generator().manual_seed(seed))
    model(x.to(next(model.parameters()).dtype)).pow(2).sum().backward()


@pytest.mark.parametrize(
    ("kind", "theirs"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)]
)
def test_equals_pytorch_on_separate_tensors(kind: str, theirs: type) -> None:
    ours, reference = network(), network()
    flat = Replicas(ours, AdamConfig(kind=kind, weight_decay=0.1), torch.float32)
    matrices = [p for p in reference.parameters() if p.dim() == 2]
    rest = [p for p in reference.parameters() if p.dim() < 2]
    adam = theirs(
        [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
        lr=0.01,
        betas=(0.9, 0.98),
        eps=1e-9,
    )
    for step in range(5):
        backward(ours, step)
        flat.collect()
        flat.step(0.01)
        adam.zero_grad()
        backward(reference, step)
        adam.step()
    for a, b in zip(ours.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_lengths_of_normalised_weights_do_not_decay() -> None:
    """Their gradient is zero here, so that only decay could move them."""
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 5))
    parts = layer.parametrizations.weight
    length, direction = parts.original0.detach().clone(), parts.original1.detach().clone()
    flat = Replicas(layer, AdamConfig(kind="adamw", weight_decay=0.1), torch.float32)
    flat.step(0.01)
    torch.testing.assert_close(parts.original0, length, rtol=0, atol=0)
    torch.testing.assert_close(parts.original1, direction * (1 - 0.01 * 0.1))


@pytest.mark.parametrize("clip_norm", [0.01, 0.1, 10.0])
@pytest.mark.parametrize("factor", [1.0, 1 / 41])
def test_clipping_is_pytorchs(clip_norm: float, factor: float) -> None:
    """Of the gradient a token, which is what ``factor`` makes of the sum."""
    ours, reference = network(), network()
    flat = Replicas(ours, AdamConfig(clip_norm=clip_norm), torch.float32)
    backward(ours, 1)
    backward(reference, 1)
    for parameter in reference.parameters():
        assert parameter.grad is not None
        parameter.grad *= factor
    flat.collect()
    norm = flat.scale(factor)
    expected = nn.utils.clip_grad_norm_(reference.parameters(), clip_norm)
    assert norm == pytest.approx(expected.item())
    for a, b in zip(ours.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_bfloat16_learns_from_updates_too_small_for_it() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    flat = Replicas(model, AdamConfig(), torch.bfloat16)
    assert model.weight.dtype == torch.bfloat16
    for _ in range(100):  # each update is 1e-4; bfloat16 cannot tell 1 from 1 - 1e-4
        model(torch.ones(1, 1, dtype=torch.bfloat16)).sum().backward()
        flat.collect()
        flat.step(1e-4)
    assert flat.master.item() == pytest.approx(0.99, abs=1e-4)
    assert model.weight.item() == pytest.approx(0.99, abs=4e-3)


def test_gradients_add_up_in_float32() -> None:
    model = nn.Linear(1, 1, bias=False)
    flat = Replicas(model, AdamConfig(), torch.bfloat16)
    for _ in range(1000):  # in bfloat16 the sum would stop at 256
        model(torch.ones(1, 1, dtype=torch.bfloat16)).sum().backward()
        flat.collect()
    assert flat.gradient.item() == 1000


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_restored_it_goes_on_bit_for_bit(precision: torch.dtype) -> None:
    def step(model: nn.Module, flat: Replicas, seed: int) -> None:
        backward(model, seed)
        flat.collect()
        flat.step(0.01)

    first = network()
    flat = Replicas(first, AdamConfig(), precision)
    for seed in range(3):
        step(first, flat, seed)
    weights, moments = copy.deepcopy((flat.weights(), flat.moments()))
    second = network()
    other = Replicas(second, AdamConfig(), precision)
    other.restore(weights, moments)
    for seed in range(3, 6):
        step(first, flat, seed)
        step(second, other, seed)
    assert torch.equal(flat.master, other.master)


def test_back_before_the_first_step_it_begins_anew() -> None:
    """A checkpoint of step 0 has no moments, and those of later steps must not stay."""
    model = network()
    flat = Replicas(model, AdamConfig(), torch.float32)
    weights, moments = copy.deepcopy((flat.weights(), flat.moments()))
    learned = []
    for _ in range(2):
        for seed in range(2):
            backward(model, seed)
            flat.collect()
            flat.step(0.01)
        learned.append(flat.master.clone())
        flat.restore(weights, moments)
        assert flat.moments() == {}
    assert torch.equal(*learned)


def test_weights_of_another_model_are_refused() -> None:
    flat = Replicas(network(), AdamConfig(), torch.float32)
    weights = flat.weights()
    with pytest.raises(SavedError, match=r"0\.weight should be \[7, 5\], found \[1\]"):
        flat.restore({**weights, "0.weight": torch.zeros(1)}, {})
    with pytest.raises(SavedError, match=r"4\.weight does not belong"):
        flat.restore({**weights, "4.weight": torch.zeros(1)}, {})


def test_shared_tensors_stay_shared() -> None:
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    model[1].weight = model[0].weight
    flat = Replicas(model, AdamConfig(), torch.float32)
    assert model[1].weight is model[0].weight
    assert len(flat.master) == 16


def test_a_step_has_its_own_gradient_in_bfloat16_too() -> None:
    layer = nn.Linear(1, 1, bias=False)
    flat = Replicas(layer, AdamConfig(), torch.bfloat16)

    def collect(value: float) -> float:
        assert layer.weight.grad is not None
        layer.weight.grad.fill_(value)
        flat.collect()
        return flat.gradient.item()

    assert collect(2.0) == 2
    assert collect(3.0) == 5
    flat.clear()
    assert collect(float("nan")) != 0
    flat.clear()
    assert collect(4.0) == 4
    flat.restore(flat.weights(), flat.moments())
    assert collect(5.0) == 5


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_the_moving_average_is_that_of_the_weights_after_each_step(precision: torch.dtype) -> None:
    """Beside the recurrence in float64, with the lower decay of TensorFlow's first steps."""
    model = network()
    flat = Replicas(model, AdamConfig(), precision, ema_decay=0.3)
    expected = {name: values.double() for name, values in flat.weights().items()}
    for step in range(1, 7):
        backward(model, step)
        flat.collect()
        flat.step(0.1)
        decay = min(0.3, (1 + step) / (10 + step))
        for name, values in flat.weights().items():
            expected[name] = decay * expected[name] + (1 - decay) * values.double()
    assert decay == 0.3
    average = averages(flat)
    assert average.keys() == expected.keys()
    for name, values in average.items():
        torch.testing.assert_close(values, expected[name].float())
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with flat.averaged():
        for name, parameter in model.named_parameters():
            assert torch.equal(parameter, average[name].to(precision))
    assert all(map(torch.equal, before, model.parameters()))
    resumed = Replicas(network(), AdamConfig(), precision, ema_decay=0.3)
    resumed.restore(flat.weights(), flat.moments())
    assert all(torch.equal(values, average[name]) for name, values in averages(resumed).items())


def averages(optimizer: Replicas) -> dict[str, torch.Tensor]:
    named = optimizer.moments().items()
    return {name[len(AVERAGE) :]: values for name, values in named if name.startswith(AVERAGE)}


def test_what_is_never_learned_is_restored_exactly() -> None:
    """Such as random features: another model's are replaced, in full precision and in use."""

    class Featured(nn.Module):
        def __init__(self, seed: int) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 5)
            features = torch.randn(5, generator=torch.Generator().manual_seed(seed))
            self.register_buffer("features", features)

    first, second = Featured(1), Featured(2)
    saved, other = (Replicas(model, AdamConfig(), torch.bfloat16) for model in (first, second))
    exact = saved.weights()["features"].clone()
    other.restore(saved.weights(), {})
    torch.testing.assert_close(other.weights()["features"], exact, rtol=0, atol=0)
    torch.testing.assert_close(second.features, first.features, rtol=0, atol=0)


class TestFrozen:
    """Parameters that require no gradient."""

    def frozen(self) -> nn.Sequential:
        model = network()
        model[0].requires_grad_(False)
        return model

    @pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
    def test_they_stay_as_they_are_and_have_no_moments(self, precision: torch.dtype) -> None:
        """Even with decay, and to the last bit of float32, whatever the model computes in."""
        model = self.frozen()
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        config = AdamConfig(weight_decay=0.1)
        flat = Replicas(model, config, precision, ema_decay=0.9)
        assert {p.dtype for p in model.parameters()} == {precision}
        for step in range(3):
            backward(model, step)
            flat.collect()
            flat.step(0.01)
        learned = {"1.weight", "1.bias", "3.weight"}
        assert len(flat.master) == sum(before[name].numel() for name in learned)
        for name, tensor in flat.weights().items():
            assert torch.equal(tensor, before[name]) == (name not in learned)
        assert {name.partition(".")[2] for name in flat.moments() if name != "step"} == learned

    @pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
    def test_they_are_in_memory_once_if_they_can(self, precision: torch.dtype) -> None:
        """A large model with a small adapter is mostly frozen."""
        model = self.frozen()
        kept = Replicas(model, AdamConfig(), precision).weights()["0.weight"]
        same = kept.data_ptr() == model.get_parameter("0.weight").data_ptr()
        assert kept.dtype == torch.float32
        assert same == (precision == torch.float32)

    def test_those_that_learn_do_as_ever(self) -> None:
        model, reference = self.frozen(), self.frozen()
        flat = Replicas(model, AdamConfig(), torch.float32)
        adam = torch.optim.Adam(
            [p for p in reference.parameters() if p.requires_grad],
            lr=0.01,
            betas=(0.9, 0.98),
            eps=1e-9,
        )
        for step in range(3):
            backward(model, step)
            flat.collect()
            flat.step(0.01)
            adam.zero_grad()
            backward(reference, step)
            adam.step()
        for a, b in zip(model.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(a, b)

    def test_they_are_restored(self) -> None:
        """From the checkpoint alone: the model that they came from is not needed."""
        model = self.frozen()
        flat = Replicas(model, AdamConfig(), torch.bfloat16)
        saved = {name: tensor.clone() for name, tensor in flat.weights().items()}
        again = self.frozen()
        with torch.no_grad():
            again.get_parameter("0.weight").zero_()
        other = Replicas(again, AdamConfig(), torch.bfloat16)
        other.restore(saved, {})
        assert all(torch.equal(tensor, saved[name]) for name, tensor in other.weights().items())
        assert torch.equal(again.get_parameter("0.weight"), saved["0.weight"].bfloat16())
