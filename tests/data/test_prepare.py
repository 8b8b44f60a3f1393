from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.core.errors import DataError, StorageError, WorkerError
from dragoman.data.batches import Batches
from dragoman.data.origin import describe
from dragoman.data.prepare import prepare
from dragoman.data.store import FILE_NAMES, Store
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport, held_out_keys
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.vocabularies import EOS, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

Corpus = Callable[..., CorpusPart]
Prepare = Callable[..., tuple[Store, CleaningReport]]

ALL = CleaningConfig(max_length_ratio=None, drop_duplicates=False)


def made(directory: Path) -> int:
    """Changes whenever a store is written anew."""
    return (directory / "store.json").stat().st_ino


class TestContent:
    def test_rows_are_the_encoded_pairs(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies
    ) -> None:
        parts = [corpus_of(30, "one"), corpus_of(20, "two", weight=2.5)]
        store, report = prepare(tmp_path / "data", parts, vocabularies, ALL, max_pieces=100)
        pairs = [pair for part in parts for pair in read_pairs(part)]
        assert len(store) == len(pairs) == report.kept == report.read
        for row, pair in enumerate(pairs):
            assert store.source(row).tolist() == vocabularies.source.encode(pair.source)
            assert store.target(row).tolist() == vocabularies.target.encode(pair.target)
        assert [(part.start, part.stop, part.weight) for part in store.parts] == [
            (0, 30, 1.0),
            (30, 50, 2.5),
        ]

    def test_does_not_depend_on_the_number_of_processes(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies
    ) -> None:
        parts = [corpus_of(9000, "one"), corpus_of(100, "two")]
        # Once: a second later, more could be said of the files, and would be.
        inputs = describe(path for part in parts for path in part.files())
        results = []
        for processes in (1, 3):
            directory = tmp_path / f"with-{processes}"
            _, report = prepare(
                directory,
                parts,
                vocabularies,
                CleaningConfig(),
                max_pieces=30,
                inputs=inputs,
                processes=processes,
            )
            results.append(({n: (directory / n).read_bytes() for n in FILE_NAMES}, report))
        assert results[0] == results[1]

    def test_long_and_empty_pairs_are_dropped_and_reported(
        self, tmp_path: Path, vocabularies: Vocabularies
    ) -> None:
        for name, lines in (("a", "ein\nhund hund\n\nbaum\n"), ("b", "das\nhaus\nnie\nhaus\n")):
            (tmp_path / name).write_text(lines, encoding="utf-8")
        part = CorpusPart(source=str(tmp_path / "a"), target=str(tmp_path / "b"))
        bound = len(vocabularies.source.encode("hund hund")) - 1
        store, report = prepare(tmp_path / "data", [part], vocabularies, ALL, max_pieces=bound)
        (of_part,) = report.parts.values()
        assert (of_part.read, of_part.kept) == (4, 2)
        assert of_part.dropped["too many pieces"].lines == [2]
        assert of_part.dropped["empty"].lines == [3]
        assert len(store) == 2

    def test_a_part_without_source_has_empty_ones(
        self, tmp_path: Path, vocabularies: Vocabularies
    ) -> None:
        lines = ["das haus", "", "ein hund", "das haus"]
        (tmp_path / "b").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        part = CorpusPart(target=str(tmp_path / "b"))
        cleaning = CleaningConfig()
        for _ in range(2):  # made, then opened
            store, report = prepare(tmp_path / "data", [part], vocabularies, cleaning, max_pieces=9)
            assert [store.target(row).tolist() for row in range(len(store))] == [
                vocabularies.target.encode(line) for line in ("das haus", "ein hund")
            ]
            assert [len(store.source(row)) for row in range(len(store))] == [0, 0]
            assert (report.dropped("empty"), report.dropped("duplicate")) == (1, 1)
        for sampling in (0.0, 0.5):
            batches = Batches(store, 100, seed=1, vocabularies=vocabularies, sampling=sampling)
            ((batch,),) = batches.epoch(0)
            assert batch.source.tolist() == [[EOS], [EOS]]
            assert batch.source_mask.all()

    @pytest.mark.parametrize("before", [[], [{"kind": "case", "to": "lower", "share": 0.5}]])
    def test_the_languages_of_a_part_are_those_that_training_sees(
        self, tmp_path: Path, vocabularies: Vocabularies, before: list[dict[str, object]]
    ) -> None:
        """Whether a copy runs now or in each epoch; tags are those of the stored sources."""
        (tmp_path / "b").write_text("das haus\n", encoding="utf-8")
        sides = [{**one, "sides": "target"} for one in before]
        values = {"target": str(tmp_path / "b"), "transforms": [*sides, {"kind": "copy"}]}
        part = CorpusPart.model_validate(values).resolved("en", "de")
        for _ in range(2):  # made, then opened
            store, _ = prepare(tmp_path / "data", [part], vocabularies, ALL, max_pieces=100)
            (stored,) = store.parts
            assert (stored.source_language, stored.target_language) == ("de", "de")
            assert stored.tags == ()

    def test_text_without_a_source_comes_from_no_language(
        self, tmp_path: Path, vocabularies: Vocabularies
    ) -> None:
        """A language model of German and French has no direction within German."""
        (tmp_path / "b").write_text("das haus\n", encoding="utf-8")
        part = CorpusPart(target=str(tmp_path / "b")).resolved("de", "de")
        store, _ = prepare(tmp_path / "data", [part], vocabularies, ALL, max_pieces=100)
        assert (store.parts[0].source_language, store.parts[0].target_language) == ("source", "de")

    def test_held_out_pairs_are_left_out(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies
    ) -> None:
        part = corpus_of(50)
        held_out = held_out_keys(list(read_pairs(part))[:5])
        store, report = prepare(
            tmp_path / "data", [part], vocabularies, ALL, max_pieces=100, held_out=held_out
        )
        assert len(store) <= 45
        assert report.dropped("held out") == 50 - len(store)

    @pytest.mark.parametrize("processes", [1, 2])
    def test_progress_counts_the_pairs_read(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies, processes: int
    ) -> None:
        counts: list[int] = []
        prepare(
            tmp_path / "data",
            [corpus_of(5000, "one"), corpus_of(300, "two")],
            vocabularies,
            CleaningConfig(),
            max_pieces=100,
            processes=processes,
            progress=counts.append,
        )
        assert counts == sorted(counts)
        assert len(counts) > 1
        assert counts[-1] == 5300


