"""Getting public corpora from the web or a copy: verified, and never replacing other files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError, DownloadError
from dragoman.core.files import make_directory
from dragoman.text.corpora.corpus_manifest import Corpus, CorpusFile, corpora
from dragoman.text.corpora.corpus_manifest import corpus as corpus_named
from dragoman.text.public_corpora import corpora_folder
from dragoman.workflows.corpora.fetch import present_corpora
from dragoman.workflows.corpora.homeassistant import derive
from dragoman.workflows.corpora.storage import (
    Joined,
    Text,
    check_alignment,
    check_room,
    chunks,
    is_complete,
    missing,
    record_texts,
    recorded_texts,
    verify,
    write_text,
)
from dragoman.workflows.download import download, is_file_of
from dragoman.workflows.progress import counted_bytes

Say = Callable[[str], object]
"""Reports a line about the work."""

Advance = Callable[[int], object]
"""Called with the number of bytes done."""

_DOWNLOADS = ".downloads"
# Compressed text is hardly ever larger than the text, with any compression.
_PACKING_BYTES = 2**16


def get(names: Iterable[str], source: Path | None, say: Say) -> None:
    """Put corpora into the folder of public corpora, and verify existing files.

    Archives shared by several corpora are downloaded once.

    Args:
        source: a folder to take them from instead of the web; see :func:`_from_copy`.  It may also
            have a folder of the corpus's name with the copy in it.
    """
    chosen = {name: corpus_named(name) for name in names}
    downloads = corpora_folder() / _DOWNLOADS
    for name, corpus in chosen.items():
        _get(corpus, corpora_folder() / name, source, downloads, say)
    for archive in {archive.name for corpus in chosen.values() for archive in corpus.archives}:
        with suppress(OSError):  # a leftover does no harm
            (downloads / archive).unlink(missing_ok=True)
    with suppress(OSError):  # it is not empty
        downloads.rmdir()


def _get(corpus: Corpus, folder: Path, source: Path | None, downloads: Path, say: Say) -> None:
    texts = _present(corpus, folder)
    if source is not None:
        source = _copied_to(corpus, folder.name, source)
    left = _obtainable(corpus, missing(corpus, folder), source, say)
    if not left:
        check_alignment(texts, corpus)
        say(f"{folder}: complete and verified")
        return
    with _made(folder, left):
        if source is not None:
            texts |= _from_copy(corpus, left, folder, source, say)
        elif corpus.made_from is not None:
            raise DownloadError(
                f"{folder.name} cannot be downloaded: its files were made from {corpus.made_from}, "
                "and no command repeats that; name a folder that has them with --from, or use text "
                "of your own"
            )
        else:
            _announce(corpus, folder, say)
            texts |= _from_web(corpus, left, folder, downloads, say)
        check_alignment(texts, corpus)
        if unknown := {file.path: texts[file.path] for file in corpus.files if file.sha256 is None}:
            record_texts(folder, unknown)
    total = sum(text.bytes for text in texts.values())
    say(f"{folder}: {len(texts)} files, {total / 1e6:,.1f} MB of text, verified")


def _copied_to(corpus: Corpus, name: str, source: Path) -> Path:
    """The folder of a corpus's copy: the folder of its name, if that has any of its files."""
    folder = source / name
    archives = any((folder / archive.name).is_file() for archive in corpus.archives)
    return folder if archives or any(_copies(file, folder) for file in corpus.files) else source


def _obtainable(
    corpus: Corpus, left: list[CorpusFile], source: Path | None, say: Say
) -> list[CorpusFile]:
    """The available files; missing files are reported, as an error only if required."""
    available = []
    has_archives = source is not None and _has_archives(corpus, source)
    for file in left:
        if source is not None and _copies(file, source):
            available.append(file)
        elif file.made_from is not None:
            say(
                f"{file.path}: left out; it was made from {file.made_from}, and no command repeats "
                "that; --from takes it from a folder that has it"
            )
        elif source is not None and not file.is_required and not has_archives:
            say(f"{file.path}: left out; {source} has no copy of it")
        else:
            available.append(file)
    return available


def _has_archives(corpus: Corpus, source: Path) -> bool:
    return bool(corpus.archives) and all((source / each.name).is_file() for each in corpus.archives)


@contextmanager
def _made(folder: Path, left: list[CorpusFile]) -> Iterator[None]:
    """Create a folder to write files into; on failure, remove files that nothing can verify."""
    make_directory(folder)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for file in left:
                if file.sha256 is None:
                    (folder / file.path).unlink(missing_ok=True)
            folder.rmdir()  # if it is empty
        raise


def _present(corpus: Corpus, folder: Path) -> dict[str, Text]:
    """The texts that exist already; a file with other content is an error and stays unchanged."""
    recorded = recorded_texts(folder)
    present = {}
    left = {file.path for file in missing(corpus, folder)}
    for file in corpus.files:
        if file.path in left:
            continue
        try:
            present[file.path] = verify(folder / file.path, file, recorded.get(file.path))
        except DataError as error:
            raise DataError(f"{error}; move it away and repeat the command") from error
    return present


def announce(name: str, say: Say) -> None:
    """Report what a corpus is, its terms, and the size of its download."""
    corpus = corpus_named(name)
    say(f"{name}: {corpus.about}")
    say(f"Terms: {' '.join(corpus.terms.split())} See {corpus.home}")
    say(f"Downloading at most {corpus.download_bytes / 1e6:,.1f} MB to {corpora_folder()}")


