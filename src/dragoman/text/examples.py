"""Sentence pairs with their languages and origin, on their way from the reader to the batch."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from dragoman.core.config import Config
from dragoman.text.tags import check_tags, tagged

Tags = Annotated[tuple[str, ...], AfterValidator(check_tags)]
"""A setting that names tags."""
Tag = Annotated[str, AfterValidator(lambda tag: check_tags((tag,))[0])]
"""A setting that names one tag."""


class Origin(NamedTuple):
    """The part and line that an example comes from."""

    part: str
    """Name of the part of the corpus."""
    line: int
    """Line of the file, from 1; for a prepared store, position within the part, from 0."""


class Example(NamedTuple):
    """A source and its translation."""

    source: str
    """The source without tags; empty if there is none."""
    target: str
    source_language: str
    target_language: str
    tags: tuple[str, ...]
    """Tags in front of the source when a model reads it, in this order."""
    origin: Origin

    @property
    def line(self) -> int:
        """Line of the file that it comes from."""
        return self.origin.line

    @property
    def tagged_source(self) -> str:
        """The source as a model reads it."""
        return tagged(self.tags, self.source)


class Direction(Config):
    """What a part of the corpus translates from and into, and the tags that say so."""

    source_language: str
    """Tag of the source language, such as en."""
    target_language: str
    """Tag of the target language, such as de."""
    tags: tuple[str, ...] = ()
    """Put in front of every source, in this order."""

    @property
    def name(self) -> str:
        """A readable name, such as ``en-de``."""
        return f"{self.source_language}-{self.target_language}"
