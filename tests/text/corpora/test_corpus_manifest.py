"""The manifest that comes along, and what no manifest may say."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from corpora_web import sha256

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.text.corpora.corpus_manifest import Corpus, CorpusFile, corpora
from dragoman.text.public_corpora import corpora_folder

ALL = pytest.mark.parametrize("name", corpora())


@ALL
def test_everything_comes_from_a_public_address(name: str) -> None:
    one = corpora()[name]
    urls = [archive.url for archive in one.archives]
    urls += [file.url for file in one.files if file.url is not None]
    assert bool(urls) == (one.made_from is None)
    for url in urls:
        assert re.match(
            r"https://(raw\.githubusercontent\.com|files\.pythonhosted\.org|(www|data)\.statmt\.org)/",
            one.whole(url),
        )


def test_what_is_downloaded_side_by_side_has_names_of_its_own() -> None:
    addresses: dict[str, str] = {}
    for one in corpora().values():
        archives = [archive.url for archive in one.archives]
        for address in (*archives, *(file.url for file in one.files if file.url is not None)):
            url = one.whole(address)
            assert addresses.setdefault(url.rpartition("/")[2], url) == url


@ALL
def test_sides_are_joined_from_the_same_parts(name: str) -> None:
    one = corpora()[name]
    for file in one.files:
        side = file.path.removesuffix(".gz").rpartition(".")[2]
        for other in one.files:
            if other.aligned_with == file.aligned_with and file.parts:
                assert [part.archive for part in file.parts] == [
                    part.archive for part in other.parts
                ]
        for part in file.parts:
            assert part.member.removesuffix(".gz").removesuffix(".sgm").endswith(f".{side}")


@pytest.mark.parametrize(
    "name", ["multi30k", "homeassistant", "libreoffice", "wesnoth", "pydocs", "treebank"]
)
def test_texts_are_those_that_results_are_about(name: str) -> None:
    folder = corpora_folder() / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not there")
    for file in corpora()[name].files:
        if file.made_from is not None and not (folder / file.path).exists():
            continue  # the corpus is complete without it
        text = gzip.decompress((folder / file.path).read_bytes())
        assert (len(text), sha256(text)) == (file.bytes, file.sha256)


FILE = {"path": "a.en.gz", "url": "a", "bytes": 1, "sha256": "0" * 64}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"path": "../a.gz"}, "not the name of a .gz file within the corpus"),
        ({"path": "/a.gz"}, "not the name of a .gz file within the corpus"),
        ({"path": "a.txt"}, "not the name of a .gz file within the corpus"),
        ({"parts": [{"archive": "x", "member": "y"}]}, "has a url and parts"),
        ({"bytes": None}, "bytes and sha256 go together"),
        ({"sha256": "00"}, "pattern"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(CorpusFile, FILE | change, "manifest")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"url": None}, "has neither url nor parts"),
        ({"url": None, "parts": [{"archive": "x", "member": "y"}]}, "no archive is called x"),
    ],
)
def test_a_corpus_whose_files_come_from_nowhere_is_refused(
    change: dict[str, Any], problem: str
) -> None:
    said = dict.fromkeys(("about", "licence", "terms", "home", "address"), "x")
    with pytest.raises(ConfigError, match=problem):
        parse(Corpus, {**said, "languages": ["en"], "files": [FILE | change]}, "manifest")


def test_one_file_that_can_only_be_copied_has_a_digest_and_no_url() -> None:
    said = dict.fromkeys(("about", "licence", "terms", "home", "address"), "x")
    file = FILE | {"made_from": "x"}
    with pytest.raises(ConfigError, match="only be copied has a digest and no url"):
        parse(Corpus, {**said, "languages": ["en"], "files": [file]}, "manifest")


@pytest.mark.parametrize("change", [{}, {"url": None, "bytes": None, "sha256": None}])
def test_a_file_that_can_only_be_copied_is_known_by_its_digest(change: dict[str, Any]) -> None:
    said = dict.fromkeys(("about", "licence", "terms", "home", "made_from"), "x")
    with pytest.raises(ConfigError, match="only be copied has a digest and no url"):
        parse(Corpus, {**said, "languages": ["en"], "files": [FILE | change]}, "manifest")
