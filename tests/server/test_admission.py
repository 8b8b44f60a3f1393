from __future__ import annotations

import asyncio
import logging

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse, Response

from dragoman.server import admission
from dragoman.server.admission import AdmissionControl
from dragoman.server.monitoring import AnsweredRequest, Readiness
from dragoman.translation.service.interface import RefusedError

BODY = b'{"q": "Hello"}'
HEADERS = b"Host: localhost\r\nContent-Length: %d\r\n" % len(BODY)
PLAIN = b"POST /translate?api_key=x HTTP/1.1\r\n" + HEADERS + b"\r\n" + BODY


def refuse(path: str, error: RefusedError, status: int) -> Response:
    retry = {"Retry-After": str(error.retry_after), "Cache-Control": "private"}
    return JSONResponse({"path": path, "error": str(error)}, status, retry)


def refusal_of(data: bytes) -> bytes | None:
    async def asked() -> bytes | None:
        return AdmissionControl(1, refuse, ["/health"]).refusal(data)

    return asyncio.run(asked())


def events_of(data: bytes, role: object) -> list[h11.Event]:
    """What the HTTP of h11 makes of what a client or a server sent; an error, if it is none."""
    reader = h11.Connection(h11.CLIENT if role is h11.SERVER else h11.SERVER)
    events: list[h11.Event] = []
    if role is h11.SERVER:
        reader.send(h11.Request(method="POST", target="/", headers=[("Host", "localhost")]))
        reader.send(h11.EndOfMessage())
    reader.receive_data(data)
    while not events or not isinstance(events[-1], h11.EndOfMessage):
        event = reader.next_event()
        if event is h11.NEED_DATA:
            raise h11.RemoteProtocolError("there is more to come")
        assert not isinstance(event, type)
        events.append(event)
    if reader.trailing_data[0]:
        raise h11.RemoteProtocolError("there is more than one message")
    return events


def test_a_refusal_is_an_answer_of_http() -> None:
    refusal = refusal_of(PLAIN)
    assert refusal is not None
    first, *parts = events_of(refusal, h11.SERVER)
    assert isinstance(first, h11.Response)
    headers = dict(first.headers)
    assert first.status_code == 503
    assert headers[b"retry-after"] == b"2"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"cache-control"] == b"private"  # as the response has it
    assert len(headers[b"x-request-id"]) == 16
    body = b"".join(bytes(one.data) for one in parts if isinstance(one, h11.Data))
    text = "1 requests are at work or waiting already; try again later"
    assert body == JSONResponse({"path": "/translate", "error": text}).body


def test_a_proxy_finds_its_number_in_the_refusal() -> None:
    refusal = refusal_of(PLAIN.replace(b"\r\n", b"\r\nX-Request-ID: its-number\r\n", 1))
    assert refusal is not None
    assert b"x-request-id: its-number\r\n" in refusal.lower()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        PLAIN[:-1],  # the body is not complete
        PLAIN[:-20],
        PLAIN + b"G",  # the next request has begun
        PLAIN + PLAIN,
        PLAIN.replace(b"/translate", b"/health"),
        PLAIN.replace(b"/translate", b"/%68ealth"),
        PLAIN.replace(b"HTTP/1.1", b"HTTP/1.0"),
        PLAIN.replace(b"POST", b"HEAD"),
        PLAIN.replace(b"/translate", b"//translate"),
        PLAIN.replace(b"/translate", b"/v2//translate"),
        PLAIN.replace(b"/translate", b"http://localhost/translate"),
        PLAIN.replace(b"POST", b"OPTIONS"),
        PLAIN.replace(b"Content-Length: 14", b"Content-Length: +14"),
        PLAIN[: -len(BODY)].replace(b"Content-Length: 14", b"Content-Length: " + b"0" * 20 + b"14"),
        PLAIN.replace(b"Content-Length: 14", b"Content-Length: 13\r\nContent-Length: 14"),
        *(
            PLAIN.replace(b"\r\n\r\n", b"\r\n" + header + b"\r\n\r\n")
            for header in (
                b"Transfer-Encoding: chunked",
                b"EXPECT: 100-continue",
                b"Origin: https://example.org",
                b"Upgrade: websocket",
                b"Connection: close",
                b" folded",
                b"name : value",
                b"no colon",
            )
        ),
    ],
)
def test_what_is_not_one_whole_and_ordinary_request_is_refused_in_good_order(data: bytes) -> None:
    assert refusal_of(data) is None


