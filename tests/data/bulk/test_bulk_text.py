"""Cleaned text and counts of a corpus equal those of one loop over all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.core.claims import claimed
from dragoman.core.errors import ConfigError, SavedError, StorageError
from dragoman.core.processes import InProcessRunner
from dragoman.data.bulk import text_plan, word_counts
from dragoman.data.bulk.bulk_directory import BulkDirectory
from dragoman.data.bulk.bulk_text import (
    REPORT_FILE,
    BulkText,
    cleaned_names,
    make_of_cleaned,
    write_cleaned,
)
from dragoman.data.bulk.shard_rows import unpack_rows
from dragoman.data.bulk.word_counts import COUNT_FILES, SumCounts, count_words
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport, clean_part
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example
from dragoman.text.formats import FORMATS
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

Parts = tuple[CorpusPart, ...]
NAMES = cleaned_names(3)


def text_in(output: Path, parts: Parts, names: list[str], **options: Any) -> BulkText:
    directory = BulkDirectory(output, [*names, REPORT_FILE])
    options = {"runner": InProcessRunner(), "shard_lines": 60, **options}
    return BulkText(directory, parts, CleaningConfig(), **options)


def cleaned(parts: Parts) -> list[list[Example]]:
    report = CleaningReport()
    return [list(clean_part(part, CleaningConfig(), report)) for part in parts]


@pytest.fixture(autouse=True)
def _small_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_plan, "_PARTITION_PAIRS", 150)


class TestCleanedText:
    def test_is_that_of_one_process(self, messy_parts: Parts, tmp_path: Path) -> None:
        text = text_in(tmp_path / "made", messy_parts, NAMES)
        _, report = make_of_cleaned(text, {}, lambda: write_cleaned(text))
        expected = CleaningReport()
        for part, name in zip(messy_parts, NAMES, strict=True):
            with FORMATS["jsonl"].write([tmp_path / name], ("source", "target")) as add:
                for example in clean_part(part, CleaningConfig(), expected):
                    add(example)  # type: ignore[arg-type]  # it has what is written of a pair
            assert (tmp_path / name).read_bytes() == (tmp_path / "made" / name).read_bytes()
        assert report == expected
        assert {path.name for path in (tmp_path / "made").iterdir()} == {
            *(NAMES),
            REPORT_FILE,
            "origin.json",
            ".lock",
        }

    def test_across_parts(self, messy_parts: Parts, tmp_path: Path) -> None:
        """A pair stays where it occurs first in the whole corpus."""
        text = text_in(tmp_path / "made", messy_parts, NAMES, across_parts=True)
        _, report = make_of_cleaned(text, {}, lambda: write_cleaned(text))
        seen: set[tuple[str, str]] = set()
        for examples, name in zip(cleaned(messy_parts), NAMES, strict=True):
            expected = []
            for one in examples:
                if (one.source, one.target) not in seen:
                    seen.add((one.source, one.target))
                    expected.append((one.source, one.target))
            made = CorpusPart(path=str(tmp_path / "made" / name), source="source", target="target")
            assert [(pair.source, pair.target) for pair in read_pairs(made)] == expected
        assert report.kept == len(seen) < sum(map(len, cleaned(messy_parts)))


class TestCounts:
    def test_of_words(self, messy_parts: Parts, tmp_path: Path) -> None:
        text = text_in(tmp_path / "made", messy_parts, list(COUNT_FILES.values()))
        made, _ = make_of_cleaned(text, {}, lambda: count_words(text, None))
        examples = [one for part in cleaned(messy_parts) for one in part]
        for number, (side, name) in enumerate(COUNT_FILES.items()):
            words = Counter(word for one in examples for word in str(one[number]).split())
            rows = sorted(words.items(), key=lambda row: (-row[1], row[0]))
            lines = (tmp_path / "made" / name).read_text(encoding="utf-8").splitlines()
            assert lines == [f"{word}\t{count}" for word, count in rows]
            assert made[side] == len(rows) > 10

    def test_of_pieces(self, messy_parts: Parts, tmp_path: Path) -> None:
        examples = [one for part in cleaned(messy_parts) for one in part]
        vocabularies = train_vocabularies(examples, VocabularyConfig(size=60), seed=1)
        vocabularies.save(tmp_path / "vocabulary")
        text = text_in(tmp_path / "made", messy_parts, list(COUNT_FILES.values()))
        make_of_cleaned(text, {}, lambda: count_words(text, tmp_path / "vocabulary"))
        target = vocabularies.target
        pieces = Counter(one for pair in examples for one in target.encode(pair.target))
        lines = (tmp_path / "made" / "target.tsv").read_text(encoding="utf-8").splitlines()
        found = {word: int(count) for word, _, count in (line.partition("\t") for line in lines)}
        assert found == dict(zip(target.pieces(pieces), pieces.values(), strict=True))

    def test_the_sums_are_read_a_piece_at_a_time(
        self, messy_parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So that no process ever holds all words."""
        monkeypatch.setattr(word_counts, "_WORDS_AT_ONCE", 3)
        text = text_in(tmp_path / "made", messy_parts, list(COUNT_FILES.values()))

        read: list[bytes] = []

        def counted_unpacking(content: bytes) -> list[Any]:
            read.append(content)
            return unpack_rows(content)

        def made() -> dict[str, int]:
            counted = count_words(text, None)
            monkeypatch.setattr(word_counts, "unpack_rows", counted_unpacking)
            rows = SumCounts(text.plan).sorted_counts("source")[0]
            for taken in range(1, 5):
                next(rows)
                assert len(read) == (1 if taken <= 3 else 2)
            return counted

        make_of_cleaned(text, {}, made)


