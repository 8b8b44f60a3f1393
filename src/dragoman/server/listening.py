"""The server process: sockets and signals."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

import uvicorn
from fastapi import FastAPI

from dragoman.core.errors import ConfigError
from dragoman.server.connections import OpenConnections, PatientProtocol
from dragoman.server.readiness import Readiness
from dragoman.server.server_config import ServerConfig

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

    Args:
        app: the application.
        config: addresses and times.
        readiness: drains after a signal; the server ends when draining is over.
        on_end: called when the server begins to end and accepts no more requests.
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
        super().__init__(
            uvicorn.Config(
                app,
                http=partial(  # type: ignore[arg-type]  # only ever called
                    PatientProtocol,
                    admission=app.state.admission,
                    all_open=OpenConnections(allow_connections(config.limits.connections)),
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
                backlog=ACCEPTED_AT_ONCE,  # asyncio also accepts this many clients at a time
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

    Args:
        places: maximum number of requests at work or waiting.

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
    return max(1, min(wanted, soft - OTHER_FILES))
