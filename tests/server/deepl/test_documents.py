"""A document that is fetched once."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from dragoman.server.database.failures import UnansweredError
from dragoman.server.deepl.documents import _Once


@pytest.mark.parametrize(
    ("content", "breaks", "fails"),
    [
        (b"abc", False, False),
        (b"", False, False),
        (b"abc", True, False),
        (b"abc", False, True),
    ],
)
def test_it_is_deleted_when_all_but_its_end_is_sent(
    content: bytes, breaks: bool, fails: bool
) -> None:
    happened: list[bytes | str] = []

    def delete() -> None:
        happened.append("deleted")
        if fails:
            raise UnansweredError("the disk is full")

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            if breaks:
                raise OSError
            happened.append(message["body"])

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError("nothing more is read")

    answer = _Once(delete, content, headers={"x": "y"})
    sent = answer({"type": "http"}, receive, send)
    if breaks:
        with pytest.raises(OSError):
            asyncio.run(sent)
        assert happened == []
    else:
        asyncio.run(sent)
        assert happened == [content[:-1], "deleted", content[-1:]]
