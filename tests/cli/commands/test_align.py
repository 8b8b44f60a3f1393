"""Word alignments as a command: learned from the text alone, or from a model's attention."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from tiny_model import TINY_LM, save_tiny_model

from dragoman.text.context import ContextConfig
from dragoman.text.pharaoh import read_alignments
from dragoman.translation.translator import Translator

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
    outcome = dragoman("align", model, pairs, "--output", "-")
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
    for option in ("--to", "de"), ("--device", "cpu"):
        said = one_error(dragoman("align", *sides, *option), 2)
        assert f"{option[0]} is of a MODEL; name one" in said
    assert "is an input" in one_error(dragoman("align", *sides, "--output", sides[0]), 2)
    model = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    assert "attention" in one_error(dragoman("align", model, *sides), 2)


def test_links_are_compared_with_those_of_people(
    sides: tuple[Path, Path], tmp_path: Path, dragoman: CommandLine
) -> None:
    gold = tmp_path / "gold"
    gold.write_text("0-0 1-2 2-1\n" * 59 + "0-0 1-1 2p1\n", "utf-8")
    outcome = dragoman("align", *sides, "--against", gold)
    # 180 links found, 179 sure; one of those found is impossible, one sure link was not found.
    assert outcome.out == (
        "60 pairs: precision 99.4 %, recall 99.4 %, alignment error rate 0.6 %\n"
    ), outcome.err
    found = json.loads(dragoman("align", *sides, "--against", gold, "--json").out)
    assert (found["pairs"], found["found"], found["sure"]) == (60, 180, 179)
    assert found["alignment_error_rate"] == pytest.approx(1 - (178 + 179) / (180 + 179))


def test_gold_links_of_other_text_are_refused(
    sides: tuple[Path, Path], tmp_path: Path, dragoman: CommandLine
) -> None:
    gold = tmp_path / "gold"
    gold.write_text("0-0\n", "utf-8")
    assert "1 lines for 60 pairs" in one_error(dragoman("align", *sides, "--against", gold), 3)
    gold.write_text("0x0\n", "utf-8")
    assert "gold:1: '0x0' is not a link" in one_error(
        dragoman("align", *sides, "--against", gold), 3
    )
    for line, side in ("0-0 1-2 2-3", "target"), ("0-0 3p0", "source"):
        gold.write_text("0-0\n" * 59 + f"{line}\n", "utf-8")
        error = one_error(dragoman("align", *sides, "--against", gold), 3)
        assert f"gold:60: {side} word 3 is linked, but the {side} has 3 words" in error
        assert "(line 60 of " in error
        assert error.endswith("align the original text")
    gold.write_text("1-1 2-3 3-2\n" * 60, "utf-8")
    error = one_error(dragoman("align", *sides, "--against", gold), 3)
    assert "gold:1: source word 3 is linked" in error
    assert error.endswith("subtract 1 from all numbers")
    gold.write_text("\n1-1 2-2\n" + "1-1\n" * 58, "utf-8")
    error = one_error(dragoman("align", *sides, "--against", gold), 3)
    assert "gold:2: no line links word 0, so words are counted from 1 here" in error
    gold.write_text("1-1\n" * 9 + "\n" * 51, "utf-8")  # so few may leave all first words out
    assert dragoman("align", *sides, "--against", gold).code == 0
    given = ("align", *sides, "--against", gold, "--output", tmp_path / "a")
    assert "--against prints figures" in one_error(dragoman(*given), 2)
    assert "are of a MODEL" in one_error(dragoman("align", *sides, "--head", 1), 2)
    assert "--json is read with --against" in one_error(dragoman("align", *sides, "--json"), 2)


def test_translations_come_with_their_links(tmp_path: Path, dragoman: CommandLine) -> None:
    model = save_tiny_model(tmp_path / "model")
    lines = "ab c\n\nd e a\n"
    plain = dragoman("translate", model, stdin=lines.encode())
    links = tmp_path / "links"
    outcome = dragoman("translate", model, "--alignment", links, stdin=lines.encode())
    assert outcome.out == plain.out
    first, second, third = links.read_text("utf-8").splitlines()
    assert second == ""
    pairs = tmp_path / "pairs.tsv"
    said = [one.split("\t")[0] for one in plain.out.splitlines()]
    pairs.write_text(f"en\tde\nab c\t{said[0]}\nd e a\t{said[2]}\n", "utf-8")
    assert dragoman("align", model, pairs).out == f"{first}\n{third}\n"


@pytest.mark.parametrize("target", [False, True])
def test_links_are_of_the_lines_in_their_context(
    target: bool, tmp_path: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ContextConfig(sentences=2, target=target)
    model = save_tiny_model(tmp_path / "model", context=context, seed=3)
    sources, targets = ["ab c", "d e", "", "c d a", "b e"], []
    links = tmp_path / "links"
    given = ("translate", model, "--alignment", links)
    outcome = dragoman(*given, stdin="\n".join(sources).encode())
    targets = outcome.out.splitlines()
    found = links.read_text("utf-8")

    monkeypatch.setattr("dragoman.cli.translated_lines._TOGETHER", 1)  # context across batches
    assert dragoman(*given, stdin="\n".join(sources).encode()).out == outcome.out
    assert links.read_text("utf-8") == found

    sides = tmp_path / "text.en", tmp_path / "text.de"
    for path, lines in zip(sides, (sources, targets), strict=True):
        path.write_text("\n".join(lines) + "\n", "utf-8")
    assert dragoman("align", model, *sides).out == found


def test_links_of_several_systems_are_refused(tmp_path: Path, dragoman: CommandLine) -> None:
    model = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    outcome = dragoman("translate", model, "--alignment", tmp_path / "a", stdin=b"a\n")
    assert "attention" in one_error(outcome, 2)
    assert not (tmp_path / "a").exists()
    text = tmp_path / "text"
    text.write_text("a\n", "utf-8")
    outcome = dragoman("translate", model, "--input", text, "--alignment", text)
    assert f"--alignment {text}: this is an input" in one_error(outcome, 2)


def test_what_gets_no_links_is_named_by_its_line(
    tmp_path: Path, dragoman: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    model = save_tiny_model(tmp_path / "model", max_source_pieces=6)
    text, links = tmp_path / "text", tmp_path / "links"
    text.write_text("\n" * 256 + "a \ufeff b\na\nabcde\n", "utf-8")  # the mark is cleaned away
    given = ("translate", model, "--input", text, "--alignment", links)
    outcome = dragoman(*given)
    assert outcome.code == 0, outcome.err
    assert "pair 257: normalisation changes its words" in caplog.text
    lines = links.read_text("utf-8").splitlines()
    assert lines[256] == "" and len(lines) == 259
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("en\tde\na\tabcdeabcde\na\ta\n", "utf-8")
    outcome = dragoman("align", model, pairs)
    assert outcome.code == 0, outcome.err
    assert "are more than search.max_source_pieces" in caplog.text
    assert outcome.out == "\n0-0\n"


def test_what_is_written_does_not_replace_one_another(
    tmp_path: Path, dragoman: CommandLine
) -> None:
    model = save_tiny_model(tmp_path / "model")
    given = ("translate", model, "--alignment", tmp_path / "a")
    for option in ("--output", "--write-system"):  # the option behind is the one that is refused
        outcome = dragoman(*given, option, tmp_path / "a", stdin=b"a\n")
        assert f"--alignment {tmp_path / 'a'}: this is the output" in one_error(outcome, 2)
    assert not (tmp_path / "a").exists()


def test_links_of_one_head(tmp_path: Path, dragoman: CommandLine) -> None:
    model = save_tiny_model(tmp_path / "model")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("en\tde\nab c d e\td e ab c a\n" * 2, encoding="utf-8")
    translator = Translator.load(model, device="cpu")
    attended = translator.attention("ab c d e", "d e ab c a").weights
    by_head = set()
    for head in range(1, attended.shape[1] + 1):
        outcome = dragoman("align", model, pairs, "--layer", 1, "--head", head)
        assert outcome.code == 0, outcome.err
        by_head.add(outcome.out)
    assert len(by_head) > 1
    outcome = dragoman("align", model, pairs, "--head", 99)
    assert "head 99: does not exist; this model has" in one_error(outcome, 2)
