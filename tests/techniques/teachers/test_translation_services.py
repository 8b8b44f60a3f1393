"""Servers that translate, over the three APIs of our own server, as teachers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from api_server import deepl_server, libre_server, v1_server

from dragoman.core.errors import ConfigError, ServiceError
from dragoman.server.server_config import LimitsConfig
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher
from dragoman.techniques.teachers.taught_corpus import teach_corpus
from dragoman.techniques.teachers.teacher_config import ApiName, TeacherConfig
from dragoman.text.examples import Direction
from dragoman.translation.synthesis import GivenLine

EN_DE = Direction(source_language="en", target_language="de")
SERVERS = {"deepl": deepl_server, "libretranslate": libre_server, "dragoman": v1_server}
TEXTS = ["one house", "", "Two. Houses.", "three"]


def taught(address: str, api: ApiName, output: Path, **settings: Any) -> list[dict[str, Any]]:
    config = TeacherConfig(
        url=address, api=api, **{"lines_per_request": 2, "check_language": False, **settings}
    )
    lines = [GivenLine(text, number) for number, text in enumerate(TEXTS, 1)]
    corpus = teach_corpus(RemoteTeacher(config, EN_DE), lines, output, known="source")
    return [json.loads(line) for line in gzip.decompress(corpus.path.read_bytes()).splitlines()]


@pytest.mark.parametrize("api", SERVERS)
def test_lines_are_translated_whole_and_in_order(api: ApiName, tmp_path: Path) -> None:
    with SERVERS[api](tmp_path) as server:
        found = taught(server.address, api, tmp_path / "made")
    assert [row["line"] for row in found] == [1, 3, 4]
    assert [row["target"] for row in found] == ["ONE HOUSEde", "TWO.de HOUSES.de", "THREEde"]
    assert found[0]["method"] == f"{api} API"


@pytest.mark.parametrize("api", SERVERS)
def test_a_missing_key_is_a_clear_error(
    api: ApiName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SERVERS[api](tmp_path, require_key=True) as server:
        with pytest.raises(ServiceError):
            taught(server.address, api, tmp_path / "made")
        _, key = server.store.create_key("teacher")
        monkeypatch.setenv("DRAGOMAN_TEACHER_KEY", key)
        assert len(taught(server.address, api, tmp_path / "made")) == 3


def test_several_candidates_of_our_own_api(tmp_path: Path) -> None:
    with v1_server(tmp_path) as server:
        taught(server.address, "dragoman", tmp_path / "made", candidates=3, concurrency=1)
        assert {request.nbest for call in server.service.calls for request in call} == {3}
    answers = (tmp_path / "made" / "answers.jsonl").read_text().splitlines()
    assert [len(one["candidates"]) for one in json.loads(answers[0])["lines"]] == [3, 3]


def test_terms_reach_our_own_api(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("house\tHaus\n")
    with v1_server(tmp_path) as server:
        taught(server.address, "dragoman", tmp_path / "made", glossary=tmp_path / "terms.tsv")
        asked = {request.text: request for call in server.service.calls for request in call}
    found = asked["one house"].glossary
    assert found is not None
    assert [(term.source, term.targets) for term in found.terms] == [("house", ("Haus",))]
    assert asked["three"].glossary is None
    assert asked["three"].split == "none"


def test_a_request_that_is_too_large_is_divided(tmp_path: Path) -> None:
    lines = [GivenLine(text, number) for number, text in enumerate("abcdefgh", 1)]

    def teacher(address: str, size: int, bound: int | None) -> RemoteTeacher:
        settings: dict[str, Any] = {"lines_per_request": size, "max_requests": bound}
        config = TeacherConfig(url=address, concurrency=1, check_language=False, **settings)
        return RemoteTeacher(config, EN_DE)

    with v1_server(tmp_path, limits=LimitsConfig(items=2)) as server:
        output = tmp_path / "made"
        with pytest.raises(ServiceError, match="max_requests"):
            teach_corpus(teacher(server.address, 2, 1), lines, output, known="source")
        corpus = teach_corpus(teacher(server.address, 4, None), lines, output, known="source")
        assert (corpus.lines, corpus.refused) == (8, 0)


@pytest.mark.parametrize(
    ("url", "api"),
    [
        ("https://api-free.deepl.com", "deepl"),
        ("https://api.deepl.com/v2", "deepl"),
        ("http://deepl.com.example.org", "dragoman"),
        ("https://libretranslate.com", "libretranslate"),
        ("http://localhost:8000/v1", "openai"),
        ("http://localhost:5000", "dragoman"),
    ],
)
def test_the_address_decides_on_the_api(url: str, api: ApiName) -> None:
    assert TeacherConfig(url=url).api_name == api


def test_languages_need_names(tmp_path: Path) -> None:
    unnamed = Direction(source_language="source", target_language="target")
    with pytest.raises(ConfigError, match="set source_language and target_language"):
        RemoteTeacher(TeacherConfig(url="http://localhost:5000"), unnamed)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"url": "http://a/v1", "candidates": 3}, "set temperature"),
        ({"url": "http://a", "api": "deepl", "candidates": 3}, "one translation"),
        ({"url": "http://a", "temperature": 1.0}, "temperature: 1.0 is not read"),
        ({"url": "http://a", "api": "deepl", "glossary": "x"}, "glossary: x is not read"),
        ({"url": "http://a/v1", "max_cost": 1.0}, "needs a price"),
        ({"url": "http://a/v1", "examples": 5}, "examples: 5 is not read without memory"),
    ],
)
def test_settings_that_are_not_read_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        TeacherConfig(**settings)


def test_the_page_names_every_setting() -> None:
    page = (Path(__file__).parents[3] / "docs" / "teachers.md").read_text("utf-8")
    missing = [name for name in TeacherConfig.model_fields if f"`{name}`" not in page]
    assert not missing
