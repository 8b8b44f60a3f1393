"""Origins of derived data: one rule for vocabularies and stores.

They are rebuilt when the content of a file or a setting has changed.  A file that was only moved or
touched is recognised by its digest.  Untouched files are not read for this check.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import DataError
from dragoman.core.files import content_digest
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus_part import CorpusPart

# A file that is changed this soon after it was read may keep its time stamps, because clocks of
# file systems are coarse, two seconds at worst.
_CLOCK_NS = 2_000_000_000


class InputFile(Config):
    """A corpus file as it was when something was made from it."""

    path: str
    """Where it was read from."""
    size_bytes: int = Field(ge=0)
    """Its size."""
    modified_ns: int
    """Its time of last change, nanoseconds since 1970."""
    changed_ns: int | None = None
    """The same by the file system's own clock, which programs cannot set; null if it is too recent
    to reveal a later change."""
    inode: int | None = None
    """Its number in the file system, which a file that replaces it does not have."""
    sha256: str
    """Digest of its content."""


def describe(paths: Iterable[Path], known: Iterable[InputFile] = ()) -> list[InputFile]:
    """Describe the current files.

    Args:
        paths: the files, in order; a repeated path is read once.
        known: earlier descriptions; a file is read only if none of them still holds.
    """
    by_path = {file.path: file for file in known if file.changed_ns is not None}
    paths = list(paths)
    found = {path: _describe(path, by_path.get(str(path))) for path in dict.fromkeys(paths)}
    return [found[path] for path in paths]


def _describe(path: Path, known: InputFile | None) -> InputFile:
    try:
        status = path.stat()  # before reading, so that a later change is seen the next time
        if known is not None and _identity(known) == _identity_of(status):
            return known
        now = time.time_ns()
        content = content_digest(path)
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise DataError(f"{path}: {reason}; check the paths of the corpus") from error
    settled = now - status.st_ctime_ns > _CLOCK_NS
    return InputFile(
        path=str(path),
        size_bytes=status.st_size,
        modified_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns if settled else None,
        inode=status.st_ino,
        sha256=content,
    )


def _identity(file: InputFile) -> tuple[int | None, ...]:
    return file.size_bytes, file.modified_ns, file.changed_ns, file.inode


def _identity_of(status: os.stat_result) -> tuple[int | None, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def same_content(files: Sequence[InputFile], others: Sequence[InputFile]) -> bool:
    """Whether these are the same texts in the same order, regardless of their paths."""
    return [file.sha256 for file in files] == [file.sha256 for file in others]


def clean_text_settings(
    parts: Sequence[CorpusPart], cleaning: CleaningConfig, held_out: frozenset[int]
) -> dict[str, Any]:
    """Settings that affect the cleaned training text, apart from the content of its files."""
    return {
        "parts": [_part_settings(part) for part in parts],
        "cleaning": cleaning.model_dump(mode="json"),
        "held_out": sorted(map(repr, held_out)),
    }


def _part_settings(part: CorpusPart) -> dict[str, Any]:
    """The settings of a part without the paths of its files, so that a moved corpus is recognised.

    Tags and transforms are included only if they change what is stored.  Without any, the result is
    the same as in releases that lacked them, so that older stores and vocabularies stay valid.
    """
    later = {"alignments", "source_language", "target_language", "tags", "transforms", "task"}
    later |= {
        "context",
        "documents",
        "label",
        "label_columns",
        "licence",
        "sacrebleu",
        "unreviewed",
    }
    values = part.model_dump(mode="json", exclude={"path"} | later)
    if part.path is None:
        values |= {"source": None, "target": None}
    if tags := part.prepared_direction.tags:
        values["tags"] = list(tags)
    if transforms := part.prepared_transforms:
        values["transforms"] = [transform.text_settings() for transform in transforms]
        if any(transform.reads_languages for transform in transforms):
            values["languages"] = [part.source_language, part.target_language]
    if part.unreviewed:
        values["unreviewed"] = True
    if part.is_labelled:
        values |= {"label": part.label, "label_columns": list(part.label_columns)}
    if part.context is not None:
        values |= {"context": part.context.model_dump(mode="json"), "documents": part.documents}
    return values | {"format": part.file_format.name}


def digest(value: Any) -> str:
    """SHA-256 of plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
