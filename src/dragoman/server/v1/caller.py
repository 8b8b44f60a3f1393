"""Who calls, and what is refused for one caller only."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request

from dragoman.server.database.records import ApiKey, KeptGlossary
from dragoman.server.dependencies import Premises
from dragoman.server.language_names import known_direction
from dragoman.server.parameters import address_of
from dragoman.server.read_glossaries import glossary_of
from dragoman.server.threads import in_thread
from dragoman.server.v1.requests import RequestOptions, TextOptions
from dragoman.text.language_codes import base_language
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.interface import RefusedError, TextRequest


async def admitted(
    premises: Premises, request: Request, texts: Sequence[str] = (), *, files: bool = False
) -> ApiKey | None:
    """The key of a request, after the guard has counted it.

    Args:
        premises: whose guard is asked.
        request: brings the key, or none.
        texts: what it wants to have translated, or detected.
        files: whether it brings a file, whose characters are counted later.

    Raises:
        RefusedError: the guard refuses it.
    """
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    # Another scheme, such as Basic, is meant for a proxy in front of the server.
    given = secret.strip() if scheme.lower() == "bearer" else ""
    return await premises.guard.admit(given or None, address_of(request), texts, files=files)


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
    premises: Premises, options: RequestOptions, key: ApiKey | None
) -> Glossary | None:
    """The terms that a request demands; None if there are none.

    Raises:
        RefusedError: ``not_found``, or ``invalid``: the terms contradict each other, or the
            glossary is of other languages.
    """
    if isinstance(options.glossary, str):
        return await _read_glossary(premises, options.glossary, options, key)
    if not options.glossary:
        return None
    return await in_thread(glossary_of, options.glossary.items())  # thousands take seconds


async def _read_glossary(
    premises: Premises, identifier: str, options: RequestOptions, key: ApiKey | None
) -> Glossary:
    """A kept glossary, for the languages of a request."""
    kept = await kept_glossary(premises, identifier, key)
    if options.given_source is None:
        raise RefusedError(
            "invalid", "a kept glossary has terms of one language, so name that as source"
        )
    pair = known_direction(premises.service, options.given_source, options.target)
    # Through DeepL's door one is kept for a language, whatever its regions.
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
        return premises.store.glossary_entries(identifier, *direction, key=key_id(key)) or ()

    return await in_thread(premises.glossaries.get, (fitting.revision,), entries)


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
