"""A whole server, from its configuration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from dragoman.apps.server.app import create_app
from dragoman.apps.server.doors.deepl import deepl_door
from dragoman.apps.server.doors.libretranslate import libretranslate_door
from dragoman.apps.server.doors.own import own_door
from dragoman.apps.server.guard import Guard
from dragoman.apps.server.kept.server_store import ServerStore
from dragoman.apps.server.monitoring import Monitoring
from dragoman.apps.server.operations import operations_router
from dragoman.apps.server.premises import Premises
from dragoman.apps.server.readiness import Readiness
from dragoman.apps.server.server_config import ServerConfig
from dragoman.apps.web.page_door import web_door
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
