"""On-line back-translation: sources made by the model in training, which stays as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from reversal import Copying, Records, Reversal, assert_same, tiny_model, translation, weights

from dragoman.data.batches import Batch, make_batch
from dragoman.models.interface import TranslationModel
from dragoman.text.transforms import SourceByModelConfig
from dragoman.text.vocabularies import EOS, PAD
from dragoman.training.objectives import CrossEntropy
from dragoman.training.on_line import BackTranslated, WantedSources
from dragoman.training.tasks import Task
from dragoman.training.trainer import Trainer
from dragoman.translation.id_translation import id_translator

MakeTrainer = Callable[..., Trainer]
HEADS = {0: [4], 1: [], 2: [5]}
"""Tags of the stored sources of three parts, of which 1 has sources."""


class Monolingual(Reversal):
    """Targets of three parts in turn: sources of the first and last are tags alone."""

    def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
        for batch in super().all_batches(epoch, window, start):
            targets = [[i for i in row.tolist() if i > 3] for row in batch.target_output]
            parts = [place % 3 for place in range(len(targets))]
            sources = [
                HEADS[part] or target[::-1] for part, target in zip(parts, targets, strict=True)
            ]
            yield replace(make_batch(sources, targets), parts=torch.tensor(parts))


def wanted(temperature: float = 0.0) -> dict[int, WantedSources]:
    settings = SourceByModelConfig(temperature=temperature, extra_length=2)
    return {0: WantedSources(settings, (5,)), 2: WantedSources(settings, (4,))}


def stream(temperature: float = 0.0, longest: int = 50) -> BackTranslated:
    return BackTranslated(Monolingual(), wanted(temperature), id_translator([4, 5]), longest)


def rows(batch: Batch) -> list[list[int]]:
    return [[i for i in row.tolist() if i not in {EOS, PAD}] for row in batch.source]


def test_only_sources_that_are_wanted_are_made() -> None:
    """Each is its tags and the translation of its target, asked for by the other tags."""
    calls: list[tuple[list[list[int]], list[int]]] = []

    def doubled(
        model: TranslationModel,
        sentences: Sequence[list[int]],
        settings: SourceByModelConfig,
        *,
        numbers: Sequence[int],
        seed: int,
        never: Sequence[int],
    ) -> list[list[int]]:
        assert tuple(never) == (9,)
        calls.append((list(sentences), list(numbers)))
        return [[*ids[1:], *ids[1:]] for ids in sentences]

    foreign = {part: replace(one, never=(9,)) for part, one in wanted().items()}
    made = BackTranslated(Monolingual(), foreign, doubled, longest=8)
    assert made.windows(0) == 1
    (batch,) = next(made.window(0, 0))
    before = rows(batch)
    after = made.completed(batch, tiny_model())
    targets = [[i for i in row.tolist() if i > 3] for row in batch.target_output]
    for part, old, new, target in zip(
        batch.parts.tolist() if batch.parts is not None else [],
        before,
        rows(after),
        targets,
        strict=True,
    ):
        assert new == (old if part == 1 else [*HEADS[part], *target, *target][:8])
    assert [ids[0] for ids in calls[0][0]] == [5] * len(calls[0][0])
    assert [numbers for _, numbers in calls] == [list(range(0, 16, 3)), list(range(2, 16, 3))]
    assert after.source_mask.equal(after.source != PAD)
    assert after.target_output is batch.target_output
    only = batch.select(torch.tensor([1, 4]))
    assert rows(made.completed(only, tiny_model())) == rows(only), "none of them is wanted"
    assert len(calls) == 2


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_model_and_all_random_states_are_as_before(temperature: float) -> None:
    model = tiny_model(dropout=0.3).train()
    model.get_submodule("decoder").eval()  # a frozen part stays in evaluation mode
    modes = [module.training for module in model.modules()]
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(3)
    states = torch.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index]
    batch = next(Monolingual().all_batches())
    first = stream(temperature).completed(batch, model)
    assert torch.get_rng_state().equal(states[0])
    assert np.random.get_state()[1].tolist() == states[1]  # type: ignore[index]
    assert [module.training for module in model.modules()] == modes
    assert all(parameter.grad is None for parameter in model.parameters())
    assert_same(model.state_dict(), before)
    again = stream(temperature).completed(batch, model)
    assert again.source.equal(first.source), "a pure function of weights, batch and seed"
    assert not first.source.is_inference(), "it is learned from"
    torch.manual_seed(4)
    other = stream(temperature).completed(batch, model)
    assert rows(other) == rows(first) if temperature == 0 else rows(other) != rows(first)


def test_no_source_has_a_foreign_piece() -> None:
    """Each part has its own; what comes first where all is allowed is among them here."""
    (batch,) = next(stream().window(0, 0))
    assert batch.parts is not None
    parts, free = batch.parts.tolist(), rows(stream().completed(batch, tiny_model()))
    (often, _), *_ = Counter(i for ids in free for i in ids if i > 5).most_common()
    foreign = {part: replace(one, never=(often,) * (part == 2)) for part, one in wanted().items()}
    made = BackTranslated(Monolingual(), foreign, id_translator([4, 5]), 50)
    after = rows(made.completed(batch, tiny_model()))
    assert not any(often in ids for part, ids in zip(parts, after, strict=True) if part == 2)
    for part, ids, before in zip(parts, after, free, strict=True):
        assert part == 2 or ids == before


def test_sources_fit_into_the_positions_of_the_model() -> None:
    model = tiny_model(positions="learned", max_positions=9)
    made = stream().completed(next(Monolingual().all_batches()), model)
    assert made.source.size(1) <= 9


def test_a_target_as_long_as_the_model_has_positions_is_translated() -> None:
    """Its tag would be one too many, so the end is left out of the question alone."""
    batch = replace(make_batch([[4]], [[6, 7, 8, 6, 7, 8, 6]]), parts=torch.tensor([0]))
    model = tiny_model(positions="learned", max_positions=8)
    made = stream(longest=7).completed(batch, model)
    assert rows(made)[0][0] == 4 and made.source.size(1) <= 8
    assert made.target_output.equal(batch.target_output)


@pytest.mark.parametrize(("stop", "temperature"), [(2, 0.0), (5, 1.0), (6, 0.0)])
def test_training_is_resumed_bit_for_bit(
    trainer: MakeTrainer, tmp_path: Path, stop: int, temperature: float
) -> None:
    """Denoising with a weight that falls, and on-line back-translation that begins later."""

    def tasks() -> list[Task]:
        return [
            Task("denoising", Copying(), CrossEntropy(0.1), {0: 1.0, 8: 0.0}),
            Task("back", stream(temperature), CrossEntropy(0.1), {3: 0.0, 4: 1.0}),
        ]

    run = trainer(tmp_path / "whole", tasks=tasks(), max_steps=10)
    run.observers = [records := Records()]
    run.train()
    trainer(tmp_path / "parted", tasks=tasks(), max_steps=stop).train()
    second = trainer(tmp_path / "parted", tasks=tasks(), max_steps=10)
    assert second.resume()
    second.train()
    assert_same(weights(tmp_path / "parted", 10), weights(tmp_path / "whole", 10))
    told = [("loss" in one, "back_loss" in one) for one in records.of("training")]
    assert told == [(True, False)] * 3 + [(True, True)] * 4 + [(False, True)] * 3


def test_a_task_that_weighs_nothing_yet_asks_the_model_nothing(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    """Until then training is that of the other task alone, bit for bit."""
    late = Task("back", stream(), CrossEntropy(0.1), {4: 0.0, 5: 1.0})
    trainer(tmp_path / "mixed", tasks=[translation(Copying()), late], max_steps=4).train()
    trainer(tmp_path / "alone", tasks=[translation(Copying())], max_steps=4).train()
    assert_same(weights(tmp_path / "mixed", 4), weights(tmp_path / "alone", 4))
