"""The Transformer without an encoder against PyTorch's own layers and plain loops in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from families import build, random_ids, teacher_force
from torch import Tensor, nn

from dragoman.core.errors import DataError
from dragoman.models import TransformerLMConfig
from dragoman.models.families.transformer_lm import Prefix, TransformerLM, attend_after
from dragoman.models.layers.attention import KeysValues, MultiHeadConfig, mask_bias
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import PositionalEncodingConfig
from dragoman.models.layers.transformer_mixing import build_self_attention
from dragoman.models.size import meta_model

SMALL = {"layers": 2, "d_model": 12, "d_ff": 19, "heads": 3, "dropout": 0.0}


def made(**choices: object) -> TransformerLM:
    model = build(TransformerLMConfig(**{**SMALL, **choices}))
    assert isinstance(model, TransformerLM)
    return model


def mask_of(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def torch_encoder(ours: TransformerLM) -> nn.TransformerEncoder:
    """PyTorch's stack with the same weights."""
    pre = ours.config.residual.norm == "pre"
    layer = nn.TransformerEncoderLayer(12, 3, 19, dropout=0.0, batch_first=True, norm_first=pre)
    theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double()
    with torch.no_grad():
        for a, b in zip(theirs.layers, ours.layers, strict=True):
            at: Any = b.attention
            a.self_attn.in_proj_weight.copy_(
                torch.cat([at.query.weight, at.key.weight, at.value.weight])
            )
            a.self_attn.out_proj.weight.copy_(at.output.weight)
            a.self_attn.in_proj_bias.zero_()
            a.self_attn.out_proj.bias.zero_()
            feed_forward: Any = b.feed_forward
            residuals: Any = b.residuals
            a.linear1.load_state_dict(feed_forward.inner.state_dict())
            a.linear2.load_state_dict(feed_forward.outer.state_dict())
            a.norm1.load_state_dict(residuals[0].norm.state_dict())
            a.norm2.load_state_dict(residuals[1].norm.state_dict())
    return theirs


