"""What SECURITY.md claims: each test that it names exists, and nothing is unpickled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUSPICIOUS = re.compile(r"pickle|dill|joblib|shelve|marshal|torch|yaml|eval|exec")
"""What is in every way to unpickle; other files need not be parsed."""
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")

ALLOWED = {
    Path("exchange/pickled.py"): "checkpoints of other toolkits, by an allow-list of classes",
    Path("core/strict_yaml.py"): "a loader derived from PyYAML's safe one",
    Path("exchange/sockeye_importer.py"): "likewise; tags become plain mappings",
}
"""The only places that may, and what keeps them safe."""


def test_each_test_that_is_named_exists() -> None:
    claims = (ROOT / "SECURITY.md").read_text("utf-8")
    named = NAMED.findall(claims)
    assert len(named) == claims.count("::")  # none is written in a way that is not looked at
    for path, test in named:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        asynchronous = (node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef))
        assert test in tests | {node.name for node in asynchronous}, f"{path} has no {test}"


def test_each_claim_names_a_test() -> None:
    for line in (ROOT / "SECURITY.md").read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith(("| it cannot", "| they cannot")):
            assert NAMED.search(line), line


def test_nothing_is_unpickled() -> None:
    package = ROOT / "src/dragoman"
    for path in sorted(package.rglob("*.py")):
        code = path.read_text("utf-8")
        if path.relative_to(package) not in ALLOWED and SUSPICIOUS.search(code):
            found = list(unpickling(ast.parse(code)))
            assert not found, f"{path}: {found}"


def test_ways_to_unpickle_are_seen() -> None:
    for code in (
        "import pickle",
        "from pickle import loads",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "import torch\ntorch.load('x')",
        "import torch\ntorch.load('x', weights_only=True)",
        "import joblib",
        "from torch import load",
        "import yaml\nyaml.unsafe_load('x')",
        "import yaml\nyaml.load('x', yaml.Loader)",
        "eval('1')",
        "exec('1')",
    ):
        assert SUSPICIOUS.search(code)
        assert list(unpickling(ast.parse(code))), code
    assert not list(unpickling(ast.parse("import json\njson.load(f)\nmodel.eval()\nnp.load(p)")))


def unpickling(tree: ast.AST) -> Iterator[str]:
    """Whatever in ``tree`` may build objects or run code from data."""
    modules = {"pickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
    loads = {("torch", "load"), ("yaml", "load"), ("yaml", "unsafe_load"), ("yaml", "full_load")}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name.split(".")[0] in modules)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in modules:
                yield module
            case ast.ImportFrom(module=str(module), names=names):
                yield from (one.name for one in names if (module, one.name) in loads)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=name)) if (
                of,
                name,
            ) in loads:
                yield f"{of}.{name}"
            case ast.Call(func=ast.Name(id="eval" | "exec" as name)):
                yield name
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield "allow_pickle"
