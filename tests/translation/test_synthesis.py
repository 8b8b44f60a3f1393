"""A corpus is translated once, wherever its making was interrupted, and knows where it is from."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from forked import forked_program
from other_runners import Interrupted, Shuffled
from planted_calibration import calibration_of, plant_calibration
from tiny_model import TINY_LM, save_tiny_adapter, save_tiny_model

from dragoman.core.claims import claimed
from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError, SavedError, StorageError, UsageError
from dragoman.saved.calibration import write_calibration
from dragoman.saved.model import CONFIDENCE_FILE
from dragoman.saved.shortlist import write_shortlist
from dragoman.saved.system import TranslationSystem
from dragoman.saved.system_parts import LanguageModelConfig, TermsConfig
from dragoman.search import SearchConfig
from dragoman.techniques.shortlist_building import build_shortlist, count_links
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.transforms.filtering import FilterConfig
from dragoman.text.vocabularies import Vocabularies
from dragoman.translation.call_options import LineOptions
from dragoman.translation.corpus_origin import method_of
from dragoman.translation.synthesis import (
    GivenLine,
    GivenText,
    SyntheticCorpus,
    translate_corpus,
)
from dragoman.translation.translator import Translator

SAMPLED = {"sampling": {"top_k": 5, "seed": 3}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


def lines(count: int = 23) -> list[GivenLine]:
    rng = random.Random(count)
    texts = (" ".join(rng.choices("abcde", k=rng.randint(1, 6))) for _ in range(count))
    return [GivenLine(text, number) for number, text in enumerate(texts, 1)]


def make(
    model: Path, output: Path, text: Sequence[GivenLine] | None = None, **options: Any
) -> SyntheticCorpus:
    search = options.pop("search", {})
    system = TranslationSystem(models=(model,), device="cpu", search=search)
    options = {"known": "source", "shard_lines": 5, **options}
    return translate_corpus(system, lines() if text is None else text, output, **options)


def rows(corpus: SyntheticCorpus) -> list[dict[str, Any]]:
    with gzip.open(corpus.path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


class Stops:
    """Lines, of which the second reading ends at line ``stop``."""

    def __init__(self, stop: int, kill: bool = False) -> None:
        self.stop, self.kill, self.readings = stop, kill, 0

    def __iter__(self) -> Iterator[GivenLine]:
        self.readings += 1
        for line in lines():
            if self.readings == 2 and line.number == self.stop:
                if self.kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise KeyboardInterrupt
            yield line


class TestTheCorpus:
    def test_has_what_the_translator_says(self, model: Path, tmp_path: Path) -> None:
        corpus = make(model, tmp_path / "made", search={"beam": 2})
        with Translator.load(model, device="cpu") as translator:
            expected = translator.translate([line.text for line in lines()], beam=2)
        found = rows(corpus)
        assert [row["target"] for row in found] == [text for text in expected if text.strip()]
        assert (len(found), len(lines())) == (corpus.lines, corpus.lines + corpus.empty)
        texts = {line.number: line.text for line in lines()}
        assert all(texts[row["line"]] == row["source"] for row in found)

    def test_has_the_confidence_of_each_line(self, tmp_path: Path) -> None:
        path = plant_calibration(save_tiny_model(tmp_path / "model"))
        system = TranslationSystem(models=(path,), device="cpu", confidence=True)
        corpus = translate_corpus(system, lines(), tmp_path / "made", known="source", shard_lines=5)
        with Translator.of(system) as translator:
            expected = {
                number: best.confidence
                for number, (best, *_) in enumerate(
                    translator.stream_nbest(line.text for line in lines()), 1
                )
            }
        found = {row["line"]: row["confidence"] for row in rows(corpus)}
        assert found == pytest.approx({line: expected[line] for line in found}, rel=1e-4)
        write_calibration(path / CONFIDENCE_FILE, calibration_of(system, intercept=1.0))
        with pytest.raises(ConfigError, match="made with other settings"):
            translate_corpus(system, lines(), tmp_path / "made", known="source", shard_lines=5)

    def test_names_later_settings_only_where_they_are_set(
        self, model: Path, tmp_path: Path
    ) -> None:
        """So that a corpus which an older release has begun goes on."""
        later = {"constrained_beam", "unknown", "grammar", "mbr"}
        plain = make(model, tmp_path / "plain").origin["search"]
        assert not plain.keys() & later
        other = make(model, tmp_path / "other", search={"constrained_beam": 9}).origin["search"]
        assert other.keys() & later == {"constrained_beam"}
        drawn = make(model, tmp_path / "drawn", search={"sampling": {}}).origin["search"]
        assert drawn["sampling"].keys() == {"temperature", "top_k", "top_p", "seed"}

    def test_is_read_like_any_other(self, model: Path, tmp_path: Path) -> None:
        corpus = make(model, tmp_path / "made", known="target")
        part = CorpusPart(path=str(corpus.path), source="source", target="target")
        texts = {line.text for line in lines()}
        pairs = list(read_pairs(part))
        assert len(pairs) == corpus.lines > 15
        assert {pair.target for pair in pairs} <= texts, "the given text is the target"

    def test_keeps_the_origin_of_each_line(self, model: Path, tmp_path: Path) -> None:
        corpus = make(model, tmp_path / "made", search={**SAMPLED})
        (digest,) = corpus.origin["models"]
        assert len(digest) == 64
        for row in rows(corpus):
            assert row["model"] == digest[:12]
            assert row["method"] == "sampling, top-k 5, seed 3"
            assert row["log_probability"] < 0
            assert row["score"] < 0
        saved = json.loads((tmp_path / "made" / "origin.json").read_text(encoding="utf-8"))
        assert saved == corpus.origin
        assert saved["input"]["lines"] == 23
        assert saved["search"]["sampling"]["seed"] == 3

    def test_names_all_models(self, model: Path, tmp_path: Path) -> None:
        other = save_tiny_model(tmp_path / "other", seed=2)
        fused = save_tiny_model(tmp_path / "lm", config=TINY_LM)
        system = TranslationSystem(
            models=(model, other),
            device="cpu",
            language_model=LanguageModelConfig(path=fused),
        )
        corpus = translate_corpus(system, lines(3), tmp_path / "made", known="source")
        digests = corpus.origin["models"]
        assert len(set(digests)) == 3
        assert corpus.origin["system"] == {
            "models": digests[:2],
            "language_model": {"path": digests[2]},
        }
        assert rows(corpus)[0]["model"] == "+".join(one[:12] for one in digests)

    def test_says_in_which_precision(self, model: Path, tmp_path: Path) -> None:
        """As decided when it was begun, not as it would be on another machine."""
        system = TranslationSystem(models=(model,), device="cpu", precision="auto")
        corpus = translate_corpus(system, lines(3), tmp_path / "made", known="source")
        assert corpus.origin["system"].get("precision", "float32") in {"float32", "bfloat16"}

    def test_leaves_out_and_counts(
        self, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        text = [GivenLine("a b", 1), GivenLine("  ", 2), GivenLine("a " * 30, 4), *lines()[4:7]]
        corpus = make(model, tmp_path / "made", text, search={"max_source_pieces": 20})
        assert (corpus.refused, corpus.lines + corpus.empty) == (1, 5)
        assert corpus.empty >= 1
        assert not {2, 4} & {row["line"] for row in rows(corpus)}
        assert "line 4: " in caplog.text

    def test_may_take_the_closest_to_a_reference(self, model: Path, tmp_path: Path) -> None:
        search: LineOptions = {"beam": 4, "nbest": 4}
        with Translator.load(model, device="cpu") as translator:
            several = translator.translate_nbest([line.text for line in lines()], **search)
        # Each reference is the worst of the hypotheses, which the score alone would never choose.
        text = [
            line._replace(reference=found[-1].text)
            for line, found in zip(lines(), several, strict=True)
            if found[-1].text.strip()
        ]
        corpus = make(model, tmp_path / "made", text, search=search, closest="bleu")
        assert [row["target"] for row in rows(corpus)] == [line.reference for line in text]
        assert rows(corpus)[0]["method"] == "beam 4, closest of 4 by bleu"


class TestWorkers:
    def test_translate_in_any_order(self, model: Path, tmp_path: Path) -> None:
        """What is made does not show who made it."""
        alone = make(model, tmp_path / "alone", search=SAMPLED)
        told_of: list[int] = []
        shared = make(
            model,
            tmp_path / "shared",
            search=SAMPLED,
            runner=Shuffled(),
            progress=lambda done, total: nullcontext(told_of.append),
        )
        assert shared.path.read_bytes() == alone.path.read_bytes()
        assert shared.origin == alone.origin
        assert len(told_of) == 5
        assert told_of[-1] == 23

    def test_leave_gaps_when_they_are_interrupted(self, model: Path, tmp_path: Path) -> None:
        """Only the gaps are filled, here by this process."""
        with pytest.raises(KeyboardInterrupt):
            make(model, tmp_path / "made", runner=Interrupted(after=4))
        shards = tmp_path / "made" / "shards"
        for name in ("000001.jsonl.gz", "000001.json"):
            (shards / name).unlink()
        started: list[tuple[int, int]] = []
        resumed = make(model, tmp_path / "made", progress=lambda *at: told(started, at))
        assert started == [(15, 23)]
        assert resumed.path.read_bytes() == make(model, tmp_path / "whole").path.read_bytes()

    def test_whose_shard_vanishes(self, model: Path, tmp_path: Path) -> None:
        class Forgetful:
            machines = 1

            def carry_out(self, work: Any, items: Any) -> Iterator[tuple[Any, Any]]:
                return ((item, item.number == 2 or work(item)) for item in items)

        with pytest.raises(SavedError, match=r"000002\.json: missing; repeat the command"):
            make(model, tmp_path / "made", runner=Forgetful())
        assert make(model, tmp_path / "made").lines > 15


class TestResuming:
    def test_with_another_shortlist_is_refused(self, model: Path, tmp_path: Path) -> None:
        """Wherever the file is: it decides which translations are possible."""
        listed = Path(shutil.copytree(model, tmp_path / "model"))
        vocabularies = Vocabularies.load(listed)
        links = count_links(vocabularies, [([5, 6], [7, 8])], text="some")

        def again(frequent: int) -> SyntheticCorpus:
            built = build_shortlist(vocabularies, links, frequent=frequent, text="some")
            write_shortlist(listed / "shortlist.safetensors", built)
            system = TranslationSystem(models=(listed,), device="cpu", shortlist=True)
            return translate_corpus(system, lines(), tmp_path / "made", known="source")

        assert again(6).path == again(6).path
        with pytest.raises(ConfigError, match=r"other settings \(system;"):
            again(3)

    def test_with_another_adapter_is_refused(self, model: Path, tmp_path: Path) -> None:
        """Its content counts: half a corpus by one, half by another would go unnoticed."""
        adapter = save_tiny_adapter(tmp_path / "ui.safetensors", model, seed=2)
        given = {"models": [str(model)], "device": "cpu", "adapter": str(adapter)}

        def again(**values: Any) -> SyntheticCorpus:
            system = parse(TranslationSystem, {**given, **values}, "test")
            return translate_corpus(system, lines(), tmp_path / "made", known="source")

        made = again()
        moved = shutil.copy(adapter, tmp_path / "moved.safetensors")
        assert again(adapter=str(moved)) == made
        save_tiny_adapter(adapter, model, seed=3)
        with pytest.raises(ConfigError, match=r"other settings \(system;"):
            again()

    @pytest.mark.parametrize("name", ["glossary", "keep"])
    def test_with_other_terms_is_refused(self, model: Path, tmp_path: Path, name: str) -> None:
        file = tmp_path / "terms.tsv"

        def again(text: str, file: Path = file) -> SyntheticCorpus:
            file.write_text(text)
            terms = (
                TermsConfig(glossary=(file,)) if name == "glossary" else TermsConfig(keep=(file,))
            )
            system = TranslationSystem(models=(model,), device="cpu", terms=terms)
            return translate_corpus(system, lines(4), tmp_path / "made", known="source")

        one, other = ("a\tb\n", "a\tc\n") if name == "glossary" else ("a\n", "b\n")
        assert again(one, tmp_path / "moved.tsv") == again(one)
        with pytest.raises(ConfigError, match=r"other settings \(system;"):
            again(other)

    def test_a_killed_process(self, model: Path, tmp_path: Path) -> None:
        """Sampled, too: the numbers of lines decide what is drawn, not where work resumed."""
        script = tmp_path / "script.py"
        script.write_text(
            "import sys; from pathlib import Path; from test_synthesis import *\n"
            "make(Path(sys.argv[1]), Path(sys.argv[2]), Stops(13, kill=True), search=SAMPLED)"
        )
        process = forked_program(script, model, tmp_path / "killed", paths=[Path(__file__).parent])
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert not (tmp_path / "killed" / "pairs.jsonl.gz").exists()
        assert len(list((tmp_path / "killed" / "shards").glob("*.json"))) == 2
        started: list[tuple[int, int]] = []
        resumed = make(
            model, tmp_path / "killed", search=SAMPLED, progress=lambda *at: told(started, at)
        )
        whole = make(model, tmp_path / "whole", search=SAMPLED)
        assert started == [(10, 23)], "the first two shards are not translated again"
        assert resumed.path.read_bytes() == whole.path.read_bytes()
        assert resumed.origin == whole.origin

    @pytest.mark.parametrize("stop", [5, 6])
    def test_at_any_line(self, model: Path, tmp_path: Path, stop: int) -> None:
        with pytest.raises(KeyboardInterrupt):
            make(model, tmp_path / "stopped", Stops(stop))  # type: ignore[arg-type]
        resumed = make(model, tmp_path / "stopped")
        assert resumed.path.read_bytes() == make(model, tmp_path / "whole").path.read_bytes()

    def test_a_shard_without_its_counts_is_not_finished(self, model: Path, tmp_path: Path) -> None:
        with pytest.raises(KeyboardInterrupt):
            make(model, tmp_path / "stopped", Stops(16))  # type: ignore[arg-type]
        (tmp_path / "stopped" / "shards" / "000002.json").unlink()
        resumed = make(model, tmp_path / "stopped")
        assert resumed.path.read_bytes() == make(model, tmp_path / "whole").path.read_bytes()

    def test_a_damaged_shard_is_made_again(self, model: Path, tmp_path: Path) -> None:
        with pytest.raises(KeyboardInterrupt):
            make(model, tmp_path / "stopped", Stops(16))  # type: ignore[arg-type]
        (tmp_path / "stopped" / "shards" / "000001.jsonl.gz").write_bytes(b"")
        with pytest.raises(SavedError, match=r"000001.*repeat the command"):
            make(model, tmp_path / "stopped")
        resumed = make(model, tmp_path / "stopped")
        assert resumed.path.read_bytes() == make(model, tmp_path / "whole").path.read_bytes()

    def test_a_record_that_is_no_record_is_damaged(self, model: Path, tmp_path: Path) -> None:
        with pytest.raises(KeyboardInterrupt):
            make(model, tmp_path / "stopped", Stops(16))  # type: ignore[arg-type]
        record = tmp_path / "stopped" / "shards" / "000001.json"
        values = json.loads(record.read_text(encoding="utf-8"))
        record.write_text(json.dumps({**values, "input_lines": math.inf}), encoding="utf-8")
        with pytest.raises(SavedError, match=r"000001.json: damaged"):
            make(model, tmp_path / "stopped")

    def test_few_of_many_other_settings_are_named(self, model: Path, tmp_path: Path) -> None:
        make(model, tmp_path / "made")
        origin = tmp_path / "made" / "origin.json"
        values = json.loads(origin.read_text(encoding="utf-8"))
        others = {f"key {number}": number for number in range(5000)}
        origin.write_text(json.dumps({**values, **others}), encoding="utf-8")
        with pytest.raises(ConfigError, match=r"key 3, .* and 4,980 more"):
            make(model, tmp_path / "made")

    def test_a_finished_corpus_is_not_made_again(self, model: Path, tmp_path: Path) -> None:
        made = make(model, tmp_path / "made")
        content, changed = made.path.read_bytes(), made.path.stat().st_mtime_ns
        assert sorted(path.name for path in made.path.parent.iterdir()) == [
            ".lock",
            "origin.json",
            "pairs.jsonl.gz",
        ]
        assert make(model, tmp_path / "made") == made
        assert (made.path.read_bytes(), made.path.stat().st_mtime_ns) == (content, changed)

    def test_a_model_may_move(self, model: Path, tmp_path: Path) -> None:
        made = make(model, tmp_path / "made")
        (tmp_path / "moved").symlink_to(model)
        assert make(tmp_path / "moved", tmp_path / "made") == made


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "name"),
        [
            ({"search": {"beam": 3}}, "method, search"),
            ({"search": {"length_penalty": 0.1}}, "search"),
            ({"known": "target"}, "known"),
            ({"shard_lines": 4}, "shard_lines"),
            ({"text": lines(22)}, "input"),
        ],
    )
    def test_other_settings(
        self, model: Path, tmp_path: Path, options: dict[str, Any], name: str
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            make(model, tmp_path / "made", Stops(2))  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=rf"other settings \({name}; see"):
            make(model, tmp_path / "made", **options)

    def test_another_model(self, model: Path, tmp_path: Path) -> None:
        make(model, tmp_path / "made")
        other = save_tiny_model(tmp_path / "other", seed=2)
        with pytest.raises(ConfigError, match="models, system"):
            make(other, tmp_path / "made")

    def test_other_files(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").touch()
        with pytest.raises(ConfigError, match=r"thesis\.tex"):
            make(model, tmp_path)

    def test_two_processes(self, model: Path, tmp_path: Path) -> None:
        with (
            claimed(tmp_path / ".lock", "it"),
            pytest.raises(SavedError, match=f"process {os.getpid()} .*is using this directory"),
        ):
            make(model, tmp_path)

    def test_an_altered_corpus(self, model: Path, tmp_path: Path) -> None:
        made = make(model, tmp_path / "made")
        made.path.write_bytes(b"")
        with pytest.raises(SavedError, match="altered"):
            make(model, tmp_path / "made")

    def test_an_iterator(self, model: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="twice"):
            make(model, tmp_path, iter(lines()))  # type: ignore[arg-type]

    def test_nothing_to_translate(self, model: Path, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no lines"):
            make(model, tmp_path / "none", [])
        with pytest.raises(DataError, match=r"none of the 2 lines .*0 too long, 2 empty"):
            make(model, tmp_path / "empty", [GivenLine("", 1), GivenLine(" ", 2)])

    def test_one_hypothesis_is_no_choice(self, model: Path, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="nbest"):
            make(model, tmp_path, closest="bleu")

    def test_a_full_disk_keeps_what_is_finished(
        self, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            make(model, tmp_path / "made", Stops(13))  # type: ignore[arg-type]

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("dragoman.core.files.os.fsync", full)
            with pytest.raises(StorageError, match="the disk is full"):
                make(model, tmp_path / "made")
        assert len(list((tmp_path / "made" / "shards").iterdir())) == 4
        resumed = make(model, tmp_path / "made")
        assert resumed.path.read_bytes() == make(model, tmp_path / "whole").path.read_bytes()

    def test_broken_text_before_anything_is_translated(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "text.de").write_bytes(b"a b\n\xff\n")
        text = GivenText(CorpusPart(target=str(tmp_path / "text.de")), "target")
        with pytest.raises(DataError, match=r"text\.de:2: not UTF-8"):
            make(model, tmp_path / "made", text)  # type: ignore[arg-type]
        assert not (tmp_path / "made").exists()


def test_the_lines_of_a_part_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "text.en").write_text("a\nb c\n\nd e f\n", encoding="utf-8")
    (tmp_path / "text.de").write_text("A\nB C\nC\n\n", encoding="utf-8")
    part = CorpusPart(
        source=str(tmp_path / "text.en"),
        target=str(tmp_path / "text.de"),
        transforms=(FilterConfig(first_line=2),),
    )
    expected = [GivenLine("b c", 2, "B C"), GivenLine("", 3, "C"), GivenLine("d e f", 4, "")]
    assert list(GivenText(part, "source")) == expected
    assert [line.text for line in GivenText(part, "target")] == ["B C", "C", ""]


@pytest.mark.parametrize(
    ("search", "name"),
    [
        ({"beam": 1}, "greedy"),
        ({"beam": 5}, "beam 5"),
        ({"sampling": {}}, "sampling, seed 1"),
        (
            {"sampling": {"temperature": 0.7, "top_p": 0.9, "seed": 4}},
            "sampling, temperature 0.7, top-p 0.9, seed 4",
        ),
        ({"sampling": {"epsilon": 0.1}}, "sampling, epsilon 0.1, seed 1"),
        ({"sampling": {"min_p": 0.1, "epsilon": 0.0}}, "sampling, min-p 0.1, seed 1"),
        (
            {"mbr": {"samples": 8, "candidates": "both"}, "sampling": {"seed": 3}},
            "minimum Bayes risk of 8 samples by chrf, candidates both, epsilon 0.02, seed 3",
        ),
    ],
)
def test_methods_have_names(search: dict[str, Any], name: str) -> None:
    assert method_of(SearchConfig(**search)) == name


def told(started: list[tuple[int, int]], at: tuple[int, int]) -> AbstractContextManager[Any]:
    started.append(at)
    return nullcontext(lambda done: None)
