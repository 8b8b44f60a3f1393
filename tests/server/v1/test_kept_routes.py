"""Markup and files through /v1, and through the client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import ApiServer, v1_server
from echo_service import EchoService
from office_files import body_of, docx, run

from dragoman import Client
from dragoman.core.errors import ServiceError
from dragoman.server import jobs
from dragoman.server.job_results import UNEXPECTED


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with v1_server(tmp_path_factory.mktemp("files")) as found:
        yield found


@pytest.fixture(scope="module")
def http(server: ApiServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.address) as client:
        yield client


def send(http: httpx.Client, name: str, content: bytes, **fields: Any) -> httpx.Response:
    data = {"target": "de", **fields}
    return http.post("/v1/documents", data=data, files={"file": (name, content)})


def finished(http: httpx.Client, sent: dict[str, Any]) -> dict[str, Any]:
    """The last state of a file."""
    headers = {"Document-Secret": sent["secret"]}
    while True:
        found = http.get(f"/v1/documents/{sent['id']}", headers=headers)
        assert found.status_code == 200, found.text
        state: dict[str, Any] = found.json()
        if state["state"] in {"done", "error"}:
            return state
        time.sleep(0.02)


def test_html_keeps_its_tags(http: httpx.Client) -> None:
    body = {"text": "<p>Hello <b>you</b> &amp; me</p>", "target": "de", "format": "html"}
    (found,) = http.post("/v1/translate", json=body).json()["translations"]
    assert found["text"].startswith("<p>HELLO <b>YOU</b> &amp; ME")
    assert found["text"].endswith("</p>")
    assert found["sentences"] == []
    xml = http.post("/v1/translate", json={**body, "text": "<a><b></a>", "format": "xml"})
    assert (xml.status_code, xml.json()["error"]["kind"]) == (400, "invalid")


def test_a_file_is_sent_watched_and_fetched(http: httpx.Client) -> None:
    response = send(http, "../letter.txt", b"Hello.\r\nYou?\r\n", source="en")
    assert response.status_code == 202
    sent = response.json()
    state = finished(http, sent)
    assert (state["state"], state["progress"], state["secret"]) == ("done", 1.0, None)
    assert state["characters"] == 10
    headers = {"Document-Secret": sent["secret"]}
    result = http.get(f"/v1/documents/{sent['id']}/result", headers=headers)
    assert result.content == b"HELLO.de\r\nYOU?de\r\n"
    name = result.headers["Content-Disposition"].partition("UTF-8''")[2]
    assert name == state["name"]
    assert "/" not in name
    assert http.get(f"/v1/documents/{sent['id']}/result", headers=headers).status_code == 200


def test_a_binary_file_stays_whole(http: httpx.Client) -> None:
    sent = send(http, "a.DOCX", docx(f"<w:p>{run('Hello.')}</w:p>"), source="en").json()
    assert finished(http, sent)["name"] == "a.de.DOCX"
    headers = {"Document-Secret": sent["secret"]}
    result = http.get(f"/v1/documents/{sent['id']}/result", headers=headers)
    assert body_of(result.content) == f"<w:p>{run('HELLO.de')}</w:p>"
    cut = send(http, "a.docx", result.content[:99], source="en").json()
    assert "damaged or cut off" in finished(http, cut)["message"]


def test_a_file_is_only_for_who_has_its_secret(http: httpx.Client) -> None:
    sent = send(http, "a.txt", b"Hello.", source="en").json()
    finished(http, sent)
    for path in (f"/v1/documents/{sent['id']}", f"/v1/documents/{sent['id']}/result"):
        other = http.get(path, headers={"Document-Secret": "wrong"})
        assert (other.status_code, other.json()["error"]["kind"]) == (404, "not_found")
        none = http.get(path)
        assert none.status_code == 400
        assert none.json()["error"]["message"].startswith("Document-Secret: Field required")
    missing = http.get("/v1/documents/none", headers={"Document-Secret": sent["secret"]})
    assert missing.status_code == 404


@pytest.mark.parametrize(
    ("name", "content", "fields", "status", "message"),
    [
        ("a.exe", b"x", {}, 400, "files of the format '.exe' are not translated"),
        ("a", b"x", {}, 400, "the name of the file has no suffix"),
        ("a.txt", b"", {}, 400, "the file is empty"),
        ("a.txt", b"x", {"glossary": "none"}, 404, "this key has no glossary 'none'"),
        ("a.txt", b"x", {"glossary": '{"x"'}, 400, "glossary: it begins like a JSON object, but"),
        ("a.txt", b"x", {"glossary": '{"x":' * 99_999}, 400, "glossary: there are objects in"),
        ("a.txt", b"x", {"glossary": '{"x": 1}'}, 400, "glossary: Input should be a string or a"),
        ("a.txt", b"x", {"glossary": '{" ": "y"}'}, 400, "glossary"),
        ("a.txt", b"x", {"traget": "de"}, 400, "unknown key 'traget'; did you mean 'target'?"),
        ("a.txt", b"x", {"split": "words"}, 400, "split: Input should be 'sentences', 'flowing'"),
        (
            "a.txt",
            b"x",
            {"tags": "<formal>", "split": "words"},
            400,
            "split: Input should be 'sentences', 'flowing'",
        ),
        ("a.txt", b"x", {"tags": ["a"] * 17}, 400, "tags: there are 17; send at most 16"),
    ],
)
def test_a_bad_form_is_told(
    http: httpx.Client, name: str, content: bytes, fields: dict[str, Any], status: int, message: str
) -> None:
    response = send(http, name, content, **fields)
    assert response.status_code == status, response.text
    assert response.json()["error"]["message"].startswith(message)


def test_a_key_without_characters_left_sends_no_files(tmp_path: Path) -> None:
    with v1_server(tmp_path) as server, httpx.Client(base_url=server.address) as http:
        _, secret = server.store.create_key("me", characters_per_month=1)
        http.headers["Authorization"] = f"Bearer {secret}"
        assert http.post("/v1/translate", json={"text": "a", "target": "de"}).status_code == 200
        refused = send(http, "a.txt", b"Hello.")
    assert (refused.status_code, refused.json()["error"]["kind"]) == (429, "quota_exceeded")


def test_terms_come_with_a_file(server: ApiServer, http: httpx.Client) -> None:
    terms = '{"house": ["Haus", "Heim"], "garden": "Garten"}'
    assert finished(http, send(http, "a.txt", b"Hello.", glossary=terms).json())["state"] == "done"
    given = server.service.calls[-1][0].glossary
    assert given is not None
    found = {term.source: term.targets for term in given.terms}
    assert found == {"house": ("Haus", "Heim"), "garden": ("Garten",)}


def test_a_form_without_a_file_is_told(http: httpx.Client) -> None:
    response = http.post("/v1/documents", data={"target": "de"})
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("missing key 'file'")


def test_what_goes_wrong_with_a_file_is_told(http: httpx.Client) -> None:
    sent = send(http, "a.txt", b"Hello.", source="xx").json()
    state = finished(http, sent)
    assert state["state"] == "error"
    assert state["message"] == "no model translates from xx to de"
    headers = {"Document-Secret": sent["secret"]}
    result = http.get(f"/v1/documents/{sent['id']}/result", headers=headers)
    assert (result.status_code, result.json()["error"]["message"]) == (400, state["message"])


def test_a_fault_of_the_server_is_not_the_client_s(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(jobs, "translate_file", broken)
    sent = send(http, "a.txt", b"Hello.", source="en").json()
    state = finished(http, sent)
    assert (state["state"], state["message"]) == ("error", UNEXPECTED)
    headers = {"Document-Secret": sent["secret"]}
    result = http.get(f"/v1/documents/{sent['id']}/result", headers=headers)
    assert (result.status_code, result.json()["error"]["kind"]) == (500, "internal")


def test_a_file_that_is_not_done_is_asked_for_later(tmp_path: Path) -> None:
    with (
        v1_server(tmp_path, EchoService(seconds=30)) as server,
        httpx.Client(base_url=server.address) as http,
    ):
        sent = send(http, "a.txt", b"Hello.", source="en").json()
        headers = {"Document-Secret": sent["secret"]}
        early = http.get(f"/v1/documents/{sent['id']}/result", headers=headers)
        assert (early.status_code, early.json()["error"]["kind"]) == (503, "busy")
        assert early.headers["Retry-After"] == "2"


def test_the_client_translates_files(server: ApiServer, tmp_path: Path) -> None:
    page, output = tmp_path / "page.html", tmp_path / "out" / "page.html"
    page.write_text("<p>Hello <b>you</b></p>", encoding="utf-8")
    shares: list[float] = []

    async def call(source: str | None = None) -> None:
        async with Client(server.address) as client:
            await client.translate_file(
                page,
                output,
                target="de",
                source=source,
                glossary={"Hello": "Hallo"},
                progress=shares.append,
            )

    asyncio.run(call())
    assert output.read_text(encoding="utf-8").startswith("<p>HELLO <b>YOU")
    assert shares[-1] == 1
    given = server.service.calls[-1][0].glossary
    assert given is not None and given.terms[0].targets == ("Hallo",)
    output.unlink()
    with pytest.raises(ServiceError, match="no model translates from xx to de"):
        asyncio.run(call("xx"))
    assert not output.exists()
