"""Vocabularies follow the text that a run learns from, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.data.origin import clean_text_settings, describe, digest
from dragoman.data.vocabularies import ORIGIN_FILE, Parent, prepare_vocabularies
from dragoman.text.corpora.cleaning import CleaningConfig, held_out_keys
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import (
    train_vocabularies,
    train_weighted_vocabularies,
)

Corpus = Callable[..., CorpusPart]
CONFIG = VocabularyConfig(size=40)
CLEANING = CleaningConfig(drop_duplicates=False)


def prepared(run: Path, *parts: CorpusPart, **changes: Any) -> Vocabularies:
    settings: dict[str, Any] = {"config": CONFIG, "cleaning": CLEANING, "seed": 1}
    inputs = describe(path for part in parts for path in part.files())
    return prepare_vocabularies(run, parts, inputs=inputs, **{**settings, **changes})


def fingerprint(vocabularies: Vocabularies) -> str:
    return vocabularies.source.fingerprint


def rewrite(part: CorpusPart, change: Callable[[list[str]], Sequence[str]]) -> None:
    """Change both files of a part line by line."""
    for path in part.files():
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("".join(f"{line}\n" for line in change(lines)), encoding="utf-8")


class TestText:
    def test_it_is_the_cleaned_text(self, tmp_path: Path, corpus_of: Corpus) -> None:
        part = corpus_of(60)
        clean = fingerprint(train_vocabularies(read_pairs(part), CONFIG, seed=1))
        rewrite(part, lambda lines: [*lines, "qqq xxx " * 400, "zzz\x00 yyy " * 300])
        assert fingerprint(prepared(tmp_path, part)) == clean

    def test_held_out_pairs_are_left_out(self, tmp_path: Path, corpus_of: Corpus) -> None:
        part = corpus_of(60)
        pairs = list(read_pairs(part))
        held_out = held_out_keys(pairs[:20])
        rest = [pair for pair in pairs if held_out.isdisjoint(held_out_keys([pair]))]
        assert 0 < len(rest) <= 40
        found = prepared(tmp_path, part, held_out=held_out)
        assert fingerprint(found) == fingerprint(train_vocabularies(rest, CONFIG, seed=1))

    def test_a_part_counts_by_its_weight(self, tmp_path: Path, corpus_of: Corpus) -> None:
        """Pieces of a part of weight 3 are those of a part that stands there three times."""
        one, two = corpus_of(40, "one", weight=1.5), corpus_of(30, "two", weight=0.5)
        rewrite(two, lambda lines: [line[::-1] for line in lines])
        found = prepared(tmp_path, one, two).source
        texts = [list(read_pairs(part)) for part in (one, two)]
        expected = train_vocabularies([*texts[0] * 3, *texts[1]], CONFIG, seed=1).source
        plain = train_vocabularies([*texts[0], *texts[1]], CONFIG, seed=1).source
        pieces = [one.pieces(range(40)) for one in (found, expected, plain)]
        assert pieces[0] == pieces[1] != pieces[2]

    def test_equal_weights_change_nothing(self, corpus_of: Corpus) -> None:
        pairs = list(read_pairs(corpus_of(40)))
        weighted = train_weighted_vocabularies([(pair, 0.3) for pair in pairs], CONFIG, seed=1)
        assert fingerprint(weighted) == fingerprint(train_vocabularies(pairs, CONFIG, seed=1))

    def test_nothing_left(self, tmp_path: Path, corpus_of: Corpus) -> None:
        part = corpus_of(3)
        rewrite(part, lambda lines: [""] * len(lines))
        with pytest.raises(DataError, match=r"is left after cleaning \(3 of 3 dropped: empty\)"):
            prepared(tmp_path / "run", part)


class TestMadeAnew:
    @pytest.fixture
    def part(self, corpus_of: Corpus) -> CorpusPart:
        return corpus_of(60)

    def test_unchanged_they_stay(self, tmp_path: Path, part: CorpusPart) -> None:
        prepared(tmp_path, part)
        before = (tmp_path / "vocabulary.model").stat().st_ino
        os.utime(part.files()[0], (1, 1))
        prepared(tmp_path, part)
        assert (tmp_path / "vocabulary.model").stat().st_ino == before

    def test_other_text_of_the_same_size_and_time_is_seen(
        self, tmp_path: Path, part: CorpusPart
    ) -> None:
        first = prepared(tmp_path, part)
        path = part.files()[0]
        status = path.stat()
        text = path.read_text(encoding="utf-8").replace("hund", "xyzw")
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert path.stat().st_size == status.st_size
        changed = prepared(tmp_path, part)
        assert fingerprint(changed) != fingerprint(first)
        assert fingerprint(Vocabularies.load(tmp_path)) == fingerprint(changed)

    @pytest.mark.parametrize(
        "change",
        [
            {"config": VocabularyConfig(size=41)},
            {"config": VocabularyConfig(size=40, tags=("<2de>",))},
            {"cleaning": CleaningConfig(max_characters=20)},
            {"seed": 2, "config": VocabularyConfig(size=40, training_pairs=20)},
        ],
    )
    def test_a_changed_setting_is_seen(
        self, tmp_path: Path, part: CorpusPart, change: dict[str, Any]
    ) -> None:
        first = prepared(tmp_path, part)
        changed = prepared(tmp_path, part, **change)
        assert fingerprint(changed) != fingerprint(first)
        assert fingerprint(prepared(tmp_path, part)) == fingerprint(first)

    def test_held_out_pairs_and_weights_are_seen(
        self, tmp_path: Path, corpus_of: Corpus, part: CorpusPart
    ) -> None:
        other = corpus_of(30, "other")
        rewrite(other, lambda lines: [line[::-1] for line in lines])
        first = prepared(tmp_path, part, other)
        weighted = prepared(tmp_path, part, other.model_copy(update={"weight": 9.0}))
        held_out = held_out_keys(read_pairs(other))
        without = prepared(tmp_path, part, other, held_out=held_out)
        assert len({fingerprint(one) for one in (first, weighted, without)}) == 3

    def test_subword_sampling_does_not_matter(self, tmp_path: Path, part: CorpusPart) -> None:
        prepared(tmp_path, part)
        before = (tmp_path / "vocabulary.model").stat().st_ino
        prepared(tmp_path, part, config=VocabularyConfig(size=40, sampling=0.1))
        assert (tmp_path / "vocabulary.model").stat().st_ino == before

    @pytest.mark.parametrize("after", ["nothing", "note"])
    def test_a_crash_on_the_way_leaves_nothing_stale(
        self, tmp_path: Path, part: CorpusPart, after: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prepared(tmp_path, part)
        other = VocabularyConfig(size=41)
        name = "write_json" if after == "nothing" else "Vocabularies.save"
        with monkeypatch.context() as patch:

            def killed(*_: object) -> None:
                raise KeyboardInterrupt

            patch.setattr(f"dragoman.data.vocabularies.{name}", killed)
            with pytest.raises(KeyboardInterrupt):
                prepared(tmp_path, part, config=other)
        assert len(prepared(tmp_path, part, config=other).source) == 41

    def test_the_note_of_an_older_release_is_not_current(
        self, tmp_path: Path, part: CorpusPart
    ) -> None:
        prepared(tmp_path, part)
        (tmp_path / ORIGIN_FILE).write_text(json.dumps({"seed": 1, "bytes": [5]}))
        assert len(prepared(tmp_path, part, config=VocabularyConfig(size=41)).source) == 41


class TestPutThere:
    """Vocabularies that somebody put into the run are used as they are."""

    @pytest.fixture
    def foreign(self) -> Vocabularies:
        return train_vocabularies([("abc abd", "dba cba")] * 9, VocabularyConfig(size=9), seed=1)

    def test_before_anything_was_made(
        self, tmp_path: Path, corpus_of: Corpus, foreign: Vocabularies
    ) -> None:
        foreign.save(tmp_path)
        assert fingerprint(prepared(tmp_path, corpus_of(30))) == fingerprint(foreign)
        assert not (tmp_path / ORIGIN_FILE).exists()

    def test_in_the_place_of_one_that_was_made(
        self, tmp_path: Path, corpus_of: Corpus, foreign: Vocabularies
    ) -> None:
        prepared(tmp_path, corpus_of(30))
        foreign.save(tmp_path)
        for size in (40, 41):
            found = prepared(tmp_path, corpus_of(30), config=VocabularyConfig(size=size))
            assert fingerprint(found) == fingerprint(foreign)

    def test_damaged_it_is_told(self, tmp_path: Path, corpus_of: Corpus) -> None:
        (tmp_path / "vocabulary.model").write_bytes(b"?")
        with pytest.raises(SavedError, match="vocabulary is truncated"):
            prepared(tmp_path, corpus_of(30))


class TestDescriptions:
    def test_a_settled_file_is_not_read_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "text"
        path.write_text("one\n")
        monkeypatch.setattr("dragoman.data.origin._CLOCK_NS", -(10**12))
        known = describe([path])
        path.chmod(0o600)  # changes the time of change, and the content not
        assert describe([path], known)[0].sha256 == known[0].sha256
        known = describe([path], known)
        monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("it is known"))
        assert describe([path], known) == known

    def test_a_file_named_twice_is_read_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, other, read = tmp_path / "text", tmp_path / "other", list[Path]()
        path.write_text("one\n")
        other.write_text("two\n")

        def digest(file: Path) -> str:
            read.append(file)
            return file.name

        monkeypatch.setattr("dragoman.data.origin.content_digest", digest)
        found = describe(iter([path, other, path]))
        assert [file.sha256 for file in found] == ["text", "other", "text"]
        assert read == [path, other]

    def test_a_file_just_written_is_read_again(self, tmp_path: Path) -> None:
        """Its times may be the same after another change."""
        path = tmp_path / "text"
        path.write_text("one\n")
        known = describe([path])
        assert known[0].changed_ns is None
        lying = known[0].model_copy(update={"sha256": "0"})
        assert describe([path], [lying])[0].sha256 == known[0].sha256

    def test_a_file_that_takes_the_place_of_another_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dragoman.data.origin._CLOCK_NS", -(10**12))
        path, other = tmp_path / "text", tmp_path / "other"
        path.write_text("one\n")
        other.write_text("two\n")
        status = path.stat()
        known = describe([path])
        os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
        other.replace(path)
        assert describe([path], known)[0].sha256 != known[0].sha256


class TestParent:
    """A run that starts from another model."""

    def parent(self, corpus_of: Corpus, extended: bool) -> Parent:
        part = corpus_of(60, "parent")
        found = train_vocabularies(read_pairs(part), VocabularyConfig(size=35), seed=1)
        return Parent(found, "runs/parent", extended)

    @pytest.mark.parametrize("extended", [False, True])
    def test_its_vocabulary_is_kept_or_extended(
        self, tmp_path: Path, corpus_of: Corpus, extended: bool
    ) -> None:
        part, parent = corpus_of(60), self.parent(corpus_of, extended)
        found = prepared(tmp_path / "run", part, parent=parent)
        assert (fingerprint(found) == fingerprint(parent.vocabularies)) != extended
        assert found.source.pieces(range(35)) == parent.vocabularies.source.pieces(range(35))
        assert len(found.source) == (CONFIG.size if extended else 35)
        assert found.joint
        again = prepared(tmp_path / "run", part, parent=parent)
        assert fingerprint(again) == fingerprint(found)
        assert fingerprint(prepared(tmp_path / "run", part)) != fingerprint(found)

    @pytest.mark.parametrize("extended", [False, True])
    def test_another_vocabulary_that_somebody_put_there_is_refused(
        self, tmp_path: Path, corpus_of: Corpus, extended: bool
    ) -> None:
        part, parent = corpus_of(60), self.parent(corpus_of, extended)
        parent.vocabularies.save(tmp_path)
        prepared(tmp_path, part, parent=parent)
        other = corpus_of(60, "other")
        rewrite(other, lambda lines: [line.upper() for line in lines])
        train_vocabularies(read_pairs(other), CONFIG, seed=1).save(tmp_path)
        with pytest.raises(ConfigError, match=r"is not that of runs/parent, .* remove it"):
            prepared(tmp_path, part, parent=parent)


class TestTags:
    """Tags in front of sources, of training text and of the sets that are scored."""

    @pytest.fixture
    def part(self, corpus_of: Corpus) -> CorpusPart:
        return corpus_of(60)

    @pytest.fixture
    def old(self, part: CorpusPart) -> Vocabularies:
        """A vocabulary with the tag ``<old>``."""
        config = VocabularyConfig(size=36, tags=("<old>",))
        return train_vocabularies(read_pairs(part), config, seed=1)

    def problem(self, run: Path, part: CorpusPart, **changes: Any) -> str:
        with pytest.raises(ConfigError) as found:
            prepared(run, part, **changes)
        return str(found.value)

    @pytest.mark.parametrize("extended", [False, True])
    def test_those_of_the_other_model_are_known(
        self, tmp_path: Path, part: CorpusPart, old: Vocabularies, extended: bool
    ) -> None:
        parent = Parent(old, "runs/parent", extended)
        sets = {"data.dev": part.model_copy(update={"tags": ("<old>",)})}
        for _ in range(2):
            found = prepared(tmp_path / "run", part, parent=parent, sets=sets)
            assert "<old>" in found.source.pieces(found.source.tags)

    @pytest.mark.parametrize("again", [False, True])
    def test_a_kept_vocabulary_lacks_one(
        self, tmp_path: Path, part: CorpusPart, old: Vocabularies, again: bool
    ) -> None:
        parent, tagged = (
            Parent(old, "runs/parent", False),
            part.model_copy(update={"tags": ("<x>",)}),
        )
        if again:
            prepared(tmp_path, part, parent=parent)
        told = (
            "runs/parent: its vocabulary, which is kept, has no tag <x>; tags there: <old>. Set "
            "training.start_from.vocabulary: extend"
        )
        assert self.problem(tmp_path, part, parent=parent, sets={"data.dev.a": tagged}) == (
            f"{told} and use the tag in data.train, or remove it from data.dev.a"
        )
        config = CONFIG.model_copy(update={"tags": ("<x>",)})
        sets = {"data.test.b": tagged}
        assert self.problem(tmp_path, tagged, parent=parent, config=config, sets=sets) == (
            f"{told}, or remove it from data.train.0, data.test.b"
        )

    @pytest.mark.parametrize("again", [False, True])
    def test_an_extended_vocabulary_lacks_one(
        self, tmp_path: Path, part: CorpusPart, old: Vocabularies, again: bool
    ) -> None:
        parent, tagged = (
            Parent(old, "runs/parent", True),
            part.model_copy(update={"tags": ("<x>",)}),
        )
        if again:
            prepared(tmp_path, part, parent=parent)
        where = f"{tmp_path}: the vocabulary here" if again else "the vocabulary of the run"
        assert self.problem(tmp_path, part, parent=parent, sets={"data.dev": tagged}) == (
            f"{where} has no tag <x>; tags there: <old>. Use the tag in "
            "data.train or name it in vocabulary.tags, or remove it from data.dev"
        )

    def test_one_that_somebody_put_there_lacks_one(
        self, tmp_path: Path, part: CorpusPart, old: Vocabularies
    ) -> None:
        """No other model is mentioned, since there is none."""
        old.save(tmp_path)
        tagged = part.model_copy(update={"tags": ("<x>",)})
        config = CONFIG.model_copy(update={"tags": ("<x>",)})
        assert self.problem(tmp_path, tagged, config=config) == (
            f"{tmp_path}: the vocabulary here has no tag <x>; tags there: <old>. Remove it, so "
            "that one with the tag is trained here, or remove the tag from data.train.0"
        )


def test_settings_that_came_later_do_not_replace_older_vocabularies(
    tmp_path: Path, corpus_of: Corpus
) -> None:
    """Its digest is of these settings alone, where others are not set."""
    part = corpus_of(60)
    prepared(tmp_path, part)
    trained = {
        "kind": "bpe",
        "size": 40,
        "joint": True,
        "byte_fallback": False,
        "character_coverage": 1.0,
        "normalization": "identity",
        "tags": [],
        "training_pairs": 2_000_000,
    }
    text = clean_text_settings([part], CLEANING, frozenset())
    origin = json.loads((tmp_path / ORIGIN_FILE).read_text(encoding="utf-8"))
    assert origin["settings"] == digest({"vocabulary": trained, "seed": 1, **text})


@pytest.mark.parametrize(("glossary", "differ"), [("terms.tbx", True), ("terms.tsv", False)])
def test_text_depends_on_languages_where_a_glossary_has_several(
    glossary: str, differ: bool
) -> None:
    annotated = CorpusPart.model_validate(
        {
            "path": "a.tsv",
            "source": "left",
            "target": "right",
            "transforms": [{"kind": "terms", "glossary": glossary, "share": 1.0}],
        }
    )
    german, dutch = (
        clean_text_settings([annotated.resolved("en", target)], CLEANING, frozenset())
        for target in ("de", "nl")
    )
    assert (german != dutch) is differ
