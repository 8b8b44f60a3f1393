"""The server process: sockets, signals, and clients that are slow to speak."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.apps.server.readiness import Readiness
from dragoman.apps.server.server_config import ServerConfig
from dragoman.core.errors import ConfigError

log = logging.getLogger(__name__)

HEADER_SECONDS = 15.0
"""How long a client may take to send the head of a request."""
FLUSH_SECONDS = 60.0
"""How often to look whether a client fetches what it is sent: if it does not, it is left at the
second look."""
FLUSH_BYTES = 1 << 16
"""What a client must fetch of it from look to look."""
BACKLOG = 2048


class PatientProtocol(H11Protocol):
    """Uvicorn's protocol for clients that never finish: they are left after some seconds.

    Its own bound is for the pause after an answer only: a client that connects and says nothing, or
    a byte from time to time, would be waited for without end.  So would one that does not read its
    answer, whose connection closes only when the last byte is sent.
    """

    _head: asyncio.TimerHandle | None = None
    _look: asyncio.TimerHandle | None = None
    _unsent: int | None = None  # bytes at the last look, if they were waiting to be fetched

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self._await_head()
        self._look_later()

    def data_received(self, data: bytes) -> None:
        """A client has sent something."""
        super().data_received(data)
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering:
            self._forget_head()
        elif self._head is None and self.timeout_keep_alive_task is None:
            self._await_head()

    def on_response_complete(self) -> None:
        """A client has its answer."""
        self._forget_head()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has left."""
        self._forget_head()
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """A client has fetched nearly all that it was sent so far."""
        self._unsent = None
        super().resume_writing()

    def _look_later(self) -> None:
        self._look = self.loop.call_later(FLUSH_SECONDS, self._leave_if_unread)

    def _leave_if_unread(self) -> None:
        """Leave a client that has fetched next to nothing since the last look."""
        before, self._unsent = self._unsent, None
        if self.flow.write_paused or self.transport.is_closing():
            self._unsent = self.transport.get_write_buffer_size()
            if before is not None and before - self._unsent < FLUSH_BYTES:
                self.transport.abort()
                return
        self._look_later()

    def _await_head(self) -> None:
        self._head = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


class StoppableServer(uvicorn.Server):
    """Uvicorn's server, which a signal ends in good order, and a second one at once.

    Args:
        app: what answers.
        config: addresses and times.
        readiness: told when a signal comes; the server ends when it is over.
    """

    def __init__(
        self, app: FastAPI, config: ServerConfig, readiness: Readiness | None = None
    ) -> None:
        self._readiness = readiness or Readiness(config.drain_seconds)
        self._is_announced = False
        super().__init__(
            uvicorn.Config(
                app,
                http=PatientProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,  # its lines have what follows a question mark, such as texts
                server_header=False,
                forwarded_allow_ips=config.believed_addresses,
                timeout_keep_alive=max(1, round(config.limits.idle_seconds)),
                timeout_graceful_shutdown=max(1, round(config.shutdown_seconds)),
                backlog=BACKLOG,
            )
        )

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on SIGTERM and SIGINT; unlike Uvicorn's, it does not raise them again at the end."""
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
        """Stop when the readiness is over; at once, if told to a second time."""
        if self._readiness.is_draining:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self._readiness.drain()
        self.should_exit = self._readiness.is_over

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop now, asked ten times a second."""
        # Not in the signal's handler, which may interrupt another line of the log.
        if self._readiness.is_draining and not self._is_announced:
            self._is_announced = True
            seconds = self._readiness.drain_seconds
            log.info("about to end; requests are taken for %g more seconds", seconds)
        if self._readiness.is_over:
            self.should_exit = True
        return await super().on_tick(counter)


def bind(host: str, port: int) -> socket.socket:
    """A socket at an address, which nobody can connect to yet.

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
        # Otherwise two servers could bind the port, and only the later one would fail, in the end.
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
    """The URL at which a socket is reached from this machine, without a slash at its end."""
    host, port, *_ = bound.getsockname()
    if host in {"0.0.0.0", "::"}:
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def allow_many_connections(wanted: int) -> None:
    """Raise this process's limit of open files to what so many connections need, if permitted."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + 512  # models, database, logs
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
