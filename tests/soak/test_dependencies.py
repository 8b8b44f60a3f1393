from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from soak import dependencies as module
from soak.dependencies import Dependency, brought_by, dependencies, spelled

ROOT = Path(__file__).parents[2]


def dependency(licence: str) -> Dependency:
    return Dependency("a", "1", licence, direct=True, extras=frozenset({""}))


@pytest.fixture(scope="module")
def found() -> list[Dependency]:
    return dependencies()


def test_every_installed_dependency_has_an_allowed_licence(found: list[Dependency]) -> None:
    assert {"torch", "sacrebleu", "pydantic-core", "pytest"} <= {one.name for one in found}
    assert not [(one.name, one.licence) for one in found if not one.allowed]


def test_the_document_lists_what_users_ask_for(found: list[Dependency]) -> None:
    written = (ROOT / "docs/dependencies.md").read_text("utf-8")
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    listed = {str(canonicalize_name(pin.name)): pin.specifier for pin in pins}
    for one in found:
        if one.direct and not one.only_tools:
            assert f"| **{one.name}** |" in written
            if listed[one.name].contains(one.version):  # other versions may write it differently
                assert f"| **{one.name}** | {one.licence} |" in written


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("MPL-2.0 AND MIT", True),
        ("Apache-2.0 OR BSD-2-Clause", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("SSPL-1.0", False),
        ("UNKNOWN", False),
        ("unknown", False),
    ],
)
def test_the_rule(licence: str, allowed: bool) -> None:
    assert dependency(licence).allowed is allowed


def test_nvidias_packages_come_with_pytorch_alone() -> None:
    terms = "Other/Proprietary License"
    for name, direct, allowed in (
        ("nvidia-cublas-cu12", False, True),
        ("cuda-bindings", False, True),
        ("nvidia-cublas-cu12", True, False),
        ("other", False, False),
    ):
        one = Dependency(name, "1", terms, direct=direct, extras=frozenset({""}))
        assert one.allowed is allowed, name


def test_spellings_of_one_licence() -> None:
    assert spelled("MIT License") == "MIT"
    assert spelled("MIT License; Apache Software License") == "MIT OR Apache-2.0"
    assert spelled("Apache-2.0 AND Apache-2.0 WITH LLVM-exception") == "Apache-2.0"
    assert spelled("GNU General Public License v3 (GPLv3)").startswith("GNU General")


def test_what_dependencies_need_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Known:
        def __init__(self, requires: list[str]) -> None:
            self.requires = requires

    known = {
        "a": Known(["b[fast]>=1", "gone; extra == 'other'"]),
        "b": Known(["c; extra == 'fast'", "d; extra == 'slow'", "a", "not-installed"]),
        "c": Known([]),
        "d": Known([]),
    }

    def distribution(name: str) -> Known:
        if name not in known:
            raise metadata.PackageNotFoundError(name)
        return known[name]

    monkeypatch.setattr(metadata, "distribution", distribution)
    assert set(brought_by(["a"], frozenset())) == {"a", "b", "c"}
    assert set(brought_by(["a; extra == 'x'"], frozenset({"x"}))) == {"a", "b", "c"}
    assert not brought_by(["a; extra == 'x'"], frozenset())


def test_names_are_compared_as_indexes_do() -> None:
    assert {canonicalize_name(name) for name in module.READ_BY_HAND} == set(module.READ_BY_HAND)
