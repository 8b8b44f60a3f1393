"""The interface of our own, over real sockets."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import ApiServer, v1_server
from echo_service import EchoService
from garbage_collections import collections

from dragoman.server.dependencies import glossary_of
from dragoman.server.server_config import LimitsConfig
from dragoman.server.v1 import access, kept_routes
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.translated_text import TranslatedSentence

LIMITS = LimitsConfig(characters=1000, items=5, alternatives=2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with v1_server(tmp_path_factory.mktemp("own"), limits=LIMITS) as found:
        yield found


@pytest.fixture(scope="module")
def http(server: ApiServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.address) as client:
        yield client


def ok(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def problem(response: httpx.Response, status: int, kind: str) -> str:
    """The message of a refusal, which is worded as all of them are."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/json"
    (error,) = response.json().values()
    assert error.keys() == {"kind", "message", "retry_after"}
    assert error["kind"] == kind
    return str(error["message"])


def test_a_text_is_answered_with_its_sentences(http: httpx.Client) -> None:
    body = {"text": "Hello you.  Hello?", "target": "de", "nbest": 2, "links": True}
    (found,) = ok(http.post("/v1/translate", json=body))["translations"]
    assert found["text"] == "HELLO YOU.de  HELLO?de"
    assert (found["source"], found["target"]) == ("en", "de")
    assert found["detection"] == {"language": "en", "probability": 0.8}
    assert found["alternatives"] == ["HELLO YOU.de 2  HELLO?de 2"]
    first, second = found["sentences"]
    assert (first["source"], first["start"], first["target_start"]) == ("Hello you.", 0, 0)
    assert (second["start"], second["target_start"]) == (12, 14)
    assert first["renderings"][0] == {
        "text": "HELLO YOU.de",
        "score": -0.1,
        "confidence": 1.0,
        "links": [[0, 5, 0, 5], [6, 10, 6, 10]],
        "from_memory": False,
        "missing": [],
        "invented": [],
        "token_scores": [],
    }


def test_a_list_is_one_request_of_the_service(http: httpx.Client, server: ApiServer) -> None:
    before = len(server.service.calls)
    body = {"text": ["One.", "", "Two."], "source": "en", "target": "de"}
    found = ok(http.post("/v1/translate", json=body))["translations"]
    assert [one["text"] for one in found] == ["ONE.de", "", "TWO.de"]
    assert {one["detection"] for one in found} == {None}
    assert len(server.service.calls) == before + 1


def test_all_options_reach_the_service(http: httpx.Client, server: ApiServer) -> None:
    body = {
        "text": "A house",
        "source": "auto",
        "target": "de",
        "nbest": 3,
        "prefix": "Ein",
        "split": "none",
        "tags": ["<formal>"],
        "glossary": {"house": ["Haus", "Hauses"], "Polish": "Polnisch", "polish": "Politur"},
        "context": "Before.",
        "links": True,
        "memory": False,
    }
    ok(http.post("/v1/translate", json=body))
    ((asked,),) = server.service.calls[-1:]
    assert asked.glossary is not None
    terms = {one.source: (one.targets, one.case_sensitive) for one in asked.glossary.terms}
    assert terms == {
        "house": (("Haus", "Hauses"), False),
        "Polish": (("Polnisch",), True),
        "polish": (("Politur",), True),
    }
    assert asked == TextRequest(
        "A house",
        target="de",
        source=None,
        nbest=3,
        prefix="Ein",
        split="none",
        tags=("<formal>",),
        glossary=asked.glossary,
        context="Before.",
        links=True,
        memory=False,
    )


