"""The chunked smoothed loss against PyTorch's; its gradient also in test_gradients.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
import torch
from families import build, teacher_force
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from dragoman.data.batches import make_batch
from dragoman.models import TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.text.vocabularies import PAD
from dragoman.training.objectives import CrossEntropy, chunks
from dragoman.training.objectives.chunks import chunked_backward
from dragoman.training.objectives.cross_entropy import smoothed_cross_entropy

smoothings = st.sampled_from([0.0, 0.1, 0.5])


@settings(max_examples=25, deadline=None)
@given(positions=st.integers(1, 9), vocabulary=st.integers(2, 11), smoothing=smoothings)
def test_equals_pytorch(positions: int, vocabulary: int, smoothing: float) -> None:
    torch.manual_seed(positions * vocabulary)
    logits = torch.randn(positions, vocabulary, dtype=torch.float64, requires_grad=True)
    gold = torch.randint(vocabulary, (positions,))
    ours, nll = smoothed_cross_entropy(logits, gold, smoothing)
    theirs = functional.cross_entropy(logits, gold, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(nll, functional.cross_entropy(logits, gold, reduction="sum"))
    (expected,) = torch.autograd.grad(theirs, logits)
    (found,) = torch.autograd.grad(ours, logits)
    torch.testing.assert_close(found, expected)


@settings(max_examples=25, deadline=None)
@given(
    positions=st.integers(1, 13),
    chunk=st.integers(1, 15),
    cached=st.integers(1, 15),
    smoothing=smoothings,
    scale=st.sampled_from([1.0, 0.25]),
)
def test_chunks_change_nothing(
    positions: int, chunk: int, cached: int, smoothing: float, scale: float
) -> None:
    """Loss, gradients of the projection and of what lies before it, whatever the chunk."""
    torch.manual_seed(positions)
    vocabulary = 7
    first = torch.nn.Linear(4, 3).double()
    projection = torch.nn.Linear(3, vocabulary, bias=False).double()
    x = torch.randn(positions, 4, dtype=torch.float64)
    gold = torch.randint(vocabulary, (positions,))
    whole = functional.cross_entropy(
        projection(first(x)), gold, reduction="sum", label_smoothing=smoothing
    )
    parameters = [*first.parameters(), *projection.parameters()]
    expected = torch.autograd.grad(whole, parameters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_SCORES", chunk * vocabulary)
        patch.setattr(chunks, "CACHED_SCORES", cached * vocabulary)
        found = chunked_backward(
            first(x),
            projecting(projection),
            lambda part, rows: smoothed_cross_entropy(projection(part), gold[rows], smoothing),
            scale=scale,
        )
    torch.testing.assert_close(found[0], whole.detach())
    for parameter, gradient in zip(parameters, expected, strict=True):
        torch.testing.assert_close(parameter.grad, scale * gradient)


def projecting(projection: torch.nn.Module) -> TranslationModel:
    """What the backward pass knows of a model."""
    return cast(TranslationModel, SimpleNamespace(logits=projection))


def test_bfloat16_scores_are_summed_in_float32() -> None:
    torch.manual_seed(0)
    logits = torch.randn(50, 1000).bfloat16()
    gold = torch.randint(1000, (50,))
    _, nll = smoothed_cross_entropy(logits, gold, 0.1)
    exact = functional.cross_entropy(logits.double(), gold, reduction="sum")
    assert nll.dtype == torch.float32
    assert nll.item() == pytest.approx(exact.item(), rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_output_that_seems_impossible_has_a_finite_loss(dtype: torch.dtype) -> None:
    """Its probability, e^-500, is 0 in float32; its logarithm is not taken from that."""
    logits = torch.tensor([[0.0, 500.0, 1.0], [-400.0, -400.0, -900.0]], dtype=dtype)
    gold = torch.tensor([0, 2])
    smoothed, nll = smoothed_cross_entropy(logits, gold, 0.1)
    for found, smoothing in ((smoothed, 0.1), (nll, 0.0)):
        exact = functional.cross_entropy(
            logits.double(), gold, reduction="sum", label_smoothing=smoothing
        )
        assert found.item() == pytest.approx(exact.item(), rel=1e-5)


def test_without_gradient_only_figures() -> None:
    hidden, gold = torch.randn(5, 3), torch.randint(7, (5,))
    projection = torch.nn.Linear(3, 7)
    with torch.no_grad():
        smoothed, nll = chunked_backward(
            hidden,
            projecting(projection),
            lambda part, rows: smoothed_cross_entropy(projection(part), gold[rows], 0.0),
        )
    torch.testing.assert_close(smoothed, nll)
    assert projection.weight.grad is None


def test_padding_is_left_out() -> None:
    """PyTorch's own loss of the same logits, told which positions to ignore."""
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=6, d_ff=7, heads=2)
    model = build(config)
    batch = make_batch([[5, 6], [7], [8, 9, 10]], [[4], [5, 6, 7, 8, 9], []])
    assert (batch.target_output == PAD).sum() == 9
    expected = [
        functional.cross_entropy(
            teacher_force(model, batch.source, batch.source_mask, batch.target_input).flatten(0, 1),
            batch.target_output.flatten(),
            reduction="sum",
            ignore_index=PAD,
            label_smoothing=smoothing,
        )
        for smoothing in (0.1, 0.0)
    ]
    parameters = dict(model.named_parameters())
    gradients = torch.autograd.grad(expected[0], list(parameters.values()))
    found = CrossEntropy(0.1).backward(model, batch)
    torch.testing.assert_close((found["loss"], found["nll"]), tuple(x.detach() for x in expected))
    assert found["tokens"] == batch.target_tokens
    for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, msg=name)