class TestReuse:
    @pytest.fixture
    def part(self, corpus_of: Corpus) -> CorpusPart:
        return corpus_of(60)

    @pytest.fixture
    def prepared(self, tmp_path: Path, part: CorpusPart, vocabularies: Vocabularies) -> Prepare:
        def prepare_with(
            part: CorpusPart = part,
            vocabularies: Vocabularies = vocabularies,
            cleaning: CleaningConfig = ALL,
            max_pieces: int = 100,
            held_out: frozenset[int] = frozenset(),
        ) -> tuple[Store, CleaningReport]:
            return prepare(
                tmp_path / "data",
                [part],
                vocabularies,
                cleaning,
                max_pieces=max_pieces,
                held_out=held_out,
            )

        return prepare_with

    def test_unchanged_is_only_opened(self, prepared: Prepare) -> None:
        store, report = prepared()
        before = made(store.directory)
        again, same_report = prepared()
        assert made(store.directory) == before
        assert same_report == report
        assert again.fingerprint == store.fingerprint

    def test_touched_and_moved_files_are_recognised(
        self, prepared: Prepare, part: CorpusPart
    ) -> None:
        store, _ = prepared()
        before = made(store.directory)
        os.utime(str(part.source), (1, 1))
        prepared()
        folder = Path(str(part.source)).parent
        moved = Path(shutil.move(folder, folder.with_name("elsewhere")))
        names = {side: str(moved / Path(getattr(part, side)).name) for side in ("source", "target")}
        prepared(part=part.model_copy(update=names))
        assert made(store.directory) == before

    def test_a_store_from_before_languages_is_kept_and_described(
        self, prepared: Callable[..., tuple[Store, object]], part: CorpusPart
    ) -> None:
        store, _ = prepared()
        path = store.directory / "store.json"
        values = json.loads(path.read_text(encoding="utf-8"))
        for name in ("source_language", "target_language", "tags"):
            del values["parts"][0][name]
        path.write_text(json.dumps(values), encoding="utf-8")
        ids = (store.directory / "source.ids").stat().st_ino
        described, _ = prepared(part=part.resolved("en", "de"))
        assert (described.directory / "source.ids").stat().st_ino == ids
        (stored,) = Store.open(store.directory).parts
        assert (stored.source_language, stored.target_language) == ("en", "de")
        assert described.parts == [stored]

    def test_only_what_is_stored_is_made_again(
        self, prepared: Callable[..., tuple[Store, object]], part: CorpusPart
    ) -> None:
        store, _ = prepared(part=part.resolved("en", "de"))
        before = made(store.directory)
        noise = CorpusPart.model_validate(
            part.model_dump() | {"transforms": [{"kind": "noise"}]}
        ).resolved("en", "de")
        prepared(part=noise)
        assert made(store.directory) == before
        lower = CorpusPart.model_validate(
            part.model_dump() | {"transforms": [{"kind": "case", "to": "lower"}]}
        ).resolved("en", "de")
        prepared(part=lower)
        assert made(store.directory) != before

    def test_changed_content_of_the_same_size_is_seen(
        self, prepared: Prepare, part: CorpusPart
    ) -> None:
        store, _ = prepared()
        first = store.fingerprint
        path = Path(str(part.source))
        path.write_text(path.read_text("utf-8").replace("hund", "haus"), encoding="utf-8")
        changed, _ = prepared()
        assert changed.fingerprint != first

    def test_any_changed_setting_is_seen(self, prepared: Prepare, part: CorpusPart) -> None:
        pairs = [Pair("ein baum", "das haus", 1)] * 9
        changes: list[dict[str, object]] = [
            {},
            {"max_pieces": 99},
            {"cleaning": CleaningConfig()},
            {"part": part.model_copy(update={"weight": 2.0})},
            {"held_out": held_out_keys(pairs)},
            {"vocabularies": train_vocabularies(pairs, VocabularyConfig(size=25), seed=1)},
        ]
        fingerprints = [prepared(**change)[0].fingerprint for change in changes]
        assert len(set(fingerprints)) == len(changes)

    @pytest.mark.parametrize("name", ["source.ids", "report.json", "store.json"])
    def test_a_damaged_store_is_made_anew(self, prepared: Prepare, name: str) -> None:
        store, report = prepared()
        for damage in (b"?", b"[5]", b"[" * 100_000, b'{"a": 5}', b"\xff"):
            (store.directory / name).write_bytes(damage)
            again, same_report = prepared()
            assert Store.open(again.directory).fingerprint == again.fingerprint
            assert same_report == report

    def test_report_lies_beside(self, prepared: Prepare) -> None:
        store, _ = prepared()
        assert {path.name for path in store.directory.iterdir()} == {*FILE_NAMES, "report.json"}