BAD_BODIES: list[tuple[object, str]] = [
    ({"txt": "a", "target": "de"}, "unknown key 'txt'; did you mean 'text'?"),
    ({"text": "a", "target": "de", "x": 1}, "unknown key 'x'; remove it or look it up in /v1/docs"),
    ({"text": "a"}, "missing key 'target'; add it"),
    ({"text": 3, "target": "de"}, "text: Input should be a string or a list of strings, found 3"),
    (
        {"text": ["a", None], "target": "", "nbest": 0},
        "3 problems: (1) target: String should have at least 1 character, found ''  (2) nbest: "
        "Input should be greater than or equal to 1, found 0  (3) text.1: Input should be a valid "
        "string, found None",
    ),
    (
        {"text": "a", "target": "de", "nbest": 4},
        "nbest: this server gives at most 3 translations, not 4",
    ),
    (
        {"text": "a", "target": "de", "split": "words"},
        "split: Input should be 'sentences', 'flowing', 'paragraphs' or 'none', found 'words'",
    ),
    (
        {"text": "a", "target": "de", "format": "html", "links": True},
        "links: True is not read with format: html; remove it",
    ),
    (
        {"text": "a\ud800", "target": "de"},
        "text: character 2 is half of a surrogate pair; send the whole pair, found 'a\\ud800'",
    ),
    (
        {"text": "a", "target": "de", "glossary": {"a": ""}},
        "glossary.a: String should have at least 1 character, found ''",
    ),
    (
        {"text": "a", "target": "de", "glossary": {"a": []}},
        "glossary.a: there is no translation in the list, found []",
    ),
    (
        {"text": "a", "target": "de", "glossary": {"a b": "x", "a  b": "y"}},
        "glossary:entry 2: 'a b' is 'y', but 'x' in entry 1; leave one of them out, or give both "
        "in one entry, separated by |",
    ),
    (
        {"text": "a", "target": "de", "glossary": "mine"},
        "this key has no glossary 'mine'",
    ),
    (
        [1],
        'the body must be a JSON object such as {"text": "...", "target": "..."}, found [1]',
    ),
    ({"text": "a", "target": "xx"}, "no model translates from en to xx"),
]
MANY_WRONG: list[tuple[dict[str, object], str]] = [
    (
        {"text": ["a", *[1] * 5000]},
        "text.1: Input should be a valid string, found 1; put it in quotes",
    ),
    (
        {"text": ["\ud800"] * 5000},
        "text.0: character 1 is half of a surrogate pair; send the whole pair, found '\\ud800'",
    ),
    (
        {"text": [""] * 65_537},
        "text: there are 65537; send at most 65536, found ['', '', '', '', '', '', '', '', '', '', "
        "'', '', '', '', '', '', '', '', '', '',",
    ),
    ({"text": "a", **{f"x{n}": 1 for n in range(5000)}}, "there are 5002 keys; send at most 100"),
    (
        {"text": "a", "tags": [1] * 5000},
        "tags: there are 5000; send at most 16, found "
        "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1",
    ),
    (
        {"text": "a", "glossary": {str(n): 1 for n in range(5001)}},
        "glossary: there are 5001; send at most 5000",
    ),
    (
        {"text": "a", "glossary": {"a": [""] * 100}},
        "glossary.a.0: String should have at least 1 character, found ''",
    ),
    (
        {"text": "a", "glossary": {"a": [""] * 101}},
        "glossary.a: there are 101; send at most 100, found ['', '', '', '', '', '', '', '', '', "
        "'', '', '', '', '', '', '', '', '', '', '',",
    ),
]


@pytest.mark.parametrize(("body", "message"), BAD_BODIES)
def test_a_bad_body_is_told(http: httpx.Client, body: object, message: str) -> None:
    response = http.post(
        "/v1/translate",
        content=json.dumps(body),
        headers={"Content-Type": "application/json"},
    )
    status, kind = 400, "unsupported" if "no model" in message else "invalid"
    if "no glossary" in message:
        status, kind = 404, "not_found"
    assert problem(response, status, kind) == message


@pytest.mark.parametrize(("body", "message"), MANY_WRONG)
def test_one_of_many_wrong_values_is_told(
    http: httpx.Client, body: dict[str, object], message: str
) -> None:
    """Each that is reported takes time and memory, and whoever sends them needs no key."""
    content = json.dumps({**body, "target": "de"})
    headers = {"Content-Type": "application/json"}
    response = http.post("/v1/translate", content=content, headers=headers)
    assert problem(response, 400, "invalid") == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": ', "the body is not JSON: Expecting value at character 9"),
        (b"", "the body must be a JSON object such as"),
        (b"[" * 100_000, "the body is nested too deeply; see /v1/docs"),
        (b'{"text": "\xff", "target": "de"}', "the body is not UTF-8 at byte 11; send JSON in"),
        (b'{"text": "a", "nbest": ' + b"1" * 5000 + b"}", "the body has a number that is too long"),
        (b'{"text": "a", "target": "de", "nbest": 1e999}', "nbest: Input should be a finite"),
    ],
)
def test_what_is_no_json_is_told(http: httpx.Client, content: bytes, message: str) -> None:
    headers = {"Content-Type": "application/json"}
    response = http.post("/v1/translate", content=content, headers=headers)
    assert problem(response, 400, "invalid").startswith(message)


