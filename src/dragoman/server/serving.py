"""Runs one server process, from its configuration to its end: sockets and signals."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import FrameType

import uvicorn
from fastapi import FastAPI

from dragoman.core.errors import ConfigError
from dragoman.server.admission import OpenConnections, PatientProtocol
from dragoman.server.app import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.monitoring import Readiness
from dragoman.server.server_config import ServerConfig
from dragoman.translation.service.interface import Pairing
from dragoman.translation.service.model_service import ModelService, ServiceOptions

log = logging.getLogger(__name__)

BACKLOG = 2048
ACCEPTED_AT_ONCE = 256
"""How many clients are accepted before data of earlier clients are read."""
SPARE_CONNECTIONS = 1000
"""Connections beyond the requests at work: idle ones, and those being refused."""
OTHER_FILES = 256
"""Open files besides connections: models, database, logs, workers."""
LAST_ANSWERS_SECONDS = 3
"""How long clients may take to read their refusals when the time to stop is up."""


class StoppableServer(uvicorn.Server):
    """Uvicorn's server, stopped gracefully by a signal and immediately by a second signal.

    ``on_end`` is called when the server begins to end and accepts no more requests.
    """

    def __init__(
        self,
        app: FastAPI,
        config: ServerConfig,
        readiness: Readiness | None = None,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        self._readiness = readiness or Readiness(config.drain_seconds)
        self._admission, self._on_end = app.state.admission, on_end
        self._shutdown_seconds = config.shutdown_seconds
        self._is_announced = False
        most = allow_connections(config.limits.connections)
        super().__init__(
            uvicorn.Config(
                app,
                http=partial(  # type: ignore[arg-type]  # only ever called
                    PatientProtocol,
                    admission=app.state.admission,
                    all_open=OpenConnections(most),
                ),
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="error",  # it warns of what clients send, and advises to install more
                access_log=False,  # its lines contain query strings, which may have texts
                server_header=False,
                forwarded_allow_ips=config.believed_addresses,
                timeout_keep_alive=max(1, round(config.limits.idle_seconds)),
                # After this time, Uvicorn cancels the remaining requests with a bare 500.
                timeout_graceful_shutdown=math.ceil(config.shutdown_seconds) + LAST_ANSWERS_SECONDS,
                # Asyncio also accepts this many clients at a time.  Without a file descriptor for
                # one, it logs as many tracebacks.
                backlog=min(ACCEPTED_AT_ONCE, most),
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer requests."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(BACKLOG)  # further clients wait

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests in progress; refuse those that take too long."""
        self._on_end()
        loop = asyncio.get_running_loop()
        bound = loop.call_later(self._shutdown_seconds, self._admission.close)
        try:
            await super().shutdown(sockets)
        finally:
            bound.cancel()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on SIGTERM and SIGINT; unlike Uvicorn, do not raise the signals again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after draining; a second signal stops immediately."""
        if self._readiness.is_draining:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self._readiness.drain()
        self.should_exit = self._readiness.is_over

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop now; called ten times per second."""
        # Logged here because the signal handler may interrupt another log line.
        if self._readiness.is_draining and not self._is_announced:
            self._is_announced = True
            seconds = self._readiness.drain_seconds
            taken = (
                f"requests are taken for {seconds:g} more seconds"
                if seconds
                else "requests in progress are finished"
            )
            log.info("about to end; %s", taken)
        if self._readiness.is_over:
            self.should_exit = True
        return await super().on_tick(counter)


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to an address, which does not accept connections yet.

    Raises:
        ConfigError: the address is in use, not this machine's, or not permitted.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ConfigError(f"host {host}: {error.strerror or error}; name an address") from error
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and host == "::":
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(address)
        # Otherwise two servers could bind the port, and the later one would only fail at the end.
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigError(_explained(host, port, error)) from error
    bound.setblocking(False)
    return bound


def _explained(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; choose another one (--port), or stop its server"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"port {port} is not permitted ({error.strerror}); choose one above 1023 (--port)"
    return f"{host}, port {port}: {error.strerror}; name an address of this machine (--host)"


def address_of(bound: socket.socket) -> str:
    """The URL of a socket from this machine, without a slash at its end."""
    host, port, *_ = bound.getsockname()
    if host in {"0.0.0.0", "::"}:
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def allow_connections(places: int) -> int:
    """Raise this process's limit of open files for the connections.

    Returns:
        Maximum number of connections: ``places`` plus :data:`SPARE_CONNECTIONS`, or fewer if the
        limit of open files cannot be raised enough.
    """
    wanted = places + SPARE_CONNECTIONS
    try:
        import resource
    except ImportError:  # Windows
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    needed = wanted + OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft < needed:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
            soft = needed
    allowed = max(1, min(wanted, soft - OTHER_FILES))
    if allowed < wanted:
        log.warning(
            "at most %d connections at a time, since this process may open %d files; for %d, raise "
            "that limit to %d (ulimit -n)",
            *(allowed, soft, wanted, wanted + OTHER_FILES),
        )
    return allowed


Ready = Callable[[str, list[Pairing]], object]
"""Called with the address and the directions when the server starts to answer."""

CLOSING_SECONDS = 5.0
"""How long a server may take to end after its last request is answered or refused."""


def serve_until_stopped(config: ServerConfig, ready: Ready) -> None:
    """Load everything, and answer requests until SIGTERM or SIGINT.

    The process ends, with exit code 0, at most :data:`CLOSING_SECONDS` after the last request was
    answered or its time was up, abandoning any translation in progress.
    """
    with ExitStack() as opened:
        # The port first, as loading models takes a minute, and the port may be in use.
        bound = opened.enter_context(bind(config.host, config.port))
        store = opened.enter_context(ServerStore(config.database, config.store))
        end = BoundedEnd()
        opened.callback(end.call_off)
        asyncio.run(_serve(config, store, bound, ready, end))


def check(config: ServerConfig) -> list[Pairing]:
    """Check that all models and the database of a server can be opened; returns its directions."""

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
    options = ServiceOptions(
        pivots=config.pivots,
        batching=config.batching,
        seconds=config.limits.seconds,
        reload_seconds=config.reload_seconds,
        remember=store.remembered,
        may_remember=store.may_remember,
        splitter=config.splitter,
    )
    service = await ModelService.open(config.systems, options)
    await service.prepare_detection()
    return service


class BoundedEnd:
    """Ends this process when its time is up, unless it has already ended.

    Python waits for all threads before a process ends.  A thread that translates a batch or waits
    for a database cannot be stopped, but its work is no longer needed: callers have their answers,
    files start again, and a database keeps only complete transactions.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._end = math.inf

    def within(self, seconds: float) -> None:
        """End the process after some seconds, with exit code 0; an earlier deadline stays."""
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
    """End without waiting for threads; translating processes notice this and end as well."""
    log.warning("the time to stop is up: the server ends without what is still being translated")
    logging.shutdown()
    os._exit(0)
