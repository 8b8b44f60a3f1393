"""An API for tests of the application: it says what reached it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from dragoman.server.database.failures import DamagedError, UnansweredError
from dragoman.server.dependencies import Api
from dragoman.translation.service.interface import RefusedError


@dataclass
class PlainApi:
    """Its routes begin with a prefix; its errors are ``{NAME: message, "kind": kind}``."""

    prefix: str = "/plain"
    events: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    """Until it is set, ``/held`` is not answered."""

    @property
    def api(self) -> Api:
        name = self.prefix.strip("/")

        def refuse(error: RefusedError, status: int) -> Response:
            return JSONResponse({name: str(error), "kind": error.kind}, status)

        return Api(name, (self.prefix,), self._router(), refuse)

    def _router(self) -> APIRouter:
        router = APIRouter(prefix=self.prefix)

        @router.post("/length")
        async def length(request: Request) -> Response:
            return JSONResponse(len(await request.body()))

        @router.get("/slow/{seconds}")
        async def slow(seconds: float) -> Response:
            self.events.append("begun")
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                self.events.append("cancelled")
                raise
            self.events.append("ended")
            return PlainTextResponse("slow\n")

        @router.api_route("/held", methods=["GET", "POST"])
        async def held() -> Response:
            self.events.append("begun")
            while not self.released.is_set():
                await asyncio.sleep(0.01)
            return PlainTextResponse("held\n")

        @router.get("/drops/{count}")
        async def drops(count: int) -> Response:
            async def each() -> AsyncIterator[str]:
                for number in range(count):
                    yield f"{number}\n"
                    await asyncio.sleep(0.05)

            return StreamingResponse(each(), media_type="text/plain")

        @router.get("/much/{size}")
        async def much(size: int) -> Response:
            return PlainTextResponse("x" * size)

        @router.get("/flood")
        async def flood() -> Response:
            async def each() -> AsyncIterator[str]:
                while True:
                    yield "x" * 100_000
                    await asyncio.sleep(0)

            return StreamingResponse(each(), media_type="text/plain")

        @router.get("/broken")
        async def broken() -> Response:
            raise RuntimeError("a secret of the inside")

        @router.get("/away")
        async def away() -> Response:
            raise UnansweredError("/secret/server.sqlite: the disk is full")

        @router.get("/damaged")
        async def damaged() -> Response:
            raise DamagedError("/secret/server.sqlite: damaged")

        @router.get("/refused")
        async def refused() -> Response:
            raise RefusedError("busy", "try again", 1.2)

        @router.get("/items/{number}")
        async def items(number: int, request: Request) -> Response:
            return JSONResponse(
                {"number": number, "client": request.client and request.client.host}
            )

        return router
