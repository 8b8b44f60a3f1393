"""Getting public corpora from the web or a copy: verified, and never replacing other files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError, DownloadError, StorageError
from dragoman.core.files import make_directory, storage_errors
from dragoman.text.corpora.corpus_manifest import Corpus, CorpusFile, corpora, corpus
from dragoman.text.public_corpora import corpora_folder
from dragoman.workflows.corpora.homeassistant import derive
from dragoman.workflows.corpora.storage import (
    Joined,
    Text,
    check_alignment,
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
    chosen = {name: corpus(name) for name in names}
    downloads = corpora_folder() / _DOWNLOADS
    for name, one in chosen.items():
        _get(one, corpora_folder() / name, source, downloads, say)
    for archive in {archive.name for one in chosen.values() for archive in one.archives}:
        with suppress(OSError):  # a leftover does no harm
            (downloads / archive).unlink(missing_ok=True)
    with suppress(OSError):  # it is not empty
        downloads.rmdir()


def _get(one: Corpus, folder: Path, source: Path | None, downloads: Path, say: Say) -> None:
    texts = _present(one, folder)
    if source is not None:
        source = _copied_to(one, folder.name, source)
    left = _obtainable(one, missing(one, folder), source, say)
    if not left:
        check_alignment(texts, one)
        say(f"{folder}: complete and verified")
        return
    with _made(folder, left):
        if source is not None:
            texts |= _from_copy(one, left, folder, source, say)
        elif one.made_from is not None:
            raise DownloadError(
                f"{folder.name} cannot be downloaded: its files were made from {one.made_from}, "
                "and no command repeats that; name a folder that has them with --from, or use text "
                "of your own"
            )
        else:
            _announce(one, folder, say)
            texts |= _from_web(one, left, folder, downloads, say)
        check_alignment(texts, one)
        if unknown := {file.path: texts[file.path] for file in one.files if file.sha256 is None}:
            record_texts(folder, unknown)
    total = sum(text.bytes for text in texts.values())
    say(f"{folder}: {len(texts)} files, {total / 1e6:,.1f} MB of text, verified")


def _copied_to(one: Corpus, name: str, source: Path) -> Path:
    """The folder of a corpus's copy: the folder of its name, if that has any of its files."""
    folder = source / name
    archives = any((folder / archive.name).is_file() for archive in one.archives)
    return folder if archives or any(_copies(file, folder) for file in one.files) else source


def _obtainable(
    one: Corpus, left: list[CorpusFile], source: Path | None, say: Say
) -> list[CorpusFile]:
    """The available files; missing files are reported, as an error only if required."""
    found = []
    has_archives = source is not None and _has_archives(one, source)
    for file in left:
        if source is not None and _copies(file, source):
            found.append(file)
        elif file.made_from is not None:
            say(
                f"{file.path}: left out; it was made from {file.made_from}, and no command repeats "
                "that; --from takes it from a folder that has it"
            )
        elif source is not None and not file.is_required and not has_archives:
            say(f"{file.path}: left out; {source} has no copy of it")
        else:
            found.append(file)
    return found


def _has_archives(one: Corpus, source: Path) -> bool:
    return bool(one.archives) and all((source / each.name).is_file() for each in one.archives)


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


def _present(one: Corpus, folder: Path) -> dict[str, Text]:
    """The texts that exist already; a file with other content is an error and stays unchanged."""
    recorded = recorded_texts(folder)
    found = {}
    left = {file.path for file in missing(one, folder)}
    for file in one.files:
        if file.path in left:
            continue
        try:
            found[file.path] = verify(folder / file.path, file, recorded.get(file.path))
        except DataError as error:
            raise DataError(f"{error}; move it away and repeat the command") from error
    return found


def _announce(one: Corpus, folder: Path, say: Say) -> None:
    """Report terms and size before downloading, and check that there is enough room."""
    say(f"{folder.name}: {one.about}")
    say(f"Terms: {' '.join(one.terms.split())} See {one.home}")
    say(f"Downloading at most {one.download_bytes / 1e6:,.1f} MB to {folder.parent}")
    # Compressed text takes no more room than the archives that it comes from.
    needed = one.download_bytes * (2 if one.archives else 1)
    with storage_errors(folder):
        free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageError(
            f"{folder.parent}: {free / 1e6:,.1f} MB are free and {needed / 1e6:,.1f} MB needed; "
            "free some space or name another folder in DRAGOMAN_CORPORA"
        )


def _from_web(
    one: Corpus, left: list[CorpusFile], folder: Path, downloads: Path, say: Say
) -> dict[str, Text]:
    archives = {archive.name: downloads / archive.name for archive in one.archives}
    texts = {}
    total = one.download_bytes if one.archives else None
    with counted_bytes(f"{folder.name}: downloading", total) as advance:
        for archive in one.archives:
            target = archives[archive.name]
            if is_file_of(target, archive.bytes, archive.sha256):
                advance(archive.bytes)
                continue
            download(
                one.whole(archive.url),
                target,
                advance,
                limit=archive.bytes,
                size=archive.bytes,
                sha256=archive.sha256,
            )
        for file in left:
            if file.url is not None:
                texts[file.path] = _fetched(one, file, folder, downloads, advance)
    return texts | _derived(one, left, folder, archives, say)


def _fetched(
    one: Corpus, file: CorpusFile, folder: Path, downloads: Path, advance: Advance
) -> Text:
    url = one.whole(file.url or "")
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
    one: Corpus, left: list[CorpusFile], folder: Path, source: Path, say: Say
) -> dict[str, Text]:
    """Files from a copy laid out like the corpus, compressed or not, or from its archives."""
    archives = {archive.name: source / archive.name for archive in one.archives}
    if _has_archives(one, source):
        for archive in one.archives:
            if not is_file_of(source / archive.name, archive.bytes, archive.sha256):
                raise DataError(
                    f"{source / archive.name}: not the archive of {folder.name}, which has "
                    f"{archive.bytes:,} bytes and the SHA-256 {archive.sha256}"
                )
        return _derived(one, left, folder, archives, say)
    found = {
        file.path: _copy_of(file, source, archives) for file in left
    }  # find all before copying any
    return {
        file.path: write_text(
            folder / file.path, chunks(found[file.path]), file, str(found[file.path])
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
    one: Corpus,
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
        made = derive(archives[one.archives[0].name]) if one.derivation == "homeassistant" else {}
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
    """The facts that ``dragoman corpora list`` shows about every corpus."""
    return [
        {
            "name": name,
            "about": one.about,
            "languages": list(one.languages),
            "download_bytes": one.download_bytes if one.made_from is None else None,
            "licence": one.licence,
            "home": one.home,
            "folder": str(corpora_folder() / name),
            "present": is_complete(one, corpora_folder() / name),
        }
        for name, one in corpora().items()
    ]
