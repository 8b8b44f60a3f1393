"""Parameters of a request are read strictly, wherever they are."""

from __future__ import annotations

import asyncio
import gc
import json
from contextlib import suppress
from urllib.parse import urlencode

import pytest
from garbage_collections import collections
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message

from dragoman.server.deepl.parameters import DeepLParameters
from dragoman.server.libretranslate.requests import LibreParameters
from dragoman.server.parameters import Upload
from dragoman.server.server_config import MOST_ITEMS
from dragoman.translation.service.interface import RefusedError

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"


def read(body: bytes, media_type: str, query: str = "", part_bytes: int = 1000) -> LibreParameters:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "query_string": query.encode(),
        "headers": [(b"content-type", media_type.encode())] if media_type else [],
    }
    return asyncio.run(LibreParameters.read(Request(scope, receive), part_bytes=part_bytes))


def part(name: str, value: bytes, extra: str = "") -> bytes:
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n'
    return head.encode() + value + b"\r\n"


# Characters of forms that mean themselves; their line ends are unified.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1)


@given(TEXTS)
def test_a_text_is_the_same_in_a_query_string_a_form_a_part_and_json(text: str) -> None:
    escaped = urlencode({"q": text})
    end = b"--b--\r\n"
    for given_ in (
        read(b"", "", escaped),
        read(escaped.encode(), FORM),
        read(part("q", text.encode()) + end, MULTIPART, part_bytes=10**6),
        read(json.dumps({"q": text}).encode(), "application/json"),
        read(json.dumps({"q": text}, ensure_ascii=False).encode(), "application/json"),
    ):
        assert given_.text("q") == given_.texts("q") == given_.required("q") == text


def test_letters_of_a_form_need_not_be_escaped() -> None:
    assert read("q=Größe heute".encode(), FORM).text("q") == "Größe heute"


def test_line_ends_of_forms_are_unified_and_those_of_json_kept() -> None:
    assert read(b"q=a%0D%0Ab%0Dc%0Ad%0D%0A", FORM).text("q") == "a\nb\nc\nd\n"
    assert read(part("q", b"a\r\nb") + b"--b--\r\n", MULTIPART).text("q") == "a\nb"
    assert read(b'{"q": "a\\r\\nb"}', "application/json").text("q") == "a\r\nb"


def test_a_query_string_goes_before_a_form_and_json_before_a_query_string() -> None:
    assert read(b"q=body&s=1", FORM, "q=query").values == {"q": "query", "s": "1"}
    assert read(b'{"q": "body"}', "application/json", "q=query&s=1").values == {
        "q": "body",
        "s": "1",
    }


def test_a_name_given_several_times_is_a_list() -> None:
    given_ = read(b"q=a&q=&source=en&source=de", FORM)
    assert given_.texts("q") == ["a", ""]
    with pytest.raises(RefusedError, match="source parameter is several strings"):
        given_.text("source")


def test_a_file_keeps_its_bytes_and_its_name() -> None:
    content = b"a\r\n\xff\x00"
    body = part("file", content, '; filename="Größe.txt"') + part("source", b"en") + b"--b--\r\n"
    given_ = read(body, MULTIPART)
    assert given_.upload("file") == Upload("Größe.txt", content)
    with pytest.raises(RefusedError, match="source parameter is not a file"):
        given_.upload("source")
    with pytest.raises(RefusedError, match="file parameter is not a string"):
        given_.text("file")


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "", "application/jsonx"])
def test_a_body_of_another_type_is_not_read(media_type: str) -> None:
    assert read(b'{"q": "a"}', media_type).values == {}


@pytest.mark.parametrize("media_type", ["Application/JSON; charset=utf-8", "application/ld+json"])
def test_json_has_several_types(media_type: str) -> None:
    assert read(b'\xef\xbb\xbf{"q": "a"}', media_type).values == {"q": "a"}


