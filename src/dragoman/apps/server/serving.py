"""One process that serves, from the first look at its configuration to its end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack

from dragoman.apps.server.assembly import assemble
from dragoman.apps.server.kept.server_store import ServerStore
from dragoman.apps.server.listening import StoppableServer, address_of, bind
from dragoman.apps.server.readiness import Readiness
from dragoman.apps.server.server_config import ServerConfig
from dragoman.translation.service.interface import Pairing
from dragoman.translation.service.model_service import ModelService

Ready = Callable[[str, list[Pairing]], object]
"""Told the address and the directions, once requests are answered."""


def serve_until_stopped(config: ServerConfig, ready: Ready) -> None:
    """Load everything, and answer requests until SIGTERM or SIGINT.

    Raises:
        ConfigError: the address is in use or not permitted, or a system makes no sense.
        DragomanError: a model or the database cannot be opened.
    """
    with ExitStack() as opened:
        # The port first: that it is in use should not take a minute to find out.
        bound = opened.enter_context(bind(config.host, config.port))
        store = opened.enter_context(ServerStore(config.database, config.store))
        asyncio.run(_serve(config, store, bound, ready))


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
    config: ServerConfig, store: ServerStore, bound: socket.socket, ready: Ready
) -> None:
    async with await _open_service(config, store) as service:
        readiness = Readiness(config.drain_seconds)
        app = assemble(config, service, store, service.status, readiness)
        server = StoppableServer(app, config, readiness)
        ready(address_of(bound), service.directions())
        await server.serve(sockets=[bound])


async def _open_service(config: ServerConfig, store: ServerStore) -> ModelService:
    return await ModelService.open(
        config.systems,
        pivots=config.pivots,
        batching=config.batching,
        seconds=config.limits.seconds,
        reload_seconds=config.reload_seconds,
        remember=store.remembered,
        may_remember=store.may_remember,
    )
