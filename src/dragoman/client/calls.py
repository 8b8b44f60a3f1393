"""The base of all calls of a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dragoman.client.connection import Connection, Sending, foreign_answer

_Value = TypeVar("_Value")
_Given = TypeVar("_Given")


class Calls:
    """Calls over one connection.

    Args:
        connection: to the server.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _asked(self, sending: Sending, of: Callable[[Any], _Value]) -> _Value:
        """The JSON answer to a request, converted by ``of``.

        Raises:
            ServiceError: the server refuses, cannot be reached, or is not a Dragoman server.
        """
        response = await self._connection.send(sending)
        return self._read(lambda each: of(each.json()), response)

    def _read(self, of: Callable[[_Given], _Value], given: _Given) -> _Value:
        """A part of an answer, converted by ``of``."""
        try:
            return of(given)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise foreign_answer(self._connection.url, error) from error
