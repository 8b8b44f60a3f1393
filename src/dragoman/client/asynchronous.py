"""``AsyncClient``: calls a Dragoman server from asynchronous code."""

from __future__ import annotations

from types import TracebackType

from dragoman.client.connection import Connection
from dragoman.client.kept_calls import KeptCalls
from dragoman.client.text_calls import TextCalls
from dragoman.core.arguments import check_text


class AsyncClient(TextCalls, KeptCalls):
    """Calls a Dragoman server; use it with ``async with``, or close it.

    Requests are repeated while the server is busy or cannot be reached, until ``timeout``.
    Then, or if the server refuses, each call raises :class:`~dragoman.errors.ServiceError`.

    Args:
        url: address of the server, such as ``http://localhost:5000``.
        key: a key of the server, if it requires one.
        timeout: seconds that a request may take, with its repetitions.

    Raises:
        ConfigError: the address or the time is invalid.
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:5000", key: str | None = None, *, timeout: float = 60.0
    ) -> None:
        super().__init__(Connection(check_text(url, "url"), key, timeout))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._connection.close()
