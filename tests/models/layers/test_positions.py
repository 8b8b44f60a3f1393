"""Positions that act within attention, against their papers' formulas in float64 NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from families import build, random_ids
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dragoman.models import TransformerConfig
from dragoman.models.families.transformer import Transformer
from dragoman.models.layers.embeddings import Embedding, EmbeddingConfig
from dragoman.models.layers.positions import (
    DistanceBuckets,
    DistancePenalty,
    LearnedPositions,
    PositionalEncodingConfig,
    Rotation,
    SinusoidalPositions,
    added_positions,
    sinusoids,
)
from dragoman.models.layers.sublayers import ResidualConfig

_PLAIN = ResidualConfig(dropout=0.0)


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("d_model", [1, 6, 7])
def test_sinusoids_are_those_of_section_3_5(d_model: int) -> None:
    """An odd width, too: its last column is a sine."""
    expected = [
        [
            (math.cos if i % 2 else math.sin)(position / 10000 ** (2 * (i // 2) / d_model))
            for i in range(d_model)
        ]
        for position in range(40)
    ]
    np.testing.assert_allclose(sinusoids(40, d_model).numpy(), expected, rtol=1e-12, atol=1e-14)
    grown = SinusoidalPositions(d_model, 8).double()
    np.testing.assert_allclose(grown(33, 7).numpy(), expected[33:], rtol=0, atol=1e-6)


@pytest.mark.parametrize("first", [0, 2])
def test_sinusoids_of_tensor2tensor_reach_the_longest_wave(first: int) -> None:
    """Its get_timing_signal_1d, with pairs of sine and cosine interleaved."""
    step = math.log(10000) / (8 // 2 - 1)
    expected = [
        [(math.cos if i % 2 else math.sin)(p * math.exp(-step * (i // 2))) for i in range(8)]
        for p in range(first, first + 30)
    ]
    config = PositionalEncodingConfig(timescales="tensor2tensor", first_position=first)
    positions = added_positions(8, config, scale=1.0)
    assert positions is not None
    np.testing.assert_allclose(positions(0, 30).numpy(), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(positions(29, 400)[0].numpy(), expected[29], rtol=0, atol=1e-6)


def rotation_matrix(position: int, d_k: int) -> np.ndarray:
    """Equation 15 of RoFormer: blocks of 2 by 2 along the diagonal."""
    matrix = np.zeros((d_k, d_k))
    for pair in range(d_k // 2):
        angle = position * 10000 ** (-2 * pair / d_k)
        block = slice(2 * pair, 2 * pair + 2)
        matrix[block, block] = [
            [math.cos(angle), -math.sin(angle)],
            [math.sin(angle), math.cos(angle)],
        ]
    return matrix


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-5), (torch.bfloat16, 0.05)]
)
@pytest.mark.parametrize("start", [0, 3, 300])
def test_rotation_is_the_papers_matrix(start: int, dtype: torch.dtype, tolerance: float) -> None:
    x = random(2, 4, 3, 6).transpose(1, 2)  # as heads are split
    found = Rotation(6).to(dtype)(x.to(dtype), start).double().numpy()
    for i in range(4):
        expected = x[:, :, i].numpy() @ rotation_matrix(start + i, 6).T
        np.testing.assert_allclose(found[:, :, i], expected, rtol=0, atol=tolerance)


def test_turned_products_depend_on_the_distance_alone() -> None:
    rotation = Rotation(8).double()
    query, key = random(1, 1, 1, 8), random(1, 1, 1, 8, seed=2)
    products = [
        (rotation(query, start + 5) * rotation(key, start)).sum().item() for start in (0, 1, 77)
    ]
    assert products == pytest.approx([products[0]] * 3, abs=1e-5)
    assert products[0] != pytest.approx((query * key).sum().item(), abs=1e-2)


def test_learned_positions_begin_as_large_as_embeddings() -> None:
    """Smaller, they are noise beside them; and Adam would take long to make them larger."""
    torch.manual_seed(1)
    embedding = Embedding(11, 64, PositionalEncodingConfig(positions="learned"), _PLAIN)
    ids = torch.arange(11).unsqueeze(0)
    found = embedding(ids, start=3).squeeze(0)
    learned = embedding.positions
    assert isinstance(learned, LearnedPositions)
    torch.testing.assert_close(found, 8 * (embedding.weight + learned.table[3:14]))
    assert (8 * learned.table).std().item() == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("heads", [8, 3])
@pytest.mark.parametrize(("queries", "keys", "first"), [(5, 5, 0), (1, 5, 4), (2, 6, 4)])
def test_distance_penalty(heads: int, queries: int, keys: int, first: int) -> None:
    found = DistancePenalty(heads)(queries, keys, first, torch.zeros(1, dtype=torch.float64))
    expected = np.zeros((1, heads, queries, keys))
    for h, i, j in np.ndindex(heads, queries, keys):
        expected[0, h, i, j] = -((2.0 ** (-8 / heads)) ** (h + 1)) * abs(first + i - j)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


class TestBuckets:
    @given(
        half=st.integers(2, 20),
        further=st.integers(1, 140),
        causal=st.booleans(),
        first=st.integers(0, 150),
        queries=st.integers(1, 150),
        later=st.integers(0, 3),
    )
    def test_they_are_those_of_another_program(
        self, half: int, further: int, causal: bool, first: int, queries: int, later: int
    ) -> None:
        theirs = pytest.importorskip("transformers.models.t5.modeling_t5").T5Attention
        count, furthest = 2 * half, half + further
        ours = DistanceBuckets(6, 2, count, furthest, causal=causal)
        keys = first + queries + later
        distance = torch.arange(keys) - torch.arange(first, first + queries).unsqueeze(1)
        bucket = theirs._relative_position_bucket(distance, not causal, count, furthest)
        found = ours(queries, keys, first, torch.zeros(1))
        assert torch.equal(found, ours.table[bucket].permute(2, 0, 1).unsqueeze(0))

    @pytest.mark.parametrize(
        ("causal", "ranges"),
        [
            (True, {0: 0, -1: 1, -3: 3, -4: 4, -5: 4, -6: 5, -8: 6, -12: 7, -90: 7, 1: 0, 90: 0}),
            (False, {0: 0, -1: 1, -2: 2, -4: 2, -6: 3, -90: 3, 1: 5, 2: 6, 6: 7, 90: 7}),
        ],
    )
    def test_they_grow_with_the_logarithm_of_the_distance(
        self, causal: bool, ranges: dict[int, int]
    ) -> None:
        """Eight of them up to a distance of 16, by hand."""
        buckets = DistanceBuckets(5, 1, 8, 16, causal=causal)
        buckets.table.data = torch.arange(8.0).unsqueeze(1)
        bias = buckets(1, 181, 90, torch.zeros(1)).flatten()
        assert {distance: int(bias[90 + distance]) for distance in ranges} == ranges

    def test_all_layers_of_a_side_have_one_table(self) -> None:
        model = build(config(positions="buckets"))
        tables = {n: p.shape for n, p in model.named_parameters() if "buckets" in n}
        assert tables == {"encoder_buckets.table": (32, 3), "decoder_buckets.table": (32, 3)}
        assert model.part_of("encoder_buckets.table") == "encoder"


def test_embeddings_without_scale_have_positions_without_scale() -> None:
    learned = PositionalEncodingConfig(positions="learned")
    embedding = Embedding(11, 6, learned, _PLAIN, EmbeddingConfig(scale_embeddings=False))
    assert isinstance(embedding.positions, LearnedPositions)
    found = embedding(torch.arange(4).unsqueeze(0), start=2).squeeze(0)
    torch.testing.assert_close(found, embedding.weight[:4] + embedding.positions.table[2:6])


def config(**choices: object) -> TransformerConfig:
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 12, "d_ff": 13, "heads": 3}
    return TransformerConfig(**{**sizes, "dropout": 0.0, **choices})


def hidden(model: Transformer, source: torch.Tensor) -> torch.Tensor:
    return model.encode(source, torch.ones_like(source, dtype=torch.bool)).hidden


@pytest.mark.parametrize(
    "positions", ["sinusoidal", "learned", "relative", "buckets", "rotary", "alibi"]
)
def test_an_encoder_tells_order(positions: str) -> None:
    """The mean over positions changes with the order of pieces; without positions it does not."""
    source = random_ids(1, 6)
    model = build(config(positions=positions))
    nothing = build(config(positions="none"))
    assert isinstance(model, Transformer)
    assert isinstance(nothing, Transformer)
    means = [
        hidden(m, s).mean(1)
        for m in (model, nothing)
        for s in (source, source[:, [1, 0, 5, 2, 4, 3]])
    ]
    assert (means[0] - means[1]).abs().max() > 1e-3
    torch.testing.assert_close(means[2], means[3])


@pytest.mark.parametrize("positions", ["relative", "buckets", "rotary", "alibi", "none"])
def test_nothing_but_distances_counts(positions: str) -> None:
    """Pieces behind padding, as if the sentence began later, give the same vectors."""
    model = build(config(positions=positions))
    assert isinstance(model, Transformer)
    source = random_ids(1, 5)
    later = torch.cat([random_ids(1, 3, seed=4), source], dim=1)
    mask = torch.arange(8).unsqueeze(0) >= 3
    shifted = model.encode(later, mask).hidden[:, 3:]
    torch.testing.assert_close(shifted, hidden(model, source), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"positions": "rotary", "d_k": 5}, "even d_k, found 5"),
        ({"positions": "alibi", "first_position": 2}, "first_position: 2 is not read without"),
        ({"bucket_distance": 9}, "bucket_distance: 9 is not read without positions: buckets"),
        (
            {"positions": "buckets", "bucket_distance": 16},
            "bucket_distance: 16 must be above half of distance_buckets: 32",
        ),
        ({"positions": "buckets", "sparsity": "fixed"}, "buckets does not go with sparsity"),
        (
            {"timescales": "tensor2tensor", "d_model": 3},
            "timescales: tensor2tensor needs an even d_model of 4 or more, found 3",
        ),
        (
            {"positions": "rotary", "attention": "additive"},
            "works only with dot products, not attention: additive",
        ),
        (
            {"positions": "relative", "attention": "additive"},
            "works only with dot products, not attention: additive",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(choices: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        config(**choices)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_a_table_that_grew_in_search_serves_in_training(positions: str) -> None:
    model = build(TransformerConfig(d_model=8, d_ff=7, heads=2, positions=positions))
    long = random_ids(1, 300)
    with torch.inference_mode():
        model.encode(long, torch.ones_like(long, dtype=torch.bool))
    source = random_ids(2, 5)
    model.train().encode(source, torch.ones_like(source, dtype=torch.bool)).hidden.sum().backward()


def test_a_thread_that_makes_the_table_shorter_does_not_cut_another_off() -> None:
    class Raced(SinusoidalPositions):
        """Another thread, with a shorter sentence, always puts its table in last."""

        def __setattr__(self, name: str, value: torch.Tensor | torch.nn.Module) -> None:
            super().__setattr__(name, value)
            if name == "table" and isinstance(value, torch.Tensor) and len(value) > 40:
                super().__setattr__(name, value[:40])

    table = Raced(8, length=16)
    torch.testing.assert_close(table(0, 100), SinusoidalPositions(8, length=100)(0, 100))
