"""The list of sentence splitters: sentencex, and those that other packages add.

A package adds one by an entry point in the group ``dragoman.splitters`` (see
:mod:`dragoman.core.plugins`), whose name is that of the splitter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from importlib.metadata import EntryPoint
from typing import ClassVar

from dragoman.core.plugins import Registry, installed


class SentenceSplitter(ABC):
    """Divides text into sentences; it may serve several threads."""

    name: ClassVar[str]
    """Its name in settings."""

    @abstractmethod
    def split(self, line: str, language: str) -> list[str]:
        """The sentences of a text without line breaks; joined, they are the text.

        Args:
            line: the text, without white space at its ends.
            language: code without script and region, such as ``de``.
        """


SENTENCEX = "sentencex"

SPLITTERS: Registry[SentenceSplitter] = Registry(
    "dragoman.splitters",
    "dragoman.text.splitters:SentenceSplitter",
    {SENTENCEX: "dragoman.text.sentences:Sentencex"},
    "splitter",
    named=True,
)
"""All splitters by name; each is imported when it is needed."""


def splitter(name: str) -> SentenceSplitter:
    """The splitter of that name, which is made once.

    Raises:
        ConfigError: it is unknown, or its package is broken.
    """
    entries = () if name in SPLITTERS.built_in else installed(SPLITTERS.group).get(name, ())
    return _made(name, *entries)


@cache
def _made(name: str, *_: EntryPoint) -> SentenceSplitter:
    return SPLITTERS.find(name)()
