"""A server with the door /v1 over the echo service, behind a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from echo_service import EchoService
from running_server import running

from dragoman.apps.server.app import create_app
from dragoman.apps.server.doors.own import own_door
from dragoman.apps.server.guard import Guard
from dragoman.apps.server.kept.server_store import ServerStore
from dragoman.apps.server.premises import Premises
from dragoman.apps.server.server_config import LimitsConfig, ServerConfig
from dragoman.saved.system import TranslationSystem


class OwnServer(NamedTuple):
    """Where it is, and what is behind it."""

    address: str
    service: EchoService
    store: ServerStore


@contextmanager
def own_server(
    folder: Path,
    service: EchoService | None = None,
    limits: LimitsConfig | None = None,
    *,
    require_key: bool = False,
) -> Iterator[OwnServer]:
    """A server whose database is in ``folder``."""
    service, limits = service or EchoService(), limits or LimitsConfig()
    config = ServerConfig(systems=(TranslationSystem(models=(Path("none"),)),), limits=limits)
    with ServerStore(str(folder / "server.sqlite")) as store:
        guard = Guard(store, limits, require_key=require_key)
        door = own_door(Premises(service, store, guard, config))
        with running(create_app([door], limits)) as address:
            yield OwnServer(address, service, store)
