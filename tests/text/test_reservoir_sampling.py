"""Each item of a stream is kept with the same probability, wherever it comes."""

from __future__ import annotations

from collections import Counter

from dragoman.text.reservoir import Reservoir

STREAM, SIZE, DRAWS = 10, 3, 2000


def samples(shrunk: int | None = None) -> Counter[int]:
    """How often each item of a stream is in the sample, over many seeds."""
    counts: Counter[int] = Counter()
    for seed in range(DRAWS):
        reservoir: Reservoir[int] = Reservoir(SIZE if shrunk is None else 6, seed)
        for item in range(STREAM):
            reservoir.add(item)
        if shrunk is not None:
            reservoir.shrink(shrunk)
        assert len(set(reservoir.items)) == SIZE
        assert reservoir.seen == STREAM
        counts.update(reservoir.items)
    return counts


def test_every_item_is_kept_as_often_as_any_other() -> None:
    # 3 of 10 in 2,000 draws: 600 +- 20.5 for each item, whose deviations are normal.
    for counts in (samples(), samples(shrunk=SIZE)):
        assert all(500 < counts[item] < 700 for item in range(STREAM)), counts
