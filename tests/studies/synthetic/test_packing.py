"""What is installed is what the generator draws."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.core.errors import DataError
from dragoman.text.synthetic import ROWS, read_splits
from studies.synthetic import packing
from studies.synthetic.__main__ import synthetic

SAMPLE = 1000
"""Rows; drawing all takes seconds, which ``pack --check`` does."""


@pytest.fixture(scope="module")
def packed() -> bytes:
    return packing.packed_text(packing.PLACE)


@pytest.fixture(scope="module")
def drawn() -> bytes:
    return packing.drawn_text(SAMPLE)


def test_the_packed_corpus_is_what_the_generator_draws(packed: bytes, drawn: bytes) -> None:
    assert drawn.count(b"\n") == SAMPLE + 1
    assert packed.startswith(drawn)


def test_the_rest_has_the_digest_of_when_it_was_drawn(packed: bytes) -> None:
    assert packed.count(b"\n") == ROWS + 1
    assert packing.digest(packed) == packing.DIGEST.read_text(encoding="utf-8").strip()


@pytest.fixture
def copies(tmp_path: Path, drawn: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Where to pack a corpus that is drawn quickly."""
    monkeypatch.setattr(packing, "drawn_text", lambda: drawn)
    return tmp_path / "corpus.tsv.bz2", tmp_path / "corpus.sha256"


def test_packing_and_checking(copies: tuple[Path, Path], drawn: bytes) -> None:
    packing.pack(*copies)
    assert packing.packed_text(copies[0]) == drawn
    packing.check(*copies)


@pytest.mark.parametrize(
    ("place", "content", "said"),
    [
        (0, bz2.compress(b"kind\ten\n"), "not what the generator draws"),
        (0, b"no archive", "missing or damaged"),
        (0, None, "missing or damaged"),
        (1, b"0123\n", "not the digest"),
        (1, None, "not the digest"),
    ],
)
def test_what_differs_is_told(
    place: int, content: bytes | None, said: str, copies: tuple[Path, Path]
) -> None:
    packing.pack(*copies)
    copies[place].unlink()
    if content is not None:
        copies[place].write_bytes(content)
    with pytest.raises(DataError, match=said):
        packing.check(*copies)


def test_the_command_writes_corpora_of_other_seeds(tmp_path: Path) -> None:
    sizes = ("--rows", "7", "--dev", "2", "--test", "3")
    outcome = CliRunner().invoke(synthetic, ["write", str(tmp_path / "one"), *sizes])
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.split() == [
        str(tmp_path / "one" / f"{name}.tsv") for name in ("train", "dev", "test")
    ]
    text = (tmp_path / "one" / "test.tsv").read_text(encoding="utf-8")
    first = read_splits(7, dev=2, test=3).test[0]
    assert text.splitlines()[1].split("\t") == [first.id, first.kind, *first.texts.values()]
    CliRunner().invoke(synthetic, ["write", str(tmp_path / "two"), *sizes, "--seed", "2"])
    assert (tmp_path / "two" / "test.tsv").read_text(encoding="utf-8") != text


def test_errors_of_studies_are_one_line_and_an_exit_code(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(synthetic, ["write", str(tmp_path), "--rows", "-1"])
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("Error: embedded corpus of -1 + 1000 + 1000 rows")
