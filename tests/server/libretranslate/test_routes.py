"""LibreTranslate's API over real sockets: its published client, and callers as they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import anyio
import httpx
import pytest
from api_server import ApiServer, libre_server
from document_jobs import document_job
from echo_service import EchoService
from libretranslatepy import LibreTranslateAPI
from office_files import body_of, docx, epub, odt, part, run, xlsx

from dragoman.documents.filetypes import file_suffixes
from dragoman.server.database.records import DocumentJob, JobState
from dragoman.server.job_results import UNEXPECTED
from dragoman.server.libretranslate import routes
from dragoman.server.server_config import LimitsConfig
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.translated_text import Detection, TranslatedText

Body = dict[str, Any]
ENGLISH = {"confidence": 80, "language": "en"}
GERMAN = {"confidence": 90, "language": "de"}
TO_GERMAN = {"source": "en", "target": "de"}


class _WatchedService(EchoService):
    """Knows Brazilian Portuguese, and fails as a broken program would when told to."""

    def __init__(self) -> None:
        super().__init__(("en", "de"), ("de", "en"), ("en", "fr"), ("de", "fr"), ("en", "pt"))
        self.seconds: float | None = None

    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        self.seconds = seconds
        return await super().translate(requests, seconds=seconds)

    async def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        if "no detection" in texts[0]:
            raise RefusedError("unsupported", "pip install 'dragoman[languages]'")
        return await super().detect(texts)

    def _translated(self, request: TextRequest) -> TranslatedText:
        if "in time" in request.text:
            return replace(super()._translated(request), text=f"{self.seconds:g} seconds")
        if "broken" in request.text:
            raise ZeroDivisionError("the secret of the program")
        return super()._translated(request)


class _HeldService(EchoService):
    """Answers nothing while it is held."""

    def __init__(self) -> None:
        super().__init__()
        self.held = Event()
        self.held.set()

    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        while self.held.is_set():
            await asyncio.sleep(0.01)
        return await super().translate(requests, seconds=seconds)


@pytest.fixture(scope="module")
def service() -> _WatchedService:
    return _WatchedService()


@pytest.fixture(scope="module")
def server(
    service: _WatchedService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiServer]:
    with libre_server(tmp_path_factory.mktemp("libre"), service) as one:
        yield one


@pytest.fixture(scope="module")
def http(server: ApiServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.address) as client:
        yield client


def translated(http: httpx.Client, **body: object) -> Body:
    answer = http.post("/translate", json={**TO_GERMAN, **body})
    assert answer.status_code == 200, answer.text
    found: Body = answer.json()
    return found


# The published client


def test_the_published_client_translates(server: ApiServer) -> None:
    client = LibreTranslateAPI(server.address)
    assert client.translate("Hello you. And Größe & 100%", "en", "de") == (
        "HELLO YOU.de AND GRÖSSE & 100%de"
    )


def test_the_published_client_detects(server: ApiServer) -> None:
    assert LibreTranslateAPI(server.address).detect("der Hund") == [
        GERMAN,
        {"confidence": 10, "language": "en"},
    ]


@pytest.mark.parametrize("key", [None, "unused"])
def test_the_published_client_lists_languages_with_a_get_that_has_a_body(
    server: ApiServer, key: str | None
) -> None:
    found = LibreTranslateAPI(server.address, key).languages()
    assert found == [
        {"code": "en", "name": "English", "targets": ["de", "en", "fr", "pt"]},
        {"code": "fr", "name": "French", "targets": ["fr"]},
        {"code": "de", "name": "German", "targets": ["de", "en", "fr"]},
        {"code": "pt", "name": "Portuguese", "targets": ["pt"]},
    ]


def test_the_published_client_brings_its_key(tmp_path: Path) -> None:
    with libre_server(tmp_path, require_key=True) as server:
        _, secret = server.store.create_key("tests")
        assert LibreTranslateAPI(server.address, secret).translate("a", "en", "de") == "Ade"
        assert LibreTranslateAPI(server.address, secret).detect("a")[0] == ENGLISH
        for key, status in ((None, 400), ("dg_wrong", 403)):
            with pytest.raises(HTTPError) as caught:
                LibreTranslateAPI(server.address, key).translate("a", "en", "de")
            assert caught.value.code == status
            caught.value.close()


# Texts


@pytest.mark.parametrize(
    "options",
    [
        {"json": {"q": "a", **TO_GERMAN}},
        {"data": {"q": "a", **TO_GERMAN}},
        {"files": {name: (None, value) for name, value in {"q": "a", **TO_GERMAN}.items()}},
        {"params": {"q": "a", **TO_GERMAN}},
        {"params": TO_GERMAN, "json": {"q": "a"}},
        {"params": {"q": "a"}, "data": TO_GERMAN},
    ],
)
def test_parameters_come_as_json_a_form_parts_or_a_query_string(
    http: httpx.Client, options: Body
) -> None:
    answer = http.post("/translate", **options)
    assert (answer.status_code, answer.json()) == (200, {"translatedText": "Ade"})


def test_a_list_is_answered_with_a_list_in_one_call(
    http: httpx.Client, service: _WatchedService
) -> None:
    texts = [f"Text {number}." for number in range(20)]
    before = len(service.calls)
    found = translated(http, q=texts)
    assert found == {"translatedText": [f"TEXT {number}.de" for number in range(20)]}
    assert [len(call) for call in service.calls[before:]] == [20]


def test_empty_strings_of_a_list_keep_their_place(http: httpx.Client) -> None:
    assert translated(http, q=["", "a", " \n"]) == {"translatedText": ["", "Ade", " \n"]}


def test_a_detected_language_has_its_confidence(http: httpx.Client) -> None:
    assert translated(http, q="a", source="auto")["detectedLanguage"] == ENGLISH
    found = translated(http, q=["a", "der Hund"], source="AUTO", target="fr")
    assert found == {
        "translatedText": ["Afr", "DER HUNDfr"],
        "detectedLanguage": [ENGLISH, GERMAN],
    }


def test_alternatives_are_a_list_or_lists(http: httpx.Client) -> None:
    assert translated(http, q="a. b.", alternatives=2) == {
        "translatedText": "A.de B.de",
        "alternatives": ["A.de 2 B.de 2", "A.de 3 B.de 3"],
    }
    assert translated(http, q=["a", "b"], alternatives="1") == {
        "translatedText": ["Ade", "Bde"],
        "alternatives": [["Ade 2"], ["Bde 2"]],
    }
    assert translated(http, q="a", alternatives=0) == {"translatedText": "Ade"}


def test_a_translation_has_the_time_of_a_request(http: httpx.Client) -> None:
    assert translated(http, q="in time") == {"translatedText": "60 seconds"}


def test_line_ends_of_forms_are_unified_and_kept(http: httpx.Client) -> None:
    answer = http.post("/translate", data={"q": "a.\r\nb.\r\n", **TO_GERMAN})
    assert answer.json() == {"translatedText": "A.de\nB.de\n"}
    assert translated(http, q="a.\r\nb.\r\n") == {"translatedText": "A.de\r\nB.de\r\n"}


@pytest.mark.parametrize("target", ["pb", "PB", "pt-BR", "PT"])
def test_regional_codes_find_their_language(http: httpx.Client, target: str) -> None:
    assert translated(http, q="a", target=target) == {"translatedText": "Apt"}


def test_letters_are_answered_as_they_are(http: httpx.Client) -> None:
    answer = http.post("/translate", json={"q": "größe 😀", **TO_GERMAN})
    assert answer.headers["content-type"] == "application/json"
    assert "GRÖSSE 😀de" in answer.content.decode()


def test_others_can_detect_a_list_together(http: httpx.Client) -> None:
    assert http.post("/detect", json={"q": ["a", "der Hund"]}).json()[0] == GERMAN
    assert http.post("/detect", data={"q": " "}).json() == [{"confidence": 0, "language": "en"}]


# Weblate, when it is set up and while it works (weblate.machinery.libretranslate)


def test_weblate_as_it_checks_its_settings_and_translates(http: httpx.Client) -> None:
    codes = [one["code"] for one in http.get("/languages").json()]
    assert {"en", "de"} <= set(codes)
    body = {"api_key": "", "q": ["test"], **TO_GERMAN}
    assert http.post("/translate", json=body).json() == {"translatedText": ["TESTde"]}
    texts = [f"[X{number}X] of files" for number in range(20)]
    found = http.post("/translate", json={**body, "q": texts}).json()["translatedText"]
    assert found == [f"[X{number}X] OF FILESde" for number in range(20)]


def test_mastodon_as_it_asks_for_languages_and_translates_a_post(http: httpx.Client) -> None:
    json_type = {"Content-Type": "application/json"}
    languages = http.get("/languages", headers=json_type).json()
    targets = {one["code"]: set(one["targets"]) - {one["code"]} for one in languages}
    assert targets["de"] == {"en", "fr"}
    post = ["<p>Hello <a href='#x'>you</a> &amp; me</p>", "", "Hello"]
    body = {"q": post, "source": "auto", "target": "de", "format": "html", "api_key": None}
    found = http.post("/translate", json=body).json()
    assert [one["language"] for one in found["detectedLanguage"]] == ["en"] * 3
    first, *others = found["translatedText"]
    assert others == ["", "HELLOde"]
    assert first.startswith("<p>")
    assert "<a href='#x'>" in first
    assert "&amp;" in first


@pytest.mark.parametrize("text", ["&lt;script&gt;alert(1)&lt;/script&gt;", "a &amp;lt; b"])
def test_what_was_text_in_html_never_becomes_markup(http: httpx.Client, text: str) -> None:
    found = translated(http, q=[text], format="html", alternatives=1)
    assert "<" not in found["translatedText"][0]
    assert found["alternatives"] == [[]]


@pytest.mark.parametrize("text", ["", "<br>", "<!-- a -->", "&nbsp;", "<script>a()</script>"])
def test_html_without_text_is_left_as_it_is(http: httpx.Client, text: str) -> None:
    assert translated(http, q=[text, "a"], format="html", source="auto")["translatedText"] == [
        text,
        "Ade",
    ]


@pytest.mark.parametrize("kind", ["text", "html"])
def test_placeholders_of_platforms_survive(http: httpx.Client, kind: str) -> None:
    found = translated(http, q='See [X7X] and <x id="7"></x>.', format=kind)["translatedText"]
    assert "[X7X]" in found
    assert (kind == "text") or '<x id="7"></x>' in found


# Refusals


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": 5}, "Invalid request: q parameter is not a string or a list of strings"),
        ({"q": ["a", 5]}, "Invalid request: q parameter is not a string or a list of strings"),
        ({"q": "a"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": "a", "source": 5, "target": "de"}, "source parameter is not a string"),
        ({"q": "a", "source": "en", "target": "xx"}, "xx is not supported"),
        ({"q": "a", "source": "xx", "target": "de"}, "xx is not supported"),
        ({"q": "a", "source": "auto", "target": "xx"}, "xx is not supported"),
        ({"q": "a", "source": "x" * 999, "target": "de"}, f"{'x' * 40} is not supported"),
        ({"q": "a", "source": "fr", "target": "de"}, "no model translates from fr to de"),
        ({"q": "a", **TO_GERMAN, "format": "xml"}, "xml format is not supported"),
        ({"q": "a", **TO_GERMAN, "alternatives": "x"}, "alternatives parameter is not a number"),
        ({"q": "a", **TO_GERMAN, "alternatives": 9}, "alternatives parameter must be <= 8"),
        ({"q": "a", **TO_GERMAN, "alternatives": 10**30}, "alternatives parameter must be <= 8"),
        ({"q": "a", **TO_GERMAN, "api_key": 5}, "api_key parameter is not a string"),
        ({"q": ["a"] * 257, **TO_GERMAN}, "257 texts in one request; send at most 256"),
        ({"q": "a" * 100_001, **TO_GERMAN}, "100001 characters in one request"),
    ],
)
def test_what_is_missing_wrong_or_too_large_is_named(
    http: httpx.Client, body: Body, message: str
) -> None:
    answer = http.post("/translate", json=body)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("content", "media_type", "message"),
    [
        (b"{", "application/json", "Invalid JSON format"),
        (b"[]", "application/json", "Invalid JSON format: not an object"),
        (b'{"q": NaN}', "application/json", "Invalid JSON format: NaN"),
        (b"[" * 100_000, "application/json", "nested too deeply"),
        (b'{"q": "\xff"}', "application/json", "not UTF-8"),
        (b'{"q": "\\ud83d", "source": "en", "target": "de"}', "application/json", "surrogate"),
        (b"q=%ff", "application/x-www-form-urlencoded", "not UTF-8"),
        (b"q=a", "multipart/form-data", "Missing boundary"),
        (b'{"q": "a"}', "text/plain", "missing q parameter"),
        (
            b"q=a&q=b&source=en&source=de",
            "application/x-www-form-urlencoded",
            "source parameter is several strings",
        ),
        (b"a" * 10_000_001, "application/json", "10000000 bytes"),
    ],
)
def test_bodies_that_cannot_be_read_are_refused(
    http: httpx.Client, content: bytes, media_type: str, message: str
) -> None:
    answer = http.post("/translate", content=content, headers={"Content-Type": media_type})
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_each_refusal_has_its_status(http: httpx.Client) -> None:
    busy = http.post("/translate", json={"q": "busy", **TO_GERMAN})
    assert (busy.status_code, busy.headers["Retry-After"]) == (503, "2")
    assert busy.json() == {"error": "too many texts are waiting; try again later"}
    for method, path in (("GET", "/translate"), ("POST", "/languages"), ("GET", "/detect")):
        refused = http.request(method, path)
        assert (refused.status_code, list(refused.json())) == (405, ["error"])
    unknown = http.post("/detect", data={"q": "no detection"})
    assert (unknown.status_code, "dragoman[languages]" in unknown.text) == (400, True)


def test_a_broken_program_says_no_more_than_that(http: httpx.Client) -> None:
    answer = http.post("/translate", json={"q": "broken", **TO_GERMAN})
    assert answer.status_code == 500
    assert "secret" not in answer.json()["error"]


def test_a_key_comes_before_what_is_asked_for(tmp_path: Path) -> None:
    with libre_server(tmp_path, require_key=True) as server:
        for body in ({"q": "a", **TO_GERMAN}, {}):
            wrong = httpx.post(f"{server.address}/translate", json={**body, "api_key": "x"})
            assert (wrong.status_code, wrong.json()) == (403, {"error": "Invalid API key"})
            none = httpx.post(f"{server.address}/translate", json=body)
            assert none.status_code == 400
            assert none.json() == {"error": "Please contact the server operator to get an API key"}


@pytest.mark.parametrize("content", [b'{"q": 5}', b"{", b'{"q": "a", "api_key": 5}'])
def test_too_many_requests_are_slowed_down_also_such_without_sense(
    tmp_path: Path, content: bytes
) -> None:
    limits = LimitsConfig(requests_per_minute=1, patience_seconds=0)
    json_type = {"Content-Type": "application/json"}
    with libre_server(tmp_path, limits=limits) as server:
        first, second = (
            httpx.post(f"{server.address}/translate", content=content, headers=json_type)
            for _ in range(2)
        )
    assert (first.status_code, second.status_code) == (400, 429)
    assert second.json()["error"].startswith("Slowdown: more than 1 requests per minute")
    assert int(second.headers["Retry-After"]) > 1


def test_a_key_without_characters_left_is_slowed_down_with_files_too(tmp_path: Path) -> None:
    with (
        libre_server(tmp_path) as server,
        httpx.Client(base_url=server.address) as http,
    ):
        _, key = server.store.create_key("tests", characters_per_month=1)
        assert translated(http, q="a", api_key=key) == {"translatedText": "Ade"}
        text = http.post("/translate", json={"q": "b", **TO_GERMAN, "api_key": key})
        file = send(http, b"b", api_key=key)
    for refused in (text, file):
        assert refused.status_code == 429
        assert refused.json()["error"].startswith("Slowdown: ")


# Files


def send(http: httpx.Client, content: bytes, name: str = "a.txt", **fields: str) -> httpx.Response:
    files = {"file": (name, content)}
    return http.post("/translate_file", data={**TO_GERMAN, **fields}, files=files)


def test_a_translated_file_can_be_fetched(http: httpx.Client) -> None:
    sent = send(http, b"Hello you.\nAnd me.\n", "../Gr\u00f6\u00dfe.txt")
    assert sent.status_code == 200, sent.text
    address = sent.json()["translatedFileUrl"]
    assert address.startswith(f"{http.base_url}/download_file/")
    assert httpx.URL(address).path.endswith(".txt")
    for _ in range(2):
        file = http.get(address)
        assert (file.status_code, file.text) == (200, "HELLO YOU.de\nAND ME.de\n")
        disposition = file.headers["Content-Disposition"]
        assert disposition == (
            "attachment; filename=Gr__e.de.txt; filename*=UTF-8''Gr%C3%B6%C3%9Fe.de.txt"
        )
        assert file.headers["Content-Type"] == "application/octet-stream"
    assert http.head(address).status_code == 200


def test_a_file_of_word_stays_whole(http: httpx.Client) -> None:
    sent = send(http, docx(f"<w:p>{run('Hello')}</w:p>"), "a.docx", source="auto")
    found = http.get(sent.json()["translatedFileUrl"]).content
    assert body_of(found) == f"<w:p>{run('HELLOde')}</w:p>"
    assert send(http, found[:99], "a.docx", source="auto").status_code == 400


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.xlsx", xlsx("<t>Hello</t>"), "xl/sharedStrings.xml"),
        ("a.ods", odt("<text:p>Hello</text:p>", kind="spreadsheet"), "content.xml"),
        ("a.odp", odt("<text:p>Hello</text:p>", kind="presentation"), "content.xml"),
        ("a.epub", epub("<p>Hello</p>"), "OPS/my page.xhtml"),
    ],
)
def test_workbooks_presentations_and_books_stay_whole(
    http: httpx.Client, name: str, content: bytes, place: str
) -> None:
    sent = send(http, content, name, source="en")
    found = http.get(sent.json()["translatedFileUrl"]).content
    assert part(found, place) == part(content, place).replace("Hello", "HELLOde").replace(
        'lang="en"', 'lang="de"'
    )


def test_a_file_of_a_page_keeps_its_tags(http: httpx.Client) -> None:
    sent = send(http, b"<p>Hello &lt;you</p>", "page.HTML", source="auto")
    page = http.get(sent.json()["translatedFileUrl"]).text
    assert "<p>" in page
    assert "&lt;YOU" in page


@pytest.mark.parametrize(
    ("content", "name", "fields", "message"),
    [
        (b"", "a.txt", {}, "empty file"),
        (b"a", "a.exe", {}, "file format not supported; supported are .txt"),
        (b"a", "txt", {}, "file format not supported"),
        (b"a", "a.txt", {"target": "xx"}, "xx is not supported"),
        (b"a", "a.txt", {"source": "xx"}, "xx is not supported"),
        (b"a", "a.txt", {"target": ""}, "missing target parameter"),
        (b"\xff\xfe\xff", "a.txt", {}, "UTF"),
    ],
)
def test_files_that_cannot_be_translated_are_refused(
    http: httpx.Client, content: bytes, name: str, fields: dict[str, str], message: str
) -> None:
    answer = send(http, content, name, **fields)
    assert answer.status_code == 400, answer.text
    assert message in answer.json()["error"]


def test_a_file_that_breaks_the_program_is_not_the_fault_of_its_client(
    http: httpx.Client,
) -> None:
    answer = send(http, b"broken")
    assert answer.status_code == 500
    assert answer.json() == {"error": UNEXPECTED}


def test_a_file_must_come_as_one(http: httpx.Client) -> None:
    for options in ({"data": {**TO_GERMAN, "file": "a"}}, {"json": {**TO_GERMAN, "file": "a"}}):
        answer = http.post("/translate_file", **options)  # type: ignore[arg-type]
        assert answer.status_code == 400
        assert answer.json() == {"error": "Invalid request: file parameter is not a file"}


def test_nobody_fetches_what_is_not_theirs(http: httpx.Client, server: ApiServer) -> None:
    address = send(http, b"a").json()["translatedFileUrl"]
    path, _, query = address.rpartition("/")[2].partition("?")
    job = path.partition(".")[0]
    for guess in (
        path,
        job,
        f"{path}?secret=",
        f"{path}?secret=x",
        f"{path}?secret=%00",
        f"x.txt?{query}",
        f"..%2Fserver.sqlite?{query}",
        f"%00?{query}",
    ):
        answer = http.get(f"/download_file/{guess}")
        assert answer.status_code == 404, guess
        assert list(answer.json()) == ["error"]


def test_a_file_is_gone_after_a_while(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    address = send(http, b"a").json()["translatedFileUrl"]
    monkeypatch.setattr(routes, "_KEPT", timedelta(0))
    assert http.get(address).status_code == 404


@pytest.mark.parametrize(
    ("state", "minutes", "over"),
    [("queued", 40, False), ("translating", 40, False), ("done", 20, False), ("done", 40, True)],
)
def test_its_time_begins_when_it_is_done(state: JobState, minutes: int, over: bool) -> None:
    now = datetime.now(UTC)
    sent, changed = now - timedelta(hours=2), now - timedelta(minutes=minutes)
    job = document_job(state=state, created=sent, changed=changed)
    assert routes._is_over(job) is over


@pytest.mark.parametrize(("left", "longest"), [(60.0, 30.0), (11.0, 10.0)])
def test_a_request_waits_for_its_file_no_longer_than_it_can_be_answered(
    left: float, longest: float
) -> None:
    """Half of its time, or what uploading has left of it."""
    waited: list[float] = []
    job = document_job()

    async def settled(given: DocumentJob, patience: float) -> DocumentJob:
        waited.append(patience)
        return given

    server: Any = SimpleNamespace(
        config=SimpleNamespace(limits=SimpleNamespace(seconds=60.0)),
        jobs=SimpleNamespace(settled=settled),
    )

    async def wait() -> None:
        with anyio.move_on_after(left):
            await routes._done(server, job)

    anyio.run(wait)
    assert waited == [pytest.approx(longest, abs=0.5)]


def test_the_address_of_a_slow_file_is_given_before_it_is_done(tmp_path: Path) -> None:
    slow = _HeldService()
    with (
        libre_server(tmp_path, slow, LimitsConfig(seconds=1)) as server,
        httpx.Client(base_url=server.address) as http,
    ):
        sent = send(http, b"a")
        assert sent.status_code == 200
        slow.held.clear()
        file = http.get(sent.json()["translatedFileUrl"])
        while file.status_code == 503:  # on a busy machine
            file = http.get(sent.json()["translatedFileUrl"])
    assert (file.status_code, file.text) == (200, "Ade")


def test_a_file_that_takes_too_long_to_fetch_can_be_fetched_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "_PATIENCE", 0.01)  # which leaves a busy machine time to answer
    slow = _HeldService()
    with (
        libre_server(tmp_path, slow, LimitsConfig(seconds=10)) as server,
        httpx.Client(base_url=server.address) as http,
    ):
        job = server.store.create_job("a.txt", b"a", "en", "de")
        early = http.get(f"/download_file/{job.id}.txt?secret={job.secret}")
        server.store.finish_job(job.id, "error", message="a reason")
        failed = http.get(f"/download_file/{job.id}.txt?secret={job.secret}")
        slow.held.clear()
    assert (early.status_code, early.headers["Retry-After"]) == (503, "5")
    assert early.json() == {"error": "the file is not translated yet; try again later"}
    assert (failed.status_code, failed.json()) == (400, {"error": "a reason"})


# Suggestions


@pytest.mark.parametrize("way", ["json", "data", "params"])
def test_a_suggestion_waits_for_a_review(http: httpx.Client, server: ApiServer, way: str) -> None:
    body = {"q": f"Hello {way}", "s": "Größe", "source": "auto", "target": "DE"}
    answer = http.post("/suggest", **{way: body})  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()) == (200, {"success": True})
    kept = server.store.corrections("pending")[-1]
    assert (kept.source, kept.target) == (f"Hello {way}", "Größe")
    assert (kept.source_language, kept.target_language) == ("en", "de")


def test_suggestions_of_one_network_are_one_client_s(
    http: httpx.Client, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    monkeypatch.setattr(server.store, "add_correction", lambda *_, address: kept.append(address))
    body = {"q": "Bye", "s": "Tschüs", "source": "en", "target": "de"}
    http.post("/suggest", json=body, headers={"X-Forwarded-For": "2001:db8::5"})
    assert kept == ["2001:db8::/64"]


def test_a_suggestion_without_a_source_is_for_a_language_that_is_translated(
    http: httpx.Client, server: ApiServer
) -> None:
    body = {"q": "der Hut", "s": "o chapéu", "target": "pt"}
    assert http.post("/suggest", json={**body, "source": "auto"}).json() == {"success": True}
    assert server.store.corrections()[-1].source_language == "en"  # from which there is Portuguese


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": ""}, "missing q parameter"),
        ({"s": None}, "missing s parameter"),
        ({"s": " "}, "empty"),
        ({"source": ""}, "missing source parameter"),
        ({"target": ""}, "missing target parameter"),
        ({"target": "xx"}, "xx is not supported"),
        ({"source": "fr"}, "does not translate from 'fr' to 'de'"),
        ({"source": "de"}, "'de' and 'de' are one language here; name two"),
        ({"source": "DE-at"}, "'DE-at' and 'de' are one language here; name two"),
        ({"q": ["a"]}, "q parameter is several strings; one is expected"),
        ({"s": "a" * 6000}, "6,000 characters; the maximum is 5,000"),
        ({"s": "\0"}, "the correction is empty"),
    ],
)
def test_suggestions_that_make_no_sense_are_refused(
    http: httpx.Client, server: ApiServer, changes: Body, message: str
) -> None:
    before = len(server.store.corrections())
    answer = http.post("/suggest", json={"q": "a", "s": "b", **TO_GERMAN, **changes})
    assert answer.status_code == 400, answer.text
    assert message in answer.json()["error"]
    assert len(server.store.corrections()) == before


# About the server


def test_the_settings_are_those_of_the_server(http: httpx.Client) -> None:
    found = http.get("/frontend/settings", headers={"Accept-Language": "xx,fr-CH;q=0.8"}).json()
    assert found == {
        "charLimit": 100_000,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": True,
        "filesTranslation": True,
        "supportedFilesFormat": list(file_suffixes()),
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": "fr", "name": "French"},
        },
    }
    odd = http.get("/frontend/settings", headers={"Accept-Language": "*;q=x, -, _, de_de_de_x;"})
    assert odd.json()["language"]["target"]["code"] == "de"


def test_settings_say_that_a_key_is_required(tmp_path: Path) -> None:
    with libre_server(tmp_path, require_key=True) as server:
        found = httpx.get(f"{server.address}/frontend/settings").json()
    assert (found["apiKeys"], found["keyRequired"]) == (True, True)


def test_whatever_is_got_has_a_head(http: httpx.Client) -> None:
    assert http.get("/health").json() == {"status": "ok"}
    for path in ("/health", "/languages", "/frontend/settings", "/spec"):
        answer = http.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


def test_a_page_elsewhere_may_ask(http: httpx.Client) -> None:
    origin = {"Origin": "https://example.org"}
    asked = {"Access-Control-Request-Method": "POST", **origin}
    asked["Access-Control-Request-Headers"] = "content-type, authorization"
    preflight = http.options("/translate", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["Access-Control-Allow-Origin"] == "*"
    answer = http.post("/translate", json={"q": "a", **TO_GERMAN}, headers=origin)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_the_specification_describes_each_path_and_no_status_that_is_not_theirs(
    http: httpx.Client,
) -> None:
    spec = http.get("/spec").json()
    assert set(spec["paths"]) == {
        "/translate",
        "/detect",
        "/translate_file",
        "/download_file/{file}",
        "/suggest",
        "/languages",
        "/frontend/settings",
        "/health",
    }
    assert "422" not in json.dumps(spec)
    body = spec["paths"]["/translate"]["post"]["requestBody"]["content"]
    assert set(body) == {
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    }
    assert body["application/json"]["schema"]["required"] == ["q", "source", "target"]
    schemas = spec["components"]["schemas"]
    assert set(schemas["LibreTranslation"]["properties"]) == {
        "translatedText",
        "detectedLanguage",
        "alternatives",
    }
