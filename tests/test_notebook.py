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
    kept = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [kinds(each) for each in outputs] == [kinds(each) for each in kept]
    assert {kind for cell in kept for one in kinds(cell) for kind in one} >= {
        "text/html",
        "image/png",
    }
