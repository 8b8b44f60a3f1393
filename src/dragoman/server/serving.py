"""Runs one server process, from its configuration to its end."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from dragoman.server.app import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.listening import StoppableServer, address_of, bind
from dragoman.server.readiness import Readiness
from dragoman.server.server_config import ServerConfig
from dragoman.translation.service.interface import Pairing
from dragoman.translation.service.model_service import ModelService

log = logging.getLogger(__name__)

Ready = Callable[[str, list[Pairing]], object]
"""Called with the address and the directions when the server starts to answer."""

CLOSING_SECONDS = 5.0
"""How long a server may take to end after its last request is answered or refused."""


def serve_until_stopped(config: ServerConfig, ready: Ready) -> None:
    """Load everything, and answer requests until SIGTERM or SIGINT.

    The process ends, with exit code 0, at most :data:`CLOSING_SECONDS` after the last request was
    answered or its time was up, abandoning any translation in progress.

    Raises:
        ConfigError: the address is in use or not permitted, or a system is invalid.
        DragomanError: a model or the database cannot be opened.
    """
    with ExitStack() as opened:
        # The port first, as loading models takes a minute, and the port may be in use.
        bound = opened.enter_context(bind(config.host, config.port))
        store = opened.enter_context(ServerStore(config.database, config.store))
        end = BoundedEnd()
        opened.callback(end.call_off)
        asyncio.run(_serve(config, store, bound, ready, end))


def check(config: ServerConfig) -> list[Pairing]:
    """Check that all models and the database of a server can be opened; returns its directions.

    Raises:
        DragomanError: a model or the database cannot be opened.
    """

    async def directions(store: ServerStore) -> list[Pairing]:
        async with await _open_service(config, store) as service:
            assemble(config, service, store)
            return service.directions()

    with ServerStore(config.database, config.store) as store:
        return asyncio.run(directions(store))


async def _serve(
    config: ServerConfig, store: ServerStore, bound: socket.socket, ready: Ready, end: BoundedEnd
) -> None:
    async with await _open_service(config, store) as service:
        readiness = Readiness(config.drain_seconds)
        app = assemble(config, service, store, service.status, readiness)
        latest = config.shutdown_seconds + CLOSING_SECONDS
        server = StoppableServer(app, config, readiness, lambda: end.within(latest))
        ready(address_of(bound), service.directions())
        await server.serve(sockets=[bound])
        end.within(CLOSING_SECONDS)


async def _open_service(config: ServerConfig, store: ServerStore) -> ModelService:
    service = await ModelService.open(
        config.systems,
        pivots=config.pivots,
        batching=config.batching,
        seconds=config.limits.seconds,
        reload_seconds=config.reload_seconds,
        remember=store.remembered,
        may_remember=store.may_remember,
    )
    await service.prepare_detection()
    return service


class BoundedEnd:
    """Ends this process when its time is up, unless it has already ended.

    Python waits for all threads before a process ends.  A thread that translates a batch or waits
    for a database cannot be stopped, but its work is no longer needed: callers have their answers,
    files start again, and a database keeps only complete transactions.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._end = math.inf

    def within(self, seconds: float) -> None:
        """End the process after some seconds, with exit code 0; an earlier deadline stays."""
        end = time.monotonic() + seconds
        if end >= self._end:
            return
        self.call_off()
        self._end = end
        self._timer = threading.Timer(seconds, _end_now)
        self._timer.daemon = True
        self._timer.start()

    def call_off(self) -> None:
        """Let the process end by itself."""
        if self._timer is not None:
            self._timer.cancel()


def _end_now() -> None:
    """End without waiting for threads; translating processes notice this and end as well."""
    log.warning("the time to stop is up: the server ends without what is still being translated")
    logging.shutdown()
    os._exit(0)
