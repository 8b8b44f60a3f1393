"""Runs the cells of a notebook without Jupyter, as its kernel would.

python tests/notebook_runner.py docs/notebook.ipynb    runs it, and keeps the outputs in it
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
Outputs = list[dict[str, Any]]
"""Of a cell."""


def run_cells(
    notebook: Notebook, changes: dict[str, str] | None = None
) -> list[list[dict[str, Any]]]:
    """The outputs of all code cells, in a new namespace and the working directory.

    Args:
        changes: text of cells that is replaced before they run.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = "".join(cell["source"])
            for old, new in (changes or {}).items():
                text = text.replace(old, new)
            outputs.append(_run(text, names))
    return outputs


def _run(text: str, names: dict[str, Any]) -> Outputs:
    """The outputs of a cell: what it prints, and the value of a last expression."""
    tree = ast.parse(text)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    found: Outputs = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        found.append({"output_type": "display_data", "metadata": {}, "data": _displayed(value)})
    return found


def _displayed(value: Any) -> dict[str, Any]:
    """A value in the ways in which Jupyter shows it."""
    shown: dict[str, Any] = {"text/plain": [repr(value)[:300]]}
    if hasattr(value, "_repr_html_") and (text := value._repr_html_()) is not None:
        shown["text/html"] = text.splitlines(keepends=True)
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=80, bbox_inches="tight")
        shown["image/png"] = base64.b64encode(picture.getvalue()).decode()
    return shown


def kinds(outputs: Outputs) -> list[list[str]]:
    """The kinds of outputs of a cell, such as ``text/html``."""
    return [sorted(one.get("data", {"stdout": ""})) for one in outputs]


def main(path: Path) -> None:
    """Run a notebook in an empty folder, and keep its outputs in its file."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        outputs = iter(run_cells(notebook))
        os.chdir(home)
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["outputs"], cell["execution_count"] = next(outputs), count
    text = json.dumps(notebook, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
