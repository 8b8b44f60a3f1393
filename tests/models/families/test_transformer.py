"""The Transformer against PyTorch's own and against the paper's formulas in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from families import build, random_ids, shaken, teacher_force
from torch import nn

from dragoman.core.errors import DataError
from dragoman.models import TransformerConfig
from dragoman.models.families.transformer import Transformer
from dragoman.models.layers import attention
from dragoman.models.layers.dropout import keep_mask, seed_dropout

CONFIG = TransformerConfig(
    encoder_layers=2, decoder_layers=3, d_model=12, d_ff=19, heads=3, dropout=0.0
)


def mask_of(lengths: list[int]) -> torch.Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def copy_attention(theirs: nn.MultiheadAttention, ours: Any) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.out_proj.weight.copy_(ours.output.weight)
    if ours.query.bias is None:
        theirs.in_proj_bias.zero_()
        theirs.out_proj.bias.zero_()
    else:
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.bias.copy_(ours.output.bias)


def copy_rest(theirs: Any, ours: Any) -> None:
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    for number, residual in enumerate(ours.residuals, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(residual.norm.state_dict())


@pytest.mark.filterwarnings("ignore:.*nested tensor.*")
@pytest.mark.filterwarnings("ignore:.*enable_nested_tensor.*")
@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "post"},
        {"norm": "pre"},
        {"attention_bias": True, "activation": "gelu", "norm_epsilon": 0.02, "final_norm": True},
    ],
)
def test_equals_torch_nn_transformer(settings: dict[str, Any]) -> None:
    ours = shaken(Transformer, CONFIG.model_copy(update=settings), by=0.1)
    config = ours.config
    theirs = nn.Transformer(
        12,
        3,
        2,
        3,
        19,
        dropout=0.0,
        activation=config.feed_forward.activation,
        layer_norm_eps=config.residual.norm_epsilon,
        batch_first=True,
        norm_first=config.residual.norm == "pre",
    ).double()
    if not config.residual.ends_normalised:  # PyTorch closes every stack with a normalisation
        theirs.encoder.norm = theirs.decoder.norm = None
    with torch.no_grad():
        if config.residual.ends_normalised:
            theirs.encoder.norm.load_state_dict(ours.encoder_norm.state_dict())
            theirs.decoder.norm.load_state_dict(ours.decoder_norm.state_dict())
        for a, b in zip(theirs.encoder.layers, ours.encoder, strict=True):
            copy_attention(a.self_attn, b.attention)
            copy_rest(a, b)
        for a, b in zip(theirs.decoder.layers, ours.decoder, strict=True):
            copy_attention(a.self_attn, b.self_attention)
            copy_attention(a.multihead_attn, b.cross_attention)
            copy_rest(a, b)
    source, target, mask = random_ids(3, 7), random_ids(3, 5, seed=2), mask_of([7, 2, 5])
    memory = ours.encode(source, mask)
    hidden, _ = ours.decode(target, memory, ours.start(memory))
    expected = theirs(
        ours.source_embedding(source),
        ours.target_embedding(target),
        tgt_mask=torch.triu(torch.ones(5, 5, dtype=torch.bool), diagonal=1),
        src_key_padding_mask=~mask,
        memory_key_padding_mask=~mask,
    )
    torch.testing.assert_close(hidden, expected)


def test_source_without_end_is_read_as_if_it_ended_before() -> None:
    whole = shaken(Transformer, CONFIG, by=0.1)
    without = shaken(Transformer, CONFIG.model_copy(update={"source_end": False}), by=0.1)
    without.load_state_dict(whole.state_dict())
    source, mask, target = random_ids(3, 5), mask_of([5, 1, 3]), random_ids(3, 4, seed=2)
    memory = without.encode(source, mask)
    hidden, _ = without.decode(target, memory, without.start(memory))
    for row, length in enumerate([4, 1, 2]):  # only the end symbol of an empty source is read
        alone = source[row : row + 1, :length]
        read = whole.encode(alone, torch.ones_like(alone, dtype=torch.bool))
        expected, _ = whole.decode(target[row : row + 1], read, whole.start(read))
        torch.testing.assert_close(hidden[row], expected[0])
    states = without.encoder_states(source, mask)
    torch.testing.assert_close(states[0, :4], memory.hidden[0, :4])


class PaperForward:
    """Figure 1 of the paper, one sentence at a time, in float64 NumPy; only weights are shared.

    With ``dropping`` masks are drawn in the order of the layers, as the model draws them.
    """

    def __init__(self, model: Transformer, dropping: bool = False) -> None:
        self.weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
        self.config = model.config
        self.dropping = dropping

    def __call__(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        x = self.embed(source)
        for layer in range(self.config.encoder_layers):
            name = f"encoder.{layer}"
            own = self.drop(self.attention(f"{name}.attention", x, x))
            x = self.norm(x + own, f"{name}.residuals.0")
            x = self.norm(x + self.drop(self.feed_forward(name, x)), f"{name}.residuals.1")
        y = self.embed(target)
        for layer in range(self.config.decoder_layers):
            name = f"decoder.{layer}"
            own = self.drop(self.attention(f"{name}.self_attention", y, y, causal=True))
            y = self.norm(y + own, f"{name}.residuals.0")
            context = self.drop(self.attention(f"{name}.cross_attention", y, x))
            y = self.norm(y + context, f"{name}.residuals.1")
            y = self.norm(y + self.drop(self.feed_forward(name, y)), f"{name}.residuals.2")
        return y @ self.weights["source_embedding.weight"].T

    def mask(self, shape: tuple[int, ...], rate: float) -> np.ndarray:
        if not self.dropping or rate == 0:
            return np.ones(shape)
        return keep_mask(torch.Size(shape), rate, torch.float64).numpy()

    def drop(self, x: np.ndarray) -> np.ndarray:
        return x * self.mask(x.shape, self.config.residual.dropout)

    def embed(self, ids: np.ndarray) -> np.ndarray:
        d_model = self.config.d_model
        table = self.weights["source_embedding.weight"]
        rows = []
        for position, piece in enumerate(ids):
            angles = [position / 10000 ** (2 * (i // 2) / d_model) for i in range(d_model)]
            wave = [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]
            rows.append(table[piece] * math.sqrt(d_model) + wave)
        return self.drop(np.array(rows))

    def attention(
        self, name: str, x: np.ndarray, memory: np.ndarray, causal: bool = False
    ) -> np.ndarray:
        project = {
            part: self.weights[f"{name}.{part}.weight"] for part in ("query", "key", "value")
        }
        width = self.config.d_model // self.config.multi_head.heads
        kept = self.mask(
            (self.config.multi_head.heads, len(x), len(memory)),
            self.config.multi_head.attention_dropout,
        )
        heads = []
        for head in range(self.config.multi_head.heads):
            rows = slice(head * width, (head + 1) * width)
            q = x @ project["query"][rows].T
            k, v = memory @ project["key"][rows].T, memory @ project["value"][rows].T
            scores = q @ k.T / math.sqrt(width)
            if causal:
                scores[np.triu_indices(len(x), 1)] = -np.inf
            weights = np.exp(scores - scores.max(1, keepdims=True))
            heads.append(weights / weights.sum(1, keepdims=True) * kept[head] @ v)
        return np.concatenate(heads, axis=1) @ self.weights[f"{name}.output.weight"].T

    def feed_forward(self, name: str, x: np.ndarray) -> np.ndarray:
        w = {k: self.weights[f"{name}.feed_forward.{k}"] for k in ("inner.weight", "inner.bias")}
        inner = np.maximum(0, x @ w["inner.weight"].T + w["inner.bias"])
        inner = inner * self.mask(inner.shape, self.config.feed_forward.feed_forward_dropout)
        outer = f"{name}.feed_forward.outer"
        return inner @ self.weights[f"{outer}.weight"].T + self.weights[f"{outer}.bias"]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        gain, bias = (self.weights[f"{name}.norm.{part}"] for part in ("weight", "bias"))
        centred = x - x.mean(1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * gain + bias


def test_equals_the_paper_in_numpy() -> None:
    model = build(CONFIG)
    assert isinstance(model, Transformer)
    with torch.no_grad():  # biases and gains start at 0 and 1, which would hide a mistake
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    source, target = random_ids(1, 6), random_ids(1, 5, seed=2)
    expected = PaperForward(model)(source[0].numpy(), target[0].numpy())
    found = teacher_force(model, source, torch.ones(1, 6, dtype=torch.bool), target)
    # The model keeps its table of positions in float32, hence not 1e-12.
    np.testing.assert_allclose(found[0].detach().numpy(), expected, rtol=0, atol=2e-7)


@pytest.mark.parametrize(
    "others",
    [{}, {"attention_dropout": 0.2, "feed_forward_dropout": 0.4}],
    ids=["the paper's", "all that can be chosen"],
)
def test_dropout_is_where_the_paper_has_it(others: dict[str, float]) -> None:
    """Section 5.4: on the output of each sublayer and on the sums of embeddings and positions.

    A mask that is left out, drawn twice or of another rate shifts all that come after it.
    """
    model = build(CONFIG.model_copy(update={"dropout": 0.3, **others})).train()
    assert isinstance(model, Transformer)
    source, target = random_ids(1, 6), random_ids(1, 5, seed=2)
    seed_dropout(7)
    found = teacher_force(model, source, torch.ones(1, 6, dtype=torch.bool), target)
    seed_dropout(7)
    expected = PaperForward(model, dropping=True)(source[0].numpy(), target[0].numpy())
    np.testing.assert_allclose(found[0].detach().numpy(), expected, rtol=0, atol=1e-6)


def test_matrices_of_attention_begin_as_pytorchs() -> None:
    """W^Q, W^K and W^V as one matrix of Glorot and Bengio 2010."""
    torch.manual_seed(5)
    theirs = nn.MultiheadAttention(128, 4, bias=False).in_proj_weight
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=128, d_ff=19, heads=4)
    model = Transformer(config, 30, 30)
    layer = model.decoder[0]
    several: list[Any] = [model.encoder[0].attention, layer.self_attention, layer.cross_attention]
    for heads in several:
        for part in (heads.query, heads.key, heads.value):
            assert part.weight.abs().max().item() == pytest.approx(theirs.abs().max().item(), 0.01)
            assert part.weight.std().item() == pytest.approx(theirs.std().item(), 0.02)


def test_long_sentences_take_another_kernel_and_give_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beyond a length attention is PyTorch's fused kernel; the NumPy forward does not care."""
    monkeypatch.setattr(attention, "_LONG", 20)
    monkeypatch.setattr(attention, "_MANY", 1)
    model = build(CONFIG.model_copy(update={"encoder_layers": 1, "decoder_layers": 1}))
    assert isinstance(model, Transformer)
    source, target = random_ids(1, 30), random_ids(1, 29, seed=2)
    expected = PaperForward(model)(source[0].numpy(), target[0].numpy())
    found = teacher_force(model, source, torch.ones(1, 30, dtype=torch.bool), target)
    np.testing.assert_allclose(found[0].detach().numpy(), expected, rtol=0, atol=2e-7)