class TestTheDirectory:
    @pytest.fixture
    def make(self, messy_parts: Parts, tmp_path: Path) -> Callable[..., Any]:
        def made(**options: Any) -> Any:
            text = text_in(tmp_path / "made", messy_parts, NAMES, **options)
            return make_of_cleaned(text, {"made": "text"}, lambda: write_cleaned(text))

        return made

    def test_what_a_killed_process_has_not_removed_is(
        self, make: Callable[..., Any], tmp_path: Path
    ) -> None:
        """Shards may be larger than the results, and nobody else would remove them."""
        first = make()
        (tmp_path / "made" / "shards" / "cleaned").mkdir(parents=True)
        assert make(runner=None) == first
        assert not (tmp_path / "made" / "shards").exists()

    def test_what_is_finished_is_left_as_it_is(
        self, make: Callable[..., Any], tmp_path: Path
    ) -> None:
        first = make()
        before = (tmp_path / "made" / NAMES[0]).stat().st_ino
        assert make(runner=None) == first, "nobody has to work"
        assert (tmp_path / "made" / NAMES[0]).stat().st_ino == before
        (tmp_path / "made" / NAMES[0]).write_bytes(b"")
        with pytest.raises(SavedError, match=r"part-1.*altered; restore it, or remove"):
            make()

    def test_other_files_settings_and_processes_are_refused(
        self, make: Callable[..., Any], tmp_path: Path
    ) -> None:
        (tmp_path / "made").mkdir()
        (tmp_path / "made" / "mine.txt").touch()
        with pytest.raises(ConfigError, match=r"holds mine\.txt"):
            make()
        (tmp_path / "made" / "mine.txt").unlink()
        with (
            claimed(tmp_path / "made" / ".lock", "it"),
            pytest.raises(SavedError, match="is using this directory"),
        ):
            make()
        make()
        with pytest.raises(ConfigError, match=r"\(across_parts\); repeat the command"):
            make(across_parts=True)

    def test_a_disk_that_refuses(
        self, make: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was finished before is kept."""
        (tmp_path / "made").mkdir()
        (tmp_path / "made" / "shards").symlink_to("/proc/self")
        with pytest.raises(StorageError, match="cannot write"):
            make()
        (tmp_path / "made" / "shards").unlink()
        assert make()[1].kept > 100