def test_a_connection_may_say_that_it_is_kept() -> None:
    said = PLAIN.replace(b"\r\n\r\n", b"\r\nconnection: Keep-Alive\r\n\r\n")
    assert refusal_of(said) is not None


@st.composite
def broken_requests(draw: st.DrawFn) -> bytes:
    """Requests with some bytes changed, left out or added."""
    data = bytearray(PLAIN.replace(b"\r\n", b"\r\nConnection: keep-alive\r\nAccept: */*\r\n", 1))
    spare = st.sampled_from(b"\r\n :;,%?/0123456789\x00\x80aZ")
    for _ in range(draw(st.integers(0, 3))):
        place, kind = draw(st.integers(0, len(data) - 1)), draw(st.sampled_from("=-+"))
        if kind == "=":
            data[place] = draw(spare)
        elif kind == "-":
            del data[place]
        else:
            data.insert(place, draw(spare))
    return bytes(data)


@settings(max_examples=300)
@given(broken_requests())
def test_what_is_refused_by_its_bytes_is_one_whole_request_to_a_parser_of_http(data: bytes) -> None:
    refusal = refusal_of(data)
    if refusal is not None:
        request = events_of(data, h11.CLIENT)[0]
        assert isinstance(request, h11.Request)
        path = request.target.partition(b"?")[0].decode("ascii")
        assert b'"path":"%b"' % path.encode() in refusal


def test_places_are_counted() -> None:
    one = AdmissionControl(2, refuse, ["/health"])

    async def counted() -> None:
        with one.inside():
            assert one.admits("/translate")
            with one.inside():
                assert not one.admits("/translate")
                assert one.admits("/health")
        assert one.admits("/translate")

    asyncio.run(counted())


def test_closing_cancels_the_work_on_those_inside_and_on_whoever_still_comes() -> None:
    one = AdmissionControl(2, refuse)

    async def stay() -> bool:
        with one.inside() as work, work:
            await asyncio.sleep(2)
        return work.cancelled_caught

    async def closed() -> list[bool]:
        asyncio.get_running_loop().call_later(0.01, one.close)
        return [*await asyncio.gather(stay(), stay()), await stay()]

    assert asyncio.run(closed()) == [True, True, True]
    assert one.is_closed and one.admits("/translate")


def test_once_the_server_is_about_to_end_refusals_are_ordinary_which_close_the_connection() -> None:
    readiness = Readiness(5)
    readiness.drain()
    assert AdmissionControl(1, refuse, readiness=readiness).refusal(PLAIN) is None


def test_the_last_answer_of_a_connection_says_so() -> None:
    async def asked() -> bytes | None:
        return AdmissionControl(1, refuse).refusal(PLAIN, is_last=True)

    refusal = asyncio.run(asked())
    assert refusal is not None
    first = events_of(refusal, h11.SERVER)[0]
    assert isinstance(first, h11.Response)
    assert (b"connection", b"close") in first.headers


def test_refusals_are_counted_each_and_logged_together(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "SUMMARY_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    record: list[AnsweredRequest] = []

    async def asked() -> None:
        one = AdmissionControl(1, refuse, record=record.append)
        for _ in range(2):
            for _ in range(3):
                assert one.refusal(PLAIN) is not None
            await asyncio.sleep(0.1)

    asyncio.run(asked())
    assert record == [AnsweredRequest("POST", "/translate", None, 503, 0.0, "")] * 6
    said = "3 more requests were refused in 0.01 s: all 1 places are taken"
    assert caplog.messages == [said, said]
