"""Files of trees as pairs of a sentence and a sequence of symbols."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented_trees import trees

from dragoman.core.config import parse
from dragoman.core.constituency import Tree
from dragoman.core.errors import ConfigError, DataError
from dragoman.core.linear_trees import symbols
from dragoman.text.corpora.corpus import evaluation_pairs, read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import FORMATS, Pair

FORMAT = FORMATS["trees"]
TREEBANK = """\
((S (NP-SBJ (NNP Ms.) (NNP Haag)) (VP (VBZ plays) (NP (-NONE- *))) (. .)))

((X (-NONE- *)))
( (NP (-LRB- -LRB-)
      (NN a)))
"""


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "some.trees.gz"
    path.write_bytes(gzip.compress(TREEBANK.encode()))
    return path


@pytest.mark.parametrize(
    ("view", "first", "last"),
    [
        ("words", "Ms. Haag plays .", "-LRB- a"),
        ("tags", "NNP NNP VBZ .", "-LRB- NN"),
        ("brackets", "(S (NP XX XX )NP (VP XX )VP XX )S", "(NP XX XX )NP"),
        ("tagged", "(S (NP NNP NNP )NP (VP VBZ )VP . )S", "(NP -LRB- NN )NP"),
        (
            "trees",
            "(S (NP (NNP Ms.) (NNP Haag)) (VP (VBZ plays)) (. .))",
            "(NP (-LRB- -LRB-) (NN a))",
        ),
    ],
)
def test_each_view_of_a_tree(treebank: Path, view: str, first: str, last: str) -> None:
    pairs = list(read_pairs(CorpusPart(path=str(treebank), source="words", target=view)))
    assert pairs == [
        Pair("Ms. Haag plays .", first, 1),
        Pair("", "", 2),
        Pair("", "", 3),
        Pair("-LRB- a", last, 4),
    ]
    assert view in FORMAT.offered_sides(treebank)


def test_trees_are_scored_with_their_tags(treebank: Path) -> None:
    part = CorpusPart(path=str(treebank), source="words", target="brackets")
    scored = [pair.target for pair in evaluation_pairs(part.scored())]
    assert scored == ["(S (NP NNP NNP )NP (VP VBZ )VP . )S", "(NP -LRB- NN )NP"]
    for other in ("tagged", "words"):
        same = part.model_copy(update={"target": other})
        assert same.scored() is same
    table = CorpusPart(path="a.tsv", source="words", target="brackets")
    assert table.scored() is table


@given(st.lists(trees, min_size=1, max_size=3), st.sampled_from(["tagged", "brackets"]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, many: list[Tree], view: str
) -> None:
    path = tmp_path_factory.mktemp("trees") / "a.trees"
    path.write_text("".join(f"{tree}\n" for tree in many), encoding="utf-8")
    sides = ("words", view)
    pairs = list(FORMAT.read([path], sides))
    with FORMAT.write([path], sides) as add:
        for pair in pairs:
            add(pair)
        add(Pair("", "", 99))
    assert list(FORMAT.read([path], sides)) == [*pairs, Pair("", "", len(many) + 1)]


def test_only_trees_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.trees"
    with pytest.raises(ConfigError, match="words and brackets or tagged"):
        FORMAT.write([path], ("words", "tags")).__enter__()
    with (
        pytest.raises(DataError, match="line 7 is no tree over its 2 words"),
        FORMAT.write([path], ("words", "brackets")) as add,
    ):
        add(Pair("two words", "(S XX )S", 7))
    assert not path.exists()
    with FORMAT.write([path], ("words", "tagged")) as add:
        add(Pair("( a", "(S -LRB- NN )S", 1))
    assert path.read_text() == "(S (-LRB- -LRB-) (NN a))\n"


def test_a_view_that_does_not_exist_and_a_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("(S (NN a))\n(S (NN a)\n")
    with pytest.raises(DataError, match="no view 'word'; did you mean 'words'"):
        list(FORMAT.read([path], ("word", "tags")))
    with pytest.raises(DataError, match=r"a\.mrg:2:1: this bracket is not closed"):
        list(FORMAT.read([path], ("words", "tags")))


@settings(max_examples=40, deadline=None)
@given(trees)
def test_symbols_are_linked_to_their_words(tree: Tree) -> None:
    tree_symbols = list(symbols(tree, tags=True))
    pair = Pair(" ".join(tree.words), " ".join(tree_symbols), 1)
    links = FORMAT.links(pair)
    assert [place for _, place in links] == list(range(len(tree_symbols)))
    leaves = [place for place, one in enumerate(tree_symbols) if one[0] not in "()"]
    assert [word for word, place in links if place in leaves] == list(range(len(tree.words)))
    assert links[0][0] == 0 and links[-1][0] == len(tree.words) - 1
    assert all(later - word in {0, 1} for (word, _), (later, _) in pairwise(links))


def test_only_sentences_and_sequences_are_linked_by_their_format() -> None:
    def part(source: str, target: str, **changes: object) -> CorpusPart:
        values = {"path": "a.trees", "source": source, "target": target, **changes}
        return parse(CorpusPart, values, "test")

    assert part("words", "tagged").is_aligned
    assert part("tags", "brackets").is_aligned
    assert not part("words", "tags").is_aligned
    assert not part("words", "tagged", tags=["<a>"]).is_aligned
    assert not CorpusPart(path="a.tsv", source="words", target="tagged").is_aligned
    assert CorpusPart(path="a.tsv", source="a", target="b", alignments="c").is_aligned
