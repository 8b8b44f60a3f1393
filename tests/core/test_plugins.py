from __future__ import annotations

import sys
from pathlib import Path

import pytest
from installed_package import installed_package

from dragoman.core.errors import ConfigError
from dragoman.core.plugins import installed, load_class

GROUP = "dragoman.animals"
SOURCE = """
class Animal(dict): pass
class Stone: pass
broken = 1
"""


def test_what_is_installed_is_found_and_loaded_when_asked_for(tmp_path: Path) -> None:
    with installed_package(
        tmp_path, "zoo_of_animals", SOURCE, GROUP, {"cat": "zoo_of_animals:Animal"}
    ):
        entries = installed(GROUP)
        assert list(entries) == ["cat"]
        assert "zoo_of_animals" not in sys.modules
        assert load_class(entries["cat"], dict).__name__ == "Animal"
    assert not installed(GROUP)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("zoo_of_mistakes:Stone", "no subclass of builtins.dict"),
        ("zoo_of_mistakes:broken", "no subclass of builtins.dict"),
        ("zoo_of_mistakes:Missing", "AttributeError"),
        ("zoo_that_is_not:Animal", "ModuleNotFoundError: No module named 'zoo_that_is_not'"),
    ],
)
def test_a_broken_package_is_named(value: str, said: str, tmp_path: Path) -> None:
    entries = {"stone": value, "cat": "zoo_of_mistakes:Animal"}
    with installed_package(tmp_path, "zoo_of_mistakes", SOURCE, GROUP, entries):
        with pytest.raises(ConfigError, match="of zoo_of_mistakes") as caught:
            load_class(installed(GROUP)["stone"], dict)
        assert f"{GROUP}: stone ({value} of zoo_of_mistakes)" in str(caught.value)
        assert said in str(caught.value)
        assert load_class(installed(GROUP)["cat"], dict).__name__ == "Animal"


def test_of_two_with_one_name_the_first_that_python_finds_counts(tmp_path: Path) -> None:
    with (
        installed_package(tmp_path / "b", "later_zoo", SOURCE, GROUP, {"cat": "later_zoo:Stone"}),
        installed_package(
            tmp_path / "a", "earlier_zoo", SOURCE, GROUP, {"cat": "earlier_zoo:Animal"}
        ),
    ):
        assert installed(GROUP)["cat"].value == "earlier_zoo:Animal"
