from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, cast

import pytest
import yaml
from pydantic import Field, TypeAdapter

from dragoman.cli import reference as page
from dragoman.core.config import Config, parse
from dragoman.core.sections import keys_of
from dragoman.core.text_tables import anchor
from dragoman.recipe import ExperimentConfig
from dragoman.recipe.reading import REPLACED

COMMITTED = Path(__file__).parents[2] / "docs" / "configuration.md"
COMMAND = "python -m dragoman.cli.reference > docs/configuration.md"

ROW = re.compile(r"\| `(\w+)` \| (.+) \| (.*) \| (.+) \|")


def all_fields() -> list[tuple[type[Config], str]]:
    return [(kind, name) for _, kind in page._walk(ExperimentConfig, "") for name in keys_of(kind)]


def test_the_committed_page_is_up_to_date() -> None:
    current = COMMITTED.read_text(encoding="utf-8") == page.reference()
    assert current, f"docs/configuration.md does not match the code; run: {COMMAND}"


def test_what_replaces_the_section_of_a_base_is_named() -> None:
    (replaced,) = re.findall(r"as\sa\swhole: (.+?)\.\s", page.reference(), re.DOTALL)
    assert set(re.findall(r"`(\w+\.\w+)`", replaced)) == set(REPLACED)


def test_every_key_of_every_part_is_in_its_section() -> None:
    sections = page._sections(ExperimentConfig)
    for section in sections:
        text = page._render(section, sections)
        rows = {match[1] for match in map(ROW.fullmatch, text.splitlines()) if match}
        elsewhere = set(
            re.findall(r"`(\w+)`(?=[,.])", "".join(re.findall("^As in .*", text, re.M)))
        )
        named = set(re.findall(r"(?:family|kind)(?= \w+$)", text.splitlines()[0]))
        assert not rows & elsewhere
        assert rows | elsewhere | named == set(keys_of(section.kind)), section.title


def test_a_row_that_two_alternatives_share_is_shown_once() -> None:
    lines = page.reference().splitlines()
    start = lines.index("### `transforms`, kind noise")
    noise = lines[start : lines.index("### `transforms`, kind mask_spans")]
    assert "As in [tag](#transforms-kind-tag): `share`, `from_epoch`." in noise
    assert not any(line.startswith("| `share`") for line in noise)
    segment = lines[lines.index("### `transforms`, kind segment") :]
    share = next(line for line in segment if line.startswith("| `share`"))
    assert "| `0.1` |" in share  # with another default it has a row


def test_headings_are_short_and_differ() -> None:
    headings = [line for line in page.reference().splitlines() if line.startswith("##")]
    assert len(headings) > 15
    assert len(headings) == len(set(headings))
    assert max(map(len, headings)) <= 50


def test_a_shared_section_lists_its_keys_below_its_heading() -> None:
    lines = page.reference().splitlines()
    keys = lines[lines.index("### Part of the corpus") + 2]
    assert keys.startswith("Keys: `data.train`, `data.held_out`, `data.dev`")
    keys = lines[lines.index("### `transforms`, kind copy") + 2]
    assert keys == "Keys: `transforms` of a [part of the corpus](#part-of-the-corpus)."
    keys = lines[lines.index("### `objective`, kind r_drop") + 2]
    assert keys == "Keys: `training.objective`, `training.tasks.objective`."


def test_links_of_the_page_have_headings() -> None:
    lines = page.reference().splitlines()
    anchors = {anchor(line.lstrip("# ")) for line in lines if line.startswith("##")}
    links = set(re.findall(r"\]\(#([^)]+)\)", "\n".join(lines)))
    assert links == anchors - {"example"}


def test_every_row_says_what_may_stand_there_and_what_it_means() -> None:
    for line in page.reference().splitlines():
        if line.startswith("| `"):
            found = ROW.fullmatch(line)
            assert found is not None, line
            assert found[2].strip()
            assert found[4].strip()


def test_the_defaults_shown_are_the_defaults() -> None:
    for kind, name in all_fields():
        field = keys_of(kind)[name]
        shown = page._default(field).strip("`")
        if shown in {"", "required"}:
            continue
        found = TypeAdapter[Any](cast("Any", field.annotation)).validate_python(
            yaml.safe_load(shown)
        )
        assert found == field.get_default(call_default_factory=True), (kind, name)


def test_the_example_is_an_experiment() -> None:
    config = parse(ExperimentConfig, yaml.safe_load(page.EXAMPLE), "example")
    assert set(yaml.safe_load(page.EXAMPLE)) == set(ExperimentConfig.model_fields)
    assert config.data.train[1].weight == 0.5


class Inner(Config):
    """Something inside."""

    choice: Literal["a", "b"] = "a"
    """One of two."""


class Outer(Config):
    """Something outside."""

    count: int = Field(3, ge=1, lt=9)
    """How many."""
    rate: float | None = Field(None, gt=0)
    """How fast."""
    names: tuple[str, ...] = Field(("x",), min_length=1)
    """Who."""
    parts: dict[str, Inner] = Field(default_factory=dict)
    """What."""
    style: str | None = Field(default=None, examples=["plain", "bold"])
    """In which way."""
    share: float | None = Field(0.5, gt=0, le=1e6)
    """Which part."""
    size: int = Field(3, ge=1, le=1000)
    """How large."""


@pytest.mark.parametrize(
    ("name", "words", "default"),
    [
        ("count", "integer ≥ 1, < 9", "`3`"),
        ("rate", "number > 0", "`null`"),
        ("share", "number > 0, ≤ 1000000, or `null`", "`0.5`"),
        ("size", "integer 1 to 1000", "`3`"),
        ("names", "list of: text (at least 1)", "`[x]`"),
        ("parts", "names, each with a LINK", "`{}`"),
        ("style", "text, such as `plain`, `bold`", "`null`"),
    ],
)
def test_types_ranges_and_defaults_in_words(name: str, words: str, default: str) -> None:
    field = Outer.model_fields[name]
    assert page._words(field, {Inner: "LINK"}) == words
    assert page._default(field) == default


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Top level", "top-level"),
        ("`data.train`, `data.dev`", "datatrain-datadev"),
        ("`model`, family two_words", "model-family-two_words"),
    ],
)
def test_anchors_are_those_of_github(title: str, expected: str) -> None:
    assert anchor(title) == expected


def test_the_committed_page_of_a_server_is_up_to_date() -> None:
    committed = COMMITTED.with_name("server-configuration.md").read_text(encoding="utf-8")
    command = "python -m dragoman.cli.reference server > docs/server-configuration.md"
    assert committed == page.server_reference(), f"it does not match the code; run: {command}"


def test_the_page_of_a_server_has_all_of_its_sections_and_no_others() -> None:
    headings = re.findall("^## (.+)$", page.server_reference(), re.MULTILINE)
    assert headings == ["Top level", "`batching`", "`limits`", "`store`"]