def test_the_garbage_collector_does_not_go_through_a_body_as_it_is_parsed(
    http: httpx.Client,
) -> None:
    content = b'{"text": "a", "target": "de", "nbest": [' + b"[]," * 400_000 + b"0]}"
    headers = {"Content-Type": "application/json"}
    with collections() as counted:
        response = http.post("/v1/translate", content=content, headers=headers, timeout=60)
    assert problem(response, 400, "invalid").startswith("nbest: Input should be a valid integer")
    assert len(counted) < 20
    assert gc.isenabled()


def test_a_compressed_body_is_refused_with_the_remedy(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    content = gzip.compress(b'{"text": "a", "target": "de"}')
    response = http.post("/v1/translate", content=content, headers=headers)
    told = problem(response, 400, "invalid")
    assert told == "the body is encoded as 'gzip'; send it without Content-Encoding"


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("multipart/form-data", b"x", "the header Content-Type names no boundary"),
        ("multipart/form-data; boundary=a", b"x", "the form cannot be read: "),
        (
            "multipart/form-data; boundary=a",
            b"--a\r\nContent-Disposition: form-data\r\n\r\nx\r\n--a--\r\n",
            'the form cannot be read: The Content-Disposition header field "name" must be provided;'
            " see /v1/docs",
        ),
    ],
)
def test_what_is_no_form_is_told(
    http: httpx.Client, kind: str, content: bytes, message: str
) -> None:
    response = http.post("/v1/documents", content=content, headers={"Content-Type": kind})
    assert problem(response, 400, "invalid").startswith(message)


def test_json_must_be_announced(http: httpx.Client) -> None:
    content, headers = b'{"text": "a", "target": "de"}', {"Content-Type": "text/plain"}
    response = http.post("/v1/translate", content=content, headers=headers)
    assert "send the header Content-Type: application/json" in problem(response, 400, "invalid")


def test_bounds_are_kept(http: httpx.Client) -> None:
    many = http.post("/v1/translate", json={"text": ["a"] * 6, "target": "de"})
    assert "5" in problem(many, 413, "too_large")
    long = http.post("/v1/translate", json={"text": "a" * 1001, "target": "de"})
    assert "1000" in problem(long, 413, "too_large")
    busy = http.post("/v1/translate", json={"text": "busy", "target": "de"})
    assert problem(busy, 503, "busy") == "too many texts are waiting; try again later"
    assert busy.headers["Retry-After"] == "2"


def test_paths_and_methods_that_do_not_exist(http: httpx.Client) -> None:
    missing = problem(http.get("/v1/nothing"), 404, "not_found")
    assert missing == "there is no path '/v1/nothing'; correct it"
    wrong = http.get("/v1/translate")
    assert "other methods" in problem(wrong, 405, "invalid")
    assert wrong.headers["Allow"] == "POST"