class TestBadInput:
    def test_nothing_left(self, tmp_path: Path, vocabularies: Vocabularies) -> None:
        for name in ("a", "b"):
            (tmp_path / name).write_text("\n\n")
        part = CorpusPart(source=str(tmp_path / "a"), target=str(tmp_path / "b"))
        with pytest.raises(DataError, match=r"is left after cleaning \(2 of 2 dropped: empty\)"):
            prepare(tmp_path / "data", [part], vocabularies, ALL, max_pieces=10)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]

    def test_nothing_left_of_a_task(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies
    ) -> None:
        for name in ("a", "b"):
            (tmp_path / name).write_text("\n\n")
        part = CorpusPart(source=str(tmp_path / "a"), target=str(tmp_path / "b"))
        replay = corpus_of(3).model_copy(update={"task": "replay"})
        message = (
            r"^no sentence pair of [^ ]*a \+ b is left after cleaning \(2 of 2 dropped: empty\)"
        )
        with pytest.raises(DataError, match=message):
            prepare(tmp_path / "data", [part, replay], vocabularies, ALL, max_pieces=10)
        assert not (tmp_path / "data").exists()

    def test_missing_corpus(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies
    ) -> None:
        part = corpus_of(3)
        Path(str(part.target)).unlink()
        with pytest.raises(DataError, match=r"train\.de: .*check the paths"):
            prepare(tmp_path / "data", [part], vocabularies, ALL, max_pieces=10)

    @pytest.mark.parametrize("processes", [1, 2])
    def test_an_error_in_the_middle_keeps_the_old_store(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies, processes: int
    ) -> None:
        part = corpus_of(20)
        store, _ = prepare(tmp_path / "data", [part], vocabularies, ALL, max_pieces=100)
        with Path(str(part.source)).open("ab") as stream:
            stream.write(b"\xff\xfe\n")
        with pytest.raises(DataError):
            prepare(store.directory, [part], vocabularies, ALL, max_pieces=100, processes=processes)
        assert len(Store.open(store.directory)) == 20
        assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "data"]

    def test_files_of_another_kind_are_not_replaced(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies
    ) -> None:
        part = corpus_of(3)
        with pytest.raises(StorageError, match=r"corpus: holds train\.de.*another directory"):
            prepare(Path(str(part.source)).parent, [part], vocabularies, ALL, max_pieces=100)
        with pytest.raises(StorageError, match="a file is where a directory should be"):
            prepare(Path(str(part.source)), [part], vocabularies, ALL, max_pieces=100)
        assert len(list(read_pairs(part))) == 3

    def test_a_place_that_cannot_be(
        self, tmp_path: Path, corpus_of: Corpus, vocabularies: Vocabularies
    ) -> None:
        blocked = tmp_path / "file"
        blocked.touch()
        with pytest.raises(StorageError, match="choose another path"):
            prepare(blocked / "deep" / "data", [corpus_of(3)], vocabularies, ALL, max_pieces=100)


