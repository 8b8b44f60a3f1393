"""Recurrent language models and translators without attention against PyTorch's own stacks."""

from __future__ import annotations

import pytest
import torch
from families import build, random_ids, teacher_force
from torch import Tensor, nn

from dragoman.models import RecurrentLMConfig
from dragoman.models.families.recurrent_lm import RecurrentLM
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.recurrence import RecurrentStack, backwards
from dragoman.text.vocabularies import EOS

SMALL = {"layers": 3, "d_model": 5, "dropout": 0.0}


def made(**choices: object) -> RecurrentLM:
    """A model whose weights are large enough for gates to leave their linear range."""
    model = build(RecurrentLMConfig(**{**SMALL, **choices}))
    assert isinstance(model, RecurrentLM)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(16)
    return model


def mask_of(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def torch_stack(ours: RecurrentStack, cell: str) -> nn.RNNBase:
    """PyTorch's stack of three layers with the same weights."""
    theirs = (nn.LSTM if cell == "lstm" else nn.GRU)(5, 5, 3, batch_first=True).double()
    theirs.load_state_dict(
        {
            name.replace("_l0", f"_l{number}"): tensor
            for number, layer in enumerate(ours.layers)
            for name, tensor in layer.state_dict().items()
        }
    )
    return theirs


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_language_model_is_torchs_stack(cell: str) -> None:
    ours = made(cell=cell)
    target = random_ids(2, 6)
    expected, _ = torch_stack(ours.stack, cell)(ours.target_embedding(target))
    scores = expected @ ours.output.weight.T + ours.output.bias
    found = teacher_force(ours, random_ids(2, 1), mask_of([1, 1]), target)
    torch.testing.assert_close(found, scores)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("source", ["forward", "reversed"])
@pytest.mark.parametrize("source_layers", ["same", "own"])
def test_a_translator_goes_on_where_the_source_ended(
    cell: str, source: str, source_layers: str
) -> None:
    """One sentence at a time, without padding: read the source, then the target."""
    ours = made(cell=cell, source=source, source_layers=source_layers)
    assert ours.source_embedding is not None
    writer = torch_stack(ours.stack, cell)
    own_stack = ours.source_stack
    reader = writer if own_stack is None else torch_stack(own_stack, cell)
    lengths = [2, 7, 4]
    sentences, target = random_ids(3, 7), random_ids(3, 5, seed=2)
    found = teacher_force(ours, sentences, mask_of(lengths), target)
    for row, length in enumerate(lengths):
        own = sentences[row, :length]
        if source == "reversed":
            own = torch.cat([own[:-1].flip(0), own[-1:]])
        _, state = reader(ours.source_embedding(own[None]))
        expected, _ = writer(ours.target_embedding(target[row][None]), state)
        scores = expected[0] @ ours.output.weight.T + ours.output.bias
        torch.testing.assert_close(found[row], scores)


def test_backwards_leaves_end_and_padding() -> None:
    source = torch.tensor([[5, 6, 7, EOS, 0], [8, EOS, 0, 0, 0], [EOS, 0, 0, 0, 0]])
    found = backwards(source, source != 0)
    assert found.tolist() == [[7, 6, 5, EOS, 0], [8, EOS, 0, 0, 0], [EOS, 0, 0, 0, 0]]


def test_a_language_model_knows_nothing_of_the_source() -> None:
    model = made()
    target = random_ids(2, 5)
    one = teacher_force(model, random_ids(2, 7), mask_of([7, 3]), target)
    other = teacher_force(model, random_ids(2, 1, seed=5), mask_of([1, 1]), target)
    assert torch.equal(one, other)
    assert not model.reads_source
    assert not any(name.startswith("source") for name, _ in model.named_parameters())


def test_dropout_falls_on_embeddings_between_layers_and_on_the_output() -> None:
    """Zaremba et al. 2014: L + 1 times for L layers, never on what a layer keeps."""
    model = made(source="forward", dropout=0.5).train()
    shapes: list[torch.Size] = []
    for part in model.modules():
        if isinstance(part, Dropout):
            part.register_forward_hook(lambda _, inputs, output: shapes.append(output.shape))
    memory = model.encode(random_ids(2, 6), mask_of([6, 3]))
    assert shapes == [(2, 6, 5), (9, 5), (9, 5)]  # 6 + 3 real tokens
    shapes.clear()
    hidden, _ = model.decode(random_ids(2, 4, seed=2), memory, model.start(memory))
    assert shapes == [(2, 4, 5)] * 4
    assert 0.2 < (hidden == 0).double().mean() < 0.8


def test_the_defaults_are_zarembas_medium_model() -> None:
    """Two layers of 650 units, dropout 0.5 (section 4.1); its range of weights is asked for."""
    config = RecurrentLMConfig()
    assert (config.layers, config.d_model, config.dropout) == (2, 650, 0.5)


@pytest.mark.parametrize(
    ("choices", "initial"),
    [({"d_model": 250}, 0.2), ({"d_model": 650, "initial_range": 0.05}, 0.05)],
    ids=["as large as Luong's by its width", "Zaremba's"],
)
def test_weights_begin_in_the_range(choices: dict[str, float], initial: float) -> None:
    model = build(RecurrentLMConfig(layers=1, **choices))
    largest = max(p.detach().abs().max().item() for p in model.parameters())
    assert largest == pytest.approx(initial, rel=0.01)


def test_layers_of_the_source_need_a_source() -> None:
    with pytest.raises(ValueError, match="source_layers: own needs a source"):
        RecurrentLMConfig(source_layers="own")
