"""All APIs of a server at once: one store, also without it, no room for temporary files."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import deepl_server, v1_server
from echo_service import EchoService
from running_server import running

from dragoman.saved.system import TranslationSystem
from dragoman.server.app import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.server_config import ServerConfig

CORRECTION = {"source": "en", "target": "de"}
DEEPL = {"Authorization": "DeepL-Auth-Key dg_secret"}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose database another process has taken for itself."""
    database = tmp_path_factory.mktemp("store") / "server.sqlite"
    config = ServerConfig(systems=(TranslationSystem(models=(Path("none"),)),))
    with ServerStore(str(database), busy_seconds=0.01) as store:
        store.close()  # its connections; it makes others when it needs them
        with closing(sqlite3.connect(database, isolation_level=None)) as other:
            other.execute("PRAGMA locking_mode = EXCLUSIVE")
            other.execute("BEGIN EXCLUSIVE")
            with running(assemble(config, EchoService(), store)) as found:
                yield found


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("POST", "/translate", {"json": {"q": "a", "api_key": "dg_secret", **CORRECTION}}),
        ("POST", "/suggest", {"json": {"q": "a", "s": "b", **CORRECTION}}),
        ("GET", "/frontend/settings", {}),
        ("POST", "/translate_file", {"data": CORRECTION, "files": {"file": ("a.txt", b"a")}}),
        ("POST", "/v2/translate", {"json": {"text": ["a"], "target_lang": "DE"}}),
        ("GET", "/v2/usage", {}),
        ("GET", "/v2/glossaries", {}),
        ("POST", "/v1/corrections", {"json": {"text": "a", "translation": "b", **CORRECTION}}),
        ("GET", "/v1/glossaries", {}),
        ("GET", "/v1/usage", {}),
    ],
)
def test_each_door_asks_to_come_back(
    address: str, method: str, path: str, sent: dict[str, Any]
) -> None:
    headers = DEEPL if path.startswith("/v2") else None
    response = httpx.request(method, address + path, headers=headers, **sent)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "the database does not answer; try again later" in response.text


def test_what_needs_no_database_is_answered(address: str) -> None:
    for path in ("/health", "/v1/health", "/ready", "/metrics", "/languages"):
        assert httpx.get(address + path).status_code == 200
    body = {"q": "Hello.", **CORRECTION}
    answer = httpx.post(f"{address}/translate", json=body).json()
    assert answer["translatedText"] == "HELLO.de"


def test_each_door_takes_large_files_without_room_for_temporary_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    config = ServerConfig(systems=(TranslationSystem(models=(Path("none"),)),))
    file = {"file": ("a.txt", b"x" * 2_000_000)}
    own: dict[str, Any] = {"data": {"source": "en", "target": "de"}, "files": file}
    theirs: dict[str, Any] = {"data": {"source_lang": "EN", "target_lang": "DE"}, "files": file}
    with (
        ServerStore(str(tmp_path / "server.sqlite")) as store,
        running(assemble(config, EchoService(), store)) as address,
    ):
        found = [
            httpx.post(f"{address}/v1/documents", **own),
            httpx.post(f"{address}/v2/document", headers=DEEPL, **theirs),
            httpx.post(f"{address}/translate_file", timeout=30, **own),
        ]
    assert [one.status_code for one in found] == [202, 200, 200], [one.text for one in found]


def ok(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def test_a_dictionary_of_a_region_is_found_under_the_codes_that_it_is_listed_with(
    tmp_path: Path,
) -> None:
    service, key = EchoService(("en", "pt-BR")), {"Authorization": "DeepL-Auth-Key anything"}
    with v1_server(tmp_path, service) as own, deepl_server(tmp_path, service) as deepl:
        body = {"name": "Houses", "source": "en", "target": "pt-BR", "entries": {"house": "casa"}}
        made = ok(httpx.post(f"{own.address}/v1/glossaries", json=body), 201)["id"]
        with httpx.Client(base_url=f"{deepl.address}/v3/glossaries/{made}/", headers=key) as http:
            (listed,) = ok(http.get("."))["dictionaries"]
            codes = {name: listed[name] for name in ("source_lang", "target_lang")}
            assert codes == {"source_lang": "en", "target_lang": "pt-br"}
            (kept,) = ok(http.get("entries", params=codes))["dictionaries"]
            assert kept == {**codes, "entries": "house\tcasa", "entries_format": "tsv"}
            new = {**codes, "entries": "house\tlar\ndoor\tporta", "entries_format": "tsv"}
            assert ok(http.put("dictionaries", json=new)) == {**codes, "entry_count": 2}
            new["entries"] = "roof\ttelhado"
            (changed,) = ok(http.patch(".", json={"dictionaries": [new]}))["dictionaries"]
            assert changed == {**codes, "entry_count": 3}
            assert http.delete("dictionaries", params=codes).status_code == 204
            assert ok(http.get("."))["dictionaries"] == []


def test_a_glossary_of_either_door_serves_both(tmp_path: Path) -> None:
    service, entries = EchoService(("en", "pt-BR")), {"house": "casa"}
    with v1_server(tmp_path, service) as own, deepl_server(tmp_path, service) as deepl:
        body = {"name": "Houses", "source": "en", "target": "pt-BR", "entries": entries}
        made = ok(httpx.post(f"{own.address}/v1/glossaries", json=body), 201)["id"]
        key = {"Authorization": "DeepL-Auth-Key anything"}
        given = {"name": "Houses", "source_lang": "en", "target_lang": "pt"}
        content = {**given, "entries": "house\tcasa", "entries_format": "tsv"}
        theirs = ok(httpx.post(f"{deepl.address}/v2/glossaries", json=content, headers=key), 201)
        for identifier in (made, theirs["glossary_id"]):
            wanted = {"text": "house", "source": "en", "target": "pt-BR", "glossary": identifier}
            ok(httpx.post(f"{own.address}/v1/translate", json=wanted))
            asked = {"text": ["house"], "source_lang": "EN", "target_lang": "PT-BR"}
            asked["glossary_id"] = identifier
            ok(httpx.post(f"{deepl.address}/v2/translate", json=asked, headers=key))
    asked_of = [call[0].glossary for call in service.calls]
    assert [one and one.terms[0].targets for one in asked_of] == [("casa",)] * 4


@pytest.mark.parametrize("path", ["/v1/languages", "/v1/health", "/v2/languages", "/languages"])
def test_figures_name_a_path_with_its_prefix(address: str, path: str) -> None:
    httpx.get(address + path, headers=DEEPL if path.startswith("/v2") else {})
    assert f'path="{path}"' in httpx.get(f"{address}/metrics").text
