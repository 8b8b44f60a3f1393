from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import write_store

from dragoman.data.batches import Batches
from dragoman.data.proportions import mixed_weights, rows_in_epoch
from dragoman.data.store import Store, StoredPart


def times_seen(size: int, weight: float, epoch: int, seed: int = 3) -> np.ndarray:
    rows = rows_in_epoch(5, 5 + size, weight, seed=seed, epoch=epoch)
    assert len(rows) == 0 or (rows.min() >= 5 and rows.max() < 5 + size)
    return np.bincount(rows - 5, minlength=size)


@given(st.integers(0, 50), st.floats(0.01, 5), st.integers(0, 1000))
def test_a_pair_is_seen_the_weight_rounded_up_or_down(size: int, weight: float, epoch: int) -> None:
    seen = times_seen(size, weight, epoch)
    assert set(seen) <= {int(np.floor(weight)), int(np.ceil(weight))}


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_whole_weights_are_exact(weight: int, epoch: int) -> None:
    assert (times_seen(13, weight, epoch) == weight).all()


@given(st.sampled_from([(0.5, 2), (0.25, 4), (1.5, 2), (2.75, 4)]), st.integers(0, 100))
def test_epochs_add_up_to_the_weight(weight_and_epochs: tuple[float, int], first: int) -> None:
    weight, epochs = weight_and_epochs
    seen = sum(times_seen(31, weight, epoch) for epoch in range(first, first + epochs))
    assert np.all(seen == weight * epochs)


def test_parts_of_another_task_weigh_nothing() -> None:
    sides = [[[n + 4] * 3 for n in range(size)] for size in (5, 7, 2)]
    languages = [("en", "de"), ("de", "en"), ("fr", "en")]
    parts, start = [], 0
    for number, (ids, pair) in enumerate(zip(sides, languages, strict=True)):
        names = {"source_language": pair[0], "target_language": pair[1]}
        stop = start + len(ids)
        parts.append(StoredPart(name=str(number), start=start, stop=stop, weight=2, **names))
        start = stop
    assert mixed_weights(parts, None, {0, 2}) == [2, 0, 2]
    weights = mixed_weights(parts, 5.0, {1, 2})
    assert weights == [0, *mixed_weights(parts[1:], 5.0)]
    assert mixed_weights(parts, 5.0, {0, 1, 2}) == mixed_weights(parts, 5.0)


def test_the_share_of_an_epoch_is_the_fraction() -> None:
    seen = [times_seen(20_000, 0.3, epoch).mean() for epoch in range(5)]
    assert np.allclose(seen, 0.3, atol=0.02)


def test_the_choice_changes_with_epoch_and_seed() -> None:
    choices = [times_seen(100, 0.3, epoch, seed) for epoch, seed in ((0, 1), (1, 1), (0, 2))]
    assert not (choices[0] == choices[1]).all()
    assert not (choices[0] == choices[2]).all()


def stored(*sizes: tuple[str, int, float]) -> list[StoredPart]:
    """Parts from English into a language each, of so many pairs and a weight."""
    start, parts = 0, []
    for language, size, weight in sizes:
        parts.append(
            StoredPart(
                name=language,
                start=start,
                stop=start + size,
                weight=weight,
                source_language="en",
                target_language=language,
            )
        )
        start += size
    return parts


def test_a_temperature_tempers_directions_and_keeps_what_is_within_them() -> None:
    parts = stored(("de", 900, 1.0), ("de", 50, 2.0), ("fr", 10, 1.0), ("cs", 0, 1.0))
    assert mixed_weights(parts, None) == [1.0, 2.0, 1.0, 1.0]
    assert mixed_weights(parts, 1.0) == [1.0, 2.0, 1.0, 1.0]
    assert mixed_weights(parts, 2.0) == pytest.approx([1.0, 2.0, 10.0, 1.0])


def test_copies_are_tempered_among_themselves() -> None:
    """A few lines of auto-encoding do not become as frequent as a large translation direction."""
    parts = stored(("de", 1000, 1.0), ("de", 8, 1.0), ("fr", 10, 1.0), ("fr", 2, 1.0))
    for copied in (1, 3):
        language = parts[copied].target_language
        parts[copied] = parts[copied].model_copy(update={"source_language": language})
    assert mixed_weights(parts, 2.0) == pytest.approx([1.0, 1.0, 10.0, 2.0])


def test_an_epoch_shows_what_the_temperature_says(tmp_path: Path) -> None:
    pairs = [([5], [6])] * 110
    store = write_store(tmp_path, pairs, [(100, 1.0), (10, 1.0)])
    manifest = store.manifest.model_copy(
        update={"parts": stored(("de", 100, 1.0), ("fr", 10, 1.0))}
    )
    batches = Batches(Store(tmp_path, manifest), 40, seed=1, sampling_temperature=2)
    shown = np.bincount(
        np.concatenate([batch.rows.numpy() for step in batches.epoch(0) for batch in step])
    )
    assert set(shown[:100]) == {1}
    assert sum(shown[100:]) == pytest.approx(10 * 10**0.5, abs=5)
    assert set(shown[100:]) == {3, 4}
