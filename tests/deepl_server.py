"""A server that speaks DeepL's API and translates as ``EchoService`` does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

from echo_service import EchoService
from fastapi import FastAPI
from running_server import running

from dragoman.apps.server.app import create_app
from dragoman.apps.server.doors.deepl import deepl_door
from dragoman.apps.server.guard import Guard
from dragoman.apps.server.kept.server_store import ServerStore
from dragoman.apps.server.premises import Premises
from dragoman.apps.server.server_config import LimitsConfig, ServerConfig
from dragoman.saved.system import TranslationSystem


class DeepLServer(NamedTuple):
    """One that runs."""

    address: str
    store: ServerStore
    service: EchoService


@contextmanager
def deepl_server(
    folder: Path,
    limits: LimitsConfig | None = None,
    *,
    service: EchoService | None = None,
    require_key: bool = False,
) -> Iterator[DeepLServer]:
    """A server on a free port, with a database in a folder."""
    config = ServerConfig(
        systems=(TranslationSystem(models=("unread",)),), limits=limits or LimitsConfig()
    )
    echo = service or EchoService()
    with ServerStore(str(folder / "server.sqlite")) as store:
        guard = Guard(store, config.limits, require_key=require_key)

        @asynccontextmanager
        async def closing(app: FastAPI) -> AsyncIterator[None]:
            yield
            await guard.close()

        door = deepl_door(Premises(echo, store, guard, config))
        with running(create_app([door], config.limits, lifespan=closing)) as address:
            yield DeepLServer(address, store, echo)
