"""A pile of text: files and folders, in one or several target languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from installed_package import installed_package
from project_trees import STRINGS, catalogue, keyed, layouts, write_tree

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.formats import GROUP
from dragoman.workflows.material import Choice, Material, find_part
from dragoman.workflows.pile import find_materials, find_parts


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with all layouts."""
    for files in layouts().values():
        write_tree(tmp_path / "project", files)
    return tmp_path / "project"


def pairs(material: Material) -> list[tuple[str, str]]:
    return [pair[:2] for part in material.train for pair in read_pairs(part)]


def test_each_layout_is_a_part(project: Path) -> None:
    (found,) = find_materials([project], source="en", target="de")
    assert [part.format for part in found.train] == list(layouts())
    assert {part.path for part in found.train} == {str(project)}
    assert pairs(found) == list(STRINGS.items()) * len(layouts())
    assert (found.dev, found.test) == (None, None)


def test_one_layout_by_its_format(project: Path) -> None:
    for told in ("po", "po-files"):
        (found,) = find_materials([project], source="en", target="de", file_format=told)
        assert [part.format for part in found.train] == ["po-files"]
    with pytest.raises(ConfigError, match="--format trees"):
        find_materials([project], source="en", target="de", file_format="trees")


def test_the_only_languages_need_no_names(project: Path) -> None:
    (found,) = find_materials([project])
    assert (found.source_language, found.target_language) == ("en", "de")
    (found,) = find_materials([project], target="de")
    assert found.source_language == "en"
    write_tree(project, {"locales/fr/app.json": keyed(STRINGS)})
    with pytest.raises(ConfigError, match="it has de, en, en-US, fr; say which"):
        find_materials([project])


def test_indonesian_is_a_language_and_the_number_of_a_row_is_not(tmp_path: Path) -> None:
    catalogues = {"locale/id/LC_MESSAGES/app.po": catalogue(STRINGS)}
    write_tree(tmp_path / "project", catalogues)
    (found,) = find_materials([tmp_path / "project"], source="en")
    assert found.target_language == "id"
    write_tree(tmp_path / "table", {"app.tsv": "id\ten\tde\n1\tOne\tEins\n"})
    (found,) = find_materials([tmp_path / "table"])
    assert (found.source_language, found.target_language) == ("en", "de")
    write_tree(tmp_path / "sides", {"app.tsv": "en\tid\nOne\tSatu\n"})
    (found,) = find_materials([tmp_path / "sides"])
    assert found.target_language == "id"


def test_plain_files_below_a_folder_with_a_language_in_its_name(tmp_path: Path) -> None:
    files = {f"corpus.de/{name}.{side}": f"{side}\n" for name in "ab" for side in ("en", "de")}
    write_tree(tmp_path, files)
    (found,) = find_materials([tmp_path / name for name in files], source="en", target="de")
    assert pairs(found) == [("en", "de")] * 2


def test_files_and_folders(project: Path, tmp_path: Path) -> None:
    files = {
        "a.tsv": "en\tde\nOne\tEins\n",
        "b.po": catalogue({"Two": "Zwei"}),
        "c.en": "Three\n",
        "c.de": "Drei\n",
    }
    write_tree(tmp_path, files)
    others = [tmp_path / name for name in files]
    (found,) = find_materials([project / "locale", *others], source="en", target="de")
    assert pairs(found) == [
        *STRINGS.items(),
        ("One", "Eins"),
        ("Two", "Zwei"),
        ("Three", "Drei"),
    ]
    with pytest.raises(ConfigError, match="say which languages"):
        find_materials(others)
    with pytest.raises(ConfigError, match="a plain file has one side"):
        find_materials(others[:3], source="en", target="de")
    with pytest.raises(DataError, match="no such file"):
        find_materials([*others, tmp_path / "gone"], source="en", target="de")


def test_a_single_file_stays_what_it_was(project: Path) -> None:
    (found,) = find_materials([project / "all.tsv"], source="en", target="de")
    assert found.train[0].format is None
    parts, languages = find_parts([project / "text/ui.en", project / "text/ui.de"], Choice())
    assert languages == ("en", "de")
    assert parts[0].path is None
    parts, languages = find_parts([project / "locale"], Choice("en", "de"))
    assert languages == ("en", "de")
    assert [part.format for part in parts] == ["po-files"]


def test_a_folder_as_one_part_by_its_format(project: Path) -> None:
    part, languages = find_part([project], Choice("en", "de", "json-files"))
    assert (part.format, languages) == ("json-files", ("en", "de"))
    with pytest.raises(DataError, match="not a file"):
        find_part([project], Choice("en", "de"))


