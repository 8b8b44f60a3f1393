"""Guided alignment against its formula, written out in float64 position by position."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from families import VARIATIONS, build, variations
from torch import Tensor
from torch.nn import functional

from dragoman.data.batches import Batch, make_batch
from dragoman.models import ByteNetConfig, ModelConfig, TransformerConfig, TransformerLMConfig
from dragoman.models.families.recurrent import RecurrentConfig
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.dropout import seed_dropout
from dragoman.text.vocabularies import PAD
from dragoman.training.objectives import CrossEntropy, GuidedAlignment
from dragoman.training.objectives.guided_alignment import GuidedAlignmentConfig, alignment_loss

SIZES = {"encoder_layers": 1, "decoder_layers": 3, "d_model": 6, "d_ff": 7, "heads": 2}
PLAIN = make_batch([[5, 6], [7], [8, 9, 10]], [[4], [5, 6, 7, 8, 9], []])
LINKS = [(0, 0, 1), (1, 0, 0), (1, 3, 0), (0, 0, 0)]  # sentence, target and source position


def aligned(batch: Batch = PLAIN) -> Batch:
    linked = torch.zeros(*batch.target_output.shape, batch.source.shape[1], dtype=torch.bool)
    linked[tuple(zip(*LINKS, strict=True))] = True
    return replace(batch, alignments=linked)


def expected_losses(model: TranslationModel, looks: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
    """Smoothed cross-entropy, and the alignment loss as the module's docstring has it."""
    entropy = functional.cross_entropy(
        model.logits(hidden).flatten(0, 1),
        PLAIN.target_output.flatten(),
        reduction="sum",
        ignore_index=PAD,
        label_smoothing=0.1,
    )
    of_target: dict[tuple[int, int], list[Tensor]] = {}
    for sentence, target, source in LINKS:
        weights = looks[sentence, target]
        of_target.setdefault((sentence, target), []).append(weights[source].log())
    means = [torch.stack(logs).mean() for logs in of_target.values()]
    return entropy, -torch.stack(means).sum()


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_loss_and_gradient_are_the_formulas(dropout: float) -> None:
    """With dropout, of one pass whose masks are drawn again in the same order."""
    model = build(TransformerConfig(**SIZES, dropout=dropout)).train()
    objective = GuidedAlignment(0.1, weight=0.7, layer=1)
    seed_dropout(3)
    found = objective.backward(model, aligned(), scale=0.5)
    gradients = {name: p.grad for name, p in model.named_parameters()}
    seed_dropout(3)
    memory = model.encode(PLAIN.source, PLAIN.source_mask)
    hidden, looks = model.decode_attending(PLAIN.target_input, memory)
    entropy, alignment = expected_losses(model, looks[:, 1, 0], hidden)
    loss = entropy + 0.7 * alignment
    torch.testing.assert_close(found["loss"], loss.detach())
    torch.testing.assert_close(found["alignment"], alignment.detach())
    assert found["linked"] == 3
    assert found["tokens"] == PLAIN.target_tokens
    parameters = dict(model.named_parameters())
    expected = torch.autograd.grad(0.5 * loss, list(parameters.values()))
    for name, gradient in zip(parameters, expected, strict=True):
        torch.testing.assert_close(gradients[name], gradient, msg=name)


def test_without_alignments_it_is_cross_entropy_bit_for_bit() -> None:
    def backward(objective: CrossEntropy | GuidedAlignment) -> tuple[dict[str, Tensor], ...]:
        model = build(TransformerConfig(**SIZES, dropout=0.3)).train()
        seed_dropout(5)
        totals = dict(objective.backward(model, PLAIN, 0.5))
        return totals, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}

    plain, gradients = backward(CrossEntropy(0.1))
    totals, found = backward(GuidedAlignment(0.1, weight=5.0, layer=0))
    assert totals.pop("alignment") == totals.pop("linked") == 0
    assert totals == plain
    assert gradients.keys() == found.keys()
    assert all(torch.equal(found[name], gradient) for name, gradient in gradients.items())


ATTENDING = {name: config for name, config in VARIATIONS.items() if config.attention_layers}


@pytest.mark.parametrize("config", variations(ATTENDING))
def test_the_pass_that_tells_where_it_looks_is_the_one_that_decodes(config: ModelConfig) -> None:
    """In each family: the hidden vectors are the same, weights of one layer are those among all."""
    model = build(config)
    memory = model.encode(PLAIN.source, PLAIN.source_mask)
    hidden, looks = model.decode_attending(PLAIN.target_input, memory)
    torch.testing.assert_close(
        hidden, model.decode(PLAIN.target_input, memory, model.start(memory))[0]
    )
    assert looks.shape[1] == config.attention_layers
    torch.testing.assert_close(looks.sum(-1), torch.ones_like(looks[..., 0]))
    for layer in range(config.attention_layers):
        _, one = model.decode_attending(PLAIN.target_input, memory, layer)
        torch.testing.assert_close(one, looks[:, layer : layer + 1])
    loss = alignment_loss(looks[:, -1, 0], aligned().alignments)  # type: ignore[arg-type]
    if "translation" in model.frozen:
        assert not loss.requires_grad
        return
    loss.backward()
    assert any(p.grad is not None and p.grad.any() for p in model.parameters())


def test_only_families_with_attention_are_said_to_have_layers_of_it() -> None:
    for config in VARIATIONS.values():
        model = build(config)
        memory = model.encode(PLAIN.source, PLAIN.source_mask)
        if not config.attention_layers:
            with pytest.raises(TypeError, match="no attention over the source"):
                model.decode_attending(PLAIN.target_input, memory)


def test_the_last_layer_but_one_learns_or_the_one_named() -> None:
    chosen = GuidedAlignmentConfig()
    assert chosen.build(0.1, TransformerConfig(decoder_layers=6)) == GuidedAlignment(0.1, 0.05, 4)
    assert chosen.build(0.1, TransformerConfig(decoder_layers=1)) == GuidedAlignment(0.1, 0.05, 0)
    assert chosen.build(0.0, RecurrentConfig(decoder_layers=4)) == GuidedAlignment(0.0, 0.05, 0)
    named = GuidedAlignmentConfig(layer=6, weight=0.2)
    assert named.build(0.1, TransformerConfig(decoder_layers=6)) == GuidedAlignment(0.1, 0.2, 5)
    assert list(named.unfit(TransformerConfig(decoder_layers=6))) == []
    (problem,) = named.unfit(TransformerConfig(decoder_layers=5))
    assert problem == "layer 6: this model has 5 layers with attention over the source"
    for config in (ByteNetConfig(), TransformerLMConfig()):
        (problem,) = chosen.unfit(config)
        assert "needs attention over the source" in problem


def test_a_weight_that_underflowed_costs_no_gradient() -> None:
    scores = torch.tensor([[[0.0, -300.0]]], requires_grad=True)
    loss = alignment_loss(scores.softmax(-1), torch.tensor([[[True, True]]]))
    loss.backward()
    assert loss.isfinite()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


def test_figures_are_per_token_and_the_alignment_per_linked_token() -> None:
    totals = {"loss": 8.0, "nll": 0.0, "alignment": 6.0, "linked": 3.0, "tokens": 4.0}
    figures = GuidedAlignment(0.1, 0.05, 0).figures(totals)
    assert figures == {"loss": 2.0, "nll": 0.0, "alignment": 2.0, "perplexity": 1.0}
    assert GuidedAlignment(0.1, 0.05, 0).figures({**totals, "linked": 0.0, "alignment": 0.0}) == {
        **figures,
        "alignment": 0.0,
    }
