"""Which sentences are read with each: windows, boundaries, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.text.context import ContextConfig, ContextFitter, ContextReader, ContextWindow
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport, clean_part
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

BOTH = ContextConfig(target=True)
ROWS = [
    ("one#1", "a", "A"),
    ("one#2", "b", "B"),
    ("one#4", "c", ""),
    ("one#5", "d", "D"),
    ("two#1", "e", "E"),
    ("two#2", "f", "F"),
]


def table(folder: Path, **values: Any) -> CorpusPart:
    lines = ["id\ten\tde", *map("\t".join, ROWS)]
    (folder / "text.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = {"path": str(folder / "text.tsv"), "source": "en", "target": "de"}
    return parse(CorpusPart, {**given, **values}, "test")


def read(part: CorpusPart) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in evaluation_pairs(part)]


class TestCorpus:
    def test_a_sentence_follows_the_one_before_it_in_its_document(self, tmp_path: Path) -> None:
        part = table(tmp_path, documents="id", context=ContextConfig())
        assert read(part) == [
            ("<sep> a", "A"),
            ("a <sep> b", "B"),
            ("c <sep> d", "D"),  # the line before has no translation, and is context
            ("<sep> e", "E"),
            ("e <sep> f", "F"),
        ]

    def test_translations_precede_targets_too(self, tmp_path: Path) -> None:
        part = table(tmp_path, documents="id", context=ContextConfig(sentences=2, target=True))
        assert read(part) == [
            ("<sep> a", "<sep> A"),
            ("a <sep> b", "A <sep> B"),
            ("a <sep> b <sep> d", "A <sep> B <sep> D"),  # c has no translation
            ("<sep> e", "<sep> E"),
            ("e <sep> f", "E <sep> F"),
        ]
        assert [target for _, target in read(part.scored())] == ["A", "B", "D", "E", "F"]
        assert [source for source, _ in read(part.scored())][1:2] == ["a <sep> b"]

    def test_without_documents_a_table_is_one(self, tmp_path: Path) -> None:
        assert ("d <sep> e", "E") in read(table(tmp_path, context=ContextConfig()))

    def test_empty_lines_separate_documents(self, tmp_path: Path) -> None:
        for name, text in (("en", "a\nb\n\nc\n"), ("de", "A\nB\n\nC\n")):
            (tmp_path / name).write_text(text, encoding="utf-8")
        part = CorpusPart(
            source=str(tmp_path / "en"), target=str(tmp_path / "de"), context=ContextConfig()
        )
        assert [source for source, _ in read(part)] == ["<sep> a", "a <sep> b", "<sep> c"]

    def test_what_cleaning_and_filters_drop_remains_context(self, tmp_path: Path) -> None:
        later = [{"kind": "filter", "first_line": 3}]
        part = table(tmp_path, documents="id", context=ContextConfig(), transforms=later)
        report = CleaningReport()
        kept = list(clean_part(part, CleaningConfig(), report))
        assert [one.source for one in kept] == ["a <sep> b", "c <sep> d", "<sep> e", "e <sep> f"]

    def test_tags_are_in_front_of_the_context(self, tmp_path: Path) -> None:
        part = table(tmp_path, documents="id", context=ContextConfig(), tags=["<ui>"])
        assert read(part)[1] == ("<ui> a <sep> b", "B")

    def test_random_context_is_the_same_each_time(self, tmp_path: Path) -> None:
        part = table(tmp_path, documents="id", context=ContextConfig(choice="random"))
        sources = [source for source, _ in read(part)]
        assert sources == [source for source, _ in read(part)]
        assert all(source.split(" <sep> ")[0] in "abcdef" for source in sources[1:])
        assert sources[3] != "<sep> e"  # of any document

    def test_a_text_with_the_separator_is_refused(self, tmp_path: Path) -> None:
        part = table(tmp_path, context=ContextConfig())
        path = tmp_path / "text.tsv"
        path.write_text(path.read_text().replace("\tc\t", "\tc <sep>\t"))
        with pytest.raises(DataError, match=r"text.tsv:4: .*<sep>.*data.context.separator"):
            read(part)

    def test_a_missing_column_of_documents_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no column 'page'"):
            read(table(tmp_path, documents="page", context=ContextConfig()))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"source": None}, "context is read with a source"),
        ({"transforms": [{"kind": "noise"}]}, "noise would not change the context"),
        ({"transforms": [{"kind": "tag", "share": 0.5}]}, "tag without share"),
        ({"alignments": "links"}, "context and word alignments"),
    ],
)
def test_parts_that_cannot_have_context(
    tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        table(tmp_path, context=ContextConfig(), **values)


def test_documents_of_a_format_without_columns_are_refused() -> None:
    with pytest.raises(ConfigError, match="plain has none"):
        parse(CorpusPart, {"source": "a", "target": "b", "documents": "id"}, "test")


def in_context(*lines: str, tags: tuple[str, ...] = (), **values: Any) -> list[str]:
    reader = ContextReader(ContextConfig(**values), tags)
    return [reader(number, line)[0] for number, line in enumerate(lines)]


class TestLines:
    def test_an_empty_line_separates_documents(self) -> None:
        assert in_context("a", "b", " ", "c") == ["<sep> a", "a <sep> b", " ", "<sep> c"]
        assert in_context("a", "\ufeff", "c") == ["<sep> a", "\ufeff", "<sep> c"]

    def test_a_line_may_bring_its_own_context(self) -> None:
        assert in_context("a", "x <sep> b", "c") == ["<sep> a", "x <sep> b", "b <sep> c"]

    def test_tags_stay_in_front(self) -> None:
        known = ("<2de>", "<sep>")
        found = in_context("<2de> a", "<2de> b", "<b> c", tags=known)
        assert found == ["<2de> <sep> a", "<2de> a <sep> b", "b <sep> <b> c"]

    @given(
        lines=st.lists(st.text("ab ", max_size=4), max_size=9),
        sentences=st.integers(1, 4),
    )
    def test_each_line_is_behind_those_directly_before_it(
        self, lines: list[str], sentences: int
    ) -> None:
        found = in_context(*lines, sentences=sentences)
        for number, line in enumerate(lines):
            if not line.strip():
                assert found[number] == line
                continue
            before = lines[:number]
            start = max((n + 1 for n, one in enumerate(before) if not one.strip()), default=0)
            expected = [one.strip() for one in before[start:]][-sentences:] or [""]
            assert found[number].split("<sep>")[-1].strip() == line.strip()
            assert [one.strip() for one in found[number].split("<sep>")[:-1]] == expected


def test_a_window_of_random_lines_is_of_the_last_thousand() -> None:
    window = ContextWindow(ContextConfig(sentences=3, choice="random"))
    assert window.before(0) == ()
    for number in range(2000):
        window.add(str(number))
    window.end_document()
    drawn = [int(source) for n in range(50) for source, _ in window.before(n)]
    assert len(drawn) == 150
    assert min(drawn) >= 1000
    assert window.before(3) == window.before(3)


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    text = ["a b c d e f", "f e d c b a"] * 5
    config = VocabularyConfig(size=19, tags=("<sep>", "<2de>"))
    return train_vocabularies(zip(text, text, strict=True), config, seed=1)


class TestFitter:
    def fitted(
        self, vocabularies: Vocabularies, config: ContextConfig, source: str, target: str
    ) -> tuple[str, str]:
        sides = vocabularies.source.encode(source), vocabularies.target.encode(target)
        fitter = ContextFitter(config, vocabularies, 100)
        (new_source,), (new_target,) = fitter([source], [target], [sides[0]], [sides[1]])
        return vocabularies.source.decode(new_source), vocabularies.target.decode(new_target)

    @pytest.mark.parametrize(
        ("limit", "source"),
        [
            (100, "<2de> a b c <sep> d e <sep> f"),
            (9, "<2de> d e <sep> f"),
            (5, "<2de> <sep> f"),
            (1, "<2de> <sep> f"),  # nothing is left to leave out
        ],
    )
    def test_the_farthest_sentences_are_left_out_first(
        self, vocabularies: Vocabularies, limit: int, source: str
    ) -> None:
        config = ContextConfig(sentences=2, max_pieces=limit)
        whole = "<2de> a b c <sep> d e <sep> f"
        assert self.fitted(vocabularies, config, whole, "a") == (source, "a")
        assert ContextFitter(config, vocabularies, 100).text(whole) == source

    def test_both_sides_are_shortened_together(self, vocabularies: Vocabularies) -> None:
        config = ContextConfig(sentences=2, target=True, max_pieces=9)
        found = self.fitted(vocabularies, config, "a <sep> b <sep> c", "a b c d <sep> e <sep> f")
        assert found == ("b <sep> c", "e <sep> f")