def test_attention_weights_sum_to_one_and_see_no_padding() -> None:
    model = build(CONFIG)
    source, target, mask = random_ids(2, 7), random_ids(2, 5, seed=2), mask_of([7, 3])
    weights = model.attention_weights(target, model.encode(source, mask))
    assert weights.shape == (2, 3, 3, 5, 7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 3, 5, dtype=torch.float64))
    assert weights[1, ..., 3:].abs().max() == 0


def test_learned_positions_end_with_a_clear_error() -> None:
    model = build(CONFIG.model_copy(update={"positions": "learned", "max_positions": 4}))
    with pytest.raises(DataError, match=r"5 positions.*max_positions"):
        model.encode(random_ids(1, 5), torch.ones(1, 5, dtype=torch.bool))


def test_heads_must_divide_d_model() -> None:
    with pytest.raises(ValueError, match=r"d_model 10 is not divisible by heads 3"):
        TransformerConfig(d_model=10, heads=3)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_attention_weights_are_those_of_this_pass_alone(norm: str) -> None:
    """As when another thread decodes with the same model meanwhile."""
    model = build(CONFIG.model_copy(update={"norm": norm}))
    source, target, mask = random_ids(2, 7), random_ids(2, 5, seed=2), mask_of([7, 3])
    memory = model.encode(source, mask)
    expected = model.attention_weights(target, memory)
    others: list[torch.Tensor] = []

    def meanwhile(module: nn.Module, inputs: object) -> None:
        if not others:
            others.append(random_ids(2, 3, seed=5))
            model.decode(others[0], memory, model.start(memory))

    with model.get_submodule("target_embedding").register_forward_pre_hook(meanwhile):
        found = model.attention_weights(target, memory)
    assert others
    assert torch.equal(found, expected)
