"""Commands of studies that the documentation names exist, with the options that it gives them."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"\bpython -m studies\.([a-z_]+)\b([^|`;#\n]*)")
OPTION = re.compile(r"(?<!\S)(--[a-z][\w-]*)")
NAMED = [
    (page, *found)
    for page in (ROOT / "studies/README.md", *ROOT.glob("docs/**/*.md"))
    for found in COMMAND.findall(page.read_text(encoding="utf-8"))
]


def test_some_commands_are_named() -> None:
    studies = {
        *("address", "chart_parser", "gallery", "heads_and_syntax", "labelled_text", "layers"),
        *("marian", "memory_network", "neural_gpu", "noise", "pages", "product", "synthetic"),
        *("tables", "tags"),
    }
    assert {study for _, study, _ in NAMED} == studies


@pytest.mark.parametrize(
    ("page", "study", "rest"), NAMED, ids=lambda one: getattr(one, "name", one)
)
def test_commands_and_their_options_exist(page: Path, study: str, rest: str) -> None:
    main = import_module(f"studies.{study}.__main__")
    (command,) = [
        one for one in vars(main).values() if isinstance(one, click.Command) and one.name == study
    ]
    name, *_ = [*rest.split(), ""]
    if isinstance(command, click.Group) and name:
        assert name in command.commands, f"{page.name}: {study} {name}"
        command = command.commands[name]
    known = {option for one in command.params for option in one.opts}
    assert set(OPTION.findall(rest)) <= known, f"{page.name}: {study} {rest}"