def events(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.headers["Content-Type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in response.text.splitlines()]


def test_a_stream_tells_sentences_in_order(http: httpx.Client) -> None:
    body = {"text": "Hello you. Hello?", "target": "de"}
    start, *sentences, end = events(http.post("/v1/stream", json=body))
    found = {"language": "en", "probability": 0.8}
    assert start == {"kind": "start", "source": "en", "target": "de", "detection": found}
    assert [one["kind"] for one in sentences] == ["sentence", "sentence"]
    assert [one["sentence"]["start"] for one in sentences] == [0, 11]
    assert sentences[1]["sentence"]["renderings"][0]["text"] == "HELLO?de"
    assert end == {"kind": "end"}


@pytest.mark.parametrize(
    ("accept", "sent"),
    [
        ("text/event-stream", True),
        ("application/x-ndjson;q=0.5, text/EVENT-stream; q=0.9", True),
        ("text/event-stream;q=0.5, application/x-ndjson", False),
        ("text/event-stream;q=0", False),
        ("text/event-stream, application/x-ndjson", False),
        ("*/*", False),
        ("", False),
        ("text/html;q=;;,=,q", False),
    ],
)
def test_a_stream_is_server_sent_events_for_whoever_prefers_them(
    http: httpx.Client, accept: str, sent: bool
) -> None:
    body = {"text": "Hello\nyou.", "target": "de"}
    answer = http.post("/v1/stream", json=body, headers={"Accept": accept})
    lines = http.post("/v1/stream", json=body).text.splitlines()
    if not sent:
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        assert answer.text.splitlines() == lines
        return
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.headers["X-Accel-Buffering"] == "no"
    *given, end = answer.text.split("\n\n")
    assert end == ""
    assert given == [f"data: {line}" for line in lines]


def test_a_stream_is_translated_from_a_language_that_can_be(http: httpx.Client) -> None:
    # The text looks German, and only English is translated into French.
    start, *_ = events(http.post("/v1/stream", json={"text": "der", "target": "fr"}))
    assert start["detection"] == {"language": "en", "probability": 0.1}


def test_a_stream_of_an_empty_text_ends_at_once(http: httpx.Client) -> None:
    found = events(http.post("/v1/stream", json={"text": " ", "target": "de"}))
    assert [one["kind"] for one in found] == ["start", "end"]


def test_a_stream_that_is_refused_has_a_status(http: httpx.Client) -> None:
    assert problem(http.post("/v1/stream", json={"text": "busy", "target": "de"}), 503, "busy")
    assert problem(http.post("/v1/stream", json={"text": ["a"], "target": "de"}), 400, "invalid")


def test_a_stream_that_takes_too_long_ends_with_an_error(tmp_path: Path) -> None:
    service, limits = EchoService(seconds=0.4), LimitsConfig(seconds=1.6)
    body = {"text": "One. Two. Three. Four. Five.", "source": "en", "target": "de"}
    with v1_server(tmp_path, service, limits) as server:
        start, *sentences, last = events(httpx.post(f"{server.address}/v1/stream", json=body))
    assert start["kind"] == "start"
    assert [one["kind"] for one in sentences] == ["sentence"] * len(sentences)
    assert last["kind"] == "error"
    assert last["error"]["kind"] == "timed_out"


def test_a_stream_is_of_a_language_that_can_be_translated(tmp_path: Path) -> None:
    with v1_server(tmp_path, EchoService(("de", "fr"), ("en", "de"))) as server:
        body = {"text": "Hello you.", "target": "fr"}  # English, from which nothing here leads
        start, *_ = events(httpx.post(f"{server.address}/v1/stream", json=body))
        page = {**body, "format": "html"}
        (whole,) = ok(httpx.post(f"{server.address}/v1/translate", json=page))["translations"]
    assert start["source"] == start["detection"]["language"] == whole["source"] == "de"


class Faltering(EchoService):
    """Refuses the second sentence of every stream."""

    async def stream(
        self, request: TextRequest, *, seconds: float | None = None
    ) -> AsyncGenerator[TranslatedSentence, None]:
        async for sentence in super().stream(request, seconds=seconds):
            yield sentence
            raise RefusedError("timed_out", "the time is up", 3)


def test_an_error_in_the_middle_of_a_stream_is_its_last_line(tmp_path: Path) -> None:
    with v1_server(tmp_path, Faltering()) as server:
        body = {"text": "One. Two.", "source": "en", "target": "de"}
        *_, sentence, last = events(httpx.post(f"{server.address}/v1/stream", json=body))
    assert sentence["kind"] == "sentence"
    error = {"kind": "timed_out", "message": "the time is up", "retry_after": 3.0}
    assert last == {"kind": "error", "error": error}


class Watched(EchoService):
    """Gives one sentence, and remembers whether anybody stayed for the others."""

    left: threading.Event

    async def stream(
        self, request: TextRequest, *, seconds: float | None = None
    ) -> AsyncGenerator[TranslatedSentence, None]:
        try:
            async for sentence in super().stream(request, seconds=seconds):
                yield sentence
                await asyncio.sleep(1000)
        finally:
            self.left.set()


def test_who_leaves_a_stream_leaves_the_queue(tmp_path: Path) -> None:
    service = Watched()
    service.left = threading.Event()
    with v1_server(tmp_path, service) as server:
        body = {"text": "One. Two.", "source": "en", "target": "de"}
        with httpx.stream("POST", f"{server.address}/v1/stream", json=body) as response:
            lines = response.iter_lines()
            assert [json.loads(next(lines))["kind"] for _ in range(2)] == ["start", "sentence"]
            assert not service.left.is_set()
        assert service.left.wait(60)


def test_languages_are_detected_and_listed(http: httpx.Client) -> None:
    found = ok(http.post("/v1/detect", json={"text": ["der Hund", ""]}))["detections"]
    assert found[0][0] == {"language": "de", "probability": 0.9}
    assert found[1] == []
    german, english = ok(http.get("/v1/languages"))["languages"]
    assert german == {"code": "de", "name": "German", "targets": ["en"], "tags": {}}
    assert english["targets"] == ["de", "fr"]
    assert english["tags"] == {"de": ["<formal>", "<informal>"]}


def test_a_correction_waits_for_its_review(http: httpx.Client, server: ApiServer) -> None:
    body = {"text": "Hello.", "translation": "Hallo.", "source": "en-GB", "target": "de"}
    found = ok(http.post("/v1/corrections", json=body), 201)
    assert found["state"] == "pending"
    (kept,) = server.store.corrections()
    assert (kept.id, kept.source, kept.target) == (found["id"], "Hello.", "Hallo.")
    assert (kept.source_language, kept.target_language) == ("en", "de")
    unknown = http.post("/v1/corrections", json={**body, "target": "pt"})
    assert "from 'en-GB' to 'pt', but from en-GB to de, fr" in problem(unknown, 400, "unsupported")
    blank = http.post("/v1/corrections", json={**body, "translation": " \n"})
    assert problem(blank, 400, "invalid") == "translation: there is nothing but white space"


def test_corrections_of_one_network_are_one_client_s(
    http: httpx.Client, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has one address of IPv6 has 2^64, each of which could otherwise fill its share."""
    add, kept = server.store.add_correction, []

    def note(*arguments: Any, address: str) -> Any:
        kept.append(address)
        return add(*arguments, address=address)

    monkeypatch.setattr(server.store, "add_correction", note)
    body = {"text": "Bye.", "translation": "Tschüs.", "source": "en", "target": "de"}
    for address in ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1", "203.0.113.9"):
        ok(http.post("/v1/corrections", json=body, headers={"X-Forwarded-For": address}), 201)
    networks = ["2001:db8::/64", "2001:db8::/64", "2001:db8:0:1::/64", "203.0.113.9"]
    assert kept == networks


def test_a_glossary_is_kept_used_replaced_and_deleted(
    http: httpx.Client, server: ApiServer
) -> None:
    body = {"name": "Houses", "source": "en", "target": "de", "entries": {"house": "Haus"}}
    made = ok(http.post("/v1/glossaries", json=body), 201)
    terms = {"source": "en", "target": "de", "entry_count": 1, "entries": {"house": "Haus"}}
    assert made["dictionaries"] == [terms]
    place = f"/v1/glossaries/{made['id']}"
    assert ok(http.get(place)) == made
    (listed,) = ok(http.get("/v1/glossaries"))["glossaries"]
    assert listed["id"] == made["id"]
    assert listed["dictionaries"] == [{**terms, "entries": None}]

    wanted = {"text": "A house", "source": "en", "target": "de", "glossary": made["id"]}
    ok(http.post("/v1/translate", json=wanted))
    asked = server.service.calls[-1][0].glossary
    assert asked is not None
    assert [(one.source, one.targets) for one in asked.terms] == [("house", ("Haus",))]
    french = http.post("/v1/translate", json={**wanted, "target": "fr"})
    assert "is for en to de, not for en to fr" in problem(french, 400, "invalid")
    unknown = http.post("/v1/translate", json={**wanted, "source": None})
    assert "name that as source" in problem(unknown, 400, "invalid")

    twice = {**body, "entries": {"house": "Haus", "house ": "Heim"}}
    doubled = http.post("/v1/glossaries", json=twice)
    assert "the term 'house' has two translations" in problem(doubled, 400, "invalid")
    doubled = http.post("/v1/translate", json={**wanted, "glossary": twice["entries"]})
    assert "the term 'house' has two translations" in problem(doubled, 400, "invalid")

    nameless = http.put(place, json={**body, "name": "\0", "entries": {"home": "Heim"}})
    assert "the name of the glossary is empty" in problem(nameless, 400, "invalid")
    assert ok(http.get(place)) == made  # nothing of it was done

    other = {**body, "name": "Homes", "entries": {"home": "Heim"}}
    replaced = ok(http.put(place, json=other))
    assert replaced["name"] == "Homes"
    assert replaced["dictionaries"][0]["entries"] == {"home": "Heim"}
    ok(http.post("/v1/translate", json=wanted))
    asked = server.service.calls[-1][0].glossary
    assert asked is not None
    assert [one.source for one in asked.terms] == ["home"]

    assert http.delete(place).status_code == 204
    for response in (http.get(place), http.delete(place), http.put(place, json=other)):
        problem(response, 404, "not_found")
    empty = http.post("/v1/glossaries", json={**body, "entries": {}})
    assert "at least 1 item" in problem(empty, 400, "invalid")


def test_terms_are_prepared_beside_the_event_loop(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of them take seconds, in which nobody else would be answered."""
    prepared = []

    def beside(entries: Any) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        prepared.append(list(entries))
        return glossary_of(prepared[-1])

    for module in (access, kept_routes):
        monkeypatch.setattr(module, "glossary_of", beside)
    ok(http.post("/v1/translate", json={"text": "a", "target": "de", "glossary": {"a": "b"}}))
    body = {"name": "n", "source": "en", "target": "de", "entries": {"a": "b"}}
    ok(http.post("/v1/glossaries", json=body), 201)
    assert prepared == [[("a", ("b",))], [("a", "b")]]


def test_keys_are_told_apart(tmp_path: Path) -> None:
    with v1_server(tmp_path, require_key=True) as server:
        first, second = (server.store.create_key(name)[1] for name in ("first", "second"))
        http = httpx.Client(base_url=server.address)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}):
            problem(http.get("/v1/languages", headers=headers), 403, "forbidden")
        assert ok(http.get("/v1/health"))["directions"] == 3
        mine = {"Authorization": f"bearer {first}"}
        ok(http.get("/v1/languages", headers=mine))
        body = {"name": "Mine", "source": "en", "target": "de", "entries": {"a": "b"}}
        made = ok(http.post("/v1/glossaries", json=body, headers=mine), 201)
        others = {"Authorization": f"Bearer {second}"}
        place = f"/v1/glossaries/{made['id']}"
        assert ok(http.get(place, headers=mine))["name"] == "Mine"
        problem(http.get(place, headers=others), 404, "not_found")
        assert ok(http.get("/v1/glossaries", headers=others)) == {"glossaries": []}
        usage = ok(http.get("/v1/usage", headers=mine))
        assert usage == {"characters": 0, "characters_per_month": None}
        http.close()


@pytest.mark.parametrize("content", [b"{}", b"{", b'{"text": ' + b"9" * 5000 + b"}"])
def test_a_key_comes_before_what_is_asked_for(tmp_path: Path, content: bytes) -> None:
    limits = LimitsConfig(requests_per_minute=2, patience_seconds=0)
    with v1_server(tmp_path, limits=limits, require_key=True) as server:
        _, secret = server.store.create_key("first")
        place, kind = f"{server.address}/v1/translate", {"Content-Type": "application/json"}
        problem(httpx.post(place, content=content, headers=kind), 403, "forbidden")
        problem(httpx.get(f"{server.address}/v1/documents/x"), 403, "forbidden")
        mine = {**kind, "Authorization": f"Bearer {secret}"}
        for _ in range(2):
            problem(httpx.post(place, content=content, headers=mine), 400, "invalid")
        # Such without sense are counted, too.
        problem(httpx.post(place, content=content, headers=mine), 429, "too_many_requests")


def test_credentials_for_a_proxy_are_no_key(tmp_path: Path) -> None:
    with v1_server(tmp_path) as server:
        server.store.create_key("somebody")
        place = f"{server.address}/v1/languages"
        ok(httpx.get(place, headers={"Authorization": "Basic eDp5"}))
        problem(httpx.get(place, headers={"Authorization": "Bearer eDp5"}), 403, "forbidden")


def test_the_description_says_who_needs_a_key(http: httpx.Client, tmp_path: Path) -> None:
    with v1_server(tmp_path, require_key=True) as server:
        strict = ok(httpx.get(f"{server.address}/v1/openapi.json"))["paths"]
    free = ok(http.get("/v1/openapi.json"))["paths"]
    assert strict["/v1/translate"]["post"]["security"] == [{"HTTPBearer": []}]
    assert free["/v1/translate"]["post"]["security"] == [{"HTTPBearer": []}, {}]
    assert "security" not in strict["/v1/health"]["get"]


def test_a_path_names_all_its_methods(http: httpx.Client) -> None:
    assert http.options("/v1/glossaries").headers["Allow"] == "GET, POST"
    assert http.post("/v1/glossaries/x").headers["Allow"] == "DELETE, GET, PUT"


def test_the_description_is_complete(http: httpx.Client) -> None:
    spec = ok(http.get("/v1/openapi.json"))
    assert spec["openapi"].startswith("3.")
    schemas = spec["components"]["schemas"]

    def references(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
        parts: Sequence[object] = ()
        if isinstance(value, (dict, list)):
            parts = list(value.values()) if isinstance(value, dict) else value
        for part in parts:
            yield from references(part)

    assert {one.removeprefix("#/components/schemas/") for one in references(spec)} == set(schemas)
    for path, operations in spec["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
            assert "422" not in operation["responses"]
            assert {"400", "403", "413", "429", "503"} <= operation["responses"].keys()
    assert "must be used" in schemas["TranslateBody"]["properties"]["glossary"]["description"]


def test_the_page_says_what_a_file_needs(http: httpx.Client, server: ApiServer) -> None:
    def written(command: str) -> str:
        return escape(command.replace("URL", f"{server.address}/v1/documents"))

    page = http.get("/v1/docs").text
    assert written("curl -X POST URL \\\n  -F target=TARGET \\\n  -F file=@FILE") in page
    secret = "-H 'Document-Secret: SECRET'"
    for path in ("URL/IDENTIFIER", "URL/IDENTIFIER/result"):
        assert written(f"curl {path} \\\n  {secret}") in page
    assert escape("-H 'Authorization") not in page, "no key is needed"


def test_where_a_key_is_needed_the_page_says_so(tmp_path: Path) -> None:
    with v1_server(tmp_path, require_key=True) as server:
        page = httpx.get(f"{server.address}/v1/docs").text
    key = escape("-H 'Authorization: Bearer KEY'")
    assert f"{server.address}/v1/languages \\\n  {key}</pre>" in page
    assert f"{server.address}/v1/health</pre>" in page


def test_the_page_shows_every_request_and_asks_for_nothing_elsewhere(
    http: httpx.Client, server: ApiServer
) -> None:
    page = http.get("/docs", follow_redirects=True)
    assert page.url.path == "/v1/docs"
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    for name in ("POST /v1/translate", "GET /v1/documents/{identifier}/result", "TranslateBody"):
        assert f"<code>{name}</code>" in page.text
    assert f"curl -X POST {server.address}/v1/translate" in page.text
    targets = {part.split('"')[0] for part in page.text.split('href="')[1:]}
    anchors = {part.split('"')[0] for part in page.text.split('id="')[1:]}
    assert {one for one in targets if not one.startswith("#")} == {"docs.css", "openapi.json"}
    assert {one[1:] for one in targets if one.startswith("#")} <= anchors
    assert "<script" not in page.text
    assert http.get("/v1/docs.css").headers["Content-Type"].startswith("text/css")