def test_several_languages(project: Path) -> None:
    write_tree(
        project, {"locales/fr/app.json": keyed(STRINGS), "po/ko.po": catalogue({"Open": "열기"})}
    )
    found = find_materials([project], source="en", target="de, fr,ko")
    assert [one.target_language for one in found] == ["de", "fr", "ko"]
    assert [[part.format for part in one.train] for one in found[1:]] == [
        ["json-files"],
        ["po-files"],
    ]
    with pytest.raises(ConfigError, match="named twice"):
        find_materials([project], source="en", target="de,de")
    with pytest.raises(DataError, match="from 'en' into 'it'"):
        find_materials([project], source="en", target="de,it")


@pytest.mark.parametrize("held", ["dev", "test"])
def test_given_sets(project: Path, tmp_path: Path, held: str) -> None:
    write_tree(tmp_path, {"set.tsv": "en\tde\nOne\tEins\n", "po/de.po": catalogue({"Two": "Zwei"})})

    def given(path: Path) -> Any:
        choices: Any = {held: [path]}
        (found,) = find_materials([project], source="en", target="de", **choices)
        return next(read_pairs(getattr(found, held)))[:2]

    assert given(tmp_path / "set.tsv") == ("One", "Eins")
    assert given(tmp_path / "po") == ("Two", "Zwei")
    with pytest.raises(ConfigError, match="name a folder with those of one"):
        given(project)


def test_unreviewed_pairs_where_a_format_has_them(project: Path) -> None:
    write_tree(project, {"po/de.po": catalogue({"Old": "Alt"}, fuzzy=("Old",))})
    (found,) = find_materials([project], source="en", target="de", unreviewed=True)
    assert {part.format for part in found.train if part.unreviewed} == {
        *("po-files", "qt-files", "xcstrings-files", "xliff-files"),
    }
    assert ("Old", "Alt") in pairs(found)


def test_a_folder_without_a_language_is_left_out(
    project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_tree(tmp_path / "other", {"locale/fr/LC_MESSAGES/app.po": catalogue(STRINGS)})
    folders = [project / "locale", tmp_path / "other"]
    (found,) = find_materials(folders, source="en", target="de")
    assert [part.path for part in found.train] == [str(project / "locale")]
    assert "other: no translations from 'en' into 'de'; languages there: gettext" in caplog.text
    with pytest.raises(DataError, match="from 'en' into 'ko' in any of them"):
        find_materials(folders, source="en", target="ko")


def test_what_is_not_there(project: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError) as missing:
        find_materials([project], source="en", target="fr")
    assert "from 'en' into 'fr'; languages there: gettext catalogues: de, en; JSON" in str(
        missing.value
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError) as nothing:
        find_materials([tmp_path / "empty"], source="en", target="fr")
    assert "no translations are known in it; looked for gettext catalogues (loc" in str(
        nothing.value
    )
    with pytest.raises(DataError, match="no translations are known"):
        find_materials([tmp_path / "empty"])


def test_xliff_in_several_languages(tmp_path: Path) -> None:
    files = "".join(
        f"<file original='a' source-language='en' target-language='{language}'><body><trans-unit "
        f"id='1'><source>Yes</source><target>{text}</target></trans-unit></body></file>"
        for language, text in (("de", "Ja"), ("fr", "Oui"))
    )
    path = tmp_path / "all.xlf"
    path.write_text(f"<xliff version='1.2'>{files}</xliff>", encoding="utf-8")
    (found,) = find_materials([path], source="en", target="fr")
    assert pairs(found) == [("Yes", "Oui")]
    with pytest.raises(ConfigError, match="it has de, en, fr"):
        find_materials([path])


LAYOUT = """
from dragoman.text.formats.projects.string_projects import KeyedFiles
from dragoman.text.string_files.keyed_string import KeyedString

def lines(content):
    pairs = (line.split("=") for line in content.decode().splitlines())
    return [KeyedString((key,), text) for key, text in pairs]

class IniFiles(KeyedFiles):
    name = "ini-files"
    title = "INI files"
    examples = "lang/LANGUAGE.ini"
    readers = {".ini": lines}
"""


def test_a_layout_of_another_package(tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "app", {"lang/en.ini": "a=One\nb=Two", "lang/de.ini": "b=Zwei"})
    entries = {"ini-files": "layouts_outside:IniFiles"}
    with installed_package(tmp_path / "site", "layouts_outside", LAYOUT, GROUP, entries):
        (found,) = find_materials([folder], source="en", target="de")
        assert [part.format for part in found.train] == ["ini-files"]
        assert pairs(found) == [("Two", "Zwei")]
    with pytest.raises(DataError, match="no translations are known"):
        find_materials([folder], source="en", target="de")
