"""Pairs as two files of lines: whatever the texts are, the files stay aligned."""

from __future__ import annotations

import gzip
import hashlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.text.corpora.cleaning import seen_pairs
from dragoman.text.lines import read_lines
from dragoman.workflows.corpora.aligned_writing import DUPLICATE, EMPTY, write_aligned
from dragoman.workflows.corpora.lenient_reading import Flaws

TEXTS = st.text(st.characters(), max_size=8) | st.sampled_from(
    ["a\nb", "a\r", "\ufeffa", "\x00", " "]
)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=12))
def test_files_stay_aligned_and_nothing_is_lost(pairs: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as name, seen_pairs() as seen:
        folder = Path(name)
        written = [("first", "pair"), *pairs]
        texts, dropped = write_aligned(
            folder, "train", ("en", "de"), written, flaws=Flaws(), seen=seen
        )
        sides = [list(read_lines(folder / f"train.{side}.gz")) for side in ("en", "de")]
        assert len(sides[0]) == len(sides[1]) == len(written) - dropped.total()
        assert set(dropped) <= {EMPTY, DUPLICATE}
        kept = list(zip(*sides, strict=True))
        assert len(set(kept)) == len(kept)
        assert all(source and target for source, target in kept)
        for file, figures in texts.items():
            content = gzip.decompress((folder / file).read_bytes())
            assert figures.sha256 == hashlib.sha256(content).hexdigest()
            assert (figures.bytes, figures.lines) == (len(content), content.count(b"\n"))
        plain = {
            (source.strip(), target.strip())
            for source, target in written
            if source.isprintable() and target.isprintable()
        }
        assert {pair for pair in plain if all(pair)} <= set(kept)


def test_what_cannot_be_read_is_no_tenth(tmp_path: Path) -> None:
    pairs = [(f"{number}", "x") for number in range(90)]
    for flaws, refused in ((10, False), (11, True)):
        counted = Flaws({"not UTF-8": flaws})
        with seen_pairs() as seen:
            if refused:
                with pytest.raises(DataError, match=r"11 of 101 pairs cannot be read"):
                    write_aligned(tmp_path, "t", ("a", "b"), pairs, flaws=counted, seen=seen)
            else:
                written, _ = write_aligned(
                    tmp_path, "t", ("a", "b"), pairs, flaws=counted, seen=seen
                )
                assert written["t.a.gz"].lines == 90
