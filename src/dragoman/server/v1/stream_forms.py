"""How a stream is written: lines of JSON, or server-sent events."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dragoman.server.v1.responses import StreamEvent


class StreamForm(NamedTuple):
    """A way to write a stream."""

    media_type: str
    write: Callable[[StreamEvent], str]


def _line(event: StreamEvent) -> str:
    return event.model_dump_json(exclude_unset=True) + "\n"


def _server_sent(event: StreamEvent) -> str:
    """An event as browsers and many libraries read it (HTML Living Standard, 9.2).

    It has no ``event:`` line, so that ``onmessage`` gets it; JSON has no line breaks of its own.
    """
    return f"data: {event.model_dump_json(exclude_unset=True)}\n\n"


STREAM_FORMS = (
    StreamForm("application/x-ndjson", _line),
    StreamForm("text/event-stream", _server_sent),
)
"""The first one is what a client gets that does not say what it takes."""


def wanted_form(accept: str) -> StreamForm:
    """The form that the header ``Accept`` of a request prefers (RFC 9110, 12.5.1).

    A client that takes neither gets lines of JSON: refusing it would help nobody.
    """
    qualities = {}
    for part in accept.split(","):
        media_type, *parameters = (one.strip().lower() for one in part.split(";"))
        qualities[media_type] = _quality(parameters)
    return max(STREAM_FORMS, key=lambda form: qualities.get(form.media_type, 0))


def _quality(parameters: list[str]) -> float:
    """From 0 to 1; what cannot be read counts as absent."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                break
    return 1.0