@pytest.mark.parametrize("begin", [b'{"q": [', b'{"q": NaN, "r": ['])
def test_the_garbage_collector_does_not_go_through_json_as_it_is_parsed(begin: bytes) -> None:
    with collections() as counted, suppress(RefusedError):
        read(begin + b"[]," * 1_000_000 + b"0]}", "application/json")
    assert len(counted) < 20
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("body", "media_type", "message"),
    [
        (b"", "application/json", "Invalid JSON format: Expecting value"),
        (b'{"q": "a"', "application/json", "Invalid JSON format: Expecting ',' delimiter"),
        (b'["q"]', "application/json", "Invalid JSON format: not an object"),
        (b'{"q": "\xff"}', "application/json", "Invalid JSON format: not UTF-8 at byte 8"),
        (b'{"q": NaN}', "application/json", "Invalid JSON format: NaN is not a number"),
        (b'{"q": -Infinity}', "application/json", "-Infinity is not a number of JSON"),
        (b"[" * 200_000, "application/json", "Invalid JSON format: nested too deeply"),
        (b"9" * 5000, "application/json", "Invalid JSON format: a number is too long"),
        (b"q=%ff", FORM, "Invalid request: not UTF-8 at byte 1"),
        (b"q=\xff", FORM, "Invalid request: not UTF-8 at byte 3"),
        (b"q=a&" * 1001, FORM, "Invalid request: more than 1000 fields"),
        (part("q", b"\xff") + b"--b--\r\n", MULTIPART, "Invalid request: not UTF-8 at byte 1"),
        (part("q", b"a" * 1001) + b"--b--\r\n", MULTIPART, "Part exceeded maximum size"),
        (b"nothing", MULTIPART, "Invalid request: "),
        (b"", "multipart/form-data", "Missing boundary"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    body: bytes, media_type: str, message: str
) -> None:
    with pytest.raises(RefusedError, match=message) as caught:
        read(body, media_type)
    assert caught.value.kind == "invalid"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "missing q parameter"),
        ("", "missing q parameter"),
        ([], "missing q parameter"),
        (5, "q parameter is not a string or a list of strings"),
        (True, "not a string"),
        ({"q": "a"}, "not a string"),
        (["a", None], "not a string"),
        ([["a"]], "not a string"),
        ("a\ud83d", "q parameter has half of a surrogate pair at character 2"),
        (["a", "\udc00"], "half of a surrogate pair at character 1"),
    ],
)
def test_texts_are_a_string_or_strings(value: object, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        LibreParameters({"q": value}).texts("q")


@pytest.mark.parametrize(
    ("value", "number"),
    [(None, 0), (3, 3), ("3", 3), (" +3 ", 3), (3.0, 3), (-2, 0), ("-2", 0), (8, 8)],
)
def test_counts_are_numbers_however_written(value: object, number: int) -> None:
    assert LibreParameters({"n": value}).count("n", 8) == number


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("abc", "n parameter is not a number"),
        ("", "not a number"),
        ("1e3", "not a number"),
        ("٣", "not a number"),
        (True, "not a number"),
        (2.5, "not a number"),
        (float("inf"), "not a number"),
        ([3], "not a number"),
        (9, "n parameter must be <= 8"),
        ("9" * 18, "must be <= 8"),
        (10**400, "must be <= 8"),
    ],
)
def test_what_is_no_count_is_refused(value: object, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        LibreParameters({"n": value}).count("n", 8)


def test_of_a_list_without_end_only_the_length_is_looked_at() -> None:
    """Each of two million strings would be looked at for seconds, in which nobody is answered."""

    class Unread(str):
        def encode(self, *arguments: object) -> bytes:
            raise AssertionError("it was looked at")

    most = LibreParameters({"q": ["a"] * MOST_ITEMS}).texts("q")
    assert len(most) == MOST_ITEMS
    for read_list in (
        lambda given: LibreParameters(given).texts("q"),
        lambda given: DeepLParameters(given).texts("q"),
        lambda given: DeepLParameters(given).names("q"),
    ):
        with pytest.raises(RefusedError, match="65537 texts in one request") as caught:
            read_list({"q": [Unread()] * (MOST_ITEMS + 1)})
        assert caught.value.kind == "too_large"
