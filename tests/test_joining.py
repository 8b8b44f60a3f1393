"""Workflows, forms, hooks and citation: each fits its schema and names what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from dragoman.core.version import __version__

ROOT = Path(__file__).parents[1]
_SCHEMAS = {
    "github-workflows": [".github/workflows/tests.yml", ".github/workflows/release.yml"],
    "github-issue-forms": [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/wish.yml"],
    "github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
    "gitlab-ci": [".gitlab-ci.yml"],
    "citation-file-format": ["CITATION.cff"],
    "compose-spec": ["compose.yaml", "deploy/compose.replicas.yaml"],
}
_CALLS_MAKE = [
    ".ci/run",
    ".gitlab-ci.yml",
    ".pre-commit-config.yaml",
    *_SCHEMAS["github-workflows"],
]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def values(name: str) -> Any:
    return yaml.safe_load(text(name))


def problems(schema: str, *files: Path) -> str:
    """The problems that check-jsonschema finds; empty if there are none."""
    transform = ["--data-transform", "gitlab-ci"] if schema == "gitlab-ci" else []
    arguments = ["--builtin-schema", f"vendor.{schema}", *transform, *map(str, files)]
    done = CliRunner().invoke(check_jsonschema, arguments)
    return "" if done.exit_code == 0 else done.output


@pytest.mark.parametrize("schema", _SCHEMAS)
def test_files_fit_their_schema(schema: str) -> None:
    assert not problems(schema, *(ROOT / name for name in _SCHEMAS[schema]))


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ("github-workflows", "runs-on:", "runs_on:"),
        ("gitlab-ci", "script:", "skript:"),
        ("citation-file-format", "cff-version: 1.2.0", "cff-version: 12"),
        ("github-issue-forms", "type: textarea", "type: text"),
    ],
)
def test_files_with_a_mistake_do_not(schema: str, right: str, wrong: str, tmp_path: Path) -> None:
    name = _SCHEMAS[schema][0]
    file = tmp_path / Path(name).name
    file.write_text(text(name).replace(right, wrong), encoding="utf-8")
    assert problems(schema, file)


def test_every_file_of_these_hosts_has_a_schema() -> None:
    here = {path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").rglob("*.yml")}
    assert here == {name for names in _SCHEMAS.values() for name in names if ".github/" in name}


@pytest.mark.parametrize("name", _CALLS_MAKE)
def test_targets_of_make_exist(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    lines = [line for line in text(name).splitlines() if not line.lstrip().startswith("#")]
    calls = [call for line in lines for call in re.findall(r"\bmake (.*)", line)]
    called = {word for call in calls for word in call.split() if re.fullmatch("[a-z-]+", word)}
    assert called
    assert called <= targets


def test_workflows_run_every_version_of_python_and_the_oldest_dependencies() -> None:
    versions = re.findall(r"Python :: (3\.\d+)", text("pyproject.toml"))
    github = values(".github/workflows/tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    gitlab = values(".gitlab-ci.yml")["tests"]["parallel"]["matrix"]
    oldest = "CONSTRAINTS=constraints-oldest.txt"
    assert github["python"] == gitlab[0]["VERSION"] == versions
    assert github["include"] == [{"python": versions[0], "settings": oldest}]
    assert gitlab[1] == {"VERSION": versions[0], "SETTINGS": oldest}


def test_variables_of_gitlab_leave_make_its_own() -> None:
    """GitLab puts them into the environment, from which ``PYTHON ?= python3`` would take them."""
    jobs = [job for job in values(".gitlab-ci.yml").values() if isinstance(job, dict)]
    given = {name for job in jobs for name in job.get("variables", {})}
    given |= set(values(".gitlab-ci.yml")["tests"]["parallel"]["matrix"][1])
    assert given == {"VERSION", "SETTINGS"}
    assert not given & set(re.findall(r"^(\w+) [:?]?=", text("Makefile"), re.MULTILINE))


def test_hooks_use_what_development_installs() -> None:
    hooks = [hook for one in values(".pre-commit-config.yaml")["repos"] for hook in one["hooks"]]
    extra = text("pyproject.toml").partition("\ndev = [")[2].partition("\n]")[0]
    programs = [hook["entry"].split()[0] for hook in hooks]
    assert {program.rpartition("/")[2] for program in programs} == {"ruff", "pytest", "make"}
    assert all(f'"{name}>=' in extra for name in ("ruff", "pytest"))


def test_the_citation_is_of_this_version() -> None:
    citation = values("CITATION.cff")
    assert citation["version"] == __version__
    assert f"image: dragoman:{__version__}\n" in text("deploy/kubernetes.yaml")
    assert citation["license"] == re.findall(r'^license = "(.*)"', text("pyproject.toml"), re.M)[0]
    assert set(citation["keywords"]) < set(
        re.findall(r'"([^"]*)"', text("pyproject.toml").partition("keywords = ")[2].split("]")[0])
    )


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "CITATION.cff"])
def test_people_find_them(name: str) -> None:
    assert name in text("CONTRIBUTING.md")


def test_no_address_is_made_up() -> None:
    """The project has no published home yet, so nothing may name one."""
    assert "[project.urls]" not in text("pyproject.toml").replace("# [project.urls] waits", "")
    assert not {"url", "repository-code", "doi"} & set(values("CITATION.cff"))
