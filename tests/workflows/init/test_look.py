from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.workflows.init.look import BLOCK_PAIRS, held_out_sizes, hold_out, look_at


def corpus(folder: Path, pairs: list[tuple[str, str]]) -> CorpusPart:
    path = folder / "all.tsv"
    lines = [f"{source}\t{target}\n" for source, target in [("en", "de"), *pairs]]
    path.write_text("".join(lines), encoding="utf-8")
    return CorpusPart(path=str(path), source="en", target="de")


@given(st.integers(80, 10**8))
def test_sizes(pairs: int) -> None:
    dev, test = held_out_sizes(pairs)
    assert 10 <= dev <= test <= pairs // 8
    assert (dev, test) == (500, 1000) or pairs < 20_000


def test_blocks_of_neighbours_without_leakage(tmp_path: Path) -> None:
    # Every tenth line says on one side what others say, in other case or spacing.
    pairs = [(f"line {n}", f"Zeile {n}") for n in range(900)]
    pairs[::20] = [("Yes  please" if n % 2 else "yes please", f"Ja {n}") for n in range(45)]
    pairs[10::20] = [(f"No {n}", "Nein" if n % 2 else "nein") for n in range(45)]
    part = corpus(tmp_path, pairs)
    dev, test = hold_out([part], dev=None, test=None)
    train: list[Pair] = []
    facts, sample = look_at([part], ("en", "de"), [dev, test], train.append)
    assert (dev, test) == hold_out([part], dev=None, test=None)

    sets = [dev, test, train]
    for side in ("source", "target"):
        said = [{getattr(pair, side).casefold() for pair in one} for one in sets]
        assert not (said[0] & said[1] or said[0] & said[2] or said[1] & said[2])
    for one, wanted in zip((dev, test), held_out_sizes(900), strict=True):
        assert 0.8 * wanted <= len(one) < wanted + BLOCK_PAIRS
        lines = [pair.line for pair in one]
        assert lines == sorted(lines)
        neighbours = sum(b - a <= 2 for a, b in pairwise(lines))
        assert neighbours >= 0.8 * len(lines)  # random lines have a third
    assert not any("please" in pair.source or pair.target in {"Nein", "nein"} for pair in train)
    assert [pair.line for pair in sample] == [pair.line for pair in train]
    assert facts.pairs == len(sample)
    assert (facts.dev_pairs, facts.test_pairs) == (len(dev), len(test))


def test_a_set_that_is_given_stays_and_is_not_repeated(tmp_path: Path) -> None:
    part = corpus(tmp_path, [(f"line {n}", f"Zeile {n}") for n in range(200)])
    given_set = [Pair(f"line {n}", f"Zeile {n}", n + 2) for n in range(60, 120)]
    dev, test = hold_out([part], dev=given_set, test=None)
    assert dev is given_set
    assert test
    assert not {pair.source for pair in dev} & {pair.source for pair in test}
    test_too, kept = hold_out([part], dev=None, test=given_set)
    assert kept is given_set
    assert not {pair.source for pair in test_too} & {pair.source for pair in kept}


def test_too_small_a_text(tmp_path: Path) -> None:
    part = corpus(tmp_path, [("a b", "c d")] * 500)
    with pytest.raises(DataError, match="1 of 500 pairs"):
        hold_out([part], dev=None, test=None)