SCRIPT = """
import resource, sys, time
from pathlib import Path
from dragoman.data.origin import describe
from dragoman.data.prepare import prepare
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies

def main(folder, corpus, processes, pause):
    prepare(
        folder / corpus.replace(".tsv.gz", ""),
        [CorpusPart(path=str(folder / corpus), source="en", target="de")],
        Vocabularies.load(folder),
        CleaningConfig(max_length_ratio=None),
        max_pieces=100,
        processes=processes,
        progress=lambda pairs: (print(pairs, flush=True), time.sleep(pause)),
    )
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
"""


@pytest.fixture
def folder(tmp_path: Path, vocabularies: Vocabularies) -> Path:
    (tmp_path / "script.py").write_text(SCRIPT)
    vocabularies.save(tmp_path)
    return tmp_path


def write_table(path: Path, count: int) -> None:
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as stream:
        stream.write("en\tde\n")
        stream.writelines(f"hund {i} katze\tdas haus {i} baum\n" for i in range(count))


def start(folder: Path, corpus: str, processes: int, pause: float) -> subprocess.Popen[str]:
    arguments = [str(folder / "script.py"), str(folder), corpus, str(processes), str(pause)]
    return subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_memory_does_not_grow_with_the_corpus(folder: Path) -> None:
    peaks = []
    for count in (10_000, 100_000):
        write_table(folder / f"{count}.tsv.gz", count)
        output, _ = start(folder, f"{count}.tsv.gz", 1, 0).communicate()
        peaks.append(int(output.split("peak")[1]) / 1024)
    assert len(Store.open(folder / "100000")) == 100_000
    assert peaks[1] - peaks[0] < 20, "MiB; the ids alone would be 43 MiB as Python lists"


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(
    not Path("/proc/thread-self/children").exists(), reason="looks at processes in /proc"
)
class TestKilled:
    def test_leaves_no_store_and_no_process(self, folder: Path) -> None:
        write_table(folder / "corpus.tsv.gz", 30_000)
        with start(folder, "corpus.tsv.gz", 2, 0.1) as process:
            assert process.stdout is not None
            assert int(process.stdout.readline()) > 0
            workers = children(process.pid)
            assert len(workers) >= 2
            process.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 60
        while any(map(alive, workers)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(alive, workers))
        assert not (folder / "corpus").exists()

    def test_a_killed_worker_is_one_clear_error(
        self, folder: Path, vocabularies: Vocabularies
    ) -> None:
        write_table(folder / "corpus.tsv.gz", 30_000)
        part = CorpusPart(path=str(folder / "corpus.tsv.gz"), source="en", target="de")

        def kill_workers(pairs: int) -> None:
            for child in children(os.getpid()):
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)

        with pytest.raises(WorkerError, match="repeat with fewer processes"):
            prepare(
                folder / "data",
                [part],
                vocabularies,
                ALL,
                max_pieces=100,
                processes=2,
                progress=kill_workers,
            )
        assert not (folder / "data").exists()
