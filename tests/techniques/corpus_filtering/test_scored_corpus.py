"""A corpus is scored once, wherever its scoring was interrupted, and knows what scored it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filter_models import letters, save_models, write_pairs

from dragoman.core.claims import claimed
from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.techniques.corpus_filtering.both_directions import scoring_models
from dragoman.techniques.corpus_filtering.expected_lengths import ExpectedLengths
from dragoman.techniques.corpus_filtering.scored_corpus import ScoredCorpus, score_corpus
from dragoman.techniques.host import ShowCount


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_models(tmp_path_factory.mktemp("models"))


def make(models: dict[str, Path], folder: Path, **options: Any) -> ScoredCorpus:
    scoring = scoring_models([models["forward"]], [models["reverse"]], device="cpu")
    part = options.pop("part", None) or write_pairs(folder.parent)
    return score_corpus(scoring, part, folder, **{"shard_lines": 5, **options})


@contextmanager
def told(seen: list[tuple[int, int]], begin: tuple[int, int]) -> Iterator[ShowCount]:
    def show(done: int, details: Sequence[str] = ()) -> None:
        assert "target tokens/s" in details[0]
        seen.append((done, begin[1]))

    seen.append(begin)
    yield show


def test_every_pair_has_a_row(models: dict[str, Path], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    made = make(models, tmp_path / "made", progress=lambda *at: told(seen, at))
    assert seen == [(0, 23), (5, 23), (10, 23), (15, 23), (20, 23), (23, 23)]
    rows = list(made.rows())
    assert [(row["source"], row["target"]) for row in rows] == letters()
    assert [row["line"] for row in rows] == list(range(2, 25)), "of the table, with its header"
    assert (made.pairs, sum(row["problem"] == "empty" for row in rows)) == (23, 2)
    assert made.tokens_per_second is not None
    assert made.tokens_per_second > 0


def test_shards_only_divide_the_work(models: dict[str, Path], tmp_path: Path) -> None:
    shards, whole = (
        list(make(models, tmp_path / str(size), shard_lines=size).rows()) for size in (2, 100)
    )
    for one, other in zip(shards, whole, strict=True):
        assert one["score"] == pytest.approx(other["score"], rel=1e-4)
        assert one["problem"] == other["problem"]


def test_what_is_stopped_loses_nothing(models: dict[str, Path], tmp_path: Path) -> None:
    """A killed process is in the tests of synthetic corpora, which have the same shards."""

    @contextmanager
    def stopping(*_: int) -> Iterator[ShowCount]:
        def show(done: int, details: Sequence[str] = ()) -> None:
            if done >= 10:
                raise KeyboardInterrupt

        yield show

    with pytest.raises(KeyboardInterrupt):
        make(models, tmp_path / "stopped", progress=stopping)
    assert not (tmp_path / "stopped" / "pairs.jsonl.gz").exists()
    seen: list[tuple[int, int]] = []
    resumed = make(models, tmp_path / "stopped", progress=lambda *at: told(seen, at))
    assert seen[0] == (10, 23), "the first two shards are not scored again"
    assert resumed.path.read_bytes() == make(models, tmp_path / "whole").path.read_bytes()


def test_usual_lengths_are_those_of_the_corpus(models: dict[str, Path], tmp_path: Path) -> None:
    with_lengths = make(models, tmp_path / "made")
    both = [(len(one), len(other)) for one, other in letters() if one and other]
    usual = ExpectedLengths.of(both)
    for row in with_lengths.rows():
        if row["problem"] is None:
            excess = usual.excess(len(row["source"]), len(row["target"]))
            assert row["excess_length"] == pytest.approx(excess, abs=1e-6)
    alone = make(models, tmp_path / "alone", lengths=False)
    assert all("excess_length" not in row for row in alone.rows())


def test_a_finished_corpus_is_not_scored_again(models: dict[str, Path], tmp_path: Path) -> None:
    first = make(models, tmp_path / "made")
    content = first.path.read_bytes()
    again = make(models, tmp_path / "made")
    assert (again.path.read_bytes(), again.tokens_per_second) == (content, None)
    first.path.write_bytes(content[:-9])
    with pytest.raises(SavedError, match=r"altered; .* score the text again"):
        make(models, tmp_path / "made")


def test_other_pairs_or_models_are_refused(models: dict[str, Path], tmp_path: Path) -> None:
    make(models, tmp_path / "made")
    other = write_pairs(tmp_path, letters()[::-1])
    with pytest.raises(ConfigError, match=r"other settings \(input;"):
        make(models, tmp_path / "made", part=other)
    with pytest.raises(ConfigError, match=r"other settings \(lengths;"):
        make(models, tmp_path / "made", lengths=False)
    exchanged = {"forward": models["forward"], "reverse": models["forward"]}
    with pytest.raises(ConfigError, match="translates only en-de"):
        make(exchanged, tmp_path / "made")


def test_directories_that_are_in_use_or_hold_something_else(
    models: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    with pytest.raises(ConfigError, match=r"holds notes\.txt and is no scored corpus"):
        make(models, tmp_path / "other")
    with (
        claimed(tmp_path / "made" / ".lock", "it"),
        pytest.raises(SavedError, match="is using this directory"),
    ):
        make(models, tmp_path / "made")


def test_text_that_cannot_be_read(models: dict[str, Path], tmp_path: Path) -> None:
    part = write_pairs(tmp_path, [("a", "b")])
    Path(part.path or "").write_text("en\tde\na\tb\tc\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"pairs\.tsv:2: 3 cells"):
        make(models, tmp_path / "made", part=part)
