"""Word alignments as a command: learned from the text alone, or from a model's attention."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from tiny_model import TINY_LM, save_tiny_model

from dragoman.text.pharaoh import read_alignments

WORDS = {"the": "der", "dog": "Hund", "sees": "sieht", "cat": "Kater", "red": "rote"}


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Sentences of three words and their translations, the last two words exchanged."""
    sources = [list(one) for one in permutations(WORDS, 3)]
    targets = [[WORDS[a], WORDS[c], WORDS[b]] for a, b, c in sources]
    paths = tmp_path / "x.en", tmp_path / "x.de"
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_text("".join(f"{' '.join(line)}\n" for line in lines), "utf-8")
    return paths


def test_links_are_learned_from_the_pairs_alone(
    sides: tuple[Path, Path], tmp_path: Path, dragoman: CommandLine
) -> None:
    output = tmp_path / "links"
    assert dragoman("align", *sides, "--output", output).code == 0
    links = list(read_alignments(output))
    assert links == [[(0, 0), (1, 2), (2, 1)]] * 60
    printed = dragoman("align", *sides, "--quiet")
    assert printed.out == output.read_text("utf-8") and printed.err == ""


def test_links_of_a_model_are_of_the_words_between_spaces(
    tmp_path: Path, dragoman: CommandLine
) -> None:
    model = save_tiny_model(tmp_path / "model")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("en\tde\nab c\tc  ba e\nd\t\na\ta\n", encoding="utf-8")
    outcome = dragoman("align", model, pairs)
    assert outcome.code == 0, outcome.err
    first, empty, single = outcome.out.split("\n")[:3]
    assert empty == "" and single == "0-0"
    for link in first.split():
        source, target = map(int, link.split("-"))
        assert source < 2 and target < 3


def test_words_that_normalisation_changes_get_no_links(
    tmp_path: Path, dragoman: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    model = save_tiny_model(tmp_path / "model")
    pairs = tmp_path / "pairs.tsv"  # a mark that cleaning takes out
    pairs.write_text("en\tde\na \ufeff b\ta b\na b\ta b\n", encoding="utf-8")
    outcome = dragoman("align", model, pairs)
    first, second = outcome.out.split("\n")[:2]
    assert "pair 1: normalisation changes its words" in caplog.text
    assert first == "" and second


def test_what_cannot_be_aligned_is_refused(
    sides: tuple[Path, Path], tmp_path: Path, dragoman: CommandLine
) -> None:
    assert "--to is of a MODEL" in one_error(dragoman("align", *sides, "--to", "de"), 2)
    assert "is an input" in one_error(dragoman("align", *sides, "--output", sides[0]), 2)
    model = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    assert "attention" in one_error(dragoman("align", model, *sides), 2)
