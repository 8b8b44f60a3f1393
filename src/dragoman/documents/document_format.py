"""The interface of a format of documents: what of a file is translated, and what stays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from typing import ClassVar, NamedTuple

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.marked_document import OutlineBlock
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.text.character_encoding import CharacterEncoding
from dragoman.text.language_codes import base_language


class FileLanguages(NamedTuple):
    """The languages to translate a file from and into, as the client writes them."""

    source: str | None
    """None: detected, unless the file says it."""
    target: str

    def agreed_source(self, said: str | None) -> str | None:
        """The language that a file says it is in.

        Raises:
            DataError: the request says another.
        """
        if said and self.source and not is_same_language(said, self.source):
            raise DataError(
                f"the file says that it is in {said!r}, not {self.source!r}; ask for "
                "its own language, or for none"
            )
        return said or None

    def check_target(self, said: str | None) -> None:
        """Check that a file, as it says itself, is for translations into the target language.

        Raises:
            DataError: it is for another.
        """
        if said and not is_same_language(said, self.target):
            if self.source and is_same_language(said, self.source):
                raise DataError(
                    f"the file is for translations into {said!r}, the language of its source; give "
                    f"one for {self.target!r}, or a template, which names no language"
                )
            raise DataError(
                f"the file is for translations into {said!r}, not {self.target!r}; ask for "
                f"{said!r}, or give a file for {self.target!r}"
            )


def is_same_language(one: str, other: str) -> bool:
    """Whether two codes are of one language, regions aside: ``en`` and ``en_GB``."""
    return base_language(one) == base_language(other)


EMPTY = "its translation is empty"
"""Why a text stays as it is."""


class OpenDocument(ABC):
    """A document that was read, and can be written with its texts translated."""

    source_language: str | None = None
    """The language that the file itself says it is in."""
    refused: Sequence[tuple[str, str]] = ()
    """After :meth:`written`: strings whose translations could not be written, and why.  They stay
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

    def keep_translations(self, other: OpenDocument) -> bool:
        """Take the translations of another document, read in the same format, by their keys.

        Their texts are not translated again.

        Returns:
            Whether its strings have keys; by default they have none.
        """
        return False

    @abstractmethod
    def written(self, translations: Sequence[str]) -> bytes:
        """The file with its texts replaced by all their translations, which have their marks."""

    def partly_written(self, translations: Sequence[str], left: Collection[int]) -> bytes:
        """The file as :meth:`written`, but with the texts of some indices as they are."""
        return self.written(
            [
                unchanged(text, self.escape) if at in left else translation
                for at, (text, translation) in enumerate(zip(self.texts, translations, strict=True))
            ]
        )


class EncodedDocument(OpenDocument):
    """A document that is one text in some encoding.

    Args:
        encoding: of the file.
        is_markup: whether characters that the encoding lacks can be written as references.
    """

    def __init__(self, encoding: CharacterEncoding, *, is_markup: bool) -> None:
        self._encoding, self._is_markup = encoding, is_markup

    @abstractmethod
    def joined(self, translations: Sequence[str]) -> str:
        """The text of the file with its texts replaced."""

    @override
    def written(self, translations: Sequence[str]) -> bytes:
        return self._encoding.encode(self.joined(translations), is_markup=self._is_markup)


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
