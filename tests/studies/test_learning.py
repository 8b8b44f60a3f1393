"""Training on generated tasks: the rate, noise of gradients, and the Transformer's two ways."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from studies.learning import PAD, Schedule, SmallTransformer, answer_loss, learn


def test_the_rate_rises_then_halves_four_times() -> None:
    schedule = Schedule(100, 0.8)
    assert [schedule.rate_at(step) for step in (1, 5, 10, 50)] == pytest.approx(
        [0.08, 0.4, 0.8, 0.8]
    )
    assert schedule.rate_at(61) == pytest.approx(0.4)
    assert schedule.rate_at(99) == pytest.approx(0.05)


def test_an_answer_is_wrong_if_one_symbol_is() -> None:
    logits = torch.eye(3)[torch.tensor([[0, 1, 2], [0, 1, 1]])]
    loss, wrong = answer_loss(logits, torch.tensor([[0, 1, 2], [0, 1, 2]]))
    assert wrong == 0.5
    right = torch.log_softmax(torch.tensor([1.0, 0.0, 0.0]), 0)
    torch.testing.assert_close(loss, -(5 * right[0] + right[1]) / 6)


@pytest.mark.parametrize(("wrong", "moves"), [(1.0, True), (0.0, False)])
def test_noise_moves_weights_only_if_answers_are_wrong(wrong: float, moves: bool) -> None:
    model = nn.Linear(2, 2)
    before = model.weight.detach().clone()

    def no_gradient(step: int) -> tuple[Tensor, float]:
        return 0 * model(torch.ones(1, 2)).sum(), wrong

    learn(model, no_gradient, Schedule(2, 0.1, noise=1.0), lambda step: None)
    assert bool((model.weight != before).any()) is moves


def test_the_transformer_writes_what_teacher_forcing_expects_and_ignores_padding() -> None:
    torch.manual_seed(1)
    model = SmallTransformer(5, d_model=8, layers=1).eval()
    source = torch.tensor([[1, 2, 3, PAD], [3, 2, 4, 1]])
    written = model.answer(source, 3)
    alone = model.answer(source[:1, :3], 3)
    assert written.shape == (2, 3)
    assert written[:1].tolist() == alone.tolist()
    assert model.loss(source, written)[1] == 0.0  # each is the most likely after those before


def test_probabilities_of_all_answers_sum_to_one() -> None:
    """So no symbol is read before it is scored, and the begin symbol has no probability."""
    torch.manual_seed(1)
    model = SmallTransformer(3, d_model=8, layers=1).eval()
    for weights in model.parameters():
        torch.nn.init.normal_(weights)  # larger than at first, so that symbols matter
    source = torch.tensor([[1, 2, 1]])
    losses = [
        model.loss(source, torch.tensor([answer]))[0] for answer in product(range(3), repeat=2)
    ]
    assert sum(math.exp(-2 * loss.item()) for loss in losses) == pytest.approx(1, abs=1e-4)
