"""One process that serves, from the first look at its configuration to its end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack

from dragoman.server.assembly import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.ending import BoundedEnd
from dragoman.server.listening import StoppableServer, address_of, bind
from dragoman.server.readiness import Readiness
from dragoman.server.server_config import ServerConfig
from dragoman.translation.service.interface import Pairing
from dragoman.translation.service.model_service import ModelService

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
