"""A step that does not fit into memory is taken in smaller batches, with the same result."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reversal import VOCABULARY, Records, assert_same, tiny_config, tiny_model, translation, weights
from stores import write_store
from torch import Tensor
from worlds import ALONE, GlooThreads, gloo_together

from dragoman.core.errors import NotEnoughMemoryError
from dragoman.data.batches import Batches
from dragoman.data.grouping import DeviceTokens
from dragoman.data.store import Store
from dragoman.models.interface import Memory, TranslationModel
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.distributed import World
from dragoman.training.trainer import Trainer

STEPS = {"max_steps": 7, "checkpoint_steps": 4, "validation_steps": 100, "log_steps": 100}
WORDS = {
    "GPU": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB."),
    "machine": RuntimeError(
        "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: "
        "you tried to allocate 67108864 bytes. Error code 12 (Cannot allocate memory)"
    ),
    "NumPy": MemoryError(),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """40 pairs of 2 to 9 pieces, which make about three steps of 150 tokens."""
    chance = np.random.default_rng(1)
    sources = [chance.integers(4, VOCABULARY, chance.integers(2, 10)).tolist() for _ in range(40)]
    pairs = [(source, source[::-1]) for source in sources]
    return write_store(tmp_path_factory.mktemp("memory") / "store", pairs)


def trainer(
    store: Store,
    run: Path,
    *,
    tokens: int | None = None,
    fits: float = float("inf"),
    error: Exception = WORDS["machine"],
    world: World = ALONE,
    model: TranslationModel | None = None,
    **values: Any,
) -> Trainer:
    """A trainer whose model fails for batches of more than ``fits`` padded tokens."""
    limit = DeviceTokens(tokens)
    model = model or tiny_model(dropout=0.1)
    encode = model.encode

    def limited(source: Tensor, source_mask: Tensor) -> Memory:
        if source.numel() > fits:
            raise error
        return encode(source, source_mask)

    model.encode = limited  # type: ignore[method-assign]
    made = Trainer(
        model,
        [translation(Batches(store, 150, limit, seed=3, rank=world.rank, world_size=world.size))],
        lambda model: {"loss": 1.0},
        tiny_config(**{**STEPS, **values}),
        run,
        seed=5,
        d_model=16,
        world=world,
        device_tokens=limit,
    )
    made.observers = [Records()]
    return made


@pytest.mark.parametrize("where", WORDS)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_step_that_does_not_fit_is_divided_as_device_tokens_would(
    store: Store, tmp_path: Path, where: str, precision: str
) -> None:
    small, fitted = tmp_path / "small", tmp_path / "fitted"
    run = trainer(store, fitted, fits=80, error=WORDS[where], precision=precision)
    run.train()
    lowered = read_progress(checkpoints(fitted)[-1]).device_tokens
    assert lowered is not None
    assert lowered <= 80
    trainer(store, small, tokens=lowered, precision=precision).train()
    assert_same(weights(fitted, 7), weights(small, 7))
    (records,) = run.observers
    assert isinstance(records, Records)
    assert f"training.device_tokens: {lowered} " in records.of("warning")[-1]["message"]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_a_failed_pass_had_collected_does_not_count(
    store: Store, tmp_path: Path, precision: str
) -> None:
    """Here the first batch of a step is learned from, and the second one does not fit."""
    small, fitted = tmp_path / "small", tmp_path / "fitted"
    failing = trainer(store, fitted, tokens=80, precision=precision)
    model, passes = failing.model, count()
    encode = model.encode

    def second_fails(source: Tensor, source_mask: Tensor) -> Memory:
        if next(passes) == 1:
            raise MemoryError
        return encode(source, source_mask)

    model.encode = second_fails  # type: ignore[method-assign]
    failing.train()
    lowered = failing.progress.device_tokens
    trainer(store, small, tokens=lowered, precision=precision).train()
    assert_same(weights(fitted, 7), weights(small, 7))


def test_a_run_that_is_resumed_keeps_its_smaller_batches(store: Store, tmp_path: Path) -> None:
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    trainer(store, whole, fits=80).train()
    first = trainer(store, parted, fits=80, max_steps=4)
    first.train()
    second = trainer(store, parted)  # with all the memory there is
    assert second.resume()
    second.train()
    assert_same(weights(parted, 7), weights(whole, 7))


@pytest.mark.parametrize("tokens", [None, 120])
def test_batches_are_as_large_as_a_run_is_told_to_have_them_from_then_on(
    store: Store, tmp_path: Path, tokens: int | None
) -> None:
    """With ``resume --set training.device_tokens``, as on a device with more memory."""
    trainer(store, tmp_path, tokens=tokens, fits=80, max_steps=4).train()
    lowered = read_progress(checkpoints(tmp_path)[-1]).device_tokens
    assert lowered is not None
    assert lowered <= 80
    for asked, steps, expected in ((tokens, 6, lowered), (130, 7, None)):
        later = trainer(store, tmp_path, tokens=asked, max_steps=steps)
        assert later.resume()
        later.train()
        assert read_progress(checkpoints(tmp_path)[-1]).device_tokens == expected


@pytest.mark.parametrize("sharding", ["none", "state"])
def test_what_one_process_has_no_memory_for_is_smaller_in_all(
    store: Store, tmp_path: Path, sharding: str
) -> None:
    """Otherwise a run that is resumed would not divide as one that goes on."""

    def train(run: Path, fits: float, **values: Any) -> list[Trainer]:
        models = [tiny_model(dropout=0.0) for _ in range(2)]  # threads share a generator

        def work(world: GlooThreads) -> Trainer:
            one = trainer(
                store,
                run,
                fits=fits if world.rank == 1 else float("inf"),
                world=world,
                model=models[world.rank],
                sharding=sharding,
                **values,
            )
            one.resume()
            one.train()
            return one

        return [process.result() for process in gloo_together(2, work)]

    leader, other = train(tmp_path / "whole", 40)
    assert leader.progress.device_tokens == other.progress.device_tokens
    assert 0 < (leader.progress.device_tokens or 0) <= 40
    (records,) = leader.observers
    assert isinstance(records, Records)
    assert "out of memory in another process" in records.of("warning")[-1]["message"]
    train(tmp_path / "parted", 40, max_steps=4)
    train(tmp_path / "parted", float("inf"))  # with all the memory there is
    assert_same(weights(tmp_path / "parted", 7), weights(tmp_path / "whole", 7))


def test_a_sentence_that_does_not_fit_alone_is_an_error_with_a_remedy(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(
        NotEnoughMemoryError, match=r"one sentence pair at a time, of \d+ source.*data\.max_pieces"
    ):
        trainer(store, tmp_path, fits=6).train()


def test_a_gradient_that_others_have_already_is_not_collected_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = trainer(store, tmp_path, fits=80)
    monkeypatch.setattr(one.sharding, "start_over", lambda: False)
    with pytest.raises(NotEnoughMemoryError, match=r"go on with training\.device_tokens: \d+$"):
        one.train()


def test_other_errors_are_raised_as_they_are(store: Store, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shapes"):
        trainer(store, tmp_path, fits=80, error=RuntimeError("shapes differ")).train()
