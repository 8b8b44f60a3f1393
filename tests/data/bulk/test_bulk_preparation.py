"""A corpus that many workers prepare equals that of one process, whatever is interrupted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from other_runners import Interrupted, Shuffled

from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.core.processes import InProcessRunner, Runner
from dragoman.data.bulk import text_plan
from dragoman.data.bulk.bulk_preparation import BulkPreparation, BulkWorkers
from dragoman.data.origin import InputFile, describe
from dragoman.data.prepare import prepare
from dragoman.data.store import FILE_NAMES
from dragoman.data.vocabularies import prepare_vocabularies
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport, clean_part, held_out_keys
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import VocabularyConfig

Parts = tuple[CorpusPart, ...]
Files = dict[str, bytes]

SIZE = VocabularyConfig(size=80, tags=("<two>",), training_pairs=90)
MAX_PIECES = 40


@pytest.fixture(scope="module")
def inputs(messy_parts: Parts) -> list[InputFile]:
    return describe(path for part in messy_parts for path in part.inputs())


@pytest.fixture(scope="module")
def held_out(messy_parts: Parts) -> frozenset[int]:
    pairs = [pair for pair in read_pairs(messy_parts[0]) if 40 <= pair.line < 50]
    return held_out_keys(pairs)


@dataclass(frozen=True)
class Job:
    """Prepares the corpus, alone or by workers."""

    parts: Parts
    inputs: list[InputFile]
    held_out: frozenset[int]
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)

    def carry_out(
        self, run: Path, runner: Runner | None, shard_lines: int = 40
    ) -> tuple[Files, CleaningReport]:
        run.mkdir(exist_ok=True)
        shards, examples, encode = None, None, None
        if runner is not None:
            workers = BulkWorkers(runner, shard_lines)
            text = (self.parts, self.cleaning, self.held_out)
            shards = BulkPreparation(run / "bulk", *text, inputs=self.inputs, workers=workers)
            examples, encode = shards.examples, shards.encode
        vocabularies = prepare_vocabularies(
            run,
            self.parts,
            SIZE,
            self.cleaning,
            seed=1,
            inputs=self.inputs,
            held_out=self.held_out,
            examples=examples,
        )
        _, report = prepare(
            run / "data",
            self.parts,
            vocabularies,
            self.cleaning,
            max_pieces=MAX_PIECES,
            held_out=self.held_out,
            inputs=self.inputs,
            encode=encode,
        )
        if shards is not None:
            shards.remove()
        paths = [run / "data" / name for name in FILE_NAMES]
        paths += [path for path in run.iterdir() if path.is_file()]
        return {path.name: path.read_bytes() for path in paths}, report


@pytest.fixture(scope="module")
def job(messy_parts: Parts, inputs: list[InputFile], held_out: frozenset[int]) -> Job:
    return Job(messy_parts, inputs, held_out)


@pytest.fixture(scope="module")
def alone(job: Job, tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, CleaningReport]:
    return job.carry_out(tmp_path_factory.mktemp("alone") / "run", None)


def test_the_corpus_has_everything(alone: tuple[Files, CleaningReport]) -> None:
    _, report = alone
    reasons = {reason for part in report.parts.values() for reason in part.dropped}
    assert reasons >= {"empty", "too long", "length ratio", "identical sides", "held out"}
    assert reasons >= {"duplicate", "too many pieces"}
    assert report.dropped("duplicate") > 40


class TestEquality:
    @pytest.mark.parametrize("shard_lines", [13, 97, 1000])
    def test_vocabularies_and_store_are_those_of_one_process(
        self, job: Job, alone: tuple[Files, CleaningReport], tmp_path: Path, shard_lines: int
    ) -> None:
        files, report = job.carry_out(tmp_path / "run", Shuffled(), shard_lines)
        assert files == alone[0]
        assert report == alone[1]
        assert not (tmp_path / "run" / "bulk").exists()

    def test_with_many_partitions(
        self,
        job: Job,
        alone: tuple[Files, CleaningReport],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(text_plan, "_PARTITION_PAIRS", 10)
        runner = Interrupted(after=1000)
        assert job.carry_out(tmp_path / "run", runner) == alone
        partitions = [item for name, item in runner.items if name == "FindDuplicates"]
        assert partitions == list(range(36)), "of 358 pairs"

    def test_shards_of_long_lines_are_shorter(
        self,
        job: Job,
        alone: tuple[Files, CleaningReport],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(text_plan, "_SHARD_CHARACTERS", 1500)
        stops = Interrupted(after=10)
        with pytest.raises(KeyboardInterrupt):
            job.carry_out(tmp_path / "run", stops, 1000)
        keys = [name for name, _ in stops.items if name == "KeyShard"]
        assert len(keys) > 3, "one shard a part would be three"
        assert job.carry_out(tmp_path / "run", InProcessRunner(), 1000) == alone

    @pytest.mark.parametrize(
        "changed",
        [{"drop_duplicates": False}, {"keep_held_out": True}, {"max_length_ratio": None}],
    )
    def test_with_other_cleaning(
        self, messy_parts: Parts, inputs: list[InputFile], held_out: frozenset[int],
        tmp_path: Path, changed: dict[str, Any],
    ) -> None:  # fmt: skip
        job = Job(messy_parts, inputs, held_out, CleaningConfig(**changed))
        one = job.carry_out(tmp_path / "one", None)
        assert job.carry_out(tmp_path / "two", Shuffled()) == one

    def test_context_crosses_shards(self, tmp_path: Path, messy_parts: Parts) -> None:
        context = ContextConfig(sentences=2)
        part = messy_parts[0].model_copy(update={"context": context})
        text = BulkPreparation(
            tmp_path / "bulk", [part], CleaningConfig(), frozenset(), inputs=[],
            workers=BulkWorkers(InProcessRunner(), 7),
        )  # fmt: skip
        found = [example for example, _ in text.examples()]
        assert found == list(clean_part(part, CleaningConfig(), CleaningReport()))
        assert sum(context.separator in example.source for example in found) > 100


class TestInterruption:
    def test_nothing_is_done_twice(
        self, job: Job, alone: tuple[Files, CleaningReport], tmp_path: Path
    ) -> None:
        """Stopped every few pieces of work; what was finished is not begun again."""
        items: list[tuple[str, Any]] = []
        for _ in range(100):
            runner = Interrupted(after=9)
            try:
                found = job.carry_out(tmp_path / "run", runner)
                break
            except KeyboardInterrupt:
                assert runner.done == 9
            finally:
                items += runner.items
        assert found == alone
        assert len(items) > 30
        assert len(set(items)) == len(items)

    def test_a_damaged_or_missing_shard_is_made_again(
        self, job: Job, alone: tuple[Files, CleaningReport], tmp_path: Path
    ) -> None:
        run = tmp_path / "run"
        with pytest.raises(KeyboardInterrupt):
            job.carry_out(run, Interrupted(after=26))
        shards = run / "bulk" / "shards"
        (shards / "pairs" / "000" / "000002.json.zst").unlink()
        altered = shards / "cleaned" / "000003.json.zst"
        content = altered.read_bytes()
        altered.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(SavedError, match=r"000003.*altered.*repeat the command"):
            job.carry_out(run, InProcessRunner())
        assert job.carry_out(run, InProcessRunner()) == alone

    def test_damaged_keys_are_noticed(
        self, job: Job, alone: tuple[Files, CleaningReport], tmp_path: Path
    ) -> None:
        run = tmp_path / "run"
        stops = Interrupted(after=3 + 11)  # three parts, then the keys of 6, 3 and 2 shards
        with pytest.raises(KeyboardInterrupt):
            job.carry_out(run, stops)
        assert {name for name, _ in stops.items} == {"PartCut", "KeyShard"}
        keys = run / "bulk" / "shards" / "keys" / "000001.bin"
        content = bytearray(keys.read_bytes())
        content[-5] ^= 1
        keys.write_bytes(content)
        with pytest.raises(SavedError, match=r"000001\.bin"):
            job.carry_out(run, InProcessRunner())
        assert job.carry_out(run, InProcessRunner()) == alone


class TestRefusals:
    def test_other_settings_are_refused_by_name(
        self, job: Job, messy_parts: Parts, tmp_path: Path
    ) -> None:
        run = tmp_path / "run"
        with pytest.raises(KeyboardInterrupt):
            job.carry_out(run, Interrupted(after=5))
        with pytest.raises(ConfigError, match=r"shard_lines.*remove this one"):
            job.carry_out(run, InProcessRunner(), 17)
        other = Job(messy_parts, job.inputs, frozenset({1}))
        with pytest.raises(ConfigError, match=r"\(held_out\)"):
            other.carry_out(run, InProcessRunner())

    def test_sides_of_different_lengths(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("x\ny\nz\n", encoding="utf-8")
        (tmp_path / "b").write_text("x\ny\n", encoding="utf-8")
        part = CorpusPart(source=str(tmp_path / "a"), target=str(tmp_path / "b"))
        with pytest.raises(DataError, match=r"a has 3 lines and .*b has 2"):
            Job((part,), [], frozenset()).carry_out(tmp_path / "run", InProcessRunner())

    def test_a_line_that_is_not_utf8(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"x\n\xff\n")
        part = CorpusPart(target=str(tmp_path / "a"))
        with pytest.raises(DataError, match="a:2: not UTF-8"):
            Job((part,), [], frozenset()).carry_out(tmp_path / "run", InProcessRunner())

    def test_nothing_left(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("\n \n", encoding="utf-8")
        part = CorpusPart(target=str(tmp_path / "a"))
        with pytest.raises(DataError, match=r"no sentence pair of .*2 of 2 dropped: empty"):
            Job((part,), [], frozenset()).carry_out(tmp_path / "run", InProcessRunner())
