"""Word alignments in the format of Pharaoh."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.text.pharaoh import Link, LinkCheck, read_alignments, read_gold_alignments

links = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=6)


@settings(max_examples=20, deadline=None)
@given(lines=st.lists(links, min_size=1, max_size=5))
def test_links_are_read_line_by_line(
    lines: list[list[Link]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("links") / "train.align"
    path.write_text("".join(" ".join(f"{s}-{t}" for s, t in one) + "\n" for one in lines))
    assert list(read_alignments(path)) == lines


@pytest.mark.parametrize(
    "item", ["1", "1-", "-1", "a-b", "1:1", "1-1-1", "1.0-1", "1-١", "1-9999999999", "1,1"]
)
def test_what_is_not_a_link_is_told_with_its_line(item: str, tmp_path: Path) -> None:
    path = tmp_path / "train.align"
    path.write_text(f"0-0 1-2\n0-0 {item}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"train\.align:2: .* is not a link; .* such as 0-0"):
        list(read_alignments(path))


def test_gold_links_are_sure_or_possible(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("0-0 1p2 10?3\n\n", "utf-8")
    assert list(read_gold_alignments(path)) == [([(0, 0)], [(1, 2), (10, 3)]), ([], [])]
    with pytest.raises(DataError, match="gold:1: '1p2' is not a link"):
        list(read_alignments(path))
    path.write_text("0-0\n1x2\n", "utf-8")
    with pytest.raises(DataError, match="gold:2: '1x2' is not a link"):
        list(read_gold_alignments(path))


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=10, max_size=20))
def test_links_that_are_counted_from_1_are_refused(sizes: list[tuple[int, int]]) -> None:
    shift = [[(i + 1, i + 1) for i in range(min(pair))] for pair in sizes]
    texts = [(" ".join("a" * source), " ".join("b" * target)) for source, target in sizes]
    right = LinkCheck("gold", "text")
    for number, (one, sides) in enumerate(zip(shift, texts, strict=True), 1):
        right.add(number, [(i - 1, j - 1) for i, j in one], sides, number)
    right.finish()
    wrong = LinkCheck("gold", "text")
    with pytest.raises(DataError, match=r"gold:\d+: .* subtract 1 from all numbers"):
        for number, (one, sides) in enumerate(zip(shift, texts, strict=True), 1):
            wrong.add(number, one, sides, number)
    wider = LinkCheck("gold", "text")  # no last word is linked, so that no link is beyond the words
    for number, (one, (source, target)) in enumerate(zip(shift, texts, strict=True), 1):
        wider.add(number, one, (f"{source} a", f"{target} b"), number)
    with pytest.raises(DataError, match="gold:1: no line links word 0"):
        wider.finish()
