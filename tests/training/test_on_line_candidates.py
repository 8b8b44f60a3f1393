"""Candidates that the model in training makes, which stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from reversal import (
    Records,
    Reversal,
    SharedReversal,
    assert_same,
    tiny_config,
    tiny_model,
    translation,
    weights,
)
from worlds import ALONE, gloo_together

from dragoman.models.interface import TranslationModel
from dragoman.search import SamplingConfig, SearchConfig
from dragoman.training.distributed import World
from dragoman.training.objectives import ExpectedRisk
from dragoman.training.on_line import WantedCandidates, WithCandidates
from dragoman.training.tasks import Task
from dragoman.training.trainer import Trainer
from dragoman.translation.id_translation import id_search

MakeTrainer = Callable[..., Trainer]
SAMPLED = SearchConfig(beam=4, nbest=4, sampling=SamplingConfig(), extra_length=2)
BEST = SearchConfig(beam=4, nbest=4, extra_length=2)


def rate(outputs: Sequence[list[int]], reference: list[int]) -> list[float]:
    """The share of places with the right piece."""
    return [
        sum(map(int.__eq__, one, reference)) / max(len(one), len(reference), 1) for one in outputs
    ]


def stream(search: SearchConfig = SAMPLED, reference: bool = False) -> WithCandidates:
    wanted = WantedCandidates(search, "bleu", reference)
    return WithCandidates(Reversal(), wanted, id_search([]), rate)


def test_outputs_are_distinct_counted_and_rated() -> None:
    """The reference comes first, and counts as often as it was found; or once, if it is wanted."""
    asked = []

    def search(
        model: TranslationModel,
        sentences: Sequence[list[int]],
        config: SearchConfig,
        *,
        numbers: Sequence[int],
    ) -> list[list[list[int]]]:
        asked.append((list(numbers), config))
        return [[[9], ids[::-1], [9], ids] for ids in sentences]

    batch = next(Reversal(sentences=3).all_batches())
    for reference in (False, True):
        wanted = WantedCandidates(SAMPLED, "bleu", reference)
        made = WithCandidates(Reversal(), wanted, search, rate)
        model = tiny_model()
        torch.manual_seed(2**31 + 6)
        found = made.completed(batch, model).candidates
        assert found is not None
        assert found.target_output[:, 0, : batch.target_output.size(1)].equal(batch.target_output)
        assert found.rewards[:, 0].tolist() == [1.0] * 3
        assert found.times[:, :2].tolist() == [[1.0, 2.0]] * 3
        assert found.target_output[:, 1, :3].tolist() == [[9, 3, 0]] * 3
    numbers, config = asked[0]
    assert numbers == [0, 1, 2]
    assert config.sampling == SamplingConfig(seed=6), "the trainer's, as sampling takes it"

    def nothing(*_: object, **__: object) -> list[list[list[int]]]:
        return [[[9]]] * 3

    for reference, times in ((False, [0.0, 1.0]), (True, [1.0, 1.0])):
        wanted = WantedCandidates(SAMPLED, "bleu", reference)
        made = WithCandidates(Reversal(), wanted, nothing, rate)
        found = made.completed(batch, tiny_model()).candidates
        assert found is not None
        assert found.times.tolist() == [times] * 3


@pytest.mark.parametrize("search", [SAMPLED, BEST])
def test_the_model_and_all_random_states_are_as_before(search: SearchConfig) -> None:
    model = tiny_model(dropout=0.3).train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(3)
    states = torch.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index]
    batch = next(Reversal().all_batches())
    first = stream(search).completed(batch, model).candidates
    assert first is not None and not first.target_input.is_inference()
    assert torch.get_rng_state().equal(states[0])
    assert np.random.get_state()[1].tolist() == states[1]  # type: ignore[index]
    assert all(module.training for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert_same(model.state_dict(), before)
    again = stream(search).completed(batch, model).candidates
    assert again is not None and again.target_output.equal(first.target_output)
    torch.manual_seed(4)
    other = stream(search).completed(batch, model).candidates
    assert other is not None
    same = other.target_output.shape == first.target_output.shape and other.target_output.equal(
        first.target_output
    )
    assert same == (search is BEST), "the seed of the step decides what is sampled"


@pytest.mark.parametrize(
    ("search", "objective"),
    [
        (SAMPLED, ExpectedRisk(0.1, "reinforce", 1.0, 0.02)),
        (BEST, ExpectedRisk(0.1, "renormalised", 0.5, 0.0)),
    ],
)
def test_training_is_resumed_bit_for_bit(
    trainer: MakeTrainer, tmp_path: Path, search: SearchConfig, objective: ExpectedRisk
) -> None:
    def tasks() -> list[Task]:
        return [translation(stream(search), objective)]

    run = trainer(tmp_path / "whole", tasks=tasks(), max_steps=6)
    run.observers = [records := Records()]
    run.train()
    trainer(tmp_path / "parted", tasks=tasks(), max_steps=3).train()
    second = trainer(tmp_path / "parted", tasks=tasks(), max_steps=6)
    assert second.resume()
    second.train()
    assert_same(weights(tmp_path / "parted", 6), weights(tmp_path / "whole", 6))
    assert all(0 < one["risk"] < 1 and one["perplexity"] > 1 for one in records.of("training"))


def test_two_processes_equal_one(tmp_path: Path) -> None:
    """Each makes the candidates of its own sentences; figures are those of all."""
    objective = ExpectedRisk(0.1, "renormalised", 0.5, 0.1)
    wanted = WantedCandidates(BEST, "bleu", reference=False)
    models = [tiny_model(dropout=0.0) for _ in range(3)]  # threads share one generator

    def train(world: World) -> Records:
        shared = WithCandidates(SharedReversal(world), wanted, id_search([]), rate)
        run = Trainer(
            models.pop(),
            [translation(shared, objective)],
            lambda model: {"loss": 1.0},
            tiny_config(max_steps=3, validation_steps=3),
            tmp_path / str(world.size),
            seed=5,
            d_model=16,
            world=world,
        )
        run.observers = [records := Records()]
        run.train()
        return records

    both, alone = gloo_together(2, train)[0].result(), train(ALONE)
    for name in ("risk", "candidates", "nll"):
        figures = [[one[name] for one in found.of("training")] for found in (both, alone)]
        assert len(figures[0]) == 3
        assert figures[0] == pytest.approx(figures[1], rel=1e-3)
    one = weights(tmp_path / "1", 3)
    for name, values in weights(tmp_path / "2", 3).items():
        torch.testing.assert_close(values, one[name], rtol=1e-3, atol=1e-5)
