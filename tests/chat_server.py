"""A server of the OpenAI API that misbehaves on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from running_server import running
from starlette.responses import JSONResponse, Response

Items = list[dict[str, Any]]
Act = Callable[["ChatServer", Items], Any]
"""Takes the numbered lines of a request; returns a response or the content of the answer."""


def translated(text: str) -> str:
    """What this server makes of a line."""
    return f"»{text.swapcase()}«"


def well(server: ChatServer, lines: Items) -> Items:
    """Every line with its translation."""
    return [{"id": one["id"], "text": translated(one["text"])} for one in lines]


@dataclass
class ChatServer:
    """Answers each request by the next act of a list, and well once the list is used up."""

    acts: list[Act] = field(default_factory=list)
    models: tuple[str, ...] = ("llm-1",)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """The requests, as they came."""
    keys: list[str | None] = field(default_factory=list)
    usage: tuple[int, int] = (100, 10)
    """Tokens that each answer claims to have read and written."""
    address: str = ""
    seconds: float = 0.0
    """How long an answer takes."""
    under_way: int = 0
    most_at_once: int = 0

    @property
    def texts(self) -> list[str]:
        """All lines that were asked for, repetitions included."""
        return [one["text"] for body in self.bodies for one in lines_of(body)]

    async def complete(self, request: Request) -> Response:
        """The answer to a request for a completion."""
        body = await request.json()
        self.bodies.append(body)
        self.keys.append(request.headers.get("Authorization"))
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await asyncio.sleep(self.seconds)
        self.under_way -= 1
        act = self.acts.pop(0) if self.acts else well
        found = act(self, lines_of(body))
        if asyncio.iscoroutine(found):
            found = await found
        if isinstance(found, Response):
            return found
        choices = found if isinstance(found, tuple) else (found,)
        return JSONResponse(
            {
                "id": "chat-1",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [_choice(number, one) for number, one in enumerate(choices)],
                "usage": dict(zip(("prompt_tokens", "completion_tokens"), self.usage, strict=True)),
            }
        )


def lines_of(body: dict[str, Any]) -> Items:
    """The lines of a request; none if it comes from another program."""
    try:
        return list(json.loads(body["messages"][-1]["content"])["lines"])
    except (ValueError, LookupError, TypeError):
        return []


def _choice(number: int, found: Any) -> dict[str, Any]:
    if isinstance(found, dict):  # of a message
        message, reason = found.get("message", found), found.get("finish_reason", "stop")
    else:
        content = found if isinstance(found, str) else json.dumps({"translations": found})
        message, reason = {"content": content}, "stop"
    return {
        "index": number,
        "message": {"role": "assistant", "content": None, "refusal": None, **message},
        "finish_reason": reason,
    }


@contextmanager
def chat_server(*acts: Act, **settings: Any) -> Iterator[ChatServer]:
    """A server on a free port."""
    server, app = ChatServer(list(acts), **settings), FastAPI()
    app.post("/v1/chat/completions")(server.complete)

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": name} for name in server.models]}

    with running(app) as address:
        server.address = f"{address}/v1"
        yield server
