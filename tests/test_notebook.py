"""The notebook of the documentation, run without Jupyter and with a shorter training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from notebook_runner import kinds, run_cells

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"
SHORTER = {"STEPS = 300": "STEPS = 8", "6_000, dev=100, test=100": "400, dev=10, test=10"}


def test_its_cells_run_and_show_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    text = "".join(line for cell in notebook["cells"] for line in cell["source"])
    assert all(old in text for old in SHORTER)
    monkeypatch.chdir(tmp_path)
    outputs = run_cells(notebook, SHORTER)
    shown = ["text/html", "text/plain"]
    picture, plain = ["image/png", "text/plain"], ["text/plain"]
    found = [kinds(each) for each in outputs]
    expected = [["stdout"], shown, picture, shown, plain, shown, shown]
    assert found == [[each] for each in expected]
    for cell, each in zip(
        [one for one in notebook["cells"] if "outputs" in one], found, strict=True
    ):
        assert kinds(cell["outputs"]) in ([], each)  # what the file keeps, if it was run
