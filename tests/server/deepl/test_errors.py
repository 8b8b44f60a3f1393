"""Requests to DeepL's API that make no sense, and those of other clients than DeepL's own."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import ApiServer, deepl_server
from echo_service import EchoService

from dragoman.server.database import StoreLimits
from dragoman.server.server_config import LimitsConfig
from dragoman.translation.service.interface import Pairing

KEY = {"Authorization": "DeepL-Auth-Key any"}
TEXT = {"text": ["Hello."], "target_lang": "DE"}
GLOSSARY = {"name": "Mine", "source_lang": "en", "target_lang": "de", "entries": "dog\tHund"}
NOWHERE = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    limits = LimitsConfig(characters=1000, items=5, body_bytes=10_000)
    with deepl_server(tmp_path_factory.mktemp("deepl"), limits=limits) as found:
        yield found


@pytest.fixture(scope="module")
def http(server: ApiServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.address, headers=KEY, trust_env=False) as client:
        yield client


def answer(response: httpx.Response) -> Any:
    assert response.headers["content-type"] == "application/json"
    return response.json()


def message(response: httpx.Response, status: int) -> str:
    assert response.status_code == status, response.text
    found = answer(response)
    assert set(found) == {"message"}
    return str(found["message"])


def translations(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [one["text"] for one in answer(response)["translations"]]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text": None}, "Parameter 'text' not specified."),
        ({"text": []}, "Parameter 'text' not specified."),
        ({"text": [1]}, "Value for 'text' not supported. It is a string."),
        ({"text": [["deep"]]}, "Value for 'text' not supported."),
        ({"text": {"a": "b"}}, "Value for 'text' not supported."),
        ({"text": ["a \ud800"]}, "half of a surrogate pair"),
        ({"target_lang": None}, "Parameter 'target_lang' not specified."),
        ({"target_lang": ""}, "Parameter 'target_lang' not specified."),
        ({"target_lang": "XX"}, "Value for 'target_lang' not supported. It is one of DE, EN, FR."),
        ({"target_lang": ["DE", {}]}, "Value for 'target_lang' not supported."),
        ({"target_lang": "D\x00E"}, "Value for 'target_lang' not supported."),
        ({"source_lang": "auto"}, "Value for 'source_lang' not supported."),
        ({"source_lang": 7}, "Value for 'source_lang' not supported."),
        ({"source_lang": "FR"}, "Value for 'source_lang' not supported."),
        ({"split_sentences": "often"}, "Value for 'split_sentences' not supported."),
        ({"preserve_formatting": "maybe"}, "Value for 'preserve_formatting' not supported."),
        ({"show_billed_characters": 2}, "Value for 'show_billed_characters' not supported."),
        ({"formality": "rude"}, "Value for 'formality' not supported."),
        ({"formality": "more", "target_lang": "FR"}, "'formality' is not supported for given"),
        ({"model_type": "best"}, "Value for 'model_type' not supported."),
        ({"tag_handling": "markdown"}, "Value for 'tag_handling' not supported."),
        ({"tag_handling": "xml", "ignore_tags": [1]}, "Value for 'ignore_tags' not supported."),
        ({"splitting_tags": "a," * 1000}, "Send at most 1000 names."),
        ({"non_splitting_tags": ["a"] * 999 + ["a,b"]}, "Send at most 1000 names."),
        ({"context": ["a", 1]}, "Value for 'context' not supported."),
        ({"style_id": "x"}, "'style_id' is not supported: this server has no style rules."),
        ({"custom_instructions": ["Be kind."]}, "'custom_instructions' is not supported"),
        ({"translation_memory_id": "x"}, "'translation_memory_id' is not supported"),
        ({"glossary_id": NOWHERE}, "requires the source_lang parameter"),
        ({"glossary_id": NOWHERE, "glossary_ids": [NOWHERE]}, "not both"),
        ({"glossary_ids": list("abcdef"), "source_lang": "en"}, "at most 5 glossaries"),
    ],
)
def test_texts_that_make_no_sense(http: httpx.Client, changes: dict[str, Any], said: str) -> None:
    asked = {name: value for name, value in {**TEXT, **changes}.items() if value is not None}
    assert said in message(http.post("/v2/translate", content=json.dumps(asked), headers=JSON), 400)


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "application/json"),
        (b"", "application/json"),
        (b"[]", "application/json"),
        (b"[" * 10_000, "application/json"),
        (b"\xff", "application/json"),
        (b'{"text": ["a"], "target_lang": "DE", "n": NaN}', "application/json"),
        (b"text=%ff&target_lang=DE", "application/x-www-form-urlencoded"),
        (b"text=a&target_lang=DE", "text/plain"),
        (b"--x\r\nrubbish", "multipart/form-data; boundary=x"),
        (b"rubbish", "multipart/form-data"),
    ],
)
def test_bodies_that_are_broken(http: httpx.Client, body: bytes, kind: str) -> None:
    headers = {"Content-Type": kind}
    assert message(http.post("/v2/translate", content=body, headers=headers), 400)


def test_bounds(http: httpx.Client) -> None:
    asked = {**TEXT, "text": ["a"] * 6}
    assert "6 texts" in message(http.post("/v2/translate", json=asked), 413)
    asked = {**TEXT, "text": ["a" * 1001]}
    assert "1001 characters" in message(http.post("/v2/translate", json=asked), 413)
    asked = {**TEXT, "context": "a" * 1001}
    assert "'context' has 1001" in message(http.post("/v2/translate", json=asked), 413)
    asked = {**TEXT, "text": ["a" * 10_000]}
    assert message(http.post("/v2/translate", json=asked), 413)


def test_a_full_queue_says_when_to_come_again(http: httpx.Client) -> None:
    response = http.post("/v2/translate", json={**TEXT, "text": ["busy"]})
    assert "too many texts are waiting" in message(response, 503)
    assert response.headers["Retry-After"] == "2"


def test_paths_and_methods_that_there_are_not(http: httpx.Client) -> None:
    assert message(http.get("/v2/nothing"), 404)
    assert message(http.delete("/v2/translate"), 405)
    assert "style rules" in message(http.get("/v3/style_rules"), 404)
    assert "correcting texts" in message(http.post("/v2/write/rephrase", json={}), 404)


def test_forms_and_addresses_are_read_as_json_is(http: httpx.Client, server: ApiServer) -> None:
    form = {"text": ["Grüße", "a b"], "target_lang": "DE", "source_lang": "EN"}
    expected = ["GRÜSSEde", "A Bde"]
    assert translations(http.post("/v2/translate", json=form)) == expected
    assert translations(http.post("/v2/translate", data=form)) == expected
    assert translations(http.get("/v2/translate", params=form)) == expected
    assert translations(http.post("/v2/translate", params=form)) == expected
    # As curl -d sends it.
    raw = "text=Grüße&text=a+b&target_lang=de&source_lang=en".encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert translations(http.post("/v2/translate", content=raw, headers=headers)) == expected
    tags = {**form, "formality": "less", "split_sentences": "0", "preserve_formatting": "1"}
    http.post("/v2/translate", data=tags)
    assert server.service.calls[-1][0].tags == ("<informal>",)
    assert server.service.calls[-1][0].split == "none"


def test_weblate_finds_what_it_asks_for(http: httpx.Client, server: ApiServer) -> None:
    """Its requests, as weblate.machinery.deepl makes them."""
    listed = answer(http.get("/v2/languages", params={"type": "target"}))
    formal = {one["language"] for one in listed if one.get("supports_formality")}
    pairs = answer(http.get("/v2/glossary-language-pairs"))["supported_languages"]
    assert formal == {"DE"} and {"source_lang": "en", "target_lang": "de"} in pairs
    terms = {**GLOSSARY, "entries_format": "tsv"}
    assert http.post("/v2/glossaries", json=terms).status_code == 201
    found = answer(http.get("/v2/glossaries"))["glossaries"][0]
    asked = {
        "text": ['Delete <x id="7"></x> &amp; go', "test"],
        "source_lang": "EN",
        "target_lang": "DE",
        "formality": "default",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
        "glossary_id": found["glossary_id"],
    }
    expected = ['DELETE <x id="7"></x> &amp; GOde', "TESTde"]
    assert translations(http.post("/v2/translate", json=asked)) == expected
    assert http.delete(f"/v2/glossaries/{found['glossary_id']}").status_code == 204


def test_characters_are_counted_only_if_that_is_asked_for(http: httpx.Client) -> None:
    first = answer(http.post("/v2/translate", json=TEXT))["translations"][0]
    assert first == {"detected_source_language": "EN", "text": "HELLO.de"}
    asked = {**TEXT, "show_billed_characters": True, "model_type": "latency_optimized"}
    first = answer(http.post("/v2/translate", json=asked))["translations"][0]
    assert first["billed_characters"] == 6
    assert first["model_type_used"] == "latency_optimized"


@pytest.mark.parametrize("code", ["EN", "en-us", "EN-GB"])
def test_targets_may_have_any_region(http: httpx.Client, code: str) -> None:
    asked = {"text": ["das"], "source_lang": "de", "target_lang": code}
    assert translations(http.post("/v2/translate", json=asked)) == ["DASen"]


def test_languages_are_of_two_kinds(http: httpx.Client) -> None:
    listed = answer(http.get("/v2/languages", params={"type": "target"}))
    assert listed[0] == {"language": "DE", "name": "German", "supports_formality": True}
    assert answer(http.get("/v2/languages"))[0] == {"language": "DE", "name": "German"}
    assert "Parameter 'type' is invalid." in message(
        http.get("/v2/languages", params={"type": "both"}), 400
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": ""}, "Parameter 'name' not specified."),
        ({"name": "a\nb"}, "no control characters"),
        ({"name": "ü" * 513}, "1 to 1024 bytes"),
        ({"source_lang": "fr"}, "Unsupported glossary source and target language pair: fr to de"),
        ({"target_lang": "xx"}, "Unsupported glossary source and target language pair: en to xx"),
        ({"entries": ""}, "Parameter 'entries' not specified."),
        ({"entries": "\n \n"}, "there are none"),
        ({"entries": "dog"}, "line 1: it has 1 columns; separate two by one tab"),
        ({"entries": "a\tb\ndog\tHund\tM"}, "line 2: it has 3 columns"),
        ({"entries": "dog\t "}, "line 1: a side is empty"),
        ({"entries": "dog\tHund\ndog\tTier"}, "line 2: the term 'dog' occurs twice"),
        ({"entries": "dog\tHund\ndog \tTier"}, "line 2: the term 'dog' occurs twice"),
        ({"entries": "a\x07\tb"}, "control character"),
        ({"entries": f"{'a' * 1025}\tb"}, "more than 1024 bytes"),
        ({"entries": "a \ud800\tb"}, "half of a surrogate pair"),
        ({"entries": ["a\tb"], "entries_format": "xlsx"}, "Value for 'entries_format'"),
        ({"entries": "a,b,fr,de", "entries_format": "csv"}, "line 1: its languages are"),
        ({"entries": "a,b,c", "entries_format": "csv"}, "it has 3 columns; give two, or four"),
        ({"entries": '"a,b', "entries_format": "csv"}, "line 1: unexpected end of data"),
    ],
)
def test_glossaries_that_make_no_sense(
    http: httpx.Client, changes: dict[str, Any], said: str
) -> None:
    asked = json.dumps({**GLOSSARY, **changes})
    assert said in message(http.post("/v2/glossaries", content=asked, headers=JSON), 400)
    assert answer(http.get("/v2/glossaries")) == {"glossaries": []}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"dictionaries": []}, "Parameter 'name' not specified."),
        ({"name": "Mine", "dictionaries": "x"}, "It is a list of objects"),
        ({"name": "Mine", "dictionaries": [GLOSSARY, "x"]}, "It is a list of objects"),
        ({"name": "Mine", "dictionaries": [{}] * 101}, "send at most 100"),
        ({"name": "Mine", "dictionaries": [GLOSSARY, GLOSSARY]}, "Two dictionaries are for en to"),
        ({"name": "Mine", "dictionaries": [{}]}, "Parameter 'source_lang' not specified."),
    ],
)
def test_dictionaries_that_make_no_sense(
    http: httpx.Client, asked: dict[str, Any], said: str
) -> None:
    assert said in message(http.post("/v3/glossaries", json=asked), 400)


def test_a_change_that_is_refused_changes_nothing(
    http: httpx.Client, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"source_lang": "en", "target_lang": "de", "entries": "dog\tHund"}
    given = {"name": "Mine", "dictionaries": [one]}
    made = answer(http.post("/v3/glossaries", json=given))
    place = f"/v3/glossaries/{made['glossary_id']}"
    monkeypatch.setattr(server.store, "_limits", StoreLimits(glossary_characters=10))
    long = {**one, "entries": "elephant\tElefant"}
    changes = {"name": "Others", "dictionaries": [long]}
    assert "the maximum is 10" in message(http.patch(place, json=changes), 413)
    assert answer(http.get(place)) == made
    monkeypatch.undo()
    changed = answer(http.patch(place, json=changes))
    assert (changed["name"], changed["dictionaries"][0]["entry_count"]) == ("Others", 2)


def test_glossaries_that_there_are_not(http: httpx.Client) -> None:
    direction = {"source_lang": "en", "target_lang": "de"}
    for name in (NOWHERE, "%00"):
        for method, path in (
            ("GET", f"/v2/glossaries/{name}"),
            ("GET", f"/v2/glossaries/{name}/entries"),
            ("DELETE", f"/v2/glossaries/{name}"),
            ("GET", f"/v3/glossaries/{name}"),
            ("PATCH", f"/v3/glossaries/{name}"),
            ("DELETE", f"/v3/glossaries/{name}"),
        ):
            assert "Glossary not found" in message(http.request(method, path), 404)
        path = f"/v3/glossaries/{name}/dictionaries"
        assert "Glossary not found" in message(http.put(path, json=GLOSSARY), 404)
        assert "Glossary not found" in message(http.delete(path, params=direction), 404)
    asked = {**TEXT, "source_lang": "EN", "glossary_id": NOWHERE}
    assert "Glossary not found" in message(http.post("/v2/translate", json=asked), 404)


def test_a_glossary_of_another_direction(http: httpx.Client) -> None:
    made = answer(http.post("/v2/glossaries", data=GLOSSARY))
    asked = {
        "text": "a",
        "source_lang": "EN",
        "target_lang": "FR",
        "glossary_id": made["glossary_id"],
    }
    assert "has no dictionary for EN to FR" in message(http.post("/v2/translate", json=asked), 400)
    path = f"/v2/glossaries/{made['glossary_id']}"
    accepted = http.get(f"{path}/entries", headers={"Accept": "application/json"})
    assert "text/tab-separated-values" in message(accepted, 415)
    assert http.get(f"{path}/entries").text == "dog\tHund"
    changed = http.patch(f"/v3/glossaries/{made['glossary_id']}", json={"dictionaries": [{}, {}]})
    assert "At most one dictionary" in message(changed, 400)
    assert http.delete(path).status_code == 204


@pytest.mark.parametrize(
    ("form", "file", "said"),
    [
        ({}, None, "Invalid file data: send a file as 'file'"),
        ({"file": "text"}, None, "Invalid file data: send a file as 'file'"),
        ({}, ("a.exe", b"x"), "files of the format '.exe' are not translated"),
        ({}, ("a.txt", b""), "the file is empty"),
        ({"target_lang": "XX"}, ("a.txt", b"x"), "Value for 'target_lang' not supported."),
        ({"source_lang": "DE"}, ("a.txt", b"x"), "Source and target language are equal."),
        ({"output_format": "html"}, ("a.txt", b"x"), "Value for 'output_format' not supported."),
        ({"filename": "a.exe"}, ("a.txt", b"x"), "files of the format '.exe' are not translated"),
    ],
)
def test_documents_that_make_no_sense(
    http: httpx.Client, form: dict[str, str], file: tuple[str, bytes] | None, said: str
) -> None:
    response = http.post(
        "/v2/document",
        data={"target_lang": "DE", **form},
        files={"file": file} if file else {"other": b"x"},
    )
    assert said in message(response, 400)


def test_a_document_is_still_there_after_its_head(http: httpx.Client) -> None:
    upload = {"file": ("a.txt", b"Hello")}
    sent = answer(http.post("/v2/document", data={"target_lang": "DE"}, files=upload))
    place, secret = f"/v2/document/{sent['document_id']}", {"document_key": sent["document_key"]}
    while answer(http.post(place, json=secret))["status"] != "done":
        pass
    looked = http.head(f"{place}/result", params=secret)
    assert (looked.status_code, looked.content) == (200, b"")
    assert http.post(f"{place}/result", json=secret).content == b"HELLOde"
    assert message(http.post(f"{place}/result", json=secret), 404)


def test_documents_that_there_are_not(http: httpx.Client, server: ApiServer) -> None:
    upload = {"file": ("../../a.txt", b"Hello you")}
    made = answer(http.post("/v2/document", data={"target_lang": "DE"}, files=upload))
    path, key = f"/v2/document/{made['document_id']}", {"document_key": made["document_key"]}
    assert "'document_key' not specified" in message(http.post(path), 400)
    wrong = {"document_key": made["document_key"].swapcase()[::-1]}
    assert "Document not found" in message(http.post(path, json=wrong), 404)
    assert "Document not found" in message(http.post(f"{path}/result", json=wrong), 404)
    assert "Document not found" in message(http.post(f"/v2/document/{'0' * 32}", json=key), 404)
    secret = server.store.create_key("Ana")[1]
    other = {"Authorization": f"DeepL-Auth-Key {secret}"}
    assert "Document not found" in message(http.get(path, params=key, headers=other), 404)


def test_a_document_that_is_not_done(tmp_path: Path) -> None:
    service = EchoService(seconds=1000)
    with deepl_server(tmp_path, service, LimitsConfig(documents=1)) as server:
        url = f"{server.address}/v2/document"
        upload = {"file": ("a.txt", b"Hello you")}
        made = httpx.post(url, data={"target_lang": "DE"}, files=upload).json()
        path, key = f"{url}/{made['document_id']}", {"document_key": made["document_key"]}
        status = httpx.post(path, data=key).json()
        assert status["status"] in {"queued", "translating"}
        assert not {"billed_characters", "error_message"} & set(status)
        early = httpx.post(f"{path}/result", data=key)
        assert "not done" in message(early, 503)
        assert int(early.headers["Retry-After"]) >= 1
        full = httpx.post(url, data={"target_lang": "DE"}, files=upload)
        assert "too many files are waiting" in message(full, 503)


def test_keys(tmp_path: Path) -> None:
    with deepl_server(tmp_path) as server:
        url = f"{server.address}/v2/translate"
        assert httpx.post(url, json=TEXT).status_code == 200
        _, secret = server.store.create_key("Ana")
        _, small_secret = server.store.create_key("Bo", characters_per_month=10)
        headers = {"Authorization": f"DeepL-Auth-Key {secret}"}
        mine = httpx.post(f"{server.address}/v2/glossaries", data=GLOSSARY, headers=headers)
        path = f"{server.address}/v2/glossaries/{mine.json()['glossary_id']}"
        assert httpx.get(path, headers=headers).status_code == 200
        assert message(httpx.get(path), 404)  # nobody else's

        other = {"Authorization": "DeepL-Auth-Key unknown"}
        assert "no such key" in message(httpx.post(url, json=TEXT, headers=other), 403)
        assert httpx.post(url, data={**TEXT, "auth_key": small_secret}).status_code == 200
        small_headers = {"Authorization": f"deepl-auth-key  {small_secret}"}
        assert "10 characters" in message(httpx.post(url, json=TEXT, headers=small_headers), 456)
        used = _used(server, small_headers, 6)
        upload = {"file": ("a.txt", b"text too long")}
        form = {"target_lang": "DE"}
        sent = {"data": form, "files": upload, "headers": small_headers}
        assert httpx.post(f"{server.address}/v2/document", **sent).status_code == 200  # type: ignore[arg-type]
        _used(server, small_headers, 19)
        assert "characters" in message(httpx.post(f"{server.address}/v2/document", **sent), 456)  # type: ignore[arg-type]
        assert used["character_limit"] == 10
        assert used["start_time"] < used["end_time"]


def test_a_server_may_demand_a_key(tmp_path: Path) -> None:
    with deepl_server(tmp_path, require_key=True) as server:
        url = f"{server.address}/v2/languages"
        assert "needs a key" in message(httpx.get(url), 403)
        assert "no such key" in message(httpx.get(url, headers=KEY), 403)
        assert "needs a key" in message(httpx.post(f"{server.address}/v2/translate", json={}), 403)
        broken: dict[str, Any] = {"content": b"{", "headers": JSON}
        place = f"{server.address}/v2/translate"
        assert "needs a key" in message(httpx.post(place, **broken), 403)
        known = {"auth_key": server.store.create_key("Bo")[1]}
        assert "Invalid JSON" in message(httpx.post(place, **broken, params=known), 400)
        bearer = {"Authorization": f"Bearer {server.store.create_key('Ana')[1]}"}
        assert "needs a key" in message(httpx.get(url, headers=bearer), 403)


def _used(server: ApiServer, headers: dict[str, str], expected: int) -> dict[str, Any]:
    """Usage once it is written."""
    while True:
        found: dict[str, Any] = httpx.get(f"{server.address}/v2/usage", headers=headers).json()
        if found["character_count"] == expected:
            return found
        assert found["character_count"] < expected
        time.sleep(0.02)


@pytest.mark.parametrize("changes", [{"text": [1]}, {"auth_key": 5}])
def test_requests_without_sense_count_too(tmp_path: Path, changes: dict[str, Any]) -> None:
    limits = LimitsConfig(requests_per_minute=1, patience_seconds=0)
    with deepl_server(tmp_path, limits=limits) as server:
        first, second = (
            httpx.post(f"{server.address}/v2/translate", json={**TEXT, **changes}) for _ in range(2)
        )
    assert (first.status_code, second.status_code) == (400, 429)


def test_formality_is_offered_where_every_source_has_it(tmp_path: Path) -> None:
    class Partly(EchoService):
        def tags(self, direction: Pairing) -> tuple[str, ...]:
            return super().tags(direction) if direction.source == "en" else ()

    sources: tuple[dict[str, str], ...] = ({}, {"source_lang": "FR"}, {"source_lang": "EN"})
    body = {"text": ["Hello"], "target_lang": "DE", "formality": "more"}
    with (
        deepl_server(tmp_path, Partly(("en", "de"), ("fr", "de"))) as server,
        httpx.Client(base_url=server.address, headers=KEY) as http,
    ):
        (listed,) = http.get("/v2/languages?type=target").json()
        sent = [http.post("/v2/translate", json={**body, **source}) for source in sources]
    assert not listed["supports_formality"]
    assert [one.status_code for one in sent] == [400, 400, 200]
