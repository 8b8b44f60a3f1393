"""Names of languages."""

from __future__ import annotations

from babel import Locale, UnknownLocaleError


def language_name(code: str) -> str:
    """The English name of a language, such as ``German`` for ``de``; the code if none is known."""
    try:
        name = Locale.parse(code.replace("-", "_")).english_name
    except (UnknownLocaleError, ValueError):
        return code
    return str(name) if name else code
