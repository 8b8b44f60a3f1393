"""R-Drop against its formula, written out in float64."""

from __future__ import annotations

import pytest
import torch
from families import build
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from dragoman.data.batches import make_batch
from dragoman.models import ByteNetConfig, RecurrentConfig, TransformerConfig
from dragoman.models.classifier import ClassifierConfig
from dragoman.models.interface import FamilyConfig
from dragoman.models.layers.dropout import seed_dropout
from dragoman.text.vocabularies import PAD
from dragoman.training.objectives import CrossEntropy, RDrop
from dragoman.training.objectives.r_drop import RDropConfig, symmetric_divergence

SIZES = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 6, "d_ff": 7, "heads": 2}
BATCH = make_batch([[5, 6], [7], [8, 9, 10]], [[4], [5, 6, 7, 8, 9], []])


@settings(max_examples=20, deadline=None)
@given(positions=st.integers(1, 6), vocabulary=st.integers(2, 9))
def test_the_divergence_is_pytorchs_both_ways(positions: int, vocabulary: int) -> None:
    torch.manual_seed(positions)
    logits = torch.randn(positions, 2, vocabulary, dtype=torch.float64)
    p, q = logits.log_softmax(-1).unbind(1)
    both = sum(
        functional.kl_div(a, b, reduction="sum", log_target=True) for a, b in ((p, q), (q, p))
    )
    torch.testing.assert_close(symmetric_divergence(logits), both / 2)


def test_the_divergence_of_bfloat16_is_summed_in_float32() -> None:
    torch.manual_seed(3)
    logits = torch.randn(300, 2, 50).bfloat16().requires_grad_()
    exact = logits.detach().double().requires_grad_()
    p, q = exact.log_softmax(-1).unbind(1)
    expected = ((p.exp() - q.exp()) * (p - q)).sum() / 2  # the sum of both directions
    found = symmetric_divergence(logits)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)
    found.backward()
    expected.backward()
    assert exact.grad is not None
    torch.testing.assert_close(logits.grad, exact.grad.bfloat16(), rtol=1e-2, atol=1e-6)


def test_without_dropout_the_passes_agree_and_it_is_cross_entropy() -> None:
    model = build(TransformerConfig(**SIZES, dropout=0.0)).train()
    plain = CrossEntropy(0.1).backward(model, BATCH)
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    found = RDrop(0.1, alpha=5.0).backward(model, BATCH)
    assert found["divergence"] == pytest.approx(0.0, abs=1e-9)
    for name, total in plain.items():
        torch.testing.assert_close(found[name], total)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], msg=name)


def test_loss_and_gradient_are_the_papers() -> None:
    """Equations 2 to 4, halved, of the two passes that one batch twice as large makes."""
    model = build(TransformerConfig(**SIZES, dropout=0.4)).train()
    seed_dropout(7)
    found = RDrop(0.1, alpha=3.0).backward(model, BATCH, scale=0.5)
    gradients = {name: p.grad for name, p in model.named_parameters()}
    seed_dropout(7)
    twice = make_batch(*[[[5, 6], [7], [8, 9, 10]] * 2, [[4], [5, 6, 7, 8, 9], []] * 2])
    memory = model.encode(twice.source, twice.source_mask)
    hidden, _ = model.decode(twice.target_input, memory, model.start(memory))
    logits = model.logits(hidden)
    smoothed, nll = (
        functional.cross_entropy(
            logits.flatten(0, 1),
            twice.target_output.flatten(),
            reduction="sum",
            ignore_index=PAD,
            label_smoothing=smoothing,
        )
        for smoothing in (0.1, 0.0)
    )
    real = BATCH.target_output != PAD
    p, q = (half[real].log_softmax(-1) for half in logits.split(len(real)))
    kl = [(a.exp() * (a - b)).sum() for a, b in ((p, q), (q, p))]
    loss = (smoothed + 3.0 * sum(kl) / 2) / 2
    assert sum(kl) > 0.01
    torch.testing.assert_close(found["loss"], loss.detach())
    torch.testing.assert_close(found["nll"], nll.detach() / 2)
    torch.testing.assert_close(found["divergence"], (sum(kl) / 2).detach())
    assert found["tokens"] == BATCH.target_tokens
    parameters = dict(model.named_parameters())
    expected = torch.autograd.grad(0.5 * loss, list(parameters.values()))
    for name, gradient in zip(parameters, expected, strict=True):
        torch.testing.assert_close(gradients[name], gradient, msg=name)


def test_figures_are_per_token() -> None:
    totals = {"loss": 8.0, "nll": 2.0, "divergence": 4.0, "tokens": 2.0}
    figures = RDrop(0.1, 5.0).figures(totals)
    assert figures.pop("perplexity") == pytest.approx(2.7182818)
    assert figures == {"loss": 4.0, "nll": 1.0, "divergence": 2.0}


ENCODER = TransformerConfig(dropout=0.1)


@pytest.mark.parametrize(
    ("model", "differ"),
    [
        (TransformerConfig(), True),
        (TransformerConfig(dropout=0), False),
        (TransformerConfig(dropout=0, attention_dropout=0.1), True),
        (TransformerConfig(dropout=0, mixture={"experts": 4}), True),
        (ByteNetConfig(dropout=0, block_dropout=0.1), True),
        (RecurrentConfig(dropout=0), False),
        (ClassifierConfig(backbone=ENCODER, dropout=0), True),
        (ClassifierConfig(backbone=ENCODER, dropout=0, train="head"), False),
        (ClassifierConfig(backbone="runs/yet-to-be-read", dropout=0), True),
    ],
    ids=lambda value: getattr(value, "family", None),
)
def test_a_model_whose_passes_are_equal_is_refused(model: FamilyConfig, differ: bool) -> None:
    said = list(RDropConfig().unfit(model))
    assert (said == []) == differ
    assert all("without dropout they are equal" in one for one in said)
