"""`dragoman translate --to-format xliff` and back by `dragoman convert`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import call, one_error
from tiny_model import save_tiny_model

from dragoman.text.examples import Direction

TEXT = "a b c\n\n{name} d e\n"


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file for review, beside its document and the direct translation of this."""
    folder = tmp_path_factory.mktemp("reviewed")
    document = folder / "report.txt"
    document.write_text(TEXT, encoding="utf-8")
    directions = (Direction(source_language="en", target_language="de"),)
    model = save_tiny_model(folder / "model", directions=directions)
    assert call("translate", model, document).code == 0
    outcome = call("translate", model, document, "--to-format", "xliff")
    assert outcome.code == 0, outcome.err
    path = folder / "report.de.txt.xlf"
    again = call("translate", model, path, "--to-format", "xliff")
    assert "this is XLIFF; leave out --to-format" in one_error(again, 2)
    other = call("translate", model, document, "--to-format", "xliff", "--output", folder / "a.txt")
    assert "--to-format xliff writes .xlf files; change" in one_error(other, 2)
    tree = call("translate", model, "--tree", folder, "--to-format", "xliff")
    assert "leave out FILE" in one_error(tree, 2)
    return path


def test_an_unchanged_review_gives_the_direct_translation(review: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.txt"
    outcome = call("convert", review, output, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out) == {
        "output": [str(output)],
        "document": "report.txt",
        "texts": 2,
        "changed": 0,
        "untranslated": [],
    }
    assert output.read_bytes() == review.with_name("report.de.txt").read_bytes()
    assert "name another output file" in one_error(call("convert", review, output), 2)


def test_a_target_that_is_emptied_is_told(review: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.xlf"
    text = review.read_text(encoding="utf-8")
    start = text.index(">", text.index("<target")) + 1
    changed.write_text(text[:start] + text[text.index("</target>") :], encoding="utf-8")
    outcome = call("convert", changed, tmp_path / "a.txt")
    assert "1 texts have no translation" in one_error(outcome, 3)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8").startswith("a b c\n")


def test_pairs_of_a_review_are_not_reviewed(review: Path, tmp_path: Path) -> None:
    outcome = call("convert", review, tmp_path / "pairs.tsv")
    assert "once they are reviewed" in one_error(outcome, 3)
    approved = tmp_path / "approved.xlf"
    text = review.read_text(encoding="utf-8")
    approved.write_text(text.replace("<trans-unit ", '<trans-unit approved="yes" '), "utf-8")
    outcome = call("convert", approved, tmp_path / "pairs.tsv")
    assert outcome.code == 0, outcome.err


def test_what_makes_no_sense_is_refused(review: Path, tmp_path: Path) -> None:
    outcome = call("convert", review, tmp_path / "a.html")
    assert "has the document report.txt; name an output that ends in .txt" in one_error(outcome, 3)
    outcome = call("convert", review, tmp_path / "a.txt", "--source", "en")
    assert "--source is for pairs, not for a document" in one_error(outcome, 2)
    damaged = tmp_path / "damaged.xlf"
    damaged.write_text(review.read_text("utf-8").replace("</file>", ""), encoding="utf-8")
    assert "damaged.xlf: not well-formed" in one_error(
        call("convert", damaged, tmp_path / "a.txt"), 3
    )
    assert not list(tmp_path.glob("a.*"))
