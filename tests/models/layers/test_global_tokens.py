"""Global tokens in a window against the dense form with a mask, and how they are named."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from families import GLOBAL_TAGS as TAGS
from families import build, random_ids
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from dragoman.models import TransformerConfig, TransformerLMConfig
from dragoman.models.cost import cost
from dragoman.models.families.transformer import Transformer
from dragoman.models.layers.attention import mask_bias
from dragoman.models.layers.neighbourhood import Everywhere

SIZES: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 1,
    "d_model": 12,
    "d_ff": 13,
    "heads": 3,
    "dropout": 0.0,
}


class Masked(Everywhere):
    """A window of 3 and global tokens by a mask over all pairs."""

    def encoder_bias(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Tensor:
        assert marked is not None
        n = mask.shape[1]
        near = (torch.arange(n)[:, None] - torch.arange(n)).abs() <= 1
        seen = (near | marked[:, None, :] | marked[:, :, None]) & mask[:, None, :]
        return mask_bias((seen | torch.eye(n, dtype=torch.bool))[:, None], like.dtype)


def twins(**choices: Any) -> tuple[Transformer, Transformer]:
    """A model with a window of 3, and a dense one of the same weights that hides what is far."""
    model = build(TransformerConfig(**SIZES, window=3, **choices))
    assert isinstance(model, Transformer)
    twin = build(TransformerConfig(**SIZES, **_without_tags(choices)))
    assert isinstance(twin, Transformer)
    for layer in twin.encoder:
        part: Any = layer
        part.attention.neighbourhood = Masked()
    twin.global_tokens = model.global_tokens
    weights = {
        name.replace("scoring.scoring", "scoring"): p for name, p in model.state_dict().items()
    }
    twin.load_state_dict(weights)
    return model, twin


def _without_tags(choices: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in choices.items() if not name.startswith("global_")}


@pytest.mark.parametrize("attention", ["scaled_dot", "additive"])
@settings(max_examples=8, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 11), min_size=1, max_size=3),
    first=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_equals_the_dense_form(attention: str, lengths: list[int], first: int, seed: int) -> None:
    model, twin = twins(attention=attention, global_positions=first, global_tags=tuple(TAGS))
    source = random_ids(len(lengths), max(lengths), seed)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    found, expected = model.encode(source, mask), twin.encode(source, mask)
    torch.testing.assert_close(found.hidden[mask], expected.hidden[mask])


def test_gradients_equal_those_of_the_dense_form() -> None:
    model, twin = twins(global_positions=1, global_tags=("<sep>",))
    source = random_ids(2, 9)
    source[0, 4] = source[0, 6] = TAGS["<sep>"]  # three global tokens, and one
    mask = torch.arange(9) < torch.tensor([[9], [3]])
    for each in (model, twin):
        each.encode(source, mask).hidden[mask].square().sum().backward()
    theirs = dict(twin.named_parameters())
    for name, parameter in model.named_parameters():
        if name.startswith("encoder."):
            torch.testing.assert_close(parameter.grad, theirs[name].grad)


def test_a_separator_is_global_wherever_it_is() -> None:
    """All others see it, and it sees all; without it two far positions do not meet in one layer."""
    sizes = {**SIZES, "encoder_layers": 1}
    model = build(TransformerConfig(**sizes, window=3, global_tags=("<sep>",)))

    def changed(source: Tensor, place: int) -> list[int]:
        """Positions whose vectors change with the piece at ``place``."""
        mask = torch.ones_like(source, dtype=torch.bool)
        other = source.clone()
        other[0, place] = 4 if source[0, place] != 4 else 5
        both = [model.encode(ids, mask).hidden for ids in (source, other)]
        return (both[0] != both[1]).any(2)[0].nonzero().flatten().tolist()

    source = torch.full((1, 9), 11)
    assert changed(source, 1) == [0, 1, 2]
    source[0, 5] = TAGS["<sep>"]
    assert changed(source, 1) == [0, 1, 2, 5]
    assert changed(source, 5) == list(range(9))


def test_work_is_linear_in_the_length() -> None:
    def work(length: int) -> int:
        model = build(TransformerConfig(**SIZES, window=5, global_positions=2))
        source = random_ids(1, length)
        counter = FlopCounterMode(display=False)
        with torch.no_grad(), counter:
            model.encode(source, torch.ones_like(source, dtype=torch.bool))
        return counter.get_total_flops()

    assert work(160) == 2 * work(80)


def test_a_cost_counts_each_tag_once() -> None:
    first = cost(TransformerConfig(**SIZES, window=3, global_positions=2), 23, 23, 11, 11)
    tags = cost(TransformerConfig(**SIZES, window=3, global_tags=tuple(TAGS)), 23, 23, 11, 11)
    none = cost(TransformerConfig(**SIZES, window=3), 23, 23, 11, 11)
    assert tags == first
    # 12 queries in blocks of 2 see two keys more, two queries all 11: keys and values, 2 layers
    extra = 2 * 2 * 2 * 12 * (12 * 2 + 2 * 11) / 11
    found = first.forward_flops_per_target_token - none.forward_flops_per_target_token
    assert found == pytest.approx(extra)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"global_positions": 1}, "global_positions: 1 is not read without a window"),
        ({"global_tags": ("<sep>",)}, "global_tags: <sep> is not read without a window"),
        (
            {"window": 3, "global_positions": 1, "positions": "alibi"},
            "positions: alibi does not go with global tokens",
        ),
        (
            {"window": 3, "global_positions": 1, "encoder_mixing": "linear_attention"},
            "global_positions: 1 is not read without self_attention in the encoder",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TransformerConfig(**choices)


def test_a_model_without_an_encoder_has_none() -> None:
    with pytest.raises(ValidationError, match="global_positions: 1 is not read without an encoder"):
        TransformerLMConfig(window=3, global_positions=1)
