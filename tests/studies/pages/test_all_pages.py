"""The generated pages of results: as the data say, with links that lead somewhere."""

from __future__ import annotations

import re

import pytest

from dragoman.core.text_tables import anchor
from studies.pages.all_pages import DOCS, made
from studies.pages.result_data import read_topics
from studies.pages.technique_data import read_techniques

FILES = made(DOCS)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_is_what_the_data_give(path: object) -> None:
    (file,) = [one for one in FILES if one == path]
    current = file.is_file() and file.read_text(encoding="utf-8") == FILES[file]
    assert current, f"{file.name} does not match its data; run: python -m studies.pages"


def test_nothing_else_is_in_the_folder() -> None:
    """A page whose data are gone would stay as it was."""
    found = {*(DOCS / "results").glob("*.md"), *(DOCS / "results" / "images").iterdir()}
    assert found == {path for path in FILES if path.parent != DOCS}


def test_links_of_techniques_lead_to_a_heading() -> None:
    for name, technique in read_techniques().items():
        for gain in technique.gained:
            page, _, place = gain.link.partition("#")
            text = (DOCS / page).read_text(encoding="utf-8")
            places = ["", *(anchor(heading) for heading in HEADING.findall(text))]
            assert place in places, f"{name}: {gain.link}"


def test_figures_of_techniques_are_in_the_data() -> None:
    """A figure with an interval is copied from a row of the page that it names."""
    topics = read_topics(DOCS / "results" / "data")
    for name, technique in read_techniques().items():
        for gain in technique.gained:
            if gain.interval and gain.link.startswith("results/"):
                topic = topics[gain.link.removeprefix("results/").partition(".md")[0]]
                cells = [cell for table in topic.tables for row in table.rows for cell in row]
                said = [*cells, *(one for table in topic.tables for one in table.findings)]
                assert any(gain.interval.split(", ")[0].lstrip("+") in one for one in said), name
