"""A server with one API, which translates as ``EchoService`` does, behind a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from echo_service import EchoService
from running_server import running

from dragoman.saved.system import TranslationSystem
from dragoman.server.access import AccessControl
from dragoman.server.app import create_app
from dragoman.server.database.server_store import ServerStore
from dragoman.server.deepl import DEEPL
from dragoman.server.dependencies import Api, Dependencies
from dragoman.server.libretranslate import LIBRETRANSLATE
from dragoman.server.server_config import LimitsConfig, ServerConfig
from dragoman.server.v1 import V1


class ApiServer(NamedTuple):
    """One that runs: where it is, and what is behind it."""

    address: str
    store: ServerStore
    service: EchoService


@contextmanager
def api_server(
    api: Api,
    folder: Path,
    service: EchoService | None = None,
    limits: LimitsConfig | None = None,
    *,
    require_key: bool = False,
) -> Iterator[ApiServer]:
    """A server on a free port, with a database in a folder."""
    config = ServerConfig(
        systems=(TranslationSystem(models=("unread",)),),
        limits=limits or LimitsConfig(),
        require_key=require_key,
    )
    service = service or EchoService()
    with ServerStore(str(folder / "server.sqlite")) as store:
        access = AccessControl(store, config.limits, require_key=require_key)
        dependencies = Dependencies(service, store, access, config)
        with running(create_app([api], config.limits, dependencies=dependencies)) as address:
            yield ApiServer(address, store, service)


libre_server = partial(api_server, LIBRETRANSLATE)
deepl_server = partial(api_server, DEEPL)
v1_server = partial(api_server, V1)
