"""Language codes of clients, in any spelling, matched to the languages of a service."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.text.language_codes import spelling

_OTHERS = (
    ("nb", "no"),
    ("zh-hans", "zh-cn"),
    ("zh-hans", "zh-sg"),
    ("zh-hant", "zh-tw"),
    ("zh-hant", "zh-hk"),
    ("zh-hant", "zh-mo"),
    ("zh-hant", "zt"),
)
"""Codes of the same language: Norwegian is nearly always Bokmål, territories in place of the script
that is written there (CLDR), and LibreTranslate's ``zt``."""


def fitting(code: str, known: Iterable[str]) -> list[str]:
    """The known languages that a code may mean, the likeliest first.

    First comes the language itself, in any spelling (``pt_br`` is ``pt-BR``) or by another code.
    Then come the code without its region, and the same language with a script or region.
    """
    by_spelling = {spelling(one): one for one in sorted(known, reverse=True)}
    wanted = _aliases(spelling(code.strip()))
    bases = [one.partition("-")[0] for one in wanted]
    wider = [alias for base in bases for alias in _aliases(base)]
    found = [by_spelling[one] for one in (*wanted, *wider) if one in by_spelling]
    same = [name for one, name in sorted(by_spelling.items()) if one.partition("-")[0] in wider]
    return list(dict.fromkeys([*found, *same]))


def _aliases(code: str) -> list[str]:
    """A code, and others of the same language."""
    equal = [(one, other) for one, other in _OTHERS if code in {one, other}]
    return list(dict.fromkeys([code, *(name for pair in equal for name in pair)]))
