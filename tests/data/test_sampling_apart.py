"""What another process draws is what this one would have drawn."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dragoman.core.errors import WorkerError
from dragoman.data.batches import Batch, Batches
from dragoman.data.sampling_apart import SamplerApart
from dragoman.data.store import Store
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies

Options = dict[str, Any]


@pytest.fixture
def options(store_of: Callable[..., Store], vocabularies: Vocabularies) -> Options:
    words = ("hund", "katze", "läuft", "schläft")
    texts = [" ".join(words[: 1 + i % 4] * (1 + i % 5)) for i in range(600)]
    ids = vocabularies.source.encode_batch(texts)
    store = store_of(list(zip(ids, ids, strict=True)))
    return {
        "store": store, "step_tokens": 300, "seed": 1, "vocabularies": vocabularies,
        "sampling": 0.3,
    }  # fmt: skip


def shown(steps: Iterator[list[Batch]]) -> list[object]:
    return [
        [
            (batch.rows.tolist(), batch.source.tolist(), batch.target_output.tolist())
            for batch in step
        ]
        for step in steps
    ]


def test_epochs_are_the_same_from_any_step(options: Options) -> None:
    here, apart = Batches(**options), Batches(**options, apart=True)
    expected = [shown(here.window(epoch, 0)) for epoch in range(3)]
    assert len(expected[0]) > 64  # several pools
    assert [shown(apart.window(epoch, 0)) for epoch in range(3)] == expected
    for start in (0, 50, 64, 65, len(expected[1]) - 1):  # as when a run is resumed
        assert shown(apart.window(1, 0, start)) == expected[1][start:]


def test_the_next_pool_is_drawn_ahead(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = Batches(**options, apart=True)
    list(apart.window(0, 0))
    sampler = apart._sampler
    assert isinstance(sampler, SamplerApart)
    submit, submitted = sampler._pool.submit, []

    def counted(*task: Any) -> Any:
        submitted.append(task)
        return submit(*task)

    monkeypatch.setattr(sampler._pool, "submit", counted)
    next(apart.window(1, 0))
    assert len(submitted) == 1  # the second of the epoch; the first was drawn before it began


def test_a_killed_process_is_told(options: Options) -> None:
    apart = Batches(**options, apart=True)
    steps = apart.window(0, 0)
    next(steps)
    sampler = apart._sampler
    assert isinstance(sampler, SamplerApart)
    (worker,) = sampler._pool._workers()
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match=r"draws pieces of words was killed.*dragoman resume"):
        for epoch in range(3):
            list(apart.epoch(epoch))
