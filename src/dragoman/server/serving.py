"""One process that serves, from the first look at its configuration to its end."""

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
"""Told the address and the directions, once requests are answered."""

CLOSING_SECONDS = 5.0
"""How long a server may take to end once its last request is answered or refused."""


def serve_until_stopped(config: ServerConfig, ready: Ready) -> None:
    """Load everything, and answer requests until SIGTERM or SIGINT.

    If something is still being translated :data:`CLOSING_SECONDS` after the last request had its
    answer or its time was up, this process ends there and then, with exit code 0.

    Raises:
        ConfigError: the address is in use or not permitted, or a system makes no sense.
        DragomanError: a model or the database cannot be opened.
    """
    with ExitStack() as opened:
        # The port first: that it is in use should not take a minute to find out.
        bound = opened.enter_context(bind(config.host, config.port))
        store = opened.enter_context(ServerStore(config.database, config.store))
        end = BoundedEnd()
        opened.callback(end.call_off)
        asyncio.run(_serve(config, store, bound, ready, end))


def check(config: ServerConfig) -> list[Pairing]:
    """The directions of a server, all of whose models and whose database can be opened.

    Raises:
        DragomanError: one of them cannot.
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
    """Ends this process when its time is up, unless it has ended by then.

    Python waits for all threads before a process ends.  No thread can be stopped that translates a
    batch or waits for a database, and nobody needs what it is doing any more: callers have their
    answers, files start again, and a database keeps whole transactions only.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._end = math.inf

    def within(self, seconds: float) -> None:
        """End the process after some seconds, with exit code 0; an earlier end stays."""
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
    """End without waiting for any thread; processes that translate notice, and end too."""
    log.warning("the time to stop is up: the server ends without what is still being translated")
    logging.shutdown()
    os._exit(0)
