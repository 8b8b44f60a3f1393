"""Fetching corpora by the names that others give them: ``mtdata:NAME``, ``hf:datasets/ORG/NAME``.

Each gets a folder with aligned lines and a record of its origin, which appears whole or not at all.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.files import atomic_directory, check_replaceable, make_directory
from dragoman.exchange.hub_datasets import is_dataset_name, look_up
from dragoman.text.corpora.cleaning import Seen, seen_pairs
from dragoman.text.corpora.corpus_manifest import CorpusFile
from dragoman.text.corpora.fetched_corpus import (
    ORIGIN_FILE,
    AlignedText,
    FetchedCorpus,
    FetchedFile,
    fetched_corpus,
    record_corpus,
    text_file,
)
from dragoman.text.language_codes import common_language
from dragoman.text.lines import read_lines
from dragoman.text.public_corpora import corpora_folder, listed_folder
from dragoman.workflows.corpora.aligned_writing import reasons, write_aligned
from dragoman.workflows.corpora.hub_corpus import HubCorpus
from dragoman.workflows.corpora.lenient_reading import TextPair
from dragoman.workflows.corpora.listed_corpus import ListedCorpus
from dragoman.workflows.corpora.mtdata_corpus import MtdataCorpus, kept_as
from dragoman.workflows.corpora.mtdata_index import PREFIX, find
from dragoman.workflows.corpora.storage import check_room, verify
from dragoman.workflows.progress import counted_bytes, counting

Say = Callable[[str], object]
Fetched = list[tuple[FetchedCorpus, TextPair]]
"""Corpora, and the languages of source and target of each."""

_DOWNLOADS = ".downloads"
_UNPACKED = ".unpacked"
_TERMS = ("licen", "copying", "readme")
_ROOM = 3  # times the bytes of a download: it, its files unpacked, and the text


@dataclass(frozen=True)
class FetchOptions:
    """What may be chosen for all corpora of a command."""

    languages: TextPair | None = None
    """Of the source and the target; by default as their lists have them."""
    source: Path | None = None
    """A folder that has the files of mtdata's corpora, to use in place of the web."""
    keep_duplicates: bool = False
    """Whether pairs that occurred before, also in an earlier corpus, are kept."""
    only_show: bool = False
    """Whether nothing is downloaded."""


def fetch_listed(names: Sequence[str], options: FetchOptions, say: Say) -> Fetched:
    """Fetch corpora, or verify those that are there.

    All names are looked up before anything is downloaded.

    Raises:
        ConfigError: a name is not known, or its languages are others.
        DataError: a file is damaged, or has changed since it was written.
        DownloadError: there is no connection, or what comes has changed.
        StorageError: the disk is full.
    """
    wanted = [_looked_up(name, options) for name in dict.fromkeys(names)]
    if options.only_show:
        for corpus in wanted:
            _announce(corpus, corpus.size(), say)
        return []
    downloads = corpora_folder() / _DOWNLOADS
    found: Fetched = []
    with ExitStack() as opened:
        seen = opened.enter_context(_seen(options))
        for number, corpus in enumerate(wanted):
            record = _verified(corpus, say)
            if record is None:
                before = [] if options.keep_duplicates else [one.name for one, _ in found]
                record = _fetched(corpus, downloads, seen, before, say)
            elif number + 1 < len(wanted):
                _remember(record, seen)
            found.append((record, options.languages or record.languages))
    _remove([file for record, _ in found for file in record.downloads], downloads)
    return found


def _looked_up(name: str, options: FetchOptions) -> ListedCorpus:
    if is_dataset_name(name):
        return HubCorpus(look_up(name), options.languages)
    return MtdataCorpus(find(name), options.languages, options.source)


def _seen(options: FetchOptions) -> Any:
    if options.keep_duplicates:
        return nullcontext(lambda source, target: False)
    return seen_pairs("use --keep-duplicates")


def _announce(corpus: ListedCorpus, size: int | None, say: Say) -> None:
    record = corpus.record
    told = "size not told" if size is None else f"{size / 1e6:,.1f} MB"
    licence = record.licence or f"not stated in the list; see {record.home}"
    say(f"{record.name}: {', '.join(record.languages)}; {told} to download; licence: {licence}")
    for line in corpus.cited:
        say(f"Cite: {line}")


def _folder(record: FetchedCorpus) -> Path:
    folder = listed_folder(record.name)
    assert folder is not None
    return folder


def _verified(corpus: ListedCorpus, say: Say) -> FetchedCorpus | None:
    """The record of a corpus that is there, complete and unchanged; None if a file is missing."""
    folder = _folder(corpus.record)
    record = fetched_corpus(folder)
    if record is None or not all((folder / name).is_file() for name in record.texts):
        return None
    _check_languages(record, corpus.record.languages)
    for name, text in record.texts.items():
        expected = CorpusFile(path=name, bytes=text.bytes, sha256=text.sha256)
        try:
            verify(folder / name, expected)
        except DataError as error:
            raise DataError(f"{error}; move it away and repeat the command") from error
    say(f"{folder}: complete and verified")
    return record


