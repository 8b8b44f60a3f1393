"""The interface of a format of documents: what of a file is translated, and what stays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from typing import ClassVar, NamedTuple

from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.marks.outline import OutlineBlock


class FileLanguages(NamedTuple):
    """The languages to translate a file from and into, as the client writes them."""

    source: str | None
    """None: detected, unless the file says it."""
    target: str


EMPTY = "its translation is empty"
"""Why a text stays as it is."""


class OpenDocument(ABC):
    """A document that was read, and can be written with its texts translated."""

    source_language: str | None = None
    """The language that the file itself says it is in."""
    refused: Sequence[tuple[str, str]] = ()
    """After :meth:`written`: strings whose translations could not be written, and why; they stay
    as they are."""

    @property
    @abstractmethod
    def texts(self) -> Sequence[MarkedText]:
        """The texts to translate, in order; none if nothing is missing."""

    @property
    def escape(self) -> Callable[[str], str] | None:
        """Writes text between marks; None: as in HTML and XML."""
        return None

    @property
    def outline(self) -> Sequence[OutlineBlock]:
        """The blocks of the document, which a translation of it has when it is read again.

        Of a document that keeps its source beside its translation, a block is the translation, or
        the source where there is none.  By default there are no blocks, so that a translation only
        has to be readable.
        """
        return ()

    @abstractmethod
    def written(self, translations: Sequence[str]) -> bytes:
        """The file with its texts replaced.

        Args:
            translations: of all texts, as they are written, with their marks.
        """

    def partly_written(self, translations: Sequence[str], left: Collection[int]) -> bytes:
        """The file with its texts replaced, but for some.

        Args:
            translations: as for :meth:`written`.
            left: indices of the texts that stay as they are.
        """
        return self.written(
            [
                unchanged(text, self.escape) if at in left else one
                for at, (text, one) in enumerate(zip(self.texts, translations, strict=True))
            ]
        )


class DocumentFormat(ABC):
    """A format of documents.

    What is not translated stays as it is, byte for byte.  Nothing that a file names is ever
    opened, and what it may hold is bounded before it is unpacked.
    """

    name: ClassVar[str]
    """Its name for people, such as "Markdown"."""
    family: ClassVar[str] = "documents"
    """Formats that people look for together: ``documents``, ``subtitles``, or ``translation files``
    such as those with strings of programs."""
    suffixes: ClassVar[tuple[str, ...]]
    """Suffixes of its files in lower case, such as ``.md``."""
    media_type: ClassVar[str]
    """Its name in HTTP."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Packages that it needs beyond those that Dragoman always has, as Python imports them."""

    @property
    def is_installed(self) -> bool:
        """Whether all packages are there that it needs."""
        return all(find_spec(package) is not None for package in self.packages)

    @abstractmethod
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        """The document in a file.

        Raises:
            DataError: it is damaged, hostile, or of another format or encoding.  The message has
                the line, if known, and not the name of the file.
            MissingExtraError: a package is missing.
        """
