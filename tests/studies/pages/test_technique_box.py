"""The box of a technique's page, and the page of all techniques by situation."""

from __future__ import annotations

import pytest

from studies.pages.choose_page import choose_page
from studies.pages.technique_box import technique_box, with_box
from studies.pages.technique_data import GROUPS, read_techniques

TECHNIQUES = read_techniques()
FUSION, DISTILLATION = TECHNIQUES["fusion"], TECHNIQUES["distillation"]
PAGE = "# Fusion\n\nA model\n\n## More\n"


def test_a_page_gets_one_box_below_its_title() -> None:
    once = with_box(PAGE, [FUSION])
    title, box, text = once.partition(technique_box([FUSION]))
    assert box
    assert title.startswith("# Fusion\n\n<!--")
    assert text.endswith("-->\n\nA model\n\n## More\n")
    assert with_box(once, [FUSION]) == once
    assert with_box(once, [DISTILLATION]) == with_box(PAGE, [DISTILLATION])
    assert with_box(once, []) == PAGE


def test_techniques_of_one_page_are_columns() -> None:
    head, _, *rows = technique_box([FUSION, DISTILLATION]).splitlines()
    assert head == f"|  | {FUSION.name} | {DISTILLATION.name} |"
    assert rows[0] == f"| **When** | {FUSION.when} | {DISTILLATION.when} |"
    names = [row.split("**")[1] for row in rows]
    assert names == ["When", "Command", "Gained here", "Costs", "Not for"]


@pytest.mark.parametrize("group", GROUPS)
def test_each_situation_has_techniques(group: str) -> None:
    members = [one for one in TECHNIQUES.values() if one.group == group]
    assert members
    if any(one.verdict in {"gains", "mixed", "no score"} for one in members):
        assert f"\n## {group}\n" in choose_page(TECHNIQUES)


def test_each_technique_is_chosen_or_stands_among_those_that_gained_nothing() -> None:
    useful, _, others = choose_page(TECHNIQUES).partition("## What gained nothing here")
    for technique in TECHNIQUES.values():
        row = f"| {technique.when} | [{technique.name}]({technique.page}) | "
        without = technique.verdict in {"no gain here", "loses here"}
        assert (row in others, row in useful) == (without, not without)
