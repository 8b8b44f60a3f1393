"""Corpora of mtdata's index, fetched from where their publishers keep them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.files import content_digest
from dragoman.core.wording import named
from dragoman.text.corpora.fetched_corpus import FetchedCorpus, FetchedFile
from dragoman.text.language_codes import common_language
from dragoman.workflows.corpora.lenient_reading import READERS, Flaws, TextPair
from dragoman.workflows.corpora.listed_corpus import ListedCorpus, SetOfPairs
from dragoman.workflows.corpora.mtdata_index import PREFIX, MtdataEntry
from dragoman.workflows.corpora.unpacking import unpack
from dragoman.workflows.download import download, is_file_of, size_of

_MOST_BYTES = 2**40  # of a file whose server does not tell its size
_COMPRESSION = re.compile(r"\.(gz|xz|bz2|zst)$")
_SET = "text"
_ANEW = "remove the folder of the corpus to take what is there now"


class MtdataCorpus(ListedCorpus):
    """A corpus of the index.

    Args:
        entry: of the index.
        languages: of the source and the target; by default as in the index.
        source: a folder that has its files, to use in place of the web.

    Raises:
        ConfigError: the corpus has other languages, or a format that is not read.
    """

    def __init__(self, entry: MtdataEntry, languages: TextPair | None, source: Path | None) -> None:
        self._entry = entry
        self._source = source
        self._kind = _COMPRESSION.sub("", str(entry.facts["kind"]))
        self._sides = _sides(entry, languages)
        if entry.facts.get("hub"):
            subset = f"#{entry.facts['subset']}" if entry.facts.get("subset") else ""
            raise ConfigError(
                f"{PREFIX}{entry.name} is on the Hugging Face Hub; get it as "
                f"hf:datasets/{entry.facts['hub']}{subset}"
            )
        if self._kind not in READERS:
            raise ConfigError(
                f"{PREFIX}{entry.name}: files of the kind {self._kind} are not read; download "
                f"{entry.facts['urls'][0]}, and convert it to TSV"
            )

    @property
    def _urls(self) -> list[str]:
        return [str(url) for url in self._entry.facts["urls"]]

    @property
    @override
    def record(self) -> FetchedCorpus:
        return FetchedCorpus(
            name=PREFIX + self._entry.name,
            languages=self._sides,
            licence=self._entry.facts.get("licence"),
            home=self._entry.home,
            citations=tuple(one["bibtex"] for one in self._entry.references),
        )

    @property
    @override
    def cited(self) -> tuple[str, ...]:
        return tuple(one["line"] for one in self._entry.references)

    @override
    def size(self) -> int | None:
        if self._source is not None:
            return sum(self._copy(url).stat().st_size for url in self._urls)
        sizes = [size_of(url) for url in self._urls]
        return None if None in sizes else sum(filter(None, sizes))

    @override
    def download(
        self, folder: Path, expected: FetchedCorpus | None, advance: Callable[[int], object]
    ) -> tuple[FetchedFile, ...]:
        known = {file.url: file for file in expected.downloads} if expected is not None else {}
        found = []
        for url in self._urls:
            before = known.get(url)
            if self._source is not None:
                path = self._copy(url)
            else:
                path = folder / kept_as(url)
                if not path.is_file() or (before is not None and not _is_same(path, before)):
                    _download(url, path, before, advance)
            digest = content_digest(path)
            if before is not None and digest != before.sha256:
                raise DataError(
                    f"{path}: its SHA-256 is {digest}, and was {before.sha256} when "
                    f"{PREFIX}{self._entry.name} was first fetched; {_ANEW}"
                )
            found.append(FetchedFile(url=url, bytes=path.stat().st_size, sha256=digest))
        self._folder = folder
        return tuple(found)

    @override
    def sets(self, folder: Path) -> Iterator[SetOfPairs]:
        files = []
        for url in self._urls:
            path = self._folder / kept_as(url) if self._source is None else self._copy(url)
            members = self._entry.facts["members"]
            files += unpack(path, members, folder) if members else [path]
        flaws = Flaws()
        languages = self._entry.languages
        columns = self._entry.facts["columns"] or (0, 1)
        if len(columns) != 2:
            raise ConfigError(
                f"{PREFIX}{self._entry.name}: has a column in each of two files, which is not "
                f"read; download {self._urls[0]}, and join them"
            )
        pairs = READERS[self._kind](files, languages, columns, flaws)
        if common_language(self._sides[0]) != common_language(languages[0]):
            pairs = ((target, source) for source, target in pairs)
        yield _SET, pairs, flaws

    def _copy(self, url: str) -> Path:
        """A file in the folder of a copy, or in the folder of the corpus there."""
        assert self._source is not None
        name = _file_name(url)
        places = [self._source / self._entry.name / name, self._source / name]
        found = next((path for path in places if path.is_file()), None)
        if found is None:
            raise DataError(
                f"{self._source}: has no {self._entry.name}/{name}, nor {name}; copy it from {url}"
            )
        return found


def _download(
    url: str, path: Path, before: FetchedFile | None, advance: Callable[[int], object]
) -> None:
    """Download a file, which must be the same as before."""
    download(
        url,
        path,
        advance,
        limit=_MOST_BYTES if before is None else before.bytes,
        size=None if before is None else before.bytes,
        sha256="" if before is None else before.sha256,
        otherwise=f"use --from; or {_ANEW}",
        stays_secure=before is None,
    )


def _is_same(path: Path, before: FetchedFile) -> bool:
    return is_file_of(path, before.bytes, before.sha256)


def _sides(entry: MtdataEntry, languages: TextPair | None) -> TextPair:
    """The languages of the source and the target."""
    if languages is None:
        return entry.languages
    there = set(map(common_language, entry.languages))
    missing = [one for one in languages if common_language(one) not in there]
    if missing:
        raise ConfigError(
            f"{PREFIX}{entry.name}: has no text in {named(missing)}; its languages are "
            f"{named(entry.languages)}"
        )
    return languages


def kept_as(url: str) -> str:
    """The name of a downloaded file, which differs for different addresses."""
    return f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{_file_name(url)}"


def _file_name(url: str) -> str:
    name = unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
    return re.sub(r"[^\w.-]", "_", name)[-80:] or "file"
