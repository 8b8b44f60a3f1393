"""In-domain and general text of an adaptation: nothing is in two sets, nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.techniques.adaptation.domain_texts import (
    FEWEST_TO_SPLIT,
    filled_pairs,
    language_warnings,
    sampled,
    split_dev,
    split_parts,
    undivided,
)
from dragoman.text.corpora.cleaning import held_out_keys
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair

ENGLISH = ["The house is on the other side of the street, behind the old trees."] * 25
GERMAN = ["Das Haus steht auf der anderen Seite der Straße, hinter den alten Bäumen."] * 25


def part(path: Path, pairs: list[tuple[str, str]]) -> CorpusPart:
    lines = ["en\tde", *("\t".join(pair) for pair in pairs)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return CorpusPart(
        path=str(path), source="en", target="de", source_language="en", target_language="de"
    )


@given(st.integers(1, 700))
def test_a_dev_set_shares_no_side_with_the_rest(count: int) -> None:
    pairs = [Pair(f"s{n // 2}", f"t{n}", n) for n in range(count)]
    rest, dev = split_dev(pairs)
    if count < FEWEST_TO_SPLIT:
        assert (rest, dev) == (pairs, [])
        return
    assert len(dev) == min(200, count // 10)
    assert not {pair.source for pair in dev} & {pair.source for pair in rest}
    assert {*dev, *rest} <= set(pairs)
    assert len(rest) >= count - 2 * len(dev)


def test_parts_that_are_learned_whole_are_in_no_dev_set_of_others() -> None:
    many = [Pair(f"s{n}", f"t{n}", n) for n in range(400)]
    few = [pair._replace(target=f"other {pair.target}") for pair in many[:150]]
    similar = [Pair(f"{n}", "the same", n) for n in range(300)]
    assert split_parts([many]) == [split_dev(many)]
    (rest, dev), *others = split_parts([many, few, similar])
    assert others == [(few, []), (similar, [])]
    assert 0 < len(dev) < len(split_dev(many)[1]) == 40
    assert not {pair.source for pair in dev} & {pair.source for pair in few}
    assert sorted([*rest, *dev]) == sorted(many)
    assert split_parts([many[:200], many[:199]]) == [(many[:200], []), (many[:199], [])]


def test_why_parts_are_learned_whole() -> None:
    pair = Pair("a", "b", 1)
    assert undivided([[pair] * 150, [pair] * 199]).startswith("too few in-domain pairs")
    found = undivided([[pair] * 150, [pair] * 1200])
    assert found == "too few or similar in-domain pairs to set some apart (150 + 1,200)"


def test_a_sample_keeps_parts_apart_and_leaves_out_what_it_must(tmp_path: Path) -> None:
    one = part(tmp_path / "one.tsv", [(f"a{n}", f"b{n}") for n in range(50)])
    two = part(tmp_path / "two.tsv", [(f"c{n}", f"d{n}") for n in range(50)] + [("empty", "")])
    two = two.model_copy(update={"tags": ("<ui>",), "weight": 7.0})
    without = {"de": held_out_keys([Pair("a1", "", 1), Pair("", "d2", 2)])}
    found = sampled([one, two], 200, 1, folder=tmp_path / "text", name="x", without=without)
    texts = [[(pair.source, pair.target) for pair in read_pairs(each)] for each in found]
    assert texts[0] == [(f"a{n}", f"b{n}") for n in range(50) if n != 1]
    assert texts[1] == [(f"c{n}", f"d{n}") for n in range(50) if n != 2]
    assert (found[1].tags, found[1].weight) == (("<ui>",), 1.0)
    few = sampled([one, two], 10, 1, folder=tmp_path / "few", name="x")
    assert sum(len(list(read_pairs(each))) for each in few) == 10


def test_text_in_another_language(tmp_path: Path) -> None:
    pytest.importorskip("py3langid", reason="needs NumPy 2", exc_type=ImportError)
    right = part(tmp_path / "right.tsv", list(zip(ENGLISH, GERMAN, strict=True)))
    assert language_warnings([right], refuse=True) == []
    wrong = part(tmp_path / "wrong.tsv", list(zip(ENGLISH, ENGLISH, strict=True)))
    with pytest.raises(DataError, match=r"100% of the target lines .* than de; .*any-language"):
        language_warnings([wrong], refuse=True)
    (warning,) = language_warnings([wrong], refuse=False)
    assert "100% of the target lines" in warning
    few = part(tmp_path / "few.tsv", list(zip(ENGLISH[:3], ENGLISH[:3], strict=True)))
    assert len(language_warnings([few], refuse=True)) == 1, "a few lines are no proof"


def test_text_without_a_pair(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no pair with both sides filled; give at least one"):
        filled_pairs(part(tmp_path / "none.tsv", [("a", ""), ("", "b")]))
