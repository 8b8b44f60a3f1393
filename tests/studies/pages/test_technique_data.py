"""The data of techniques: pages, commands and links that exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from dragoman.cli.main import commands
from dragoman.core.config import override, parse
from dragoman.core.errors import ConfigError
from dragoman.recipe import ExperimentConfig
from studies.pages.technique_data import TECHNIQUES_FILE, Gain, read_techniques

DOCS = TECHNIQUES_FILE.parent
TECHNIQUES = read_techniques()
OPTION = re.compile(r"(?<!\S)(--[a-z][\w-]*)")
SETTING = re.compile(r"""--set '?([a-z][\w.]*=[^\s']+(?:[^']*(?='))?)""")
MINIMAL = {
    "data": {"train": [{"source": "a", "target": "b"}], "dev": {"source": "a", "target": "b"}}
}


@pytest.mark.parametrize("name", TECHNIQUES)
def test_page_and_command_exist(name: str) -> None:
    technique = TECHNIQUES[name]
    assert (DOCS / technique.page).is_file()
    program, command, *_ = technique.command.split()
    assert program == "dragoman"
    found: click.Command = commands.commands[command]
    if isinstance(found, click.Group):
        found = found.commands[technique.command.split()[2]]
    known = {option for one in found.params for option in one.opts}
    assert set(OPTION.findall(technique.command)) <= known
    if settings := SETTING.findall(technique.command):
        parse(ExperimentConfig, override(MINIMAL, settings), name)


def test_a_figure_is_shown_with_what_chance_could_do() -> None:
    gain = {"figure": "+1.0", "metric": "BLEU", "what": "captions", "link": "results.md"}
    assert Gain(**gain).text() == "+1.0 BLEU"
    assert Gain(**gain, p="<0.001").text() == "+1.0 BLEU (p < 0.001)"
    assert Gain(**gain, interval="+0.2, +1.8").text() == "+1.0 BLEU [+0.2, +1.8]"


def test_an_unknown_key_names_its_entry(tmp_path: Path) -> None:
    (tmp_path / "techniques.yaml").write_text("fusion: {nam: Fusion}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"techniques.yaml: fusion: .*'nam'"):
        read_techniques(tmp_path / "techniques.yaml")
