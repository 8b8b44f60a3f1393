"""dragoman parse, and scores of trees by dragoman evaluate."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import call, one_error
from parser_model import save_parser
from tiny_model import save_tiny_model

from dragoman.cli.commands import translation as translation_commands
from dragoman.core.constituency import read_tree

SENTENCES = "The dog barks .\n\nA ( big ) cat\n"


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_parser(tmp_path_factory.mktemp("models") / "parser")


def test_each_line_gives_a_tree_over_its_words(parser: Path) -> None:
    found = call("parse", parser, stdin=SENTENCES.encode())
    assert found.code == 0, found.err
    first, blank, last = found.out.splitlines()
    assert read_tree(first).words == ["The", "dog", "barks", "."]
    assert blank == ""
    assert read_tree(last).words == ["A", "-LRB-", "big", "-RRB-", "cat"]


def test_files_tokenised_and_several_trees(parser: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text('He said "dogs bark."\n')
    output = tmp_path / "out"
    found = call("parse", parser, tmp_path / "in", "--tokenize", "--nbest", 2, "--output", output)
    assert found.code == 0, found.err
    for line in output.read_text().splitlines():
        number, score, tree = line.split("\t")
        assert (number, float(score) < 0) == ("1", True)
        assert read_tree(tree).words == ["He", "said", "``", "dogs", "bark", ".", "''"]
    assert len(output.read_text().splitlines()) == 2


def test_the_best_tree_alone_is_numbered_if_asked_for(parser: Path) -> None:
    plain = call("parse", parser, stdin=b"The dog\n").out
    number, _, tree = call("parse", parser, "--nbest", 1, stdin=b"The dog\n").out.split("\t")
    assert (number, tree) == ("1", plain)


def test_no_bar_is_drawn_between_trees_that_are_seen(
    parser: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []

    @contextmanager
    def counting(what: str, unit: str) -> Iterator[Callable[[int], None]]:
        counted.append(what)
        yield lambda done: None

    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(translation_commands, "counting", counting)
    (tmp_path / "in").write_text("The dog\n")
    trees = call("parse", parser, tmp_path / "in").out
    assert counted == ["parsing"]
    with monkeypatch.context() as patch:
        patch.setattr(io, "TextIOWrapper", Terminal)
        assert call("parse", parser, tmp_path / "in").out == trees
    assert counted == ["parsing"]


def test_values_for_scripts(parser: Path) -> None:
    found = call("parse", parser, "--json", "--nbest", 2, stdin=SENTENCES.encode())
    first, blank, _ = map(json.loads, found.out.splitlines())
    assert first["words"] == ["The", "dog", "barks", "."]
    assert read_tree(first["tree"]).words == first["words"]
    assert [set(one) for one in first["alternatives"]] == [{"tree", "score", "log_probability"}]
    assert (blank["line"], blank["words"], blank["tree"], blank["refused"]) == (2, [], None, None)


def test_trees_are_drawn_in_one_picture_or_one_each(parser: Path, tmp_path: Path) -> None:
    picture, folder = tmp_path / "all.svg", tmp_path / "each"
    for path in (picture, folder):
        assert call("parse", parser, "--svg", path, stdin=SENTENCES.encode()).code == 0
    words = {node.text for node in ElementTree.parse(picture).iter()}
    assert {"The", "barks", "-LRB-", "cat"} <= words
    assert sorted(path.name for path in folder.iterdir()) == ["line-00001.svg", "line-00003.svg"]
    again = call("parse", parser, "--svg", tmp_path, stdin=SENTENCES.encode())
    assert str(tmp_path) in one_error(again, 6)
    assert "no line has a tree" in one_error(call("parse", parser, "--svg", picture), 3)


def test_what_cannot_be_parsed_is_refused(parser: Path, tmp_path: Path) -> None:
    short = save_parser(tmp_path / "short", maximum_length=6)
    found = call("parse", short, stdin=b"The dog\nThe dog barks now .\n")
    assert read_tree(found.out.splitlines()[0]).words == ["The", "dog"]
    assert found.out.splitlines()[1] == ""
    assert "line 2: a tree over 5 words has at least 7 symbols" in one_error(found, 3)
    other = save_tiny_model(tmp_path / "other")
    assert f"{other}: no parser:" in one_error(call("parse", other, stdin=b"a\n"), 2)
    same = tmp_path / "same"
    same.write_text("a\n")
    assert "this is an input" in one_error(call("parse", parser, same, "--output", same), 2)
    both = call("parse", parser, same, "--output", tmp_path / "a.svg", "--svg", tmp_path / "a.svg")
    assert "a.svg: this is the output" in one_error(both, 2)


def test_an_output_that_exists_is_replaced_but_never_the_input(
    parser: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    output.write_text("an earlier one\n")
    missing = call("parse", parser, tmp_path / "missing", "--output", output)
    assert "missing: no such file" in one_error(missing, 3)
    assert output.read_text() == "an earlier one\n"
    assert call("parse", parser, "-", "--output", output, stdin=b"A cat\n").code == 0
    assert read_tree(output.read_text()).words == ["A", "cat"]
    given = tmp_path / "given"
    given.write_text("A cat\n")
    command = [sys.executable, "-m", "dragoman", "parse", str(parser), "--output", str(given)]
    with given.open("rb") as stream:
        found = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert found.returncode == 2, found.stderr
    assert "this is an input" in found.stderr
    assert given.read_text() == "A cat\n"


def test_a_parser_translates_into_symbols_and_needs_its_grammar(parser: Path) -> None:
    found = call("translate", parser, stdin=b"The dog\n")
    assert found.out.startswith("(") and found.code == 0
    anything = call("translate", parser, "--grammar", "any", stdin=b"The dog\n")
    assert anything.code == 0
    assert anything.out != found.out
    refused = call("translate", parser, "--prefix", "(S", stdin=b"The dog\n")
    assert "decides how a tree begins" in one_error(refused, 3)


def test_trees_are_scored_as_by_evalb(tmp_path: Path) -> None:
    gold, parsed = tmp_path / "gold.trees", tmp_path / "parsed.trees"
    gold.write_text("((S (NP-SBJ (NN a)) (VP (VBZ b)) (. .)))\n(NP (NN a))\n")
    parsed.write_text("(S (NP (NN a)) (VBZ b) (. .))\n(NP (NN a))\n")
    printed = call("evaluate", parsed, gold, "--evalb")
    assert "Bracketing Recall         =  75.00" in printed.out
    values = json.loads(call("evaluate", parsed, gold, "--evalb", "--json").out)
    assert values["summaries"]["All"]["precision"] == 100
    metrics = ("--metric", "bracketing_f1", "--metric", "complete_match")
    scores = json.loads(call("evaluate", parsed, gold, *metrics, "--json").out)["scores"]
    assert [round(one["value"], 2) for one in scores] == [85.71, 50.0]
    # As a treebank has them, on several lines each.
    treebank = tmp_path / "gold.mrg"
    treebank.write_text("(\n  (S (NP-SBJ (NN a))\n    (VP (VBZ b))\n\t(. .)))\n(NP (NN a))\n")
    assert call("evaluate", parsed, treebank, "--evalb").out == printed.out
    again = json.loads(call("evaluate", parsed, treebank, *metrics, "--json").out)["scores"]
    assert [one["value"] for one in again] == [one["value"] for one in scores]
    # Blank lines between the trees, for which a parser writes blank lines, are no sentences.
    treebank.write_text(f"\n{treebank.read_text()}")
    (tmp_path / "blank").write_text(f"\n{parsed.read_text()}")
    blank = json.loads(call("evaluate", tmp_path / "blank", treebank, *metrics, "--json").out)
    assert [one["value"] for one in blank["scores"]] == [one["value"] for one in scores]
    values["summaries"]["All"] |= {"sentences": 3, "missing": 1}
    table = json.loads(call("evaluate", tmp_path / "blank", treebank, "--evalb", "--json").out)
    assert table["summaries"]["All"] == values["summaries"]["All"]
    (tmp_path / "blank").write_text(f"(NP (NN a))\n{parsed.read_text()}")
    for options in (["--evalb"], metrics):
        refused = call("evaluate", tmp_path / "blank", treebank, *options)
        assert "no tree" in one_error(refused, 3)
    several = call("evaluate", parsed, gold, gold, "--evalb")
    assert "one REFERENCE" in one_error(several, 2)
    text = tmp_path / "text"
    text.write_text("a\nb\n")
    for options in (["--evalb"], ["--metric", "bracketing_f1"]):
        assert "no tree" in one_error(call("evaluate", parsed, text, *options), 3)
