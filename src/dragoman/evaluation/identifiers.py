"""The list of language identifiers: py3langid, and those that other packages add.

A package adds one by an entry point in the group ``dragoman.identifiers`` (see
:mod:`dragoman.core.plugins`), whose name is that of the identifier.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from functools import cache
from importlib.metadata import EntryPoint
from typing import ClassVar

from dragoman.core.plugins import Registry, installed


class LanguageIdentifier(ABC):
    """Tells languages apart; it may serve several threads."""

    name: ClassVar[str]
    """Its name in settings."""

    @property
    @abstractmethod
    def languages(self) -> Collection[str]:
        """Codes of the languages that it knows, without scripts and regions, such as ``de``."""

    @abstractmethod
    def ranked(self, line: str) -> Iterable[tuple[str, float]]:
        """All of its languages with the logarithm of the likelihood of the line in each."""


PY3LANGID = "py3langid"

IDENTIFIERS: Registry[LanguageIdentifier] = Registry(
    "dragoman.identifiers",
    "dragoman.evaluation.identifiers:LanguageIdentifier",
    {PY3LANGID: "dragoman.evaluation.languages:Py3langid"},
    "identifier",
    named=True,
)
"""All identifiers by name; each is imported when it is needed."""


def identifier(name: str) -> LanguageIdentifier:
    """The identifier of that name, which is made once.

    Raises:
        ConfigError: it is unknown, or its package is broken.
        MissingExtraError: a package is missing.
    """
    entries = () if name in IDENTIFIERS.built_in else installed(IDENTIFIERS.group).get(name, ())
    return _made(name, *entries)


@cache
def _made(name: str, *_: EntryPoint) -> LanguageIdentifier:
    return IDENTIFIERS.find(name)()
