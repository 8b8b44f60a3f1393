"""The client in Python, over real sockets."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest
from api_server import ApiServer, v1_server
from echo_service import EchoService
from fastapi import FastAPI, Request
from running_server import running
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from dragoman import AsyncClient
from dragoman.client import connection
from dragoman.core.errors import ConfigError, DataError, MissingExtraError, ServiceError, UsageError
from dragoman.translation.service.translated_text import Detection, Link


def test_one_text_gives_one_and_a_list_a_list(server: ApiServer) -> None:
    async def calls() -> None:
        async with AsyncClient(server.address) as client:
            assert await client.translate("Hello. You?", target="de") == "HELLO.de YOU?de"
            assert await client.translate(["One.", ""], target="fr", source="en") == ["ONE.fr", ""]
            assert await client.translate([], target="de") == []

    asyncio.run(calls())


def test_a_long_list_is_sent_in_parts_and_answered_in_order(server: ApiServer) -> None:
    async def call() -> list[str]:
        async with AsyncClient(f"{server.address}/") as client:
            texts = [f"line {number}" for number in range(150)] + ["x" * 30_000]
            return await client.translate(texts, target="de", source="en")

    before = len(server.service.calls)
    *found, last = asyncio.run(call())
    assert found == [f"LINE {number}de" for number in range(150)]
    assert last == "X" * 30_000 + "de"
    sizes = [len(requests) for requests in server.service.calls[before:]]
    assert sorted(sizes) == [1, 22, 64, 64]


def test_languages_of_a_long_list_are_detected(server: ApiServer) -> None:
    async def call() -> list[list[Detection]]:
        async with AsyncClient(server.address) as client:
            assert await client.detect([]) == []
            return await client.detect([*["a text"] * 150, "der Text"])

    found = asyncio.run(call())
    assert [one[0].language for one in found] == [*["en"] * 150, "de"]


def test_details_are_those_of_the_service(server: ApiServer) -> None:
    async def call() -> None:
        async with AsyncClient(server.address) as client:
            found = await client.translate_details("Hello. You.", target="de", nbest=2, links=True)
            assert (found.text, found.source, found.target) == ("HELLO.de YOU.de", "en", "de")
            assert found.detection == Detection("en", 0.8)
            assert found.alternatives == ["HELLO.de 2 YOU.de 2"]
            assert found.links == [Link(0, 6, 0, 6), Link(7, 11, 9, 13)]
            best, second = found.sentences[1].renderings
            assert (best.score, second.confidence, best.from_memory) == (-0.1, 0.5, False)
            one, two = await client.translate_details(["a", "b"], target="de", source="en")
            assert (one.text, two.text, two.detection) == ("Ade", "Bde", None)

    asyncio.run(call())


def test_options_reach_the_service(server: ApiServer) -> None:
    async def call() -> None:
        async with AsyncClient(server.address) as client:
            await client.translate(
                "house",
                target="de",
                prefix="Ein",
                split="none",
                tags=["<formal>"],
                glossary={"house": ["Haus", "Hauses"]},
                context="Before.",
                memory=False,
            )

    asyncio.run(call())
    ((asked,),) = server.service.calls[-1:]
    assert (asked.prefix, asked.split, asked.tags) == ("Ein", "none", ("<formal>",))
    assert (asked.context, asked.memory) == ("Before.", False)
    assert asked.glossary is not None
    assert asked.glossary.terms[0].targets == ("Haus", "Hauses")


def test_a_stream_gives_sentences(server: ApiServer) -> None:
    async def call() -> list[str]:
        async with AsyncClient(server.address) as client:
            stream = client.stream("One. Two.", target="de", nbest=2)
            return [one.renderings[1].text async for one in stream]

    assert asyncio.run(call()) == ["ONE.de 2", "TWO.de 2"]


def test_a_stream_has_texts_with_line_ends_of_unicode(server: ApiServer) -> None:
    text = "One\u2028and\u2029two\x85.\nThree."

    async def call() -> list[str]:
        async with AsyncClient(server.address) as client:
            return [one.source async for one in client.stream(text, target="de", source="en")]

    assert asyncio.run(call()) == ["One\u2028and\u2029two\x85.", "Three."]


def test_what_a_server_keeps(server: ApiServer) -> None:
    async def calls() -> None:
        async with AsyncClient(server.address) as client:
            german, english = await client.languages()
            assert (german.code, german.name, german.targets) == ("de", "German", ("en",))
            assert english.tags == {"de": ("<formal>", "<informal>")}
            assert (await client.detect("der Hund"))[0] == Detection("de", 0.9)
            assert [len(one) for one in await client.detect(["a", ""])] == [2, 0]
            number = await client.correct("Hello", "Hallo", source="en", target="de")
            assert [one.id for one in server.store.corrections()] == [number]
            one = await client.create_glossary("mine", {"a": "b"}, source="en", target="de")
            assert one.entries == {("en", "de"): {"a": "b"}}
            assert await client.translate("a", source="en", target="de", glossary=one.id) == "Ade"
            other = await client.replace_glossary(
                one.id, "ours", {"c": "d"}, source="de", target="en"
            )
            assert (other.name, len(other.entries)) == ("ours", 2)
            assert other == await client.glossary(one.id)
            (listed,) = await client.glossaries()
            assert (listed.id, set(listed.entries.values())) == (one.id, {None})
            await client.delete_glossary(one.id)
            assert await client.glossaries() == []
            with pytest.raises(ServiceError, match="this key has no glossary") as caught:
                await client.delete_glossary(one.id)
            assert (caught.value.kind, caught.value.status) == ("not_found", 404)
            assert (await client.usage()).characters_per_month is None

    asyncio.run(calls())


def test_refusals_are_service_errors(server: ApiServer) -> None:
    async def call(**options: object) -> None:
        async with AsyncClient(server.address) as client:
            await client.translate("x", **options)  # type: ignore[call-overload]

    for options, kind, message in [
        ({"target": "xx"}, "unsupported", "no model translates from en to xx"),
        ({"target": "de", "splt": "none"}, "invalid", "did you mean 'split'"),
    ]:
        with pytest.raises(ServiceError, match=message) as caught:
            asyncio.run(call(**options))
        assert (caught.value.kind, caught.value.status) == (kind, 400)


def test_a_key_is_sent(tmp_path: Path) -> None:
    async def call(address: str, key: str | None) -> str:
        async with AsyncClient(address, key) as client:
            return await client.translate("a", target="de")

    with v1_server(tmp_path, require_key=True) as server:
        _, secret = server.store.create_key("me")
        for read in (secret, f" {secret}\n"):  # from a file
            assert asyncio.run(call(server.address, read)) == "Ade"
        for key in (None, "wrong"):
            with pytest.raises(ServiceError) as caught:
                asyncio.run(call(server.address, key))
            assert (caught.value.kind, caught.value.status) == ("forbidden", 403)


@contextmanager
def answering(answer: Callable[[int], Response]) -> Iterator[tuple[str, list[int]]]:
    """A server that answers the first request with ``answer(1)``, and so on."""
    app, asked = FastAPI(), [0]

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def route(request: Request) -> Response:
        await request.body()
        asked[0] += 1
        return answer(asked[0])

    with running(app) as address:
        yield address, asked


TRANSLATED = json.dumps(
    {
        "translations": [
            {"text": "A", "source": "en", "target": "de", "detection": None, "sentences": []}
        ]
    }
)


def translated(address: str, timeout: float = 60) -> str:
    async def call() -> str:
        async with AsyncClient(address, timeout=timeout) as client:
            return await client.translate("a", target="de", source="en")

    return asyncio.run(call())


def streamed(address: str) -> None:
    async def call() -> None:
        async with AsyncClient(address) as client:
            async for _ in client.stream("a", target="de"):
                pass

    asyncio.run(call())


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_PAUSE", 0.01)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again(status: int) -> None:
    def answer(number: int) -> Response:
        return PlainTextResponse(
            TRANSLATED if number == 3 else "busy", 200 if number == 3 else status
        )

    with answering(answer) as (address, asked):
        assert translated(address) == "A"
        assert asked == [3]


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(("status", "times"), [(502, 1), (504, 1), (429, 3), (503, 3)])
def test_what_must_not_be_done_twice_is_repeated_only_if_it_was_refused(
    status: int, times: int
) -> None:
    """A proxy that answers 502 or 504 may have passed the request on."""

    async def call(address: str) -> None:
        async with AsyncClient(address) as client:
            await client.create_glossary("mine", {"a": "b"}, source="en", target="de")

    def answer(number: int) -> Response:
        return PlainTextResponse("{}" if number == 3 else "no", 200 if number == 3 else status)

    with answering(answer) as (address, asked):
        with pytest.raises(ServiceError) as caught:
            asyncio.run(call(address))
        assert caught.value.kind == ("foreign" if times == 3 else "busy")
        assert asked == [times]


@pytest.mark.usefixtures("hurried")
def test_what_a_server_may_still_do_is_not_asked_for_twice() -> None:
    """A request whose time is up may be waiting for the database, which then does it."""
    error = {"kind": "timed_out", "message": "there was no answer", "retry_after": 0.01}

    async def call(address: str) -> None:
        async with AsyncClient(address) as client:
            await client.create_glossary("mine", {"a": "b"}, source="en", target="de")

    with answering(lambda number: Response(json.dumps({"error": error}), 503)) as (address, asked):
        with pytest.raises(ServiceError, match="there was no answer") as caught:
            asyncio.run(call(address))
        assert caught.value.kind == "timed_out"
        assert asked == [1]


def test_who_must_wait_too_long_is_told_at_once() -> None:
    error = {"kind": "too_many_requests", "message": "one per hour", "retry_after": 1000.0}
    answer = Response(json.dumps({"error": error}), 429, {"Retry-After": "1000"})
    with answering(lambda number: answer) as (address, asked):
        with pytest.raises(ServiceError, match="one per hour") as caught:
            translated(address)
        assert (caught.value.kind, caught.value.retry_after) == ("too_many_requests", 1000)
        assert asked == [1]


@pytest.mark.usefixtures("hurried")
def test_whose_characters_are_used_up_is_told_at_once() -> None:
    error = {"kind": "quota_exceeded", "message": "no characters are left", "retry_after": None}
    answer = Response(json.dumps({"error": error}), 429)
    with answering(lambda number: answer) as (address, asked):
        with pytest.raises(ServiceError, match="no characters are left") as caught:
            translated(address, timeout=2)
        assert (caught.value.kind, caught.value.retry_after) == ("quota_exceeded", None)
        assert asked == [1]


@pytest.mark.usefixtures("hurried")
def test_it_is_asked_until_the_time_is_up() -> None:
    def answer(number: int) -> Response:
        headers = {"Retry-After": "1000"} if number == 3 else {}
        return PlainTextResponse("no", 503, headers)

    with answering(answer) as (address, asked):
        with pytest.raises(ServiceError, match="answers 503 Service Unavailable") as caught:
            translated(address)
        assert caught.value.kind == "busy"
        assert asked == [3]


@pytest.mark.parametrize(
    "content",
    ["<html>Hello</html>", "[]", "{}", '{"translations": [{}]}', '{"translations": []}'],
)
def test_another_server_is_recognised(content: str) -> None:
    with (
        answering(lambda number: PlainTextResponse(content)) as (address, _),
        pytest.raises(ServiceError, match="this is no server of Dragoman") as caught,
    ):
        translated(address)
    assert caught.value.kind == "foreign"


def test_an_answer_to_one_text_of_two_is_none() -> None:
    async def call(address: str) -> None:
        async with AsyncClient(address) as client:
            await client.translate(["a", "b"], target="de", source="en")

    with (
        answering(lambda number: PlainTextResponse(TRANSLATED)) as (address, _),
        pytest.raises(ServiceError, match="1 answers to 2 texts") as caught,
    ):
        asyncio.run(call(address))
    assert caught.value.kind == "foreign"


def test_what_a_proxy_garbled_is_no_answer() -> None:
    headers = {"Content-Encoding": "gzip"}
    with answering(lambda number: PlainTextResponse("none", headers=headers)) as (address, asked):
        for call in (lambda: translated(address), lambda: streamed(address)):
            with pytest.raises(ServiceError, match="this is no server of Dragoman") as caught:
                call()
            assert caught.value.kind == "foreign"
        assert asked == [2]


@pytest.mark.parametrize(
    ("name", "value"), [("ALL_PROXY", "socks5://127.0.0.1:9"), ("HTTP_PROXY", "foo://x")]
)
def test_a_proxy_that_cannot_be_used_is_told(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="the proxy that the environment names"):
        AsyncClient("http://localhost:5000")


@pytest.mark.parametrize("values", [{"timeout": "5"}, {"timeout": True}, {"key": 5}])
def test_arguments_of_the_wrong_type(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(values))}: expected a"):
        AsyncClient("http://localhost:5000", **values)


def test_a_glossary_may_be_any_mapping(server: ApiServer) -> None:
    glossary = MappingProxyType({"house": "Haus"})

    async def call() -> None:
        async with AsyncClient(server.address) as client:
            await client.translate("A house.", target="de", source="en", glossary=glossary)

    asyncio.run(call())
    given = server.service.calls[-1][0].glossary
    assert given is not None and [term.source for term in given.terms] == ["house"]


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_PAUSE", 1000)
    with pytest.raises(ServiceError, match=r"no connection .* that the server runs") as caught:
        translated("http://127.0.0.1:9")
    assert (caught.value.kind, caught.value.status) == ("unreachable", None)


def test_a_server_that_is_too_slow(tmp_path: Path) -> None:
    with (
        v1_server(tmp_path, EchoService(seconds=30)) as server,
        pytest.raises(ServiceError, match=r"no answer within 0\.3 seconds") as caught,
    ):
        translated(server.address, timeout=0.3)
    assert caught.value.kind == "timed_out"


@pytest.mark.parametrize("breaks", [False, True])
def test_a_stream_that_is_cut_off(breaks: bool) -> None:
    async def lines() -> AsyncIterator[str]:
        yield '{"kind": "start"}\n'
        if breaks:
            raise RuntimeError("the server ends")

    with (
        answering(lambda number: StreamingResponse(lines())) as (address, _),
        pytest.raises(ServiceError, match="ended before the text was translated") as caught,
    ):
        streamed(address)
    assert caught.value.kind == "cut_off"


@pytest.mark.parametrize(
    "line", ["<html>", "[]", "{}", '{"kind": "sentence"}', '{"kind": "error", "error": "no"}']
)
def test_a_stream_of_another_server_is_recognised(line: str) -> None:
    with (
        answering(lambda number: PlainTextResponse(line)) as (address, _),
        pytest.raises(ServiceError, match="this is no server of Dragoman") as caught,
    ):
        streamed(address)
    assert caught.value.kind == "foreign"


def test_an_error_within_a_stream() -> None:
    error = {"kind": "timed_out", "message": "the time is up", "retry_after": 3}
    content = json.dumps({"kind": "start"}) + "\n" + json.dumps({"kind": "error", "error": error})

    with (
        answering(lambda number: PlainTextResponse(content)) as (address, _),
        pytest.raises(ServiceError, match="the time is up") as caught,
    ):
        streamed(address)
    assert (caught.value.kind, caught.value.retry_after) == ("timed_out", 3)


def test_one_failing_part_ends_the_others(server: ApiServer) -> None:
    async def call() -> None:
        async with AsyncClient(server.address, timeout=1.9) as client:
            with pytest.raises(ServiceError, match="too many texts are waiting"):
                await client.translate(["busy", *["a"] * 200], target="de")

    asyncio.run(call())


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ConfigError, match="expected an address such as http://localhost:5000"):
        AsyncClient("localhost:5000")
    with pytest.raises(ConfigError, match="timeout: expected a number of seconds above 0, found 0"):
        AsyncClient(timeout=0)
    with pytest.raises(ConfigError, match="no address"):
        AsyncClient("http://localhost:port")
    with pytest.raises(ConfigError, match="expected an address"):
        AsyncClient("http://")
    for key in ("schlüssel", "two\nlines"):
        with pytest.raises(ConfigError, match="key: it has characters that no key has"):
            AsyncClient(key=key)
    with pytest.raises(UsageError, match="url: expected a string"):
        AsyncClient(5000)  # type: ignore[arg-type]

    async def call(text: object) -> None:
        async with AsyncClient() as client:
            await client.translate(text, target="de")  # type: ignore[call-overload]

    for text in (3, None, b"a", ["a", 3]):
        with pytest.raises(UsageError):
            asyncio.run(call(text))


def test_a_client_is_of_one_loop_until_it_is_closed(server: ApiServer) -> None:
    client = AsyncClient(server.address)
    with closing(asyncio.new_event_loop()) as loop:
        loop.run_until_complete(client.translate("One.", target="de"))
        with pytest.raises(UsageError, match="used in another event loop; make all calls in one"):
            asyncio.run(client.translate("Two.", target="de"))
        loop.run_until_complete(client.close())
    with pytest.raises(UsageError, match="this client is closed; make another one"):
        asyncio.run(client.translate("Three.", target="de"))


@pytest.mark.parametrize("identifier", [3, None, ""])
def test_a_glossary_is_named_by_text(server: ApiServer, identifier: Any) -> None:
    async def call(name: str) -> None:
        async with AsyncClient(server.address) as client:
            await getattr(client, name)(identifier)

    for name in ("glossary", "delete_glossary"):
        with pytest.raises(UsageError, match="identifier: "):
            asyncio.run(call(name))


def test_what_cannot_be_sent_is_told() -> None:
    async def call(text: str, **options: object) -> None:
        async with AsyncClient() as client:
            await client.translate(text, target="de", **options)  # type: ignore[call-overload]

    with pytest.raises(DataError, match=r"half of a surrogate pair, '\\ud800'"):
        asyncio.run(call("a\ud800"))
    for options in ({"tags": {"<formal>"}}, {"nbest": float("nan")}):
        with pytest.raises(UsageError, match="an option cannot be sent as JSON"):
            asyncio.run(call("a", **options))


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    async def call() -> None:
        async with AsyncClient() as client:
            await client.translate_file(tmp_path / "none.txt", tmp_path / "out.txt", target="de")

    with pytest.raises(DataError, match=r"none\.txt: cannot be read: No such file"):
        asyncio.run(call())


@pytest.mark.parametrize("steps", range(6))
def test_a_cancellation_as_the_answer_arrives_is_not_lost(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(self: object, request: httpx.Request, **options: Any) -> httpx.Response:
        return httpx.Response(200, json={"languages": []}, request=request)

    async def call() -> None:
        async with AsyncClient("http://localhost:1") as client:
            work = asyncio.ensure_future(client.languages())
            for _ in range(steps):
                await asyncio.sleep(0)
            is_cancelled = work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            assert work.cancelled() == is_cancelled

    monkeypatch.setattr(httpx.AsyncClient, "send", at_once)
    asyncio.run(call())


def test_a_client_without_httpx_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match="pip install httpx"):
        AsyncClient()


def test_a_client_needs_no_model_nor_server() -> None:
    script = (
        "import sys, dragoman\n"
        "dragoman.Client('http://localhost:5000')\n"
        "heavy = {'torch', 'numpy', 'fastapi', 'starlette', 'sqlalchemy', 'babel'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
