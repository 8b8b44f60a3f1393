"""The public corpora: the typed form of ``corpus_manifest.yaml``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import Field

from dragoman.core.config import Config, parse, read_yaml
from dragoman.core.errors import ConfigError

_MANIFEST = Path(__file__).with_name("corpus_manifest.yaml")
_SHA256 = r"^[0-9a-f]{64}$"


class Archive(Config):
    """A downloaded file from which several files are made."""

    url: str
    """Its address, or the rest of it after that of its corpus."""
    bytes: int = Field(ge=1)
    """Its size in bytes."""
    sha256: str = Field(pattern=_SHA256)
    """Its SHA-256 digest."""

    @property
    def name(self) -> str:
        """Its name on disk."""
        return self.url.rpartition("/")[2]


class Part(Config):
    """One of the archived files that are joined into a file of a corpus."""

    archive: str
    """The archive's name."""
    member: str
    """The file in it; .gz is decompressed, and of .sgm the segments are taken."""


class CorpusFile(Config):
    """A file of a corpus, compressed with gzip; sizes and digests are of the uncompressed text."""

    path: str
    """Its path in the corpus."""
    url: str | None = None
    """Where it is downloaded from, compressed or not, if not made from an archive."""
    parts: tuple[Part, ...] = ()
    """The archived files it is joined from."""
    bytes: int | None = Field(None, ge=1)
    """The size of its text, if known beforehand."""
    sha256: str | None = Field(None, pattern=_SHA256)
    """The digest of its text, if known beforehand."""
    made_from: str | None = None
    """What it was made from, if no program here can repeat that: it can only be copied, and the
    corpus is complete without it."""
    optional: bool = False
    """Whether the corpus is complete without it."""
    monolingual: bool = False
    """Whether it is text without translations, which is aligned with no other file."""

    def conflicts(self) -> Iterator[str]:
        """Paths outside the corpus, and two origins."""
        path = PurePosixPath(self.path)
        if path.is_absolute() or ".." in path.parts or path.suffix != ".gz":
            yield f"path: {self.path} is not the name of a .gz file within the corpus"
        if self.url is not None and self.parts:
            yield f"{self.path} has a url and parts; name one of them"
        if (self.bytes is None) != (self.sha256 is None):
            yield f"{self.path}: bytes and sha256 go together"
        if self.made_from is not None and (self.url is not None or self.sha256 is None):
            yield f"{self.path}: a file that can only be copied has a digest and no url"

    @property
    def is_required(self) -> bool:
        """Whether the corpus is incomplete without it."""
        return self.made_from is None and not self.optional

    @property
    def aligned_with(self) -> str:
        """The path without its language, which is equal in files that are aligned line by line."""
        if self.monolingual:
            return self.path
        return self.path.removesuffix(".gz").rpartition(".")[0]


class Corpus(Config):
    """A public corpus: its origin, its terms, and its files."""

    about: str
    """What it is, in a few words."""
    languages: tuple[str, ...]
    """Tags of its languages."""
    licence: str
    """Its licence or permitted use, in a few words."""
    terms: str
    """Its terms in full sentences, shown before anything is downloaded."""
    home: str
    """The page about it."""
    address: str = ""
    """Prefix of the addresses of its files."""
    archives: tuple[Archive, ...] = ()
    """The archives from which its files are made."""
    derivation: Literal["homeassistant"] | None = None
    """The program that makes its files, if they are neither downloaded nor joined."""
    made_from: str | None = None
    """What its files were made from, if no program here repeats that: they can only be copied."""
    files: tuple[CorpusFile, ...] = Field(min_length=1)
    """The resulting files."""

    def conflicts(self) -> Iterator[str]:
        """Files without an origin."""
        archives = {archive.name for archive in self.archives}
        for file in self.files:
            if self.made_from is not None and (file.url is not None or file.sha256 is None):
                yield f"{file.path}: a file that can only be copied has a digest and no url"
            if not (file.url or file.parts or file.made_from or self.derivation or self.made_from):
                yield f"{file.path} has neither url nor parts, and nothing derives it"
            for part in file.parts:
                if part.archive not in archives:
                    yield f"{file.path}: no archive is called {part.archive}"

    @property
    def download_bytes(self) -> int:
        """Approximate download size: archives as they are, and at most the text of other files."""
        texts = [file.bytes or 0 for file in self.files if file.url is not None]
        return sum(archive.bytes for archive in self.archives) + sum(texts)

    def whole(self, url: str) -> str:
        """The full address of a file or archive."""
        return url if "://" in url else f"{self.address}/{url}"


class _Manifest(Config):
    corpora: dict[str, Corpus]


@cache
def corpora() -> dict[str, Corpus]:
    """All corpora by name."""
    return parse(_Manifest, {"corpora": read_yaml(_MANIFEST)}, _MANIFEST.name).corpora


def corpus(name: str) -> Corpus:
    """The corpus of this name.

    Raises:
        ConfigError: the name is unknown; the message suggests another.
    """
    known = corpora()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name[:80], known, n=1)
    meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    raise ConfigError(f"no corpus is called {name!r:.80}; {meant}")
