from __future__ import annotations

from typing import get_args

import pytest
import torch
from families import VARIATIONS, VOCABULARY, build, built, random_ids, teacher_force
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.models import ModelConfig
from dragoman.models.interface import Part, select
from dragoman.saved.weights import weights_of

every_family = pytest.mark.parametrize("config", VARIATIONS.values(), ids=VARIATIONS.keys())
lengths = st.integers(1, 7)


def full_mask(source: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(source, dtype=torch.bool)


@every_family
@settings(max_examples=6, deadline=None)
@given(source_length=lengths, pieces=st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_step_by_step_equals_all_at_once(
    config: ModelConfig, source_length: int, pieces: list[int]
) -> None:
    model = built(config)
    source, target = random_ids(3, source_length), random_ids(3, sum(pieces), seed=2)
    at_once = teacher_force(model, source, full_mask(source), target)
    memory = model.encode(source, full_mask(source))
    state = model.start(memory)
    parts = []
    for part in target.split(pieces, dim=1):
        hidden, state = model.decode(part, memory, state)
        parts.append(model.logits(hidden))
    torch.testing.assert_close(torch.cat(parts, dim=1), at_once)


@every_family
@settings(max_examples=6, deadline=None)
@given(own=lengths, others=lengths, padding=st.integers(0, 5))
def test_padding_and_neighbours_change_nothing(
    config: ModelConfig, own: int, others: int, padding: int
) -> None:
    model = built(config)
    source, target = random_ids(1, own), random_ids(1, 5, seed=2)
    alone = teacher_force(model, source, full_mask(source), target)
    width = max(own, others) + padding
    batch = random_ids(4, width, seed=3)  # what stands in the padding must not matter either
    batch[2, :own] = source
    mask = torch.zeros(4, width, dtype=torch.bool)
    mask[:, :others] = True
    mask[2] = torch.arange(width) < own
    targets = random_ids(4, 5, seed=4)
    targets[2] = target
    together = teacher_force(model, batch, mask, targets)
    torch.testing.assert_close(together[2:3], alone)


@every_family
def test_later_target_positions_change_nothing(config: ModelConfig) -> None:
    model = built(config)
    source, target = random_ids(2, 5), random_ids(2, 7, seed=2)
    other = target.clone()
    other[:, 4:] = random_ids(2, 3, seed=9)
    first = teacher_force(model, source, full_mask(source), target)
    second = teacher_force(model, source, full_mask(source), other)
    # Not wholly equal: an expert of a mixture reads other rows besides, in other kernels.
    torch.testing.assert_close(first[:, :4], second[:, :4], rtol=0, atol=1e-12)
    # A classifier has said all it says with its first position.
    assert torch.equal(first[:, 4:], second[:, 4:]) == config.writes_labels


@every_family
@settings(max_examples=6, deadline=None)
@given(rows=st.lists(st.integers(0, 2), min_size=1, max_size=5))
def test_select_commutes_with_decode(config: ModelConfig, rows: list[int]) -> None:
    """Reordering a beam of 3 before a step gives the step's rows reordered."""
    model = built(config)
    source = random_ids(1, 5)
    memory = model.encode(source, full_mask(source))
    kept = torch.tensor(rows)
    _, state = model.decode(random_ids(3, 4, seed=2), memory, model.start(memory, beam=3))
    following = random_ids(3, 1, seed=3)
    after, _ = model.decode(following, memory, state)
    before, _ = model.decode(following[kept], memory, select(state, kept))
    torch.testing.assert_close(before, after[kept])


@every_family
@torch.inference_mode()
def test_a_beam_that_is_reordered_equals_teacher_forcing(config: ModelConfig) -> None:
    """Rows are repeated, dropped and moved between steps; each goes on from its own history."""
    if config.writes_labels:
        return  # a label is one position
    model = built(config)
    source = random_ids(2, 5)
    memory = model.encode(source, full_mask(source))
    state = model.start(memory)
    history = random_ids(2, 1, seed=2)
    for seed, moves in enumerate([[0, 0, 0, 1, 1, 1], [2, 0, 2, 5, 5, 3], [1, 0, 0, 4, 3, 5]]):
        hidden, state = model.decode(history[:, -1:], memory, state)
        rows = torch.tensor(moves)
        state, hidden = select(state, rows), hidden[rows]
        history = torch.cat([history[rows], random_ids(6, 1, seed=seed + 3)], dim=1)
    hidden, _ = model.decode(history[:, -1:], memory, state)
    copied = select(memory, torch.tensor([0, 0, 0, 1, 1, 1]))
    at_once, _ = model.decode(history, copied, model.start(copied))
    torch.testing.assert_close(hidden[:, -1], at_once[:, -1])


@every_family
def test_a_beam_shares_its_memory(config: ModelConfig) -> None:
    """Rows of two sentences, three beams each, equal the same rows with memory copied."""
    model = built(config)
    source = random_ids(2, 5)
    mask = full_mask(source)
    mask[1, 3:] = False
    target = random_ids(6, 4, seed=2)
    memory = model.encode(source, mask)
    shared, _ = model.decode(target, memory, model.start(memory, beam=3))
    copied = select(memory, torch.tensor([0, 0, 0, 1, 1, 1]))
    apart, _ = model.decode(target, copied, model.start(copied))
    torch.testing.assert_close(shared, apart)


@every_family
def test_gradients_reach_every_parameter(config: ModelConfig) -> None:
    model = build(config).train()
    source, target = random_ids(3, 5), random_ids(3, 6, seed=2)
    scores = teacher_force(model, source, full_mask(source), target)
    (scores.log_softmax(-1) * torch.randn_like(scores)).sum().backward()
    silent = {
        name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0
    }
    frozen = tuple(f"{name}." for name in model.frozen)
    given = {name for name in weights_of(model) if name.startswith(frozen)}
    own_output = {name for name in given if name.startswith("translation.output.")}
    assert silent == given - own_output


@every_family
def test_bfloat16_goes_through(config: ModelConfig) -> None:
    """Nothing on the way, such as a table of positions, makes it another type."""
    model = build(config).bfloat16()
    source, target = random_ids(3, 5), random_ids(3, 6, seed=2)
    memory = model.encode(source, full_mask(source))
    hidden, _ = model.decode(target, memory, model.start(memory))
    assert memory.hidden.dtype == hidden.dtype == torch.bfloat16
    exact = build(config)
    known = exact.encode(source, full_mask(source))
    expected, _ = exact.decode(target, known, exact.start(known))
    assert (hidden - expected).abs().mean() < 0.1 * expected.abs().mean()


@every_family
def test_an_encoder_has_its_width_at_each_position(config: ModelConfig) -> None:
    """Or says that it has none, like a language model."""
    model, source = built(config), random_ids(3, 5)
    hidden = model.encode(source, full_mask(source)).hidden
    if config.encoder_width is not None:
        assert hidden.shape[1] >= 5
        assert hidden.shape[2] == config.encoder_width
    else:
        assert not any(model.part_of(name) == "encoder" for name in weights_of(model)) or (
            config.components or config.family == "recurrent_lm"
        )


@every_family
def test_every_weight_belongs_to_one_part(config: ModelConfig) -> None:
    """And those of embeddings know whose pieces their rows are: no other size is that number."""
    model = built(config)
    parts = {name: model.part_of(name) for name in weights_of(model)}
    assert {"decoder", "embeddings"} <= set(parts.values()) <= set(get_args(Part))
    for name, tensor in weights_of(model).items():
        assert (model.side_of(name) is not None) == (VOCABULARY in tensor.shape)
        if model.side_of(name) is not None:
            assert tensor.shape[0] == VOCABULARY
            assert parts[name] == "embeddings"
