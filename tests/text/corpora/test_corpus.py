"""Parts of a corpus: which reader, which files, what they are called."""

from __future__ import annotations

import gzip
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_fixtures import web  # noqa: F401 - a fixture
from corpora_web import Web
from hypothesis import given
from hypothesis import strategies as st
from registered_sets import REFERENCES, SOURCES, Register, register  # noqa: F401

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.text.corpora.corpus import (
    evaluation_examples,
    read_pairs,
    reference_sets,
    referenced_pairs,
)
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.public_corpora import corpora_folder, from_folder

DATA = corpora_folder()
needs_data = pytest.mark.skipif(
    not all((DATA / name).is_dir() for name in ("multi30k", "homeassistant")),
    reason="Multi30k and homeassistant are not there",
)


def plain(folder: Path, source: bytes, target: bytes) -> CorpusPart:
    (folder / "train.en").write_bytes(source)
    (folder / "train.de").write_bytes(target)
    return CorpusPart(source=str(folder / "train.en"), target=str(folder / "train.de"))


def test_a_test_set_by_name_has_its_languages_and_all_its_references(
    web: Web,  # noqa: F811
    register: Register,  # noqa: F811
    tmp_path: Path,
) -> None:
    register(web)
    part = parse(CorpusPart, {"sacrebleu": "small/en-de"}, "run.yaml").resolved("en-GB", "ko")
    assert web.asked == []  # a configuration is read without a connection
    assert part.direction.name == "en-GB-de"
    assert part.name == "small/en-de"
    examples = list(evaluation_examples(part))
    assert [example.source for example in examples] == SOURCES
    assert reference_sets(part, examples[1:]) == [targets[1:] for targets in REFERENCES]
    held = [pair.target for pair in referenced_pairs(part)]
    assert held == [*REFERENCES[0], *REFERENCES[1]]
    assert len(part.inputs()) == 3
    moved = from_folder(tmp_path).of(CorpusPart, {"sacrebleu": "small/en-de"})
    assert moved == {"sacrebleu": "small/en-de"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sacrebleu": "wmt22/en-d"}, "sacrebleu: the test set wmt22 has no language pair 'en-d'"),
        ({"sacrebleu": "wtm22/en-de"}, "sacrebleu has no test set 'wtm22'; did you mean 'wmt22'"),
        (
            {"sacrebleu": "wmt22/en-de", "path": "a.tsv"},
            "sacrebleu names a test set in place of files; leave path out",
        ),
    ],
)
def test_a_name_of_a_test_set_that_is_wrong(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse(CorpusPart, given, "run.yaml")


lines = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"))


class TestPlain:
    @given(pairs=st.lists(st.tuples(lines, lines), min_size=1))
    def test_round_trip(
        self, pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        sides = ["".join(f"{line}\n" for line in side) for side in zip(*pairs, strict=True)]
        part = plain(tmp_path_factory.getbasetemp(), sides[0].encode(), sides[1].encode())
        expected = [Pair(*pair, number) for number, pair in enumerate(pairs, 1)]
        assert list(read_pairs(part)) == expected

    @pytest.mark.parametrize(("source", "target"), [(3, 5), (5, 3), (1, 2), (200, 1)])
    def test_unequal_lengths_are_told_with_both_counts(
        self, tmp_path: Path, source: int, target: int
    ) -> None:
        part = plain(tmp_path, b"a\n" * source, b"b\n" * target)
        with pytest.raises(DataError) as caught:
            list(read_pairs(part))
        text = str(caught.value)
        assert f"train.en has {source} lines and " in text
        assert f"train.de has {target}; " in text

    def test_sides_may_be_compressed_each_in_its_way(self, tmp_path: Path) -> None:
        part = plain(tmp_path, b"a\n", b"b\n")
        (tmp_path / "train.en.gz").write_bytes(gzip.compress(b"c\n"))
        mixed = part.model_copy(update={"source": str(tmp_path / "train.en.gz")})
        assert list(read_pairs(mixed)) == [Pair("c", "b", 1)]

    def test_a_missing_side_is_named(self, tmp_path: Path) -> None:
        part = plain(tmp_path, b"a\n", b"b\n")
        os.unlink(tmp_path / "train.de")
        with pytest.raises(DataError, match=r"train\.de: no such file"):
            list(read_pairs(part))


class TestTargetAlone:
    """Text for a language model."""

    @pytest.mark.parametrize(
        ("name", "content", "values"),
        [
            ("a.txt", "eins\n\nzwei\n", {}),
            ("a.tsv", "en\tde\none\teins\none\t\ntwo\tzwei\n", {"target": "de"}),
            ("a.jsonl", '{"t": "eins"}\n{"t": null}\n{"t": "zwei"}\n', {"target": "t"}),
        ],
    )
    def test_the_source_is_empty(
        self, tmp_path: Path, name: str, content: str, values: dict[str, Any] | None
    ) -> None:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        part = CorpusPart(**({"path": str(path), **values} if values else {"target": str(path)}))
        assert not part.has_source
        pairs = list(read_pairs(part))
        assert [(pair.source, pair.target) for pair in pairs] == [
            ("", "eins"),
            ("", ""),
            ("", "zwei"),
        ]
        assert [part.fills(pair) for pair in pairs] == [True, False, True]
        assert part.files() == [path]

    def test_of_a_translation_memory_one_language(self, tmp_path: Path) -> None:
        path = tmp_path / "a.tmx"
        unit = "<tu><tuv xml:lang='en'><seg>one</seg></tuv><tuv xml:lang='de'><seg>eins</seg></tuv>"
        alone = "<tu><tuv xml:lang='de'><seg>zwei</seg></tuv></tu>"
        path.write_text(f"<tmx><body>{unit}</tu>{alone}</body></tmx>", encoding="utf-8")
        part = CorpusPart(path=str(path), target="de")
        assert list(read_pairs(part)) == [Pair("", "eins", 1), Pair("", "zwei", 2)]

    def test_paths_and_names(self) -> None:
        part = CorpusPart(**from_folder(Path("/corpora")).of(CorpusPart, {"target": "x/a.de"}))
        assert (part.source, part.target) == (None, "/corpora/x/a.de")
        assert part.name == "x/a.de"

    def test_a_part_with_both_sides_fills_both(self) -> None:
        part = CorpusPart(source="a", target="b")
        assert part.has_source
        assert CorpusPart(path="a.po").has_source
        assert [part.fills(Pair(*sides, 1)) for sides in [("a", "b"), (" ", "b"), ("a", "")]] == [
            True,
            False,
            False,
        ]

    @pytest.mark.parametrize("nothing", ["\x01", "\0 ", "\ufeff", "\u2581"])
    def test_what_normalisation_removes_fills_nothing(self, nothing: str) -> None:
        part = CorpusPart(source="a", target="b")
        assert not part.fills(Pair(nothing, "b", 1))
        assert not part.fills(Pair("a", nothing, 1))
        assert part.fills(Pair(f"{nothing}a", f"{nothing}b", 1))
        assert not CorpusPart(target="b").fills(Pair("", nothing, 1))


class TestEvaluationSets:
    @pytest.fixture
    def part(self, tmp_path: Path) -> CorpusPart:
        """One line, preceded by one of nothing but controls, in text that is not normalised."""
        return plain(tmp_path, "\x01\na\u0308  b\x01\n".encode(), "\ufeffx\nu\u0308 \tv\n".encode())

    def test_text_without_transforms_is_scored_as_it_is(self, part: CorpusPart) -> None:
        (one,) = evaluation_examples(part)
        assert (one.source, one.target, one.line) == ("a\u0308  b\x01", "u\u0308 \tv", 2)

    @pytest.mark.parametrize("kind", ["filter", "inject_tags"])
    def test_transforms_are_given_normalised_text(
        self, part: CorpusPart, kind: str, tmp_path: Path
    ) -> None:
        """Those that run once, and those that draw."""
        values: dict[str, Any] = {
            "filter": {"max_words": 2},
            "inject_tags": {"segments": str(tmp_path / "s"), "share": 0.001},
        }
        (tmp_path / "s").write_text("b\tv\n", encoding="utf-8")
        changed = CorpusPart.model_validate(
            {**part.model_dump(), "transforms": [{"kind": kind, **values[kind]}]}
        )
        (one,) = evaluation_examples(changed)
        assert (one.source, one.target) == ("ä b", "ü v")


class TestPart:
    @pytest.mark.parametrize(
        "values",
        [
            {"path": "", "source": "en", "target": "de"},
            {"path": "a.tsv", "source": "en", "target": ""},
            {"source": "", "target": "a.de"},
            {"source": "a.en", "target": "a.de", "alignments": ""},
        ],
    )
    def test_an_empty_name_is_no_name_of_a_folder(self, values: dict[str, str]) -> None:
        (name,) = (key for key, value in values.items() if not value)
        with pytest.raises(ValueError, match=f"{name} is empty; name it, or leave it out"):
            CorpusPart(**from_folder(Path("/corpora")).of(CorpusPart, values))

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            ("a.tsv", "tsv"),
            ("a.tab.xz", "tsv"),
            ("a.jsonl.gz", "jsonl"),
            ("a.ndjson", "jsonl"),
            ("b.c.tmx.zst", "tmx"),
        ],
    )
    def test_the_suffix_tells_the_format(self, path: str, kind: str) -> None:
        assert CorpusPart(path=path, source="en", target="de").file_format.name == kind

    def test_a_po_file_has_its_sides_by_itself(self) -> None:
        assert CorpusPart(path="de.po.gz").file_format.name == "po"

    def test_a_format_that_is_given_wins(self) -> None:
        assert (
            CorpusPart(path="a.txt", source="en", target="de", format="tsv").file_format.name
            == "tsv"
        )

    @pytest.mark.parametrize(
        ("values", "problem"),
        [
            ({"path": "a.txt", "source": "en", "target": "de"}, "set format to tsv"),
            ({"path": "a.gz", "source": "en", "target": "de"}, "set format to tsv"),
            ({"path": "a.tsv"}, "name both source and target: the columns"),
            ({"path": "a.tmx", "source": "en"}, "name both source and target: the languages"),
            ({"source": "a.en"}, "name both source and target: the files"),
            ({}, "name both source and target"),
            ({"path": "a.po", "source": "en"}, "leave source and target out"),
            ({"source": "a", "target": "b", "format": "tsv"}, "any other format as path"),
            ({"path": "a", "source": "a", "target": "b", "format": "plain"}, "without path"),
            ({"source": "a", "target": "b", "weight": 0}, "weight: .*or equal to 0.000001"),
            ({"source": "a", "target": "b", "weight": float("inf")}, "weight: .*finite"),
            ({"source": "a", "target": "b", "wieght": 1}, "did you mean 'weight'"),
            (
                {"source": "a", "target": "b", "format": "tvs"},
                "format: .*mean 'tsv'.*formats there: plain, tsv",
            ),
        ],
    )
    def test_parts_that_make_no_sense(self, values: dict[str, Any], problem: str) -> None:
        with pytest.raises(ConfigError, match=problem) as caught:
            parse(CorpusPart, values, "run.yaml")
        assert "\n" not in str(caught.value)

    def test_relative_paths_start_from_the_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/ada")
        moved = partial(from_folder(Path("/corpora")).of, CorpusPart)
        table = moved({"path": "x/a.tsv", "source": "en", "target": "de"})
        assert table == {"path": "/corpora/x/a.tsv", "source": "en", "target": "de"}
        files = moved({"source": "/a.en", "target": "~/a.de", "weight": 2})
        assert files == {"source": "/a.en", "target": "/home/ada/a.de", "weight": 2}

    @pytest.mark.parametrize("values", [None, 3, ["a.en"], {"source": 3}])
    def test_what_is_no_part_is_left_for_the_check(self, values: object) -> None:
        assert from_folder(Path("/corpora")).of(CorpusPart, values) == values

    def test_names_are_short_and_tell_folders_apart(self) -> None:
        assert CorpusPart(source="/d/tok/a.en", target="/d/tok/a.de").name == "tok/a.en + a.de"
        assert CorpusPart(path="a.po").name == "a.po"


@needs_data
def test_multi30k_has_29_000_pairs() -> None:
    folder = DATA / "multi30k"
    part = CorpusPart(source=str(folder / "train.en.gz"), target=str(folder / "train.de.gz"))
    assert sum(1 for pair in read_pairs(part) if pair.source and pair.target) == 29_000


@needs_data
@pytest.mark.parametrize("corpus", ["homeassistant", "libreoffice", "pydocs", "wesnoth"])
def test_the_shared_tables_are_read(corpus: str) -> None:
    part = CorpusPart(path=str(DATA / corpus / "dev.tsv.gz"), source="en", target="ko")
    assert any(pair.target for pair in read_pairs(part))


def test_a_copy_of_a_part_with_other_transforms_forgets_those_before() -> None:
    """They are sorted once for each part, which a copy must not inherit."""
    part = CorpusPart.model_validate(
        {"source": "a", "target": "b", "transforms": [{"kind": "filter", "last_line": 1}]}
    )
    assert len(part.prepared_transforms) == 1
    assert part.model_copy(update={"transforms": ()}).prepared_transforms == []
    assert len(part.model_copy().prepared_transforms) == 1
