"""The page that starts from a public model can be followed to its end, with a tiny model."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_line import call
from m2m_models import nllb

from dragoman.text import synthetic
from dragoman.workflows.init import measure

PAGE = Path(__file__).parents[1] / "docs" / "start-from-a-public-model.md"
_FEW_STEPS = ("training.max_steps=2", "training.validation_steps=2", "search.maximum_length=3")
SHORT = {"train": _FEW_STEPS, "distill": _FEW_STEPS}
"""Settings that make a command a matter of seconds."""
NEVER_ENDS = {"serve"}


def page_commands() -> list[str]:
    """The commands of Dragoman in the indented blocks, in the order of the page."""
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(r"^    (dragoman .+)$", text, re.MULTILINE)


def followed(line: str) -> None:
    """Carry out a command of the page as a shell does, in the current directory."""
    words = shlex.split(line.replace("$(dragoman corpora where homeassistant)", "corpora"))
    redirected = {"<": Path(), ">": Path()}
    for sign in redirected:
        if sign in words:
            at = words.index(sign)
            redirected[sign] = Path(words[at + 1])
            del words[at : at + 2]
    name = words[1]
    settings = [word for one in SHORT.get(name, ()) for word in ("--set", one)]
    given = redirected["<"].read_bytes() if "<" in line else b""
    outcome = call(*words[1:], *settings, stdin=given)
    assert outcome.code == 0, f"{line}: {outcome.err}"
    if ">" in line:
        redirected[">"].write_text(outcome.out, encoding="utf-8")


def test_every_command_works_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "_SECONDS", 0.01)
    nllb(tmp_path / "nllb", init_std=0.02)
    synthetic.write(tmp_path / "corpora", 90, dev=11, test=11)
    done = []
    for line in page_commands():
        name = line.split()[1]
        done.append(name)
        if name in NEVER_ENDS or line.startswith("dragoman corpora get"):
            continue  # that their options exist is tested for every page
        followed(line.replace("hf:facebook/nllb-200-distilled-600M", "nllb").replace(".gz", ""))
    assert {"import", "init", "doctor", "train", "evaluate", "distill", "translate"} <= {*done}
    assert done[-1] == "serve"
    students = [path.parent for path in tmp_path.glob("runs/*/synthetic")]
    assert len(students) == 1
