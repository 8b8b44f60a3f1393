"""What fetching needs of a corpus that others list by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dragoman.core.errors import ConfigError
from dragoman.text.corpora.fetched_corpus import FetchedCorpus, FetchedFile
from dragoman.text.language_codes import common_language, is_language_tag
from dragoman.workflows.corpora.lenient_reading import Flaws, TextPair

SetOfPairs = tuple[str, Iterator[TextPair], Flaws]
"""A set such as ``train``, its pairs, and the count of those that cannot be read."""


def language_pair(codes: Sequence[str]) -> TextPair:
    """Two languages by their codes, such as ``en`` and ``ko``.

    Raises:
        ConfigError: they are not two different languages.
    """
    stripped = [code.strip() for code in codes]
    if all(map(is_language_tag, stripped)) and len(set(map(common_language, stripped))) == 2:
        source, *others = stripped
        if len(others) == 1:
            return source, others[0]
    raise ConfigError(
        f"{' and '.join(stripped):.60}: name two languages by their codes, such as en and ko"
    )


class ListedCorpus(ABC):
    """A corpus of a list, before it is fetched."""

    @property
    @abstractmethod
    def record(self) -> FetchedCorpus:
        """What is known before the download; its name is the folder's."""

    @property
    @abstractmethod
    def cited(self) -> tuple[str, ...]:
        """What to cite, a line each."""

    def citations(self) -> tuple[str, ...]:
        """The same as BibTeX, once it is downloaded."""
        return self.record.citations

    @abstractmethod
    def size(self) -> int | None:
        """The bytes to download; None if the server does not tell.

        Raises:
            DownloadError: there is no such file, or no connection.
        """

    @abstractmethod
    def download(
        self, folder: Path, expected: FetchedCorpus | None, advance: Callable[[int], object]
    ) -> tuple[FetchedFile, ...]:
        """Download its files, or find them, and describe them.

        Args:
            folder: for the files, if they are not kept elsewhere.
            expected: the record of an earlier download, whose digests must be the same.

        Raises:
            DownloadError: it cannot be downloaded, or has changed.
        """

    @abstractmethod
    def sets(self, folder: Path) -> Iterator[SetOfPairs]:
        """Its sets, one after another, each to be read before the next.

        Args:
            folder: an empty one for temporary files.

        Raises:
            DataError: here or while the pairs are read: damaged, or without a language.
        """
