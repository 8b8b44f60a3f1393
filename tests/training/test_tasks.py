"""A mix of tasks: weights, places, and streams that ask the model in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from reversal import (
    Copying,
    Records,
    Reversal,
    assert_same,
    tiny_model,
    translation,
    two_tasks,
    weights,
)

from dragoman.core.errors import DataError
from dragoman.data.batches import Batch, make_batch
from dragoman.models.interface import TranslationModel
from dragoman.saved.weights import load_weights, read_tensors
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scorer import ModelScorer
from dragoman.search.strategy import SearchConfig, search
from dragoman.text.vocabularies import BOS, PAD
from dragoman.training.checkpoint import Place, checkpoints, path_of, read_progress
from dragoman.training.objectives import CrossEntropy
from dragoman.training.tasks import Reader, SingleStep, Task
from dragoman.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]


def test_a_single_step_is_an_epoch() -> None:
    stream = SingleStep([make_batch([[5]], [[6]]), make_batch([[7]], [[8]])])
    reader = Reader(stream, Place())
    assert reader.take() == stream.batches
    assert reader.take() is None
    assert reader.take() == stream.batches
    assert reader.place == Place(1, 0, 1)
    reader.close()
    assert list(stream.window(0, 0, start=1)) == []


def test_gradients_of_tasks_add_up_by_weight_and_tokens(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    """Against PyTorch's gradient of the formula in the module's docstring."""
    run = trainer(tasks=two_tasks(0.25), dropout=0.0, max_steps=1)
    model = tiny_model(dropout=0.0).double()
    losses, tokens = [], []
    for stream, smoothing in ((Reversal(), 0.1), (Copying(), 0.0)):
        batch = next(stream.all_batches())
        memory = model.encode(batch.source, batch.source_mask)
        hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
        losses.append(
            torch.nn.functional.cross_entropy(
                model.logits(hidden).flatten(0, 1),
                batch.target_output.flatten(),
                ignore_index=PAD,
                reduction="sum",
                label_smoothing=smoothing,
            )
        )
        tokens.append(batch.target_tokens)
    loss = (losses[0] + 0.25 * losses[1]) / (tokens[0] + 0.25 * tokens[1])
    norm = torch.stack([g.norm() for g in torch.autograd.grad(loss, list(model.parameters()))])
    run.observers = [records := Records()]
    run.train()
    (figures,) = records.of("training")
    assert figures["gradient_norm"] == pytest.approx(norm.norm().item(), rel=1e-4)
    assert figures["loss"] == pytest.approx(losses[0].item() / tokens[0], rel=1e-5)
    assert figures["copying_loss"] == pytest.approx(losses[1].item() / tokens[1], rel=1e-5)
    assert figures["target_tokens"] == sum(tokens)


def test_what_weighs_nothing_changes_nothing(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Bit for bit: adding zero and halving are exact.  A task alone needs no weight."""
    half = [Task("alone", Reversal(), CrossEntropy(0.1), 0.5)]
    mixes = {"plain": (), "half": half, "with nothing": two_tasks(0.0), "with a half": two_tasks()}
    for name, tasks in mixes.items():
        trainer(tmp_path / name, tasks=tasks, dropout=0.0).train()
    plain = weights(tmp_path / "plain", 12)
    assert_same(weights(tmp_path / "half", 12), plain)
    assert_same(weights(tmp_path / "with nothing", 12), plain)
    mixed = weights(tmp_path / "with a half", 12)
    assert not any(torch.equal(values, plain[name]) for name, values in mixed.items())


@pytest.mark.parametrize("stop", [1, 3, 5, 6, 7, 10])
def test_two_tasks_of_unequal_length_are_resumed_bit_for_bit(
    trainer: MakeTrainer, tmp_path: Path, stop: int
) -> None:
    """Their epochs have 5 and 6 steps; each stream goes on where it was."""
    trainer(tmp_path / "whole", tasks=two_tasks(), max_steps=14).train()
    trainer(tmp_path / "parted", tasks=two_tasks(), max_steps=stop).train()
    second = trainer(tmp_path / "parted", tasks=two_tasks(), max_steps=14)
    assert second.resume()
    second.train()
    for name in ("model.safetensors", "optimizer.safetensors"):
        whole, parted = (
            read_tensors(path_of(tmp_path / run, 14) / name) for run in ("whole", "parted")
        )
        assert_same(parted, whole)
    progress = read_progress(checkpoints(tmp_path / "parted")[-1])
    assert progress.places == {"translation": Place(2, 0, 4), "copying": Place(2, 0, 2)}


