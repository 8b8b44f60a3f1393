"""Test sets by name: through sacrebleu's downloader, into its folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_fixtures import web  # noqa: F401 - a fixture
from corpora_web import Web
from registered_sets import REFERENCES, SOURCES, Register, register, wmt_xml  # noqa: F401

from dragoman.core.errors import DownloadError, StorageError
from dragoman.text.sacrebleu_sets import languages_of_set, own_languages, set_files, set_problems

SEGMENTS = [line.replace("&amp;", "&") for line in SOURCES]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_a_set_is_downloaded_once_and_has_all_its_references(
    web: Web,  # noqa: F811
    register: Register,  # noqa: F811
    tmp_path: Path,
) -> None:
    register(web)
    found = set_files("small/en-de")
    assert found.source.parent == tmp_path / "sacrebleu" / "small"
    assert lines(found.source) == SOURCES  # sacrebleu leaves the entities of SGM as they are
    assert [lines(path) for path in found.references] == REFERENCES
    set_files.cache_clear()
    assert set_files("small/en-de") == found
    assert len(web.asked) == 1


def test_of_a_set_in_xml_the_references_that_sacrebleu_scores_against(
    web: Web,  # noqa: F811
    register: Register,  # noqa: F811
) -> None:
    register(web, "of/one", xml=wmt_xml("A"))
    register(web, "of/two", xml=wmt_xml("AB"))
    with pytest.raises(DownloadError, match="digest"):
        set_files("of/one/en-de")  # whose archive is the other's by now
    found = set_files("of/two/en-de")
    assert lines(found.source) == SEGMENTS
    assert [path.name for path in found.references] == [
        "of_two.en-de.ref-A",
        "of_two.en-de.ref-B",
    ]
    assert languages_of_set("of/two/en-de") == ("en", "de")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wmt22", "'wmt22' has no language pair; name set and pair, such as wmt22/en-de"),
        ("wtm22/en-de", r"no test set 'wtm22'; did you mean 'wmt22'\? sets there: "),
        ("wmt22/en-dd", r"wmt22 has no language pair 'en-dd'; did you mean 'en-de'\? pairs there"),
    ],
)
def test_names_that_sacrebleu_does_not_know(name: str, said: str) -> None:
    assert list(set_problems("wmt22/en-de", [])) == []
    assert re.search(said, next(set_problems(name, [])))


def test_languages_are_called_as_the_run_calls_them() -> None:
    assert own_languages("wmt22/en-zh", ("en-GB", "zh-Hans")) == ("en-GB", "zh-Hans")
    assert own_languages("wmt22/en-zh", ("source", "target")) == ("source", "target")
    assert own_languages("wmt22/en-zh", ("de", "ko")) == ("en", "zh")


def test_a_set_that_is_not_there(web: Web, register: Register) -> None:  # noqa: F811
    register(web)
    del web.files["set.tgz"]
    message = r"small/en-de: cannot be downloaded \(Not Found\); check the connection"
    with pytest.raises(DownloadError, match=message):
        set_files("small/en-de")


def test_another_content_is_refused_and_not_kept(
    web: Web,  # noqa: F811
    register: Register,  # noqa: F811
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    register(web, digest="0" * 32)
    with pytest.raises(DownloadError, match="has another MD5 digest, and was removed; repeat"):
        set_files("small/en-de")
    assert not list((tmp_path / "sacrebleu/small").rglob("*.tgz"))
    assert capfd.readouterr().err == ""
    register(web)
    assert set_files("small/en-de").source.is_file()


def test_an_archive_that_was_cut_off_is_downloaded_again(
    web: Web,  # noqa: F811
    register: Register,  # noqa: F811
    tmp_path: Path,
) -> None:
    register(web)
    archive = tmp_path / "sacrebleu/small/raw/small.set.tgz"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(web.files["set.tgz"][:50])  # as a process leaves it that was killed
    with pytest.raises(DownloadError, match="and was removed; repeat the command"):
        set_files("small/en-de")
    assert set_files("small/en-de").source.is_file()
    set_files.cache_clear()
    set_files("small/en-de").source.write_text("one\n")
    set_files.cache_clear()
    with pytest.raises(DownloadError, match="small is incomplete; remove it"):
        set_files("small/en-de")


def test_a_folder_that_cannot_be_written(web: Web, register: Register, tmp_path: Path) -> None:  # noqa: F811
    register(web)
    (tmp_path / "sacrebleu").write_text("")
    with pytest.raises(StorageError, match="sacrebleu"):
        set_files("small/en-de")
