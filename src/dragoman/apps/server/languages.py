"""Languages as clients name them."""

from __future__ import annotations

from itertools import product

from babel import Locale, UnknownLocaleError

from dragoman.text.language_codes import spelling
from dragoman.translation.service.interface import Pairing, RefusedError, TranslationService


def language_name(code: str) -> str:
    """The English name of a language, such as ``German`` for ``de``; the code if none is known."""
    try:
        name = Locale.parse(code.replace("-", "_")).english_name
    except (UnknownLocaleError, ValueError):
        return code
    return str(name) if name else code


def known_direction(service: TranslationService, source: str, target: str) -> Pairing:
    """The direction of a service that a client means, as the service writes it.

    A region, such as that of ``en-GB``, is dropped if there is no such direction with it.

    Raises:
        RefusedError: ``unsupported``: there is none.
    """
    directions = service.directions()
    by_spelling = {(spelling(one.source), spelling(one.target)): one for one in directions}
    for one in product(_names(source), _names(target)):
        if one in by_spelling:
            return by_spelling[one]
    targets = sorted(two for one, two in by_spelling if one in _names(source))
    there = f"from {source:.35} to {', '.join(targets)}" if targets else "from other languages"
    raise RefusedError(
        "unsupported",
        f"this server does not translate from {source[:35]!r} to {target[:35]!r}, but {there}",
    )


def _names(language: str) -> tuple[str, str]:
    """How a service may write a language: as the client does, or without script and region."""
    name = spelling(language)
    return name, name.partition("-")[0]
