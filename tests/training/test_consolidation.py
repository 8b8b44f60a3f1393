"""Elastic weight consolidation: the Fisher information, and the penalty's gradient."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from families import build
from reversal import (
    Reversal,
    assert_same,
    tiny_config,
    tiny_model,
    translation,
    weights,
)
from torch import Tensor, nn
from worlds import ALONE, gloo_together

from dragoman.core.errors import DataError, SavedError
from dragoman.data.batches import Batch, make_batch
from dragoman.models.families.recurrent import RecurrentConfig
from dragoman.models.interface import TranslationModel
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.training.consolidation import (
    Consolidation,
    ConsolidationConfig,
    fisher_diagonal,
    general_pairs,
    read_consolidation,
    write_consolidation,
)
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.interface import Sharding
from dragoman.training.sharding.replicas import Replicas
from dragoman.training.trainer import Trainer

PAIRS = [([5, 7, 9], [4, 6]), ([8], [11, 5, 13, 6]), ([4, 4, 12, 10], [9]), ([6, 5], [7, 7])]


def batches(pairs: Sequence[tuple[list[int], list[int]]] = PAIRS) -> list[Batch]:
    return [make_batch([source], [target]) for source, target in pairs]


def log_probability(model: TranslationModel, batch: Batch) -> Tensor:
    """log p(target | source), position by position."""
    memory = model.encode(batch.source, batch.source_mask)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    scores = model.logits(hidden[0])
    total = scores.new_zeros(())
    for row, gold in zip(scores, batch.target_output[0], strict=True):
        total = total + row[gold] - row.logsumexp(0)
    return total


def test_the_fisher_information_is_that_of_a_loop_over_pairs() -> None:
    """Without dropout, although the model is training; weights that do not learn are left out."""
    model = tiny_model(dropout=0.5).double()
    frozen = "encoder.0.attention.query.weight"
    dict(model.named_parameters())[frozen].requires_grad_(False)
    model.train()
    found = fisher_diagonal(model, batches(), ALONE)
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert frozen not in found
    assert_as_by_loop(found, model)


def assert_as_by_loop(found: dict[str, Tensor], model: TranslationModel) -> None:
    """Compare Fisher information with that of a loop over pairs, without dropout."""
    model.eval()
    learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
    expected = {name: torch.zeros_like(p) for name, p in learned.items()}
    for batch in batches():
        gradients = torch.autograd.grad(log_probability(model, batch), list(learned.values()))
        for name, gradient in zip(learned, gradients, strict=True):
            expected[name] += gradient.square() / len(PAIRS)
    assert found.keys() == expected.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor.double(), expected[name], rtol=1e-5, atol=1e-12)
    assert sum(float(tensor.sum()) for tensor in found.values()) > 0


@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh", "grouped_lstm"])
@pytest.mark.parametrize("training", [True, False])
def test_recurrent_layers_alone_are_in_training_mode(cell: str, training: bool) -> None:
    """On a GPU, cuDNN goes back through no other; dropout must not be."""
    groups = {"cell_groups": 2} if cell == "grouped_lstm" else {}
    values = {"encoder_layers": 2, "decoder_layers": 1, "d_model": 6, "dropout": 0.5}
    config = RecurrentConfig.model_validate({**values, "cell": cell, **groups})
    model = build(config).train(training)
    modes = set()

    def look(module: nn.Module, _: object) -> None:
        modes.add((isinstance(module, nn.RNNBase), module.training))

    for module in model.modules():
        module.register_forward_pre_hook(look)
    found = fisher_diagonal(model, batches(), ALONE)
    assert modes == {(True, True), (False, False)}
    assert {module.training for module in model.modules()} == {training}
    assert_as_by_loop(found, model)


def test_processes_share_the_pairs() -> None:
    """More of them than pairs, too."""
    alone = fisher_diagonal(tiny_model(), batches(PAIRS[:2]), ALONE)
    for share in gloo_together(3, lambda world: fisher_diagonal(_own(), batches(PAIRS[:2]), world)):
        found = share.result()
        for name, tensor in alone.items():
            torch.testing.assert_close(found[name], tensor, rtol=1e-5, atol=1e-9)


def _own() -> TranslationModel:
    """A thread's own model; drawing its weights is shared by all threads, so they are copied."""
    model = tiny_model()
    with torch.no_grad():
        for parameter, wanted in zip(model.parameters(), _WEIGHTS, strict=True):
            parameter.copy_(wanted)
    return model


_WEIGHTS = [parameter.detach() for parameter in tiny_model().parameters()]


