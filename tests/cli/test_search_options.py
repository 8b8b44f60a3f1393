"""Options of sampling and minimum Bayes risk: what they do, and where no search reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.saved.system import read_system


def test_sampling_repeats_with_its_seed(trained: Path, source: Path, dragoman: CommandLine) -> None:
    def sample(*options: object) -> str:
        return dragoman("translate", trained, "--input", source, "--sample", *options).out

    assert sample("--seed", 3) == sample("--seed", 3)
    assert sample("--seed", 3) != sample("--seed", 4)
    assert sample("--top-k", 1) == sample("--top-k", 1, "--seed", 9)
    assert sample("--min-p", 1) == sample("--top-k", 1)


def test_more_samples_may_be_drawn_than_a_beam_is_wide(
    trained: Path, dragoman: CommandLine
) -> None:
    options = ["--sample", "--nbest", 1001]
    out = dragoman("translate", trained, *options, stdin=b"seven\n").out
    assert len(out.splitlines()) == 1001


@pytest.mark.parametrize("option", [["--top-k", "5"], ["--seed", "1"], ["--beam", "2", "--sample"]])
def test_options_that_do_not_go_together(
    option: list[str], trained: Path, dragoman: CommandLine
) -> None:
    assert "--sample" in one_error(dragoman("translate", trained, *option), 2)


def test_minimum_bayes_risk(trained: Path, source: Path, dragoman: CommandLine) -> None:
    def chosen(*options: object) -> str:
        outcome = dragoman("translate", trained, "--input", source, "--mbr", 4, *options)
        assert outcome.code == 0, outcome.err
        return outcome.out

    assert chosen("--seed", 3) == chosen("--seed", 3, "--utility", "chrf", "--epsilon", 0.02)
    best = [line.split("\t") for line in chosen("--nbest", 4, "--utility", "bleu").splitlines()]
    scores = [float(score) for number, score, _ in best if number == "1"]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 100 for score in scores)
    assert (
        chosen("--candidates", "beam", "--beam", 1)
        == dragoman("translate", trained, "--input", source, "--beam", 1).out
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--mbr", "1"], "1 is not in the range"),
        (["--mbr", "4", "--utility", "comet"], "'chrf', 'bleu'"),
        (["--mbr", "4", "--nbest", "5"], "nbest 5 is more than the 4 candidates"),
        (["--mbr", "4", "--sample"], "--sample prints samples"),
        (["--mbr", "4", "--beam", "2"], "--beam: --mbr chooses among samples"),
        (["--mbr", "4", "--early-end", "quick"], "--early-end: --mbr chooses among samples"),
        (["--sample", "--early-end", "quick"], "--early-end: this system samples"),
        (["--utility", "bleu"], "--utility needs --mbr"),
        (["--epsilon", "0.1"], "--epsilon needs --sample or --mbr"),
    ],
)
def test_options_of_minimum_bayes_risk_that_do_not_go_together(
    options: list[str], problem: str, trained: Path, dragoman: CommandLine
) -> None:
    assert problem in one_error(dragoman("translate", trained, *options), 2)


def test_minimum_bayes_risk_of_a_file(trained: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    asked = ["--mbr", 3, "--seed", 5]
    given = dragoman("translate", trained, *asked, "--write-system", file, stdin=b"seven\n")
    assert dragoman("translate", "--system", file, stdin=b"seven\n").out == given.out
    changed = tmp_path / "changed.yaml"
    dragoman("translate", "--system", file, "--utility", "bleu", "--write-system", changed)
    assert read_system(changed).search["mbr"] == {"samples": 3, "utility": "bleu"}
    line = one_error(dragoman("translate", "--system", file, "--sample"), 2)
    assert "--sample: this system chooses among samples" in line
