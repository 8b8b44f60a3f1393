"""Admission of requests to ``/v1``, and the glossaries of their keys."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request

from dragoman.server.access import key_id
from dragoman.server.database.records import ApiKey, KeptGlossary
from dragoman.server.dependencies import Dependencies
from dragoman.server.language_names import known_direction
from dragoman.server.parameters import address_of
from dragoman.server.read_glossaries import glossary_of
from dragoman.server.threads import in_thread
from dragoman.server.v1.requests import RequestOptions, TextOptions
from dragoman.text.language_codes import base_language
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.interface import RefusedError, TextRequest


async def admit(
    server: Dependencies, request: Request, texts: Sequence[str] = (), *, files: bool = False
) -> ApiKey | None:
    """Admit a request with texts or files; returns its key, if any."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    # Another scheme, such as Basic, is meant for a proxy in front of the server.
    given = secret.strip() if scheme.lower() == "bearer" else ""
    return await server.access.admit(given or None, address_of(request), texts, files=files)


async def kept_glossary(server: Dependencies, identifier: str, key: ApiKey | None) -> KeptGlossary:
    """A glossary of a key.

    Raises:
        RefusedError: ``not_found``.
    """
    kept = await in_thread(server.store.glossary, identifier, key_id(key))
    if kept is None:
        raise RefusedError("not_found", f"this key has no glossary {identifier[:80]!r}")
    return kept


async def glossary_of_request(
    server: Dependencies, options: RequestOptions, key: ApiKey | None
) -> Glossary | None:
    """The glossary of a request, if any.

    Raises:
        RefusedError: ``not_found``; or ``invalid``, if the terms contradict each other or the
            glossary has other languages.
    """
    if isinstance(options.glossary, str):
        return await _read_glossary(server, options.glossary, options, key)
    if not options.glossary:
        return None
    return await in_thread(glossary_of, options.glossary.items())  # thousands take seconds


async def _read_glossary(
    server: Dependencies, identifier: str, options: RequestOptions, key: ApiKey | None
) -> Glossary:
    """A kept glossary, for the languages of a request."""
    kept = await kept_glossary(server, identifier, key)
    if options.given_source is None:
        raise RefusedError(
            "invalid", "a kept glossary has terms of one language, so name that as source"
        )
    pair = known_direction(server.service, options.given_source, options.target)
    # A glossary kept through DeepL's API is for all regions of a language.
    bases = base_language(pair.source), base_language(pair.target)
    fitting = kept.dictionary(*pair) or kept.dictionary(*bases)
    if fitting is None:
        there = ", ".join(f"{d.source_language} to {d.target_language}" for d in kept.dictionaries)
        raise RefusedError(
            "invalid",
            f"the glossary {identifier} is for {there}, not for {pair.source} to {pair.target}",
        )

    def entries() -> Sequence[tuple[str, str]]:
        direction = fitting.source_language, fitting.target_language
        return server.store.glossary_entries(identifier, *direction, key=key_id(key)) or ()

    return await in_thread(server.glossaries.get, (fitting.revision,), entries)


async def requests_of(
    server: Dependencies, options: TextOptions, texts: Sequence[str], key: ApiKey | None
) -> list[TextRequest]:
    """The requests to the service.

    Raises:
        RefusedError: options exceed the limits, or the glossary is unsuitable.
    """
    most = server.config.limits.alternatives + 1
    if options.nbest > most:
        raise RefusedError(
            "invalid", f"nbest: this server gives at most {most} translations, not {options.nbest}"
        )
    glossary = await glossary_of_request(server, options, key)
    return [options.request(text, glossary) for text in texts]