def drawn(model: TranslationModel, seed: int) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    return {name: torch.rand_like(p) for name, p in model.named_parameters()}


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_the_gradient_is_that_of_the_penalty(precision: torch.dtype) -> None:
    model = tiny_model()
    fisher, origin = drawn(model, 1), drawn(model, 2)
    begun = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    penalty = sum(
        (1.7 / 2 * (fisher[name] * (begun[name] - origin[name]).square()).sum() for name in begun),
        torch.zeros(()),
    )
    penalty.backward()
    optimizer = Replicas(model, AdamConfig(), precision)
    optimizer.gradient.fill_(2.0)
    consolidation = Consolidation(optimizer, fisher, origin, weight=1.7)
    assert consolidation.value() == pytest.approx(penalty.item(), rel=1e-5)
    consolidation.add_gradient(tokens=10)
    expected = {name: 2.0 + 10 * p.grad for name, p in begun.items() if p.grad is not None}
    torch.testing.assert_close(optimizer.gradient, optimizer.flat(expected), rtol=1e-5, atol=1e-5)


def test_a_file_of_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "consolidation.safetensors"
    write_consolidation(path, tiny_model(), batches(), ALONE)
    other = tiny_model(norm="pre")
    optimizer = Replicas(other, AdamConfig(), torch.float32)
    with pytest.raises(SavedError, match="another configuration"):
        read_consolidation(path, optimizer, 1.0)


def trained(run: Path, weight: float, steps: int = 12) -> dict[str, Tensor]:
    """The weights after some steps, the last of them resumed if the run has begun."""
    path = run / "consolidation.safetensors"
    model = tiny_model()
    if weight and not path.exists():
        write_consolidation(path, model, batches(), ALONE)

    def penalty(sharding: Sharding) -> Consolidation:
        assert isinstance(sharding, Replicas)
        return read_consolidation(path, sharding, weight)

    trainer = Trainer(
        model,
        [translation(Reversal())],
        lambda model: {"loss": 1.0},
        tiny_config(max_steps=steps),
        run,
        seed=5,
        d_model=16,
        world=ALONE,
        make_penalty=penalty if weight else None,
    )
    trainer.resume()
    trainer.train()
    return weights(run, steps)


def test_a_resumed_training_is_the_same(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", 3.0)
    trained(tmp_path / "parted", 3.0, steps=5)
    assert_same(trained(tmp_path / "parted", 3.0), whole)


def test_a_large_weight_holds_the_weights(tmp_path: Path) -> None:
    """Where their Fisher information is large, as Adam's steps are as long everywhere."""
    begun = {name: p.detach() for name, p in tiny_model().named_parameters()}
    fisher = fisher_diagonal(tiny_model(), batches(), ALONE)

    def moved(found: dict[str, Tensor]) -> float:
        return sum(float((fisher[n] * (found[n] - begun[n]).square()).sum()) for n in begun)

    free, held = (trained(tmp_path / str(weight), weight) for weight in (0.0, 1e4))
    assert 0 < moved(held) < 0.5 * moved(free)


def test_general_text_is_a_sample_without_what_is_too_long(tmp_path: Path) -> None:
    lines = [f"{a} {b}" for a in "abcde" for b in "abcde"]
    vocabularies = train_vocabularies(
        list(zip(lines, lines, strict=True)) * 9, VocabularyConfig(size=14), seed=1
    )
    source, target = tmp_path / "s.txt", tmp_path / "t.txt"
    texts = ["a b", "b c", "", "c " * 40, *lines]
    source.write_text("".join(f"{line}\n" for line in texts))
    target.write_text("".join(f"{line}\n" for line in texts))
    part = CorpusPart(source=str(source), target=str(target)).resolved("en", "de")
    config = ConsolidationConfig(weight=1.0, pairs=7, text=(part,))

    def found(pairs: int, seed: int = 1, max_pieces: int = 20) -> list[list[int]]:
        some = config.model_copy(update={"pairs": pairs})
        sample = general_pairs(some, [part], vocabularies, max_pieces=max_pieces, seed=seed)
        assert all(batch.sentences == 1 for batch in sample)
        return [batch.source[0].tolist() for batch in sample]

    assert len(found(7)) in {6, 7}  # the long one may have been drawn
    assert found(7) == found(7)
    assert found(7) != found(7, seed=2)
    assert len(found(1000)) == len(texts) - 2
    with pytest.raises(DataError, match=r"s.txt.*no pair .* at most 0 pieces.*consolidation"):
        found(7, max_pieces=0)
