"""A whole server, from its configuration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from dragoman.server.access import Guard
from dragoman.server.app import create_app
from dragoman.server.database.server_store import ServerStore
from dragoman.server.deepl import deepl_door
from dragoman.server.dependencies import Premises
from dragoman.server.libretranslate import libretranslate_door
from dragoman.server.monitoring import Monitoring
from dragoman.server.operations import operations_router
from dragoman.server.readiness import Readiness
from dragoman.server.server_config import ServerConfig
from dragoman.server.v1 import own_door
from dragoman.server.web.page import web_door
from dragoman.translation.service.interface import TranslationService
from dragoman.translation.service.service_status import ServiceStatus


def assemble(
    config: ServerConfig,
    service: TranslationService,
    store: ServerStore,
    status: Callable[[], ServiceStatus] | None = None,
    readiness: Readiness | None = None,
) -> FastAPI:
    """The application with all doors; usage that is not written yet is, when it ends.

    Args:
        config: what is served, and within which bounds.
        service: translates.
        store: keeps keys, usage and the like; whoever opened it closes it.
        status: tells what the service is doing.
        readiness: of the server that will answer.
    """
    readiness = readiness or Readiness(config.drain_seconds)
    monitoring = Monitoring(status)
    guard = Guard(
        store,
        config.limits,
        require_key=config.require_key,
        count=monitoring.count_characters,
    )
    premises = Premises(service, store, guard, config)
    doors = [libretranslate_door(premises), deepl_door(premises), own_door(premises)]
    if config.web:
        doors.append(web_door(premises))

    @asynccontextmanager
    async def closing_guard(app: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await guard.close()

    return create_app(
        doors,
        config.limits,
        allowed_origins=config.allowed_origins,
        operations=operations_router(
            service,
            monitoring,
            config.metrics_token,
            readiness,
            store.has_keys if config.require_key else None,
        ),
        monitoring=monitoring,
        readiness=readiness,
        lifespan=closing_guard,
    )
