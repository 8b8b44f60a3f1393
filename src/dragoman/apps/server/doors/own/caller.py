"""Who calls, and what is refused for one caller only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import anyio.to_thread
from fastapi import Request

from dragoman.apps.server.doors.own.asked import TextOptions
from dragoman.apps.server.premises import Premises
from dragoman.apps.server.store.records import ApiKey, KeptGlossary
from dragoman.core.errors import DataError
from dragoman.text.glossary import Glossary, Term
from dragoman.translation.service.interface import RefusedError, TextRequest

Result = TypeVar("Result")


async def admitted(
    premises: Premises, request: Request, texts: Sequence[str] = ()
) -> ApiKey | None:
    """The key of a request, after the guard has counted it.

    Raises:
        RefusedError: the guard refuses it.
    """
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    # Another scheme, such as Basic, is meant for a proxy in front of the server.
    given = secret.strip() if scheme.lower() == "bearer" else ""
    address = request.client.host if request.client else ""
    return await premises.guard.admit(given or None, address, texts)


async def in_thread(call: Callable[..., Result], *arguments: object) -> Result:
    """The result of a call that blocks."""
    return await anyio.to_thread.run_sync(call, *arguments)


def key_id(key: ApiKey | None) -> int | None:
    """What the store calls a key."""
    return None if key is None else key.id


async def kept_glossary(premises: Premises, identifier: str, key: ApiKey | None) -> KeptGlossary:
    """A glossary of this key.

    Raises:
        RefusedError: ``not_found``.
    """
    found = await in_thread(premises.store.glossary, identifier, key_id(key))
    if found is None:
        raise RefusedError("not_found", f"this key has no glossary {identifier[:80]!r}")
    return found


async def wanted_glossary(
    premises: Premises, options: TextOptions, key: ApiKey | None
) -> Glossary | None:
    """The terms that a request demands; None if there are none.

    Raises:
        RefusedError: ``not_found``, or ``invalid``: the terms contradict each other.
    """
    if isinstance(options.glossary, str):
        kept = await kept_glossary(premises, options.glossary, key)
        return checked_glossary({source: (target,) for source, target in kept.entries})
    return checked_glossary(options.glossary or {})


def checked_glossary(terms: Mapping[str, Sequence[str]]) -> Glossary | None:
    """Terms as the service takes them; None if there are none.

    Raises:
        RefusedError: ``invalid``: they contradict each other.
    """
    numbered = enumerate(terms.items(), 1)
    each = [Term(source, tuple(targets), line=number) for number, (source, targets) in numbered]
    try:
        return Glossary(each, unit="entry") if each else None
    except DataError as error:
        raise RefusedError("invalid", str(error)) from error


async def requests_of(
    premises: Premises, options: TextOptions, texts: Sequence[str], key: ApiKey | None
) -> list[TextRequest]:
    """What is asked of the service.

    Raises:
        RefusedError: options are beyond the bounds, or the glossary is unfit.
    """
    most = premises.config.limits.alternatives + 1
    if options.nbest > most:
        raise RefusedError(
            "invalid", f"nbest: this server gives at most {most} translations, not {options.nbest}"
        )
    glossary = await wanted_glossary(premises, options, key)
    return [options.request(text, glossary) for text in texts]