def _announce(corpus: Corpus, folder: Path, say: Say) -> None:
    """Report terms and size before downloading, and check that there is enough room."""
    announce(folder.name, say)
    # Compressed text takes no more room than the archives that it comes from.
    check_room(folder.parent, corpus.download_bytes * (2 if corpus.archives else 1))


def _from_web(
    corpus: Corpus, left: list[CorpusFile], folder: Path, downloads: Path, say: Say
) -> dict[str, Text]:
    archives = {archive.name: downloads / archive.name for archive in corpus.archives}
    texts = {}
    total = corpus.download_bytes if corpus.archives else None
    with counted_bytes(f"{folder.name}: downloading", total) as advance:
        for archive in corpus.archives:
            target = archives[archive.name]
            if is_file_of(target, archive.bytes, archive.sha256):
                advance(archive.bytes)
                continue
            download(
                corpus.whole(archive.url),
                target,
                advance,
                limit=archive.bytes,
                size=archive.bytes,
                sha256=archive.sha256,
            )
        for file in left:
            if file.url is not None:
                texts[file.path] = _fetched(corpus, file, folder, downloads, advance)
    return texts | _derived(corpus, left, folder, archives, say)


def _fetched(
    corpus: Corpus, file: CorpusFile, folder: Path, downloads: Path, advance: Advance
) -> Text:
    url = corpus.whole(file.url or "")
    target = downloads / url.rpartition("/")[2]
    download(url, target, advance, limit=(file.bytes or 0) + _PACKING_BYTES)
    try:
        return write_text(folder / file.path, chunks(target), file, url)
    except DataError as error:
        raise DownloadError(
            f"{error}; it changed there: get it elsewhere and use --from"
        ) from error
    finally:
        target.unlink(missing_ok=True)


def _passed(text: Iterable[bytes], advance: Advance) -> Iterator[bytes]:
    """``text`` unchanged, counting its bytes."""
    for chunk in text:
        advance(len(chunk))
        yield chunk


def _from_copy(
    corpus: Corpus, left: list[CorpusFile], folder: Path, source: Path, say: Say
) -> dict[str, Text]:
    """Files from a copy laid out like the corpus, compressed or not, or from its archives."""
    archives = {archive.name: source / archive.name for archive in corpus.archives}
    if _has_archives(corpus, source):
        for archive in corpus.archives:
            if not is_file_of(source / archive.name, archive.bytes, archive.sha256):
                raise DataError(
                    f"{source / archive.name}: not the archive of {folder.name}, which has "
                    f"{archive.bytes:,} bytes and the SHA-256 {archive.sha256}"
                )
        return _derived(corpus, left, folder, archives, say)
    copies = {
        file.path: _copy_of(file, source, archives) for file in left
    }  # find all before copying any
    return {
        file.path: write_text(
            folder / file.path, chunks(copies[file.path]), file, str(copies[file.path])
        )
        for file in left
    }


def _copies(file: CorpusFile, source: Path) -> list[Path]:
    """The file in a folder, compressed, then not; only existing ones."""
    paths = (source / file.path, source / file.path.removesuffix(".gz"))
    return [path for path in paths if path.is_file()]


def _copy_of(file: CorpusFile, source: Path, archives: Mapping[str, Path]) -> Path:
    if found := _copies(file, source):
        return found[0]
    instead = f", or the archives {', '.join(archives)}" if archives else ""
    raise DataError(
        f"{source}: has no {file.path}, compressed or not; give a folder with all files of the "
        f"corpus{instead}"
    )


def _derived(
    corpus: Corpus,
    left: list[CorpusFile],
    folder: Path,
    archives: Mapping[str, Path],
    say: Say,
) -> dict[str, Text]:
    if archives:
        say(f"{folder.name}: making its files from {', '.join(archives)}")
    texts = {}
    lines: dict[str, tuple[str, list[int]]] = {}
    total = sum(file.bytes or 0 for file in left) or None
    with counted_bytes(f"{folder.name}: making files", total) as advance:
        made = (
            derive(archives[corpus.archives[0].name])
            if corpus.derivation == "homeassistant"
            else {}
        )
        for file in left:
            text = Joined(file.parts, archives) if file.parts else made.get(file.path)
            if text is None:
                continue  # it is downloaded individually
            passed = _passed(text, advance)
            texts[file.path] = write_text(folder / file.path, passed, file, file.path)
            if isinstance(text, Joined):
                other, counts = lines.setdefault(file.aligned_with, (file.path, text.lines))
                if counts != text.lines:
                    raise DataError(
                        f"{file.path} is joined from {text.lines} lines and {other} from {counts}; "
                        "the archives are not aligned line by line"
                    )
    return texts


def listing() -> list[dict[str, Any]]:
    """The facts that ``dragoman corpora list`` shows: of the manifest, then of those fetched."""
    ours = [
        {
            "name": name,
            "about": corpus.about,
            "languages": list(corpus.languages),
            "download_bytes": corpus.download_bytes if corpus.made_from is None else None,
            "licence": corpus.licence,
            "home": corpus.home,
            "folder": str(corpora_folder() / name),
            "present": is_complete(corpus, corpora_folder() / name),
        }
        for name, corpus in corpora().items()
    ]
    fetched = [
        {
            "name": record.name,
            "about": f"{record.pairs:,} pairs, fetched on {record.retrieved}",
            "languages": list(record.languages),
            "download_bytes": sum(file.bytes for file in record.downloads),
            "licence": record.licence or "not stated",
            "home": record.home,
            "folder": str(folder),
            "present": all((folder / name).is_file() for name in record.texts),
        }
        for folder, record in present_corpora()
    ]
    return ours + fetched
