"""One name, one thing: public classes and modules of different rooms have different names."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "dragoman"

MODULES = {
    "corpora": "what is known of parallel text, and the commands that fetch it",
    "errors": "the same ones: those of core, and their public place",
    "interface": "what the parts of a room have in common",
    "terms": "glossaries and their files, and the terms of what is translated",
    "vocabularies": "pieces and ids, and the vocabularies that a run trains",
}
"""Modules that may have the same name in several rooms, and why."""

FOLDERS = {
    "cli/commands": "each is named after its commands",
    "server/v1": "the APIs have the same parts",
    "server/deepl": "the APIs have the same parts",
    "server/libretranslate": "the APIs have the same parts",
}
"""Folders whose modules may have the name of a module elsewhere, and why."""

CLASSES = {
    "DecoderLayer": "each family has its own",
    "Embedding": "each family has its own",
    "EncoderLayer": "each family has its own",
}
"""The same of classes."""


def public_modules(package: Path) -> Iterator[tuple[str, str]]:
    """Name and place of each module; a package is the module of its folder."""
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parent.as_posix() in FOLDERS:
            continue
        if path.name != "__init__.py":
            yield path.stem, str(place)
        elif path.parent != package:
            yield path.parent.name, str(place)


def public_classes(package: Path) -> Iterator[tuple[str, str]]:
    """Name and place of each class at the top of a module."""
    for path in sorted(package.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                yield node.name, str(path.relative_to(package))


def shared_names(
    named: Iterator[tuple[str, str]], allowed: Mapping[str, str]
) -> dict[str, list[str]]:
    """The places of each public name that several have."""
    places = defaultdict(list)
    for name, place in named:
        if not name.startswith("_"):
            places[name].append(place)
    return {name: at for name, at in places.items() if len(at) > 1 and name not in allowed}


def test_no_two_modules_share_a_name() -> None:
    assert shared_names(public_modules(PACKAGE), MODULES) == {}


def test_no_two_classes_share_a_name() -> None:
    assert shared_names(public_classes(PACKAGE), CLASSES) == {}


@pytest.mark.parametrize(
    ("files", "modules", "classes"),
    [
        (["a/x.py", "b/x.py"], {"x"}, {"A"}),
        (["a/x.py", "x/__init__.py"], {"x"}, {"A"}),
        (["a/_x.py", "b/_x.py"], set(), {"A"}),
        (["a/x.py"], set(), set()),
    ],
)
def test_shared_names_are_found(
    files: list[str], modules: set[str], classes: set[str], tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("class A: ...\nclass _B: ...\n", encoding="utf-8")
    assert shared_names(public_modules(tmp_path), {}).keys() == modules
    assert shared_names(public_classes(tmp_path), {}).keys() == classes
