"""Tags that a model places itself, beside tags that follow its attention."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_model import save_tiny_model

from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.inline_tags import InlineTags
from dragoman.text.segments import SegmentTable
from studies.tags.__main__ import tags
from studies.tags.lines import read_lines

DIRECTION = Direction(source_language="en", target_language="de")
ROWS = [("a *b* ``c`` d", "*b* a ``c``"), ("a b", "b a"), ("a *b*", "a b")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "test.tsv"
    lines = ["en\tde", *("\t".join(row) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_lines_whose_sides_have_the_same_markup(table: Path) -> None:
    part = CorpusPart(path=str(table), source="en", target="de")
    (line,) = read_lines(part, ["rst"], None, InlineTags())
    assert (line.source, line.reference) == ("a<t1> b</t1> <x1> d", "<t1> b</t1> a <x1>")
    assert line.plain_reference == "b a ``c``"
    marked = line.marked()
    assert marked.text == "a b ``c`` d"
    assert [(one.begin, one.start, one.stop, one.is_atom) for one in marked.marks] == [
        ("<t1>", 2, 3, False),
        ("<x1>", 4, 9, True),
    ]


def test_lines_with_tags_at_their_phrases(table: Path) -> None:
    part = CorpusPart(path=str(table), source="en", target="de")
    found = list(read_lines(part, [], SegmentTable([("a", "a"), ("b", "b")]), InlineTags()))
    assert found
    for line in found:
        assert line.marked().text in {source for source, _ in ROWS}
        assert line.plain_reference in {target for _, target in ROWS}


def test_both_ways_are_scored(table: Path, tmp_path: Path) -> None:
    model = save_tiny_model(
        tmp_path / "model", inline_tags=InlineTags(pairs=2, points=1), directions=(DIRECTION,)
    )
    command = [str(model), str(table), "--source", "en", "--target", "de"]
    done = CliRunner().invoke(tags, [*command, "--markup", "rst", "--json"])
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    assert (values["lines"], values["tags"]) == (1, 2)
    learned, attention = values["rows"]["learned"], values["rows"]["attention"]
    assert (learned["placed_by_model"], attention["placed_by_model"]) == (100, 0)
    assert (learned["well_formed"], learned["structure"]) == (100, 100)
    assert "no line has tags" in CliRunner().invoke(tags, [*command, "--markup", "html"]).output
    other = [str(save_tiny_model(tmp_path / "other")), *command[1:]]
    assert "has not learned inline tags" in CliRunner().invoke(tags, other).output
