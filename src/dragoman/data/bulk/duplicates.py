"""Finding the duplicates of a whole corpus by its keys, one partition of them at a time.

Every shard is cleaned twice.  The first pass records the key of every pair that no other rule
drops.  Equal keys are in one partition, which fits into memory, and the first in the order of the
text is no duplicate.  The second pass drops the duplicates of each shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from dragoman.data.bulk.shard_rows import pack_arrays, read_array
from dragoman.data.bulk.text_plan import TextPlan
from dragoman.text.corpora.cleaning import clean_part, pair_key
from dragoman.text.corpora.cleaning_report import CleaningReport

_KEY = np.dtype([("key", "<i8"), ("place", "<i4")])
_PLACE = np.dtype("<i4")


@dataclass(frozen=True)
class KeyShard:
    """Writes the keys of a shard."""

    plan: TextPlan

    def __call__(self, place: int) -> None:
        """Write the keys, by partition."""
        plan, recorded = self.plan, list[int]()
        part = plan.shards[place].part

        def record(source: str, target: str) -> bool:
            recorded.append(pair_key(source, target))
            return False  # duplicates are not known yet

        cleaned = clean_part(
            plan.parts[part],
            plan.cleaning,
            CleaningReport(),
            held_out=plan.held_out,
            pairs=plan.raw_pairs(place),
            seen=record,
        )
        for _ in cleaned:
            pass
        found = np.array(recorded, dtype=np.int64)
        keys = np.zeros(len(found), dtype=_KEY)
        keys["key"], keys["place"] = found, np.arange(len(found))
        partition = found.view(np.uint64) % np.uint64(plan.partitions)
        arrays = [keys[partition == number] for number in range(plan.partitions)]
        plan.keys.write(place, pack_arrays(arrays))


@dataclass(frozen=True)
class FindDuplicates:
    """Finds the pairs of a partition that occurred before."""

    plan: TextPlan

    def __call__(self, partition: int) -> None:
        """Write the places of duplicates, by shard."""
        plan = self.plan
        found: list[npt.NDArray[np.int32]] = [np.zeros(0, dtype=_PLACE)] * len(plan.shards)
        for group in filter(None, plan.groups()):
            keys = [
                read_array(plan.keys, place, partition, plan.partitions, _KEY) for place in group
            ]
            starts = np.cumsum([0, *map(len, keys)])
            again = _occurred_before(np.concatenate([one["key"] for one in keys]))
            for place, own, start in zip(group, keys, starts, strict=False):
                found[place] = own["place"][again[start : start + len(own)]]
        plan.duplicates.write(partition, pack_arrays(found))


def _occurred_before(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """True for keys that have an equal key before them."""
    order = np.argsort(keys, kind="stable")
    again = np.zeros(len(keys), dtype=bool)
    again[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    return again


@dataclass(frozen=True)
class CleanShard:
    """Writes the examples of a shard that cleaning keeps, and the report."""

    plan: TextPlan

    def __call__(self, place: int) -> None:
        """Write the examples and the report."""
        plan, report = self.plan, CleaningReport()
        part = plan.shards[place].part
        duplicates, places = self._duplicates(place), count()
        examples = clean_part(
            plan.parts[part],
            plan.cleaning,
            report,
            held_out=plan.held_out,
            label=plan.labels[part],
            pairs=plan.raw_pairs(place),
            seen=lambda source, target: next(places) in duplicates,
        )
        plan.write_examples(place, list(examples), report=report.to_json())

    def _duplicates(self, place: int) -> frozenset[int]:
        plan = self.plan
        if not plan.cleaning.drop_duplicates:
            return frozenset()
        found = [
            read_array(plan.duplicates, partition, place, len(plan.shards), _PLACE)
            for partition in range(plan.partitions)
        ]
        return frozenset(np.concatenate(found).tolist())