def hidden_of(model: TransformerLM, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    memory = model.encode(source, mask)
    return model.decode(target, memory, model.start(memory))[0]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_language_model_is_torchs_encoder_with_a_causal_mask(norm: str) -> None:
    ours = made(norm=norm)
    target, nothing = random_ids(3, 5), random_ids(3, 1)
    later = torch.triu(torch.ones(5, 5, dtype=torch.bool), diagonal=1)
    expected = ours.norm(torch_encoder(ours)(ours.target_embedding(target), mask=later))
    found = hidden_of(ours, nothing, torch.ones(3, 1, dtype=torch.bool), target)
    torch.testing.assert_close(found, expected)


def test_dropout_falls_where_that_of_a_decoder_falls() -> None:
    """On embeddings, weights, the inside of feed-forward sublayers and sublayers' outputs."""
    rates = {"dropout": 0.1, "attention_dropout": 0.2, "feed_forward_dropout": 0.3}
    model = made(source="causal", **rates).train()
    seen: list[tuple[float, torch.Size]] = []
    for part in model.modules():
        if isinstance(part, Dropout):
            part.register_forward_hook(
                lambda part, inputs, output: seen.append((part.rate, output.shape))
            )
    hidden_of(model, random_ids(2, 7), mask_of([7, 7]), random_ids(2, 5, seed=2))

    def layer(length: int, keys: int) -> list[tuple[float, tuple[int, ...]]]:
        own = (0.1, (2, length, 12))
        return [(0.2, (2, 3, length, keys)), own, (0.3, (2, length, 19)), own]

    source = [(0.1, (2, 7, 12)), *layer(7, 7), *layer(7, 7)]
    assert seen == [*source, (0.1, (2, 5, 12)), *layer(5, 12), *layer(5, 12)]


@pytest.mark.parametrize("source_sees", ["causal", "full"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_translator_is_torchs_encoder_over_both_sides(source_sees: str, positions: str) -> None:
    """One sequence a sentence, without padding, in which the target sees all before it."""
    ours = made(source=source_sees, positions=positions)
    theirs, embedding = torch_encoder(ours), ours.source_embedding
    assert embedding is not None
    lengths = [7, 2, 5]
    source, target = random_ids(3, 7), random_ids(3, 4, seed=2)
    found = hidden_of(ours, source, mask_of(lengths), target)
    for row, length in enumerate(lengths):
        own = source[row : row + 1, :length]
        both = torch.cat(
            [
                embedding(own) + ours.source_side,
                ours.target_embedding(target[row : row + 1]),
            ],
            dim=1,
        )
        hidden = torch.triu(torch.ones(length + 4, length + 4, dtype=torch.bool), diagonal=1)
        if source_sees == "full":
            hidden[:length, :length] = False
        expected = theirs(both, mask=hidden)[0, length:]
        torch.testing.assert_close(found[row], expected)


def turned(x: np.ndarray, position: int) -> np.ndarray:
    """Neighbouring elements as a complex number, turned (Su et al. 2021, equation 34)."""
    numbers = x[0::2] + 1j * x[1::2]
    angles = position / 10000 ** (np.arange(len(numbers)) * 2 / len(x))
    result = numbers * np.exp(1j * angles)
    return np.stack([result.real, result.imag], axis=1).ravel()


@pytest.mark.parametrize("positions", ["none", "rotary"])
@pytest.mark.parametrize("attention", ["scaled_dot", "dot"])
def test_one_softmax_over_source_and_own_positions(positions: str, attention: str) -> None:
    """Two sentences of three beams each, from position 2 on, beside loops in NumPy."""
    config = MultiHeadConfig(heads=2, d_k=4, d_v=3, attention=attention)
    torch.manual_seed(0)
    encoding = PositionalEncodingConfig(positions=positions)
    module = build_self_attention(5, config, encoding, causal=True).double()
    read, x = torch.randn(2, 4, 5).double(), torch.randn(6, 3, 5).double()
    mask, start = mask_of([4, 2]), 2
    prefix = Prefix(module.keys_values(read), mask_bias(mask, x.dtype)[:, None, None])
    own: KeysValues = module.keys_values(x)  # counted from 0, so that two come before `start`
    now = x[:, start:]
    found, on_source = attend_after(prefix, module, now, own, None, start=start)
    found, on_source = found.detach(), on_source.detach()
    w = {name: p.detach().numpy() for name, p in module.named_parameters()}
    scale = 1.0 if attention == "dot" else 4**-0.5
    atol = 1e-6 if positions == "rotary" else 1e-13  # its table is in float32
    for row in range(6):
        sentence = row // 3
        before = [*read[sentence, mask[sentence]].numpy()]
        places = [*range(len(before)), *range(3)]
        seen = [*before, *x[row].numpy()]
        heads = []
        for h in range(2):
            q, k = (w[f"{n}.weight"][4 * h : 4 * h + 4] for n in ("query", "key"))
            v = w["value.weight"][3 * h : 3 * h + 3]
            query, keys = q @ now[row, 0].numpy(), [k @ y for y in seen]
            if positions == "rotary":
                query = turned(query, start)
                keys = [turned(key, place) for key, place in zip(keys, places, strict=True)]
            weights = np.exp([scale * query @ key for key in keys])
            values = np.array([v @ y for y in seen])
            weights /= weights.sum()
            heads.append(weights @ values)
            shown = on_source[row, h, 0, : len(before)]
            np.testing.assert_allclose(shown, weights[: len(before)], rtol=0, atol=atol)
        expected = w["output.weight"] @ np.concatenate(heads)
        np.testing.assert_allclose(found[row, 0], expected, rtol=0, atol=atol)


def test_in_the_sizes_of_gpt_biases_of_attention_are_all_that_it_lacks() -> None:
    """Radford et al. 2018: 116,534,784 parameters with their vocabulary of 40,478."""
    config = TransformerLMConfig(
        layers=12,
        d_model=768,
        d_ff=3072,
        heads=12,
        activation="gelu",
        positions="learned",
        max_positions=512,
        attention_dropout=0.1,
    )
    biases = 12 * 4 * 768  # of queries, keys, values and outputs
    parameters = meta_model(config, 1, 40_478).parameters()
    assert sum(parameter.numel() for parameter in parameters) == 116_534_784 - biases


def test_attention_weights_are_those_on_the_source() -> None:
    model = made(source="full")
    memory = model.encode(random_ids(2, 7), mask_of([7, 3]))
    weights = model.attention_weights(random_ids(2, 5, seed=2), memory)
    assert weights.shape == (2, 2, 3, 5, 7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 3, 5, dtype=torch.float64))
    assert weights[1, ..., 3:].abs().max() == 0
    with pytest.raises(TypeError, match="TransformerLM has no attention over the source"):
        made().attention_weights(random_ids(2, 5), memory)


def test_a_language_model_knows_nothing_of_the_source() -> None:
    model = made()
    target = random_ids(2, 5)
    one = teacher_force(model, random_ids(2, 7), mask_of([7, 3]), target)
    other = teacher_force(model, random_ids(2, 1, seed=5), mask_of([1, 1]), target)
    assert torch.equal(one, other)
    assert not model.reads_source
    assert not any(name.startswith("source") for name, _ in model.named_parameters())


def test_the_source_matters_to_a_translator_and_so_does_its_order() -> None:
    model = made(source="causal", positions="none")
    source, target = random_ids(1, 5), random_ids(1, 3, seed=2)
    found = teacher_force(model, source, mask_of([5]), target)
    assert not torch.allclose(found, teacher_force(model, source.flip(1), mask_of([5]), target))


def test_positions_of_the_target_do_not_depend_on_the_source() -> None:
    """So a model of n positions writes n of them after any source that it can read."""
    model = made(source="causal", positions="learned", max_positions=4)
    assert model.position_limit == 4
    hidden_of(model, random_ids(1, 4), mask_of([4]), random_ids(1, 4))
    with pytest.raises(DataError, match=r"5 positions.*max_positions"):
        hidden_of(model, random_ids(1, 4), mask_of([4]), random_ids(1, 5))


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"source": "causal", "attention": "additive"}, "attention: additive does not go with"),
        ({"source": "full", "positions": "relative"}, "positions: relative does not go with"),
        ({"source": "full", "positions": "alibi"}, "positions: alibi does not go with"),
        ({"source": "causal", "window": 5}, "window: 5 does not go with source: causal"),
        ({"source": "causal", "mixture": {}}, "mixture does not go with source: causal"),
    ],
)
def test_what_does_not_fit_together_is_refused(choices: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerLMConfig(**choices)
