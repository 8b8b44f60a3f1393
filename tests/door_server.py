"""A server with one door, which translates as ``EchoService`` does, behind a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from echo_service import EchoService
from fastapi import FastAPI
from running_server import running

from dragoman.saved.system import TranslationSystem
from dragoman.server.access import Guard
from dragoman.server.app import create_app
from dragoman.server.database.server_store import ServerStore
from dragoman.server.deepl import deepl_door
from dragoman.server.dependencies import Door, Premises
from dragoman.server.libretranslate import libretranslate_door
from dragoman.server.server_config import LimitsConfig, ServerConfig
from dragoman.server.v1 import own_door


class DoorServer(NamedTuple):
    """One that runs: where it is, and what is behind it."""

    address: str
    store: ServerStore
    service: EchoService


@contextmanager
def door_server(
    opened: Callable[[Premises], Door],
    folder: Path,
    service: EchoService | None = None,
    limits: LimitsConfig | None = None,
    *,
    require_key: bool = False,
) -> Iterator[DoorServer]:
    """A server on a free port, with a database in a folder."""
    config = ServerConfig(
        systems=(TranslationSystem(models=("unread",)),),
        limits=limits or LimitsConfig(),
        require_key=require_key,
    )
    service = service or EchoService()
    with ServerStore(str(folder / "server.sqlite")) as store:
        guard = Guard(store, config.limits, require_key=require_key)

        @asynccontextmanager
        async def closing(app: FastAPI) -> AsyncIterator[None]:
            yield
            await guard.close()

        door = opened(Premises(service, store, guard, config))
        with running(create_app([door], config.limits, lifespan=closing)) as address:
            yield DoorServer(address, store, service)


libre_server = partial(door_server, libretranslate_door)
deepl_server = partial(door_server, deepl_door)
own_server = partial(door_server, own_door)
