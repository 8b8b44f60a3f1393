"""Text whose source is cut off: what reads the source gets no gradient from it, all else does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from families import VARIATIONS, build, variations
from torch import Tensor

from dragoman.data.batches import Batch, make_batch
from dragoman.models import ConvS2SConfig, ModelConfig, RecurrentConfig, TransformerConfig
from dragoman.models.deep_fusion import DeepFusion, DeepFusionConfig
from dragoman.models.interface import Memory, TranslationModel
from dragoman.training.objectives import CrossEntropy, GuidedAlignment, RDrop
from dragoman.training.objectives.source_cut_off import (
    SourceCutOff,
    source_cut_off,
    without_content,
)
from dragoman.training.tasks import Objective

DUMMY = 4
SOURCES, TARGETS = [[5, 6, 7], [DUMMY], [8], [DUMMY]], [[9, 5], [6, 7, 11, 12], [], [13]]
REAL, CUT_OFF = [0, 2], [1, 3]
READERS = {name: config for name, config in VARIATIONS.items() if config.reads_source}
DECODERS = {name: config for name, config in READERS.items() if not config.writes_labels}


def batch_of(rows: list[int]) -> Batch:
    """Rows of which those of part 2 have a dummy source."""
    batch = make_batch([SOURCES[row] for row in rows], [TARGETS[row] for row in rows])
    return replace(batch, parts=torch.tensor([2 if row in CUT_OFF else 0 for row in rows]))


def whole() -> Batch:
    return batch_of([0, 1, 2, 3])


def gradients(model: TranslationModel) -> dict[str, Tensor]:
    """Gradients by name, zeros where there are none; the model has none afterwards."""
    found = {
        name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for name, p in model.named_parameters()
    }
    model.zero_grad()
    return found


def detached(value: Any, zero: bool = False) -> Any:
    """A memory whose tensors have no history, or are zeros; of sources without padding."""
    if isinstance(value, Tensor):
        is_number = value.is_floating_point()
        return torch.zeros_like(value) if zero and is_number else value.detach()
    if isinstance(value, list):
        return [detached(one, zero) for one in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return type(value)(**{name: detached(getattr(value, name), zero) for name in names})
    return value


def reads_source(config: ModelConfig, name: str) -> bool:
    """Whether a weight of a decoder serves attention over the source alone, by its name."""
    if isinstance(config, DeepFusionConfig):
        inner = name.removeprefix("translation.")
        return inner != name and reads_source(config.translation, inner)
    if isinstance(config, TransformerConfig):
        is_norm = config.residual.norm == "pre" and ".residuals.1.norm." in name
        return "cross_attention" in name or (is_norm and name.startswith("decoder."))
    if isinstance(config, RecurrentConfig):
        return name.startswith("decoder.attention.")
    if isinstance(config, ConvS2SConfig):
        return name.startswith("decoder.") and (".query." in name or ".output." in name)
    return False  # no attention, or the same weights read source and target


def expected_of_cut_off(
    model: TranslationModel, config: ModelConfig, zero: bool
) -> tuple[Mapping[str, Tensor], dict[str, Tensor]]:
    """Totals and gradients of the rows with a dummy source, computed in another way."""
    encode, batch = model.encode, batch_of(CUT_OFF)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "encode", lambda *source: detached(encode(*source), zero))
        totals = CrossEntropy(0.1).backward(model, batch)
    found = gradients(model)
    for name, one in found.items():
        # A mixture of experts balances their use in the encoder, whoever reads its output.
        of_source = name.startswith("source_embedding.")
        own = model.part_of(name) == "encoder" or (
            (of_source and getattr(config, "embeddings", "") == "separate")
            or name.startswith("backbone.")  # of a classifier, which is an encoder
        )
        if own or reads_source(config, name):
            one.zero_()
    return totals, found


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("config", variations(READERS))
@pytest.mark.no_cover
def test_a_mixed_batch_is_the_sum_without_what_reads_the_source(
    config: ModelConfig, zero: bool
) -> None:
    if isinstance(config, TransformerConfig) and config.feed_forward.mixture is not None:
        config = config.model_copy(update={"embeddings": "separate"})
    model = build(config).train()
    torch.manual_seed(3)  # a mixture of experts draws noise in training
    totals = CrossEntropy(0.1).backward(model, batch_of(REAL))
    of_real = gradients(model)
    cut_off_totals, of_cut_off = expected_of_cut_off(model, config, zero)
    torch.manual_seed(3)
    wrapped = SourceCutOff(CrossEntropy(0.1), frozenset({2}), zero)
    found = wrapped.backward(model, whole())
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, of_real[name] + of_cut_off[name], msg=name)
    for name, total in found.items():
        torch.testing.assert_close(total, totals[name] + cut_off_totals[name])
    attention = {id(weight) for weight in model.source_attention()}
    names = {name for name, weight in model.named_parameters() if id(weight) in attention}
    assert names == {name for name, _ in model.named_parameters() if reads_source(config, name)}
    assert {model.part_of(name) for name in names} <= {"decoder"}


def hidden_of(model: TranslationModel, *sources: list[int]) -> Tensor:
    """What a decoder makes of one target after each source, ``(sources, target, width)``."""
    batch = make_batch([*sources], [[9, 5, 7]] * len(sources))
    memory = model.encode(batch.source, batch.source_mask)
    return model.decode(batch.target_input, memory, model.start(memory))[0].detach()


@pytest.mark.parametrize("config", DECODERS.values(), ids=DECODERS.keys())
def test_zeros_are_read_for_any_source(config: ModelConfig) -> None:
    model = build(config).eval()  # some tell the decoder the language, with the first piece
    usual = hidden_of(model, [5, 6], [5, 8])
    with source_cut_off(model, zero=True):
        found = hidden_of(model, [5, 6], [5, 8])
    torch.testing.assert_close(found[0], found[1])
    for before in usual:
        assert not torch.allclose(before, found[0], atol=1e-4)
    torch.testing.assert_close(hidden_of(model, [5, 6], [5, 8]), usual)


def test_a_transformer_reads_zeros_as_without_attention_to_the_source() -> None:
    model = build(READERS["transformer"]).eval()
    with source_cut_off(model, zero=True):
        found = hidden_of(model, [5, 6], [7])  # the second is padded
    for name, weight in model.named_parameters():
        if name.endswith("cross_attention.output.weight"):
            weight.data.zero_()
    torch.testing.assert_close(found, hidden_of(model, [5, 6], [7]))


def test_the_language_model_of_a_fusion_reads_on() -> None:
    config = next(one for one in READERS.values() if isinstance(one, DeepFusionConfig))
    model = cast(DeepFusion, build(config).eval())
    batch = make_batch([[5, 6]], [[9, 5, 7]])
    memory = model.encode(batch.source, batch.source_mask)

    def read(nothing: Memory) -> Tensor:
        start = model.language_model.start(nothing)
        return model.language_model.decode(batch.target_input, nothing, start)[0]

    expected = read(memory.language_model)
    torch.testing.assert_close(read(without_content(memory).language_model), expected)


@pytest.mark.parametrize(
    ("parts", "batch"), [({5}, whole()), ({2}, batch_of(REAL)), ({2}, replace(whole(), parts=None))]
)
def test_without_such_rows_it_is_the_objective_itself(parts: set[int], batch: Batch) -> None:
    """To the last bit."""
    model = build(READERS["transformer"]).train()
    plain = CrossEntropy(0.1).backward(model, batch)
    expected = gradients(model)
    found = SourceCutOff(CrossEntropy(0.1), frozenset(parts)).backward(model, batch)
    assert {name: total.item() for name, total in found.items()} == {
        name: total.item() for name, total in plain.items()
    }
    assert all(torch.equal(one, expected[name]) for name, one in gradients(model).items())
    assert any(one.any() for name, one in expected.items() if name.startswith("encoder."))


@pytest.mark.parametrize(
    "objective", [RDrop(0.1, 2.0), GuidedAlignment(0.1, 0.5, 1)], ids=["r_drop", "alignments"]
)
def test_any_objective_may_be_wrapped(objective: Objective) -> None:
    model = build(READERS["transformer"]).train()
    links = torch.zeros(4, 5, 4, dtype=torch.bool)
    links[0, 0, 1] = links[0, 1, 0] = True
    batch = replace(whole(), alignments=links)
    real, dummy = (batch.select(torch.tensor(rows)) for rows in (REAL, CUT_OFF))
    assert real.alignments is not None
    assert dummy.alignments is None
    objective.backward(model, real, 0.5)
    with source_cut_off(model):
        objective.backward(model, dummy, 0.5)
    expected = gradients(model)
    wrapped = SourceCutOff(objective, frozenset({2}))
    totals = wrapped.backward(model, batch, 0.5)
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, expected[name], msg=name)
    assert set(totals) == set(objective.totals) == set(wrapped.totals)
    figures = wrapped.figures({name: float(total) for name, total in totals.items()})
    assert figures == objective.figures({name: float(total) for name, total in totals.items()})


def test_the_model_is_as_before_even_after_an_error() -> None:
    model = build(TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=6, d_ff=7, heads=2))
    frozen = next(model.source_attention()).requires_grad_(False)
    with pytest.raises(ValueError, match="stop"), source_cut_off(model):
        assert not any(weight.requires_grad for weight in model.source_attention())
        raise ValueError("stop")
    assert "encode" not in vars(model)
    assert not frozen.requires_grad
    assert all(weight.requires_grad for weight in list(model.source_attention())[1:])
