"""The record of a corpus that was fetched by name: its origin, and digests of all its files."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from dragoman.core.config import Config, parse
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import read_json, write_json

ORIGIN_FILE = "origin.json"
"""Its name, beside the text."""
_SHA256 = r"^[0-9a-f]{64}$"


class FetchedFile(Config):
    """A file that was downloaded."""

    url: str
    """Its address, or its path in the repository."""
    bytes: int = Field(ge=0)
    """Its size."""
    sha256: str = Field(pattern=_SHA256)
    """Its digest."""


class AlignedText(Config):
    """The text of one side, uncompressed."""

    bytes: int = Field(ge=0)
    """Its size."""
    lines: int = Field(ge=0)
    """The number of its lines."""
    sha256: str = Field(pattern=_SHA256)
    """Its digest."""


class FetchedCorpus(Config):
    """A corpus that was fetched by name."""

    name: str
    """The name that gets the same text again, with its revision if there are any."""
    languages: tuple[str, str]
    """Of the source and the target."""
    licence: str | None = None
    """As its list states it; None if it does not."""
    home: str = ""
    """The page about it."""
    citations: tuple[str, ...] = ()
    """What its authors ask to cite, as BibTeX."""
    retrieved: str = ""
    """The date of the download, such as 2026-11-29."""
    downloads: tuple[FetchedFile, ...] = ()
    """The files that it was made from."""
    texts: dict[str, AlignedText] = Field(default_factory=dict)
    """Its own files by name."""
    dropped: dict[str, int] = Field(default_factory=dict)
    """How many pairs were left out, by reason."""
    without: tuple[str, ...] = ()
    """Corpora whose pairs were left out of this one."""

    @property
    def splits(self) -> list[str]:
        """Names of its sets, such as ``train`` and ``dev``."""
        return list(dict.fromkeys(name.partition(".")[0] for name in self.texts))

    @property
    def pairs(self) -> int:
        """The number of pairs of all sets."""
        first = self.languages[0]
        return sum(self.texts[text_file(split, first)].lines for split in self.splits)


def text_file(split: str, language: str) -> str:
    """The name of the file of one side of a set, such as ``train.en.gz``."""
    return f"{split}.{language}.gz"


def fetched_corpus(folder: Path) -> FetchedCorpus | None:
    """The record of the corpus in a folder; None without one.

    Raises:
        SavedError: the record is damaged.
    """
    path = folder / ORIGIN_FILE
    try:
        return parse(FetchedCorpus, read_json(path), path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, ConfigError) as error:
        raise SavedError(
            f"{path}: cannot be read ({error}); remove its folder and get the corpus again"
        ) from error


def record_corpus(folder: Path, corpus: FetchedCorpus) -> None:
    """Write the record of a corpus beside its files."""
    write_json(folder / ORIGIN_FILE, corpus.model_dump(mode="json"))
