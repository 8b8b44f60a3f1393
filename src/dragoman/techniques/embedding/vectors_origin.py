"""The origin of a file of vectors: a JSON file beside it with the tokenisation to use."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from dragoman.core.config import Config, parse
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import (
    content_digest,
    make_directory,
    read_json,
    storage_errors,
    write_json,
)
from dragoman.core.version import __version__
from dragoman.text.word_vectors import WordVectors, write_vectors

Tokens = Literal["words", "spaces", "pieces"]
"""The tokens that have vectors: words and signs; strings between spaces; pieces of a
vocabulary."""


class InputDigest(Config):
    """A file that was read."""

    name: str
    """Its name, without its folder."""
    digest: str
    """SHA-256 of its content."""

    @classmethod
    def of(cls, path: Path) -> InputDigest:
        """The digest of ``path``, which must be readable."""
        return cls(name=path.name, digest=content_digest(path))


class VectorsOrigin(Config):
    """How vectors were made."""

    dragoman: str = __version__
    """The version that made them."""
    tokens: Tokens = "words"
    """What the vectors are of."""
    lowercase: bool = False
    """Whether the text was put in lower case."""
    vocabulary: str | None = None
    """Fingerprint of the vocabulary, for pieces."""
    inputs: tuple[InputDigest, ...] = ()
    """The text, or the vectors that were mapped."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the command."""


def origin_file(path: Path) -> Path:
    """The file beside ``path`` that describes the origin of its vectors."""
    return path.with_name(path.name + ".json")


def read_origin(path: Path) -> VectorsOrigin:
    """The origin of the vectors in ``path``; those of other programs are taken to be of words."""
    beside = origin_file(path)
    try:
        values = read_json(beside)
    except FileNotFoundError:
        return VectorsOrigin()
    except (OSError, ValueError) as error:
        raise SavedError(
            f"{beside}: cannot be read: {error}; remove it or copy it again"
        ) from error
    if not isinstance(values, dict):
        raise SavedError(f"{beside}: not what Dragoman wrote; remove it or copy it again")
    return parse(VectorsOrigin, values, beside)


def check_place(path: Path) -> None:
    """Check before the work starts that vectors can be written to ``path``; make its folder.

    A file beside it that describes no vectors would be lost, so that it is refused.
    """
    if path.is_dir():
        raise ConfigError(f"--output {path}: this is a directory; name a file, such as my.vec.gz")
    make_directory(path.parent, path)
    beside = origin_file(path)
    try:
        read_origin(path)
    except (ConfigError, SavedError) as error:
        raise ConfigError(
            f"--output {path}: {beside}, which says how vectors are made, is another kind of file "
            "here, and would be lost; name another file, or move that away"
        ) from error


def write_with_origin(path: Path, vectors: WordVectors, origin: VectorsOrigin) -> None:
    """Write vectors and, beside them, their origin."""
    beside = origin_file(path)
    with storage_errors(beside), contextlib.suppress(FileNotFoundError):
        beside.unlink()  # never one that describes other vectors
    write_vectors(path, vectors)
    write_json(beside, origin.model_dump(mode="json"))
