"""Names of languages, and directions named by clients."""

from __future__ import annotations

from itertools import product

from babel import Locale, UnknownLocaleError

from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import Pairing, RefusedError, TranslationService


def language_name(code: str) -> str:
    """The English name of a language, such as ``German`` for ``de``; the code if unknown."""
    try:
        name = Locale.parse(code.replace("-", "_")).english_name
    except (UnknownLocaleError, ValueError):
        return code
    return str(name) if name else code


def known_direction(service: TranslationService, source: str, target: str) -> Pairing:
    """The direction of a service that matches a client's codes.

    Codes match according to :func:`~dragoman.translation.service.codes.fitting`.

    Raises:
        RefusedError: ``unsupported``: no direction matches.
    """
    directions = set(service.directions())
    sources = fitting(source, {direction.source for direction in directions})
    targets = fitting(target, {direction.target for direction in directions})
    for one in map(Pairing._make, product(sources, targets)):
        if one in directions:
            return one
    languages = {one for pair in directions for one in pair}
    if fitting(source, languages)[:1] == fitting(target, languages)[:1] != []:
        raise RefusedError(
            "unsupported", f"{source[:35]!r} and {target[:35]!r} are one language here; name two"
        )
    there = sorted({direction.target for direction in directions if direction.source in sources})
    raise RefusedError(
        "unsupported",
        f"this server does not translate from {source[:35]!r} to {target[:35]!r}, but "
        + (f"from {source:.35} to {', '.join(there)}" if there else "from other languages"),
    )
