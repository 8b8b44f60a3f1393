from __future__ import annotations

import sys
from collections import OrderedDict
from pathlib import Path
from typing import NoReturn

import pytest
from installed_package import installed_package

from dragoman.core import plugins
from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.core.plugins import Registry, installed, load_class

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
        assert list(installed(GROUP)) == ["cat"]
        assert "zoo_of_animals" not in sys.modules
        assert load_class(GROUP, "cat", dict).__name__ == "Animal"
    assert not installed(GROUP)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("zoo_of_mistakes:Stone", "not a subclass of builtins.dict"),
        ("zoo_of_mistakes:broken", "not a subclass of builtins.dict"),
        ("zoo_of_mistakes:Missing", "AttributeError"),
        ("zoo_that_is_not:Animal", "ModuleNotFoundError: No module named 'zoo_that_is_not'"),
    ],
)
def test_a_broken_package_is_named(value: str, said: str, tmp_path: Path) -> None:
    entries = {"stone": value, "cat": "zoo_of_mistakes:Animal"}
    with installed_package(tmp_path, "zoo_of_mistakes", SOURCE, GROUP, entries):
        with pytest.raises(ConfigError, match="of zoo_of_mistakes") as caught:
            load_class(GROUP, "stone", dict)
        assert f"{GROUP}: stone ({value} of zoo_of_mistakes)" in str(caught.value)
        assert said in str(caught.value)
        assert load_class(GROUP, "cat", dict).__name__ == "Animal"


def test_two_packages_with_one_name_are_both_told(tmp_path: Path) -> None:
    cat, dog = {"cat": "a_zoo:Animal"}, {"cat": "b_zoo:Animal", "dog": "b_zoo:Animal"}
    with (
        installed_package(tmp_path / "b", "b_zoo", SOURCE, GROUP, dog),
        installed_package(tmp_path / "a", "a_zoo", SOURCE, GROUP, cat),
    ):
        with pytest.raises(ConfigError, match="a_zoo and b_zoo both add cat; uninstall one"):
            load_class(GROUP, "cat", dict)
        assert load_class(GROUP, "dog", dict).__name__ == "Animal"


def test_entry_points_are_read_only_for_names_that_are_not_built_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unread(group: str) -> NoReturn:
        raise AssertionError(group)

    monkeypatch.setattr(plugins, "installed", unread)
    animals = Registry(GROUP, dict, {"cow": "collections:OrderedDict", "ox": dict}, "animal")
    assert animals.find("cow") is OrderedDict
    assert animals.find("ox") is dict
    with pytest.raises(AssertionError, match=GROUP):
        animals.find("cat")


def test_a_name_of_ours_is_refused_with_the_package(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    animals: Registry[dict[str, str]] = Registry(
        GROUP, "builtins:dict", {"cat": "collections:OrderedDict"}, "beast"
    )
    entries = {"cat": "zoo_of_cats:Animal", "dog": "zoo_of_cats:Animal"}
    with installed_package(tmp_path, "zoo_of_cats", SOURCE, GROUP, entries):
        assert animals.find("cat") is OrderedDict
        assert animals.names() == animals.names() == ["cat", "dog"]
        assert animals.find("dog").__name__ == "Animal"
        with pytest.raises(ConfigError, match="no beast 'hen'; choose one of: cat, dog"):
            animals.find("hen")
    assert [record.getMessage() for record in caplog.records] == [
        f"{GROUP}: cat of zoo_of_cats is not used, as a beast that comes with Dragoman has this "
        "name; the package must choose another"
    ]


def test_a_package_says_itself_which_program_is_missing(tmp_path: Path) -> None:
    source = (
        'from dragoman.core.errors import MissingExtraError\nraise MissingExtraError("no cows")'
    )
    entries = {"cow": "zoo_of_lacks:Animal"}
    with (
        installed_package(tmp_path, "zoo_of_lacks", source, GROUP, entries),
        pytest.raises(MissingExtraError, match=r"^no cows$"),
    ):
        load_class(GROUP, "cow", dict)
