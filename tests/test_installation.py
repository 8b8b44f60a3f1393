"""Extras and versions of Python, and the files that repeat them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from soak.dependencies import JOINED, TOOLS

ROOT = Path(__file__).parents[1]
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(text("pyproject.toml"))
    return found


def joined(project: dict[str, Any], extra: str) -> set[str]:
    """The other extras that ``extra`` asks for itself."""
    asked = map(Requirement, project["project"]["optional-dependencies"][extra])
    return {name for one in asked if one.name == "dragoman" for name in one.extras}


def test_all_has_every_extra_that_is_no_tool(project: dict[str, Any]) -> None:
    extras = set(project["project"]["optional-dependencies"])
    assert joined(project, "all") == extras - TOOLS - JOINED
    assert joined(project, "dev") == {"all", "studies", "site"}


def test_the_demo_installs_extras_that_exist_and_no_tools(project: dict[str, Any]) -> None:
    (found,) = re.findall(r"^EXTRAS := (.*)$", text("Makefile"), re.MULTILINE)
    assert set(found.split(",")) <= joined(project, "all")


def test_the_oldest_versions_are_those_that_the_extras_allow(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    asked = [*project["project"]["dependencies"]]
    asked += [one for name in extras if name not in TOOLS for one in extras[name]]
    floors = {one.name: one.specifier for one in map(Requirement, asked) if one.name != "dragoman"}
    pins = map(
        Requirement, re.findall(r"^[\w.-]+==.*$", text("constraints-oldest.txt"), re.MULTILINE)
    )
    oldest = {one.name: one.specifier for one in pins}
    wrong = {
        name: (str(floor), str(oldest.get(name)))
        for name, floor in floors.items()
        if name in oldest and Version(str(floor)[2:]) != Version(str(oldest[name])[2:])
    }
    assert wrong == {}


def test_the_recipe_for_conda_needs_what_the_package_needs(project: dict[str, Any]) -> None:
    recipe = yaml.safe_load(text("deploy/conda/recipe.yaml"))
    names = {"torch": "pytorch"}
    asked = map(Requirement, project["project"]["dependencies"])
    needed = [f"{names.get(one.name, one.name)} {one.specifier}" for one in asked]
    python = f"python {project['project']['requires-python']}"
    assert recipe["requirements"]["run"] == [python, *needed]
    assert recipe["context"]["version"] == project["project"]["version"]
    (entry,) = project["project"]["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(entry)]


def test_one_list_of_versions_of_python(project: dict[str, Any]) -> None:
    versions = _CLASSIFIER.findall("\n".join(project["project"]["classifiers"]))
    first, last = versions[0], versions[-1]
    assert _CLASSIFIER.findall(text("client/pyproject.toml")) == versions
    assert f'requires-python = ">={first}"' in text("client/pyproject.toml")
    assert project["project"]["requires-python"] == f">={first}"
    assert project["tool"]["ruff"]["target-version"] == f"py{first.replace('.', '')}"
    assert f"Python {first} to {last} and `make`" in text("README.md")
    assert f"Python {first}부터 {last}까지와 `make`" in text("README.ko.md")
    assert f"Python {first} to {last}, `make`" in text("CONTRIBUTING.md")
    assert f"tested on Python {first}" in text("constraints-oldest.txt")
