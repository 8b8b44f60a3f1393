"""Vocabularies on disk: of one side, or of both."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from dragoman.core.errors import SavedError
from dragoman.core.files import storage_errors
from dragoman.text.vocabularies.listed_vocabulary import ListedVocabulary
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary import Vocabulary

SUFFIXES = (".model", ".pieces")
"""Suffixes of sentencepiece models, and of lists of pieces from another toolkit."""


FILE_NAMES = tuple(
    f"vocabulary{side}{suffix}" for suffix in SUFFIXES for side in ("", ".source", ".target")
)
"""Possible file names of a joint vocabulary, and of one for each side."""


def load_vocabulary(path: Path | str) -> Vocabulary:
    """Reads a vocabulary of any kind that :meth:`.Vocabulary.save` wrote.

    Raises:
        SavedError: the file is missing, truncated, altered or not Dragoman's.
    """
    path = Path(path)
    kind = ListedVocabulary if path.suffix == ListedVocabulary.suffix else SentencePieceVocabulary
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SavedError(f"{path}: no readable vocabulary here: {error.strerror}") from error
    try:
        return kind.opened(content)
    except SavedError as error:
        raise SavedError(f"{path}: {error}") from error


class Vocabularies(NamedTuple):
    """The vocabularies of the two sides, the same one twice if they share it."""

    source: Vocabulary
    target: Vocabulary

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source.fingerprint == self.target.fingerprint

    @property
    def same_ids(self) -> bool:
        """Whether every piece has the same id on both sides, so that a matrix can serve both.

        This holds for a joint vocabulary, and for those of OPUS-MT, which split the two sides
        differently.
        """
        if self.joint:
            return True
        ours, theirs = (one.pieces(range(len(one))) for one in self)
        return ours == theirs

    @property
    def fingerprints(self) -> tuple[str, str]:
        """Fingerprints of the source and the target side, which identify the vocabularies."""
        return self.source.fingerprint, self.target.fingerprint

    @property
    def digest(self) -> str:
        """64 hexadecimal digits that identify the two together (SHA-256)."""
        return hashlib.sha256(" ".join(self.fingerprints).encode()).hexdigest()

    def save(self, directory: Path | str) -> None:
        """Writes ``vocabulary.model``, or ``vocabulary.source.model`` and ``.target.model``.

        The name of a list of pieces from another toolkit ends in ``.pieces``.
        """
        sides = (
            {"": self.source} if self.joint else {".source": self.source, ".target": self.target}
        )
        written = set()
        for side, vocabulary in sides.items():
            name = f"vocabulary{side}{vocabulary.suffix}"
            vocabulary.save(Path(directory) / name)
            written.add(name)
        for name in FILE_NAMES:
            if name not in written:
                with storage_errors(Path(directory) / name):
                    (Path(directory) / name).unlink(missing_ok=True)

    @classmethod
    def load(cls, directory: Path | str) -> Vocabularies:
        """Reads the files that :meth:`save` wrote.

        Raises:
            SavedError: a file is missing, truncated, altered or of another kind.
        """
        joint, source, target = (_file(directory, side) for side in ("", ".source", ".target"))
        if joint.exists():
            vocabulary = load_vocabulary(joint)
            return cls(vocabulary, vocabulary)
        if source.exists() or target.exists():
            return cls(load_vocabulary(source), load_vocabulary(target))
        raise SavedError(f"{directory}: no {joint.name} here; is this a run or a model?")


def _file(directory: Path | str, side: str) -> Path:
    first, *others = (Path(directory) / f"vocabulary{side}{suffix}" for suffix in SUFFIXES)
    return next((path for path in (first, *others) if path.exists()), first)
