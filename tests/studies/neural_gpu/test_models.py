"""The units of Neural GPUs against their formulas, and what an answer may depend on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from studies.neural_gpu.arithmetic import SYMBOLS
from studies.neural_gpu.models import CGRU, ExtendedNeuralGPU, NeuralGPU, Sizes

SMALL = Sizes(maps=5, width=3, layers=2, relaxed=2, dropout=0.0)
Array = NDArray[np.float64]


def convolved(kernels: Array, bias: Array, memory: Array) -> Array:
    """Section 2 of the paper, one place at a time: zeros beyond the edges."""
    around = kernels.shape[-1] // 2
    _, width, length = memory.shape
    result = np.empty((len(kernels), width, length))
    for x in range(width):
        for y in range(length):
            total = bias.copy()
            for u in range(-around, around + 1):
                for v in range(-around, around + 1):
                    if 0 <= x + u < width and 0 <= y + v < length:
                        total += kernels[:, :, u + around, v + around] @ memory[:, x + u, y + v]
            result[:, x, y] = total
    return result


def cut_off(x: Array) -> Array:
    return np.clip(1.2 / (1 + np.exp(-x)) - 0.1, 0, 1)


@pytest.mark.parametrize("tape", [False, True])
def test_a_cgru_is_its_formula(tape: bool) -> None:
    torch.manual_seed(1)
    unit = CGRU(3, sets=2, tape=tape).double()
    torch.nn.init.normal_(unit.gates_bias, std=2)
    torch.nn.init.normal_(unit.candidate_bias)
    state, written = torch.randn(2, 1, 3, 2, 5, dtype=torch.float64)
    found = unit(state, turn=3, tape=written if tape else None)[0]
    gates, candidate, gates_bias, candidate_bias = (
        weights[1].detach().numpy()
        for weights in (unit.gates, unit.candidate, unit.gates_bias, unit.candidate_bias)
    )
    s, p = state[0].numpy(), written[0].numpy()

    def by_formula(u: Array, bias: Array, of: Array) -> Array:
        """``U # s + W # p + B``: U and W are parts of one kernel."""
        added = convolved(u[:, 3:], 0 * bias, p) if tape else 0.0
        return np.asarray(convolved(u[:, :3], bias, of) + added)

    u = cut_off(by_formula(gates[:3], gates_bias[:3], s))
    r = cut_off(by_formula(gates[3:], gates_bias[3:], s))
    expected = u * s + (1 - u) * np.tanh(by_formula(candidate, candidate_bias, r * s))
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-12)
    assert 0 in u or 1 in u or 0 in r or 1 in r  # the cut-off matters here


def test_relaxed_weights_are_used_in_turn_pulled_together_and_joined() -> None:
    torch.manual_seed(1)
    model = NeuralGPU(SYMBOLS, SMALL)
    unit = model.cgrus()[0]
    state = torch.randn(1, 5, 3, 4)
    assert torch.equal(unit(state, 0), unit(state, 2))
    assert not torch.allclose(unit(state, 0), unit(state, 1))
    by_hand = sum(
        2 * ((w[0] - w[1]) / 2).square().sum().item()
        for cgru in model.cgrus()
        for w in cgru.parameters()
    )
    assert model.pull(0.5).item() == pytest.approx(0.5 * by_hand, rel=1e-5)
    mean = unit.gates.detach().mean(0)
    model.join()
    torch.testing.assert_close(unit.gates[1], mean)
    torch.testing.assert_close(unit(state, 0), unit(state, 1))
    assert model.pull(1.0).item() == 0.0


def test_a_neural_gpu_takes_as_many_steps_as_there_are_symbols() -> None:
    torch.manual_seed(1)
    model = NeuralGPU(SYMBOLS, SMALL).eval()
    source = torch.randint(1, SYMBOLS, (2, 7))
    state = torch.zeros(2, 5, 3, 7)
    state[:, :, 0] = model.embedding(source).transpose(1, 2)
    for turn in range(7):
        for unit in model.cgrus():
            state = unit(state, turn)
    torch.testing.assert_close(model.remember(source), state)
    assert model.answer(source, 4).tolist() == model.read(state)[:, :4].argmax(-1).tolist()


def logits_of(model: ExtendedNeuralGPU, source: Tensor, answers: Tensor) -> Tensor:
    return model.write(source, answers.shape[1], answers)[0]


def test_symbols_of_the_extended_one_depend_on_those_before_and_on_no_later_ones() -> None:
    torch.manual_seed(1)
    model = ExtendedNeuralGPU(SYMBOLS, SMALL).eval()
    source, answers = torch.tensor([[1, 2, 3, 1, 2]]), torch.tensor([[1, 2, 1, 2]])
    changed = answers.clone()
    changed[0, 1] = 1
    before, after = logits_of(model, source, answers), logits_of(model, source, changed)
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.allclose(before[:, 2], after[:, 2])


def test_the_extended_one_writes_what_teacher_forcing_expects_and_uses_all_weights() -> None:
    torch.manual_seed(1)
    model = ExtendedNeuralGPU(SYMBOLS, SMALL).eval()
    source = torch.randint(1, SYMBOLS, (3, 5))
    written = model.answer(source, 4)
    loss, wrong = model.loss(source, written)
    assert wrong == 0.0
    loss.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
