"""A whole server over real models, in a thread of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from anyio.from_thread import start_blocking_portal

from dragoman.server.app import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.server_config import ServerConfig
from dragoman.server.serving import StoppableServer, address_of, bind
from dragoman.translation.service.model_service import ModelService, ServiceOptions


class ServedModels(NamedTuple):
    """A server that runs."""

    address: str
    store: ServerStore


@contextmanager
def serving_models(config: ServerConfig, database: Path) -> Iterator[ServedModels]:
    """Serve what a configuration describes, on a free port, with all doors."""
    with (
        ServerStore(str(database)) as store,
        bind(config.host, 0) as bound,
        start_blocking_portal() as portal,
    ):

        async def opened() -> ModelService:
            options = ServiceOptions(
                pivots=config.pivots, batching=config.batching, remember=store.remembered
            )
            service = await ModelService.open(config.systems, options)
            await service.prepare_detection()
            return service

        service = portal.call(opened)
        try:
            server = StoppableServer(assemble(config, service, store), config)
            ended = portal.start_task_soon(server.serve, [bound])
            while not server.started:
                assert not ended.done(), ended.exception()
                time.sleep(0.01)
            yield ServedModels(address_of(bound), store)
            server.should_exit = True
            ended.result()
        finally:
            portal.call(service.close)
