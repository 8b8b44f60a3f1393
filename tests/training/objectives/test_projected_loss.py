"""The operator of projection and loss against PyTorch's; compiled passes in test_compilation.py."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from dragoman.text.vocabularies import PAD
from dragoman.training.objectives import chunks
from dragoman.training.objectives.projected_loss import projected_loss

POSITIONS, WIDTH, VOCABULARY = 13, 5, 7


def inputs(*, bias: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor]:
    torch.manual_seed(2)
    hidden, weight = torch.randn(POSITIONS, WIDTH), torch.randn(VOCABULARY, WIDTH)
    learned = [tensor.double().requires_grad_() for tensor in (hidden, weight)]
    added = torch.randn(VOCABULARY, dtype=torch.float64, requires_grad=True) if bias else None
    gold = torch.randint(PAD + 1, VOCABULARY, (POSITIONS,))
    gold[3::4] = PAD
    return *learned, added, gold  # type: ignore[return-value]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_equals_pytorch(
    bias: bool, smoothing: float, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loss and gradients, whatever the chunk; padding counts nothing."""
    monkeypatch.setattr(chunks, "CHUNK_SCORES", at_once * VOCABULARY)
    hidden, weight, added, gold = inputs(bias=bias)
    learned = [tensor for tensor in (hidden, weight, added) if tensor is not None]
    logits = functional.linear(hidden, weight, added)
    options: dict[str, Any] = {"reduction": "sum", "ignore_index": PAD}
    theirs = functional.cross_entropy(logits, gold, label_smoothing=smoothing, **options)
    ours, nll = projected_loss(hidden, weight, added, gold, smoothing)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(nll, functional.cross_entropy(logits, gold, **options).detach())
    expected = torch.autograd.grad(3 * theirs, learned)
    for found, wanted in zip(torch.autograd.grad(3 * ours, learned), expected, strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("bias", [False, True])
def test_the_operator_is_what_a_compiler_expects(bias: bool) -> None:
    operator = torch.ops.dragoman.projected_loss.default
    torch.library.opcheck(operator, (*inputs(bias=bias), 0.1, False))
