"""What clients send to ``/v1``; the descriptions of fields are those of its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, StringConstraints

from dragoman.apps.server.content import ContentFormat
from dragoman.core.config import Config
from dragoman.text.glossary import Glossary
from dragoman.translation.service.interface import SplitMode, TextRequest

AUTO = "auto"
"""In place of a source language: it is detected."""

# What is no text to translate has bounds of its own.
_CONTEXT = 20_000  # characters
_PREFIX = 2_000
_ENTRIES = 5_000
Code = Annotated[str, StringConstraints(min_length=1, max_length=35)]
Term = Annotated[str, StringConstraints(min_length=1, max_length=1_000, strip_whitespace=True)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class TextOptions(Config):
    """How a text is translated."""

    target: Code
    """Language to translate into, such as `de`; a region is dropped if nothing translates into it.
    """
    source: Code | None = None
    """Language of the text; null or `auto`: it is detected."""
    nbest: int = Field(1, ge=1)
    """Number of translations of each sentence, the best first."""
    prefix: str = Field("", max_length=_PREFIX)
    """What the translation begins with, for a text of one sentence."""
    split: SplitMode = "sentences"
    """Where the text is divided: at the ends of `sentences` and lines, at the ends of lines alone
    (`paragraphs`), or not at all (`none`)."""
    tags: tuple[Name, ...] = Field((), max_length=16)
    """Tags that the model knows, such as `<formal>`."""
    glossary: Annotated[dict[Term, Term | tuple[Term, ...]], Field(max_length=_ENTRIES)] | Name = (
        Field(default_factory=dict)
    )
    """Terms that must be used: their translations, such as `{"house": "Haus"}`, with a list where
    several will do; or the `id` of a kept glossary."""
    context: str = Field("", max_length=_CONTEXT)
    """Text in front of this one, for models trained to read it; it is not translated."""
    links: bool = False
    """Whether to tell which words translate which."""
    memory: bool = True
    """Whether a sentence with an accepted correction gets that correction."""

    def request(self, text: str, glossary: Glossary | None) -> TextRequest:
        """What is asked of the service for one text."""
        return TextRequest(
            text=text,
            target=self.target,
            source=None if self.source in {None, AUTO} else self.source,
            nbest=self.nbest,
            prefix=self.prefix,
            split=self.split,
            tags=self.tags,
            glossary=glossary,
            context=self.context,
            links=self.links,
            memory=self.memory,
        )


class TranslateBody(TextOptions):
    """Texts to translate in the same way."""

    text: str | tuple[str, ...]
    """A text of any length, or a list of such texts."""
    format: ContentFormat = "text"
    """`html` and `xml`: tags are kept, and what is between them is translated."""

    @property
    def texts(self) -> list[str]:
        """One text as a list, too."""
        return [self.text] if isinstance(self.text, str) else list(self.text)

    def conflicts(self) -> Iterator[str]:
        """Options that only plain text has."""
        if self.format != "text":
            yield from self.unread(f"with format: {self.format}", "nbest", "prefix", "links")


class StreamBody(TextOptions):
    """A text whose sentences are wanted one by one."""

    text: str
    """A text of any length."""


class DetectBody(Config):
    """Texts in unknown languages."""

    text: str | tuple[str, ...]
    """A text, or a list of texts."""

    @property
    def texts(self) -> list[str]:
        """One text as a list, too."""
        return [self.text] if isinstance(self.text, str) else list(self.text)


class CorrectionBody(Config):
    """A better translation."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=_CONTEXT)]
    """The sentence, or text, that was translated."""
    translation: Annotated[str, StringConstraints(min_length=1, max_length=_CONTEXT)]
    """How it should be translated."""
    source: Code
    """Language of the text."""
    target: Code
    """Language of the translation."""

    def conflicts(self) -> Iterator[str]:
        """White space alone."""
        for name in ("text", "translation"):
            if not getattr(self, name).strip():
                yield f"{name}: there is nothing but white space"


class GlossaryBody(Config):
    """Terms to keep for one direction."""

    name: Name
    """What people call it."""
    source: Code
    """Language of the terms."""
    target: Code
    """Language of their translations."""
    entries: Annotated[dict[Term, Term], Field(min_length=1, max_length=_ENTRIES)]
    """Terms and their translations, such as `{"house": "Haus"}`."""
