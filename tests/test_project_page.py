"""The page on the strings of a project can be followed, once around, with a tiny model."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from command_line import call
from project_trees import catalogue

from dragoman.text import synthetic
from dragoman.workflows.init import measure

PAGE = Path(__file__).parents[1] / "docs" / "translating-a-project.md"
CATALOGUE = Path("locale", "de", "LC_MESSAGES", "app.po")
_FEW_STEPS = ("training.max_steps=2", "training.validation_steps=2", "search.maximum_length=20")
SHORT = {"train": _FEW_STEPS, "adapt": _FEW_STEPS[:2]}
"""Settings that make a command a matter of seconds."""
CORRECTED = "Drei rote Häuser"


def page_commands() -> list[list[str]]:
    """The commands in the indented blocks, in the order of the page."""
    lines = re.findall(r"^    (dragoman .+|cp .+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line) for line in lines]


def review() -> int:
    """Approve what the machine wrote, and correct one string; how many strings there were."""
    text = CATALOGUE.read_text(encoding="utf-8")
    number = text.count("#, fuzzy\n")
    text = text.replace("#, fuzzy\n", "")
    text = re.sub(r'(msgid "Three red houses"\nmsgstr )".*"', rf'\1"{CORRECTED}"', text)
    CATALOGUE.write_text(text, encoding="utf-8")
    return number


def test_every_command_works_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "_SECONDS", 0.01)
    rows = synthetic.read_splits(110, dev=0, test=0).train
    strings = {row.texts["en"]: row.texts["de"] for row in rows}
    strings |= {"Three red houses": "", "The blue tree": ""}
    CATALOGUE.parent.mkdir(parents=True)
    CATALOGUE.write_text(catalogue(strings, language="de"), encoding="utf-8")
    done = []
    for program, *words in page_commands():
        if program == "cp":
            shutil.copytree(words[-2], words[-1])
            assert review() == 2
            continue
        done.append(words[0])
        settings = [word for one in SHORT.get(words[0], ()) for word in ("--set", one)]
        outcome = call(*words, *settings)
        assert outcome.code == 0 or words[0] == "check", f"{words}: {outcome.err}"
    assert done == ["init", "doctor", "train", "terms", "translate", "check", "convert", "adapt"]
    assert Path("corrections.tsv").read_text(encoding="utf-8").splitlines() == [
        "en\tde",
        f"Three red houses\t{CORRECTED}",
    ]
    assert Path("check.sarif").is_file() and Path("runs/my-2/model").is_dir()
