"""A disk that goes away takes everything with it, whatever is written meanwhile."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from soak import disks
from soak.warm import Ended
from soak.works import Work, Workshop


def test_files_vanish_beside_one_that_was_just_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary file may be gone between being listed and being moved; the rest must come back,
    or the command would miss its text, which is no fault of its own."""
    (tmp_path / "given/work").mkdir(parents=True)
    (tmp_path / "given" / "work" / "text").write_text("a\n", encoding="utf-8")
    listed = os.listdir
    place = tmp_path / "place"

    def with_temporary(folder: Any) -> list[str]:
        return [".gone.0123456789abcdef"] * (folder == place) + listed(folder)

    def finished(one: Work, _: Path, __: Ended) -> str:
        return "" if (place / "text").is_file() else "the text is lost"

    trouble = object.__new__(disks._Trouble)
    work = Work("work", (), ("text",))
    shop = Workshop((work,), tmp_path / "given")
    for name, value in {
        "_shop": shop,
        "_place": place,
        "_folder": tmp_path,
        "_chance": random.Random(1),
        "_run": lambda *_: Ended(0, 0.0, ""),
        "_refused_then_finished": finished,
    }.items():
        setattr(trouble, name, value)
    monkeypatch.setattr(os, "listdir", with_temporary)
    assert trouble.vanished(work) == ""
