from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import SavedError
from dragoman.data import store as store_module
from dragoman.data.store import FILE_NAMES, Store

sentence = st.lists(st.integers(0, 2**31 - 1), max_size=6)


@given(st.lists(st.tuples(sentence, sentence), max_size=20))
def test_what_is_written_is_read(
    store_of: Callable[..., Store], pairs: list[tuple[list[int], list[int]]]
) -> None:
    store = store_of(pairs)
    assert len(store) == len(pairs)
    for row, (source, target) in enumerate(pairs):
        assert store.source(row).tolist() == source
        assert store.target(row).tolist() == target
    assert store.source_lengths.tolist() == [len(source) for source, _ in pairs]
    assert store.target_lengths.tolist() == [len(target) for _, target in pairs]


@given(st.lists(sentence, min_size=1, max_size=20), st.data())
def test_gather_joins_rows_in_the_order_asked(
    store_of: Callable[..., Store], targets: list[list[int]], data: st.DataObject
) -> None:
    store = store_of([([1], target) for target in targets])
    rows = data.draw(st.lists(st.integers(0, len(targets) - 1), max_size=30))
    ids, lengths = store.gather("target", np.array(rows, dtype=np.int64))
    assert ids.tolist() == [i for row in rows for i in targets[row]]
    assert lengths.tolist() == [len(targets[row]) for row in rows]
    assert lengths.tolist() == store.lengths("target", np.array(rows, dtype=np.int64)).tolist()


def test_a_manifest_of_other_rows_is_refused(store_of: Callable[..., Store]) -> None:
    path = store_of([([5], [6]), ([7], [8])]).directory / "store.json"
    good = json.loads(path.read_text(encoding="utf-8"))
    part = {**good["parts"][0], "stop": 9}
    for change in ({"pairs": 9}, {"parts": [part]}):
        path.write_text(json.dumps({**good, **change}), encoding="utf-8")
        with pytest.raises(SavedError, match="does not fit the files beside it"):
            Store.open(path.parent)


def test_arrays_are_mapped_and_read_only(store_of: Callable[..., Store]) -> None:
    store = store_of([([1, 2], [3])])
    assert store.source(0).dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        store.source(0)[0] = 5


@pytest.mark.parametrize("row", [-1, 1])
def test_a_row_that_is_not_there_is_an_index_error(
    store_of: Callable[..., Store], row: int
) -> None:
    with pytest.raises(IndexError):
        store_of([([1, 2], [3])]).source(row)


@pytest.fixture
def directory(store_of: Callable[..., Store], tmp_path: Path) -> Path:
    store = store_of([([4, 5, 6], [7, 8]), ([9], [10, 11])])
    return Path(shutil.copytree(store.directory, tmp_path / "damaged"))


def refused(directory: Path, name: str, problem: str) -> None:
    with pytest.raises(SavedError) as caught:
        Store.open(directory)
    message = str(caught.value)
    assert name in message
    assert problem in message
    assert "dragoman prepare" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", sorted(FILE_NAMES - {"store.json"}))
class TestDamage:
    def test_truncated(self, directory: Path, name: str) -> None:
        content = (directory / name).read_bytes()
        (directory / name).write_bytes(content[:-4])
        refused(directory, name, "truncated")

    def test_altered(self, directory: Path, name: str) -> None:
        content = bytearray((directory / name).read_bytes())
        content[5] ^= 1
        (directory / name).write_bytes(content)
        refused(directory, name, "altered")

    def test_missing(self, directory: Path, name: str) -> None:
        (directory / name).unlink()
        refused(directory, name, "missing")


def test_no_store(tmp_path: Path) -> None:
    refused(tmp_path, tmp_path.name, "no prepared data")
    refused(tmp_path / "nowhere", "nowhere", "no prepared data")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": 2}, "format 2"),
        ({"pairs": "many"}, "pairs"),
        ({"colour": "red"}, "colour"),
        ({"files": {}}, "does not list"),
    ],
)
def test_manifest_that_makes_no_sense(
    directory: Path, change: dict[str, object], problem: str
) -> None:
    path = directory / "store.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    refused(directory, "store.json", problem)


@pytest.mark.parametrize("content", ["", "{", "[]", "\ud800"])
def test_manifest_that_is_no_json(directory: Path, content: str) -> None:
    (directory / "store.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    refused(directory, "store.json", "")


@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_the_longest_sentence_of_a_side(
    store_of: Callable[..., Store], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_ROWS_AT_ONCE", at_once)
    store = store_of([([5], [6] * 7), ([], [6]), ([5] * 3, [6] * 2)])
    assert (store.longest("source"), store.longest("target")) == (3, 7)


def test_the_usual_ratio_of_lengths_counts_end_symbols_and_only_pairs(
    store_of: Callable[..., Store],
) -> None:
    pairs = [([5] * 3, [6] * 7)] * 5 + [([], [6] * 90)] * 9 + [([5], [6] * 50)]
    assert store_of(pairs).length_ratio([0]) == 2.0
    assert store_of([([], [6])]).length_ratio([0]) is None


def test_the_usual_ratio_of_lengths_is_that_of_some_parts(
    store_of: Callable[..., Store],
) -> None:
    pairs = [([5] * 3, [6] * 7)] * 2 + [([4], [6] * 90)] * 9 + [([5] * 3, [6] * 3)]
    store = store_of(pairs, [(2, 1.0), (9, 1.0), (1, 1.0)])
    assert [store.length_ratio([part]) for part in range(3)] == [2.0, 45.5, 1.0]
    assert store.length_ratio({2, 0}) == 2.0
    assert store.length_ratio([]) is None
