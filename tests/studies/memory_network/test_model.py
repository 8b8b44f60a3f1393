"""The memory network against its formulas, in float64, and what padding may change: nothing."""

from __future__ import annotations

import math
from random import Random

import pytest
import torch

from studies.learning import PAD
from studies.memory_network.model import MemoryNetwork, position_encoding
from studies.memory_network.stories import TASKS
from studies.memory_network.trial import SYMBOLS, story_tensor, word_tensor


def network(sentences: int = 9) -> MemoryNetwork:
    torch.manual_seed(1)
    return MemoryNetwork(SYMBOLS, width=5, hops=2, sentences=sentences).double()


@pytest.mark.parametrize("linear", [False, True])
def test_a_hop_is_its_formula(linear: bool) -> None:
    model = network()
    model.linear = linear
    u, m, c = torch.randn(1, 5), torch.randn(1, 3, 5), torch.randn(1, 3, 5)
    inner = [sum(float(u[0, d] * m[0, i, d]) for d in range(5)) for i in range(3)]
    total = sum(map(math.exp, inner))
    p = inner if linear else [math.exp(one) / total for one in inner]
    expected = [float(u[0, d]) + sum(p[i] * float(c[0, i, d]) for i in range(3)) for d in range(5)]
    torch.testing.assert_close(model.hop(u, m, c)[0], torch.tensor(expected))


def test_position_encoding_is_its_formula_for_each_length() -> None:
    found = position_encoding(torch.tensor([2, 3]), 3, 4)
    for row, length in enumerate((2, 3)):
        for j in range(1, length + 1):
            for k in range(1, 5):
                expected = (1 - j / length) - (k / 4) * (1 - 2 * j / length)
                assert found[row, j - 1, k - 1].item() == pytest.approx(expected, abs=1e-6)


def test_the_network_is_its_hops_with_adjacent_matrices() -> None:
    model = network()
    story = torch.tensor([[[1, 2], [3, 4], [5, 6]]])
    question = torch.tensor([[7, 8]])
    latest_first = story.flip(1)
    embedded = [model.embed(which, latest_first) + model.times[which][:3] for which in range(3)]
    u = model.embed(0, question)
    for hop in range(2):
        u = model.hop(u, embedded[hop], embedded[hop + 1])
    torch.testing.assert_close(model(story, question), u @ model.matrices[2].T)


def test_padding_changes_nothing_but_the_order_of_words_and_sentences_does() -> None:
    model = network()
    story, question = torch.tensor([[[1, 2, 3], [4, 5, 6]]]), torch.tensor([[7, 8]])
    scores = model(story, question)
    wider = torch.nn.functional.pad(story, (0, 2), value=PAD)
    torch.testing.assert_close(model(wider, question), scores)
    assert not torch.allclose(model(story.flip(1), question), scores)
    assert not torch.allclose(model(story.flip(2), question), scores)


def test_only_the_last_sentences_of_a_long_story_are_read() -> None:
    model = network(sentences=2)
    story, question = torch.tensor([[[1, 2], [3, 4], [5, 6]]]), torch.tensor([[7, 8]])
    assert torch.equal(model(story, question), model(story[:, 1:], question))


def test_stories_end_at_the_same_place_and_noise_only_adds_empty_sentences() -> None:
    questions = [TASKS["one fact"](sentences, Random(1)) for sentences in (3, 5)]
    plain = story_tensor(questions)
    assert plain.shape[:2] == (2, 5)
    assert plain[0, :2].eq(PAD).all()
    assert torch.equal(
        plain[1, -1, : len(questions[1].story[-1])], word_tensor([questions[1].story[-1]])[0]
    )
    noisy = story_tensor(questions, 0.9, Random(1))
    assert noisy.shape[1] > 5
    for row in range(2):
        kept = [line.tolist() for line in noisy[row] if line.ne(PAD).any()]
        assert kept == [line.tolist() for line in plain[row] if line.ne(PAD).any()]
