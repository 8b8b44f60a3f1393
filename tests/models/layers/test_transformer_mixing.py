"""Which classes attention is built of, and that the settings reach them."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from dragoman.models.layers.attention import MultiHeadAttention, MultiHeadConfig
from dragoman.models.layers.positions import PositionalEncodingConfig
from dragoman.models.layers.scoring import ScoredAttention
from dragoman.models.layers.self_attention import (
    DecoderScoredSelfAttention,
    DecoderSelfAttention,
    EncoderScoredSelfAttention,
    EncoderSelfAttention,
)
from dragoman.models.layers.transformer_mixing import build_attention, build_self_attention

D_MODEL = 6
PLAIN = [{}, {"attention": "dot"}, *({"positions": p} for p in ("learned", "alibi", "buckets"))]
OTHERS = [
    {"attention": "additive"},
    {"window": 3},
    {"positions": "relative"},
    {"positions": "rotary"},
]


def settings(choices: dict[str, Any]) -> tuple[MultiHeadConfig, PositionalEncodingConfig]:
    heads = {key: value for key, value in choices.items() if key != "positions"}
    encoding = {key: value for key, value in choices.items() if key == "positions"}
    return MultiHeadConfig(heads=3, **heads), PositionalEncodingConfig(**encoding)


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("choices", [*PLAIN, *OTHERS], ids=str)
def test_plain_dot_products_have_classes_of_their_own(choices: dict[str, Any]) -> None:
    config = settings(choices)
    built = [
        type(build_self_attention(D_MODEL, *config, causal=True)),
        type(build_self_attention(D_MODEL, *config, causal=False)),
    ]
    plain = [DecoderSelfAttention, EncoderSelfAttention]
    scored = [DecoderScoredSelfAttention, EncoderScoredSelfAttention]
    assert built == (plain if choices in PLAIN else scored)
    cross = ScoredAttention if choices.get("attention") == "additive" else MultiHeadAttention
    assert type(build_attention(D_MODEL, config[0])) is cross


@pytest.mark.parametrize(("attention", "scale"), [("scaled_dot", 2**-0.5), ("dot", 1.0)])
def test_attention_over_the_source_is_scaled_as_asked_for(
    attention: Literal["scaled_dot", "dot"], scale: float
) -> None:
    torch.manual_seed(0)
    layer = build_attention(D_MODEL, MultiHeadConfig(heads=3, attention=attention))
    x, source = random(2, 4, D_MODEL, seed=1), random(2, 5, D_MODEL, seed=2)
    memory = layer.keys_values(source)
    scores = layer.queries(x) @ memory.keys.transpose(2, 3)
    weights = (scale * scores).softmax(-1)
    torch.testing.assert_close(layer.weights(x, memory, None), weights)
    torch.testing.assert_close(layer(x, memory, None), layer.joined(weights @ memory.values))


@pytest.mark.parametrize(
    "others", [{}, {"attention": "additive"}, {"positions": "rotary"}], ids=str
)
def test_a_window_keeps_no_more_than_a_next_position_sees(others: dict[str, Any]) -> None:
    heads, encoding = settings({**others, "window": 5})
    layer = build_self_attention(D_MODEL, heads, encoding, causal=True)
    past = layer.past(2, random(1, seed=1))
    for start, length in ((0, 2), (2, 7), (9, 1)):
        x = random(2, length, D_MODEL, seed=start)
        past = layer.read(x, past, start, layer.shared(2, start, length, x))[1]
        known = past.known
        assert known.keys.shape[2] == known.values.shape[2] == min(start + length, 4)