def _check_languages(record: FetchedCorpus, wanted: TextPair) -> None:
    if set(map(common_language, wanted)) != set(map(common_language, record.languages)):
        raise ConfigError(
            f"{record.name}: is there in {' and '.join(record.languages)}, not "
            f"{' and '.join(wanted)}; move {_folder(record)} away to get it again"
        )


def _fetched(
    corpus: ListedCorpus, downloads: Path, seen: Seen, before: list[str], say: Say
) -> FetchedCorpus:
    """Download a corpus and write it."""
    folder = _folder(corpus.record)
    size = corpus.size()
    _announce(corpus, size, say)
    make_directory(downloads)
    check_room(downloads, _ROOM * (size or 0))
    expected = fetched_corpus(folder)
    ours = _names_within(folder) if expected is not None else ()
    check_replaceable(folder, ours)
    with counted_bytes(f"{corpus.record.name}: downloading", size) as advance:
        files = corpus.download(downloads, expected, advance)
    with _refused_removed(files, downloads), atomic_directory(folder, ours) as new:
        unpacked = new / _UNPACKED
        unpacked.mkdir()
        texts, dropped = _write(corpus, unpacked, new, seen)
        for path in unpacked.iterdir():
            if path.name.lower().startswith(_TERMS):
                path.rename(new / path.name)
        shutil.rmtree(unpacked)
        record = corpus.record.model_copy(
            update={
                "downloads": files,
                "texts": texts,
                "dropped": dict(dropped),
                "citations": corpus.citations(),
                "retrieved": datetime.now(UTC).date().isoformat(),
                "without": tuple(before),
            }
        )
        record_corpus(new, record)
    if not corpus.cited:
        for citation in record.citations:
            say(f"Cite: {' '.join(citation.split())}")
    _summarise(record, folder, say)
    return record


@contextmanager
def _refused_removed(files: Sequence[FetchedFile], downloads: Path) -> Iterator[None]:
    """Remove downloads that cannot be read, so that the next try downloads them again."""
    try:
        yield
    except DataError:
        _remove(files, downloads)
        raise


def _remove(files: Sequence[FetchedFile], downloads: Path) -> None:
    with suppress(OSError):  # a leftover does no harm
        for file in files:
            (downloads / kept_as(file.url)).unlink(missing_ok=True)
        downloads.rmdir()


def _write(
    corpus: ListedCorpus, unpacked: Path, new: Path, seen: Seen
) -> tuple[dict[str, AlignedText], Counter[str]]:
    texts: dict[str, AlignedText] = {}
    dropped: Counter[str] = Counter()
    record = corpus.record
    for split, pairs, flaws in corpus.sets(unpacked):
        with counting(f"{record.name}: writing {split}", "pairs") as show:
            files, left_out = write_aligned(
                new, split, record.languages, pairs, flaws=flaws, seen=seen, show=show
            )
        texts |= files
        dropped += left_out
    return texts, dropped


def _summarise(record: FetchedCorpus, folder: Path, say: Say) -> None:
    counts = [
        f"{split}: {record.texts[text_file(split, record.languages[0])].lines:,} pairs"
        for split in record.splits
    ]
    left_out = f"; left out: {reasons(record.dropped)}" if record.dropped else ""
    total = sum(text.bytes for text in record.texts.values())
    say(f"{folder}: {', '.join(counts)}, {total / 1e6:,.1f} MB of text{left_out}")


def _names_within(folder: Path) -> list[str]:
    """What an earlier call has put into the folder of a corpus."""
    record = fetched_corpus(folder)
    texts = list(record.texts) if record is not None else []
    terms = (path.name for path in folder.iterdir() if path.name.lower().startswith(_TERMS))
    return [ORIGIN_FILE, *texts, *terms]


def _remember(record: FetchedCorpus, seen: Seen) -> None:
    """Recognise the pairs of a corpus that is there in those that follow."""
    for split in record.splits:
        paths = [_folder(record) / text_file(split, language) for language in record.languages]
        for source, target in zip(*map(read_lines, paths), strict=True):
            seen(source, target)


def present_corpora() -> Iterator[tuple[Path, FetchedCorpus]]:
    """The corpora of lists that are there, with their folders."""
    folder = corpora_folder()
    for pattern in ("mtdata/*", "hf/*/*"):
        for place in sorted(folder.glob(pattern)):
            hidden = place.name.startswith(".")  # one that is being written
            if not hidden and (record := fetched_corpus(place)) is not None:
                yield place, record


def is_listed(name: str) -> bool:
    """Whether a name is of a list of others."""
    return name.startswith(PREFIX) or is_dataset_name(name)