class BackTranslating(Reversal):
    """On-line back-translation in small: targets alone; the model itself makes their sources."""

    def __init__(self) -> None:
        super().__init__(steps=3, sentences=4)
        self.made: list[list[list[int]]] = []

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        targets = [[i for i in row.tolist() if i > 3] for row in batch.target_output]
        was_training = model.training
        model.eval()
        with torch.no_grad():
            found = search(
                ModelScorer(model),
                batch.target_output,
                batch.target_output != PAD,
                SearchConfig(beam=1, maximum_length=6),
            )
        model.train(was_training)
        sources = [ids(hypotheses[0]) for hypotheses in found]
        self.made.append(sources)
        return make_batch(sources, targets)


def ids(hypothesis: Hypothesis) -> list[int]:
    return [i for i in hypothesis.ids if i > BOS]


def test_a_stream_may_ask_the_model_in_training(trainer: MakeTrainer, tmp_path: Path) -> None:
    """It sees the weights of just this step, although batches are made ahead; also resumed."""
    choices = {"max_steps": 8, "checkpoint_steps": 1, "keep_checkpoints": 8}
    whole = BackTranslating()
    tasks = [translation(Reversal()), Task("back", whole, CrossEntropy(0.1))]
    trainer(tmp_path / "whole", tasks=tasks, **choices).train()
    assert len(whole.made) == 8
    for step in range(1, 8):
        model = tiny_model()
        load_weights(model, weights(tmp_path / "whole", step), tmp_path)
        again = BackTranslating()
        batch = list(again.all_batches(step // 3))[step % 3]
        again.completed(batch, model.train())
        assert again.made == [whole.made[step]]
    assert whole.made[0] != whole.made[3]  # the same targets, another model
    for stop in (5, 8):
        parted = [translation(Reversal()), Task("back", BackTranslating(), CrossEntropy(0.1))]
        run = trainer(tmp_path / "parted", tasks=parted, **{**choices, "max_steps": stop})
        assert run.resume() == (stop == 8)
        run.train()
    assert_same(weights(tmp_path / "parted", 8), weights(tmp_path / "whole", 8))


def test_a_process_without_a_part_in_a_step_adds_nothing(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    class Holes(Reversal):
        """Nothing for this process in every other step."""

        def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
            for number, step in enumerate(super().window(epoch, window, start), start):
                yield step if number % 2 else []

    run = trainer(stream=Holes(), precision="bfloat16", max_steps=4)
    gradients: list[float] = []
    scale = run.sharding.scale

    def note(factor: float) -> float:
        gradients.append(float(run.sharding.gradient.abs().max()))
        return scale(1.0)

    run.sharding.scale = note  # type: ignore[method-assign]
    share = run._share
    run._share = lambda sums: [{**one, "tokens": one["tokens"] + 1} for one in share(sums)]  # type: ignore[method-assign]
    run.train()
    assert [gradient == 0 for gradient in gradients] == [True, False, True, False]


def test_an_empty_stream_is_an_error_and_no_endless_loop(trainer: MakeTrainer) -> None:
    with pytest.raises(DataError, match="epochs in a row have no batch; raise the weights"):
        trainer(stream=Reversal(0)).train()
    with pytest.raises(DataError, match="nothing to learn from"):
        Reader(Reversal(3, parts=0), Place()).take()


def test_an_epoch_that_small_weights_leave_empty_is_passed_over(trainer: MakeTrainer) -> None:
    class Rare(Reversal):
        def windows(self, epoch: int) -> int:
            return epoch % 3 // 2  # only the third, the sixth ... have anything

    reader = Reader(Rare(steps=1), Place())
    places = []
    for _ in range(4):
        reader.take()
        places.append(reader.place)
    reader.close()
    assert places == [Place(2, 0, 1), Place(3), Place(5, 0, 1), Place(6)]
    run = trainer(stream=Rare(steps=1), max_steps=3)
    run.train()
    assert run.progress.step == 3
