"""The Korean pages have the commands, settings, links and sections of the English ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_docs import FENCE, HEADING, LINK, SPAN

ROOT = Path(__file__).parents[1]
COMMENT = re.compile(r"\s*#.*$", re.MULTILINE)

both = pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("README.md", "README.ko.md"),
        ("docs/tutorial.md", "docs/tutorial.ko.md"),
        ("docs/paper.md", "docs/paper.ko.md"),
    ],
    ids=["readme", "tutorial", "paper"],
)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code(text: str) -> list[str]:
    """Code blocks without their comments."""
    return [COMMENT.sub("", block) for _, block in FENCE.findall(text)]


def spans(text: str) -> list[str]:
    """Code within lines, sorted: the order of words differs between the languages."""
    return sorted(" ".join(span.split()) for span in SPAN.findall(FENCE.sub("", text)))


def links(text: str) -> list[str]:
    """Where links lead; in pages of both languages without a place, whose name is translated."""
    found = (link.replace(".ko.md", ".md") for link in LINK.findall(FENCE.sub("", text)))
    return sorted(re.sub(r"^((.*(README|tutorial|paper)\.md)?)#.*", r"\1", link) for link in found)


@both
def test_commands_are_the_same(english: str, korean: str) -> None:
    assert code(page(korean)) == code(page(english))


@both
def test_names_of_options_settings_and_files_are_the_same(english: str, korean: str) -> None:
    assert spans(page(korean)) == spans(page(english))


@both
def test_links_and_sections_are_the_same(english: str, korean: str) -> None:
    assert links(page(korean)) == links(page(english))
    one, other = (
        [re.match(r"#+", line)[0] for line in re.findall(r"^#+ .+$", text, re.MULTILINE)]  # type: ignore[index]
        for text in (page(english), page(korean))
    )
    assert one == other
    assert len(HEADING.findall(page(korean))) == len(one)
