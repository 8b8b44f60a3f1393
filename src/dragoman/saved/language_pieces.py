"""The pieces of each language, by the training text of a model.

A finished run writes ``pieces.safetensors`` beside the weights.  Like a shortlist, the file belongs
to the vocabularies.
"""

from __future__ import annotations

from pathlib import Path

import torch

from dragoman.core.errors import ConfigError, SavedError
from dragoman.saved.model import PIECES_FILE, home_of, model_directory
from dragoman.saved.weights import read_metadata, read_tensors, write_tensors
from dragoman.text.vocabularies import EOS, Vocabulary
from dragoman.text.vocabularies.piece_frequencies import PieceFrequencies

_KEY = "vocabulary"


def write_pieces(path: Path, frequencies: PieceFrequencies, vocabulary: Vocabulary) -> None:
    """Write the frequency of each piece of a target vocabulary in each language."""
    tensors = {name: torch.from_numpy(shares) for name, shares in frequencies.shares.items()}
    write_tensors(path, tensors, {_KEY: vocabulary.fingerprint})


def read_pieces(path: Path, vocabulary: Vocabulary) -> PieceFrequencies:
    """Read a file of :func:`write_pieces`.

    Raises:
        SavedError: it is missing, damaged or for another vocabulary.
    """
    tensors = read_tensors(path)
    if read_metadata(path).get(_KEY) != vocabulary.fingerprint:
        raise SavedError(
            f"{path}: these pieces are of another vocabulary than that of the model; copy the "
            "file of its run"
        )
    shape = (len(vocabulary),)
    if any(value.dtype != torch.float32 or value.shape != shape for value in tensors.values()):
        raise SavedError(f"{path}: damaged (one share for each piece is expected); copy it again")
    return PieceFrequencies({language: shares.numpy() for language, shares in tensors.items()})


def pieces_beside(path: Path) -> list[Path]:
    """The piece file of a model or checkpoint, if it has one, for models made from it."""
    file = home_of(path) / PIECES_FILE
    return [file] if file.is_file() else []


def foreign_pieces(
    model: Path, vocabulary: Vocabulary, language: str, share: float
) -> tuple[int, ...]:
    """The pieces that translations into ``language`` may not contain, in ascending order.

    Symbols and tags belong to no language: whether they may be written, search has settings
    for.  For the share, see :meth:`PieceFrequencies.foreign`.

    Raises:
        ConfigError: the model does not know the pieces of the language.
    """
    path = home_of(model_directory(model)) / PIECES_FILE
    if not path.is_file():
        raise ConfigError(
            f"{model}: nothing says which pieces belong to which language (no {PIECES_FILE}); "
            "'dragoman resume' of the finished run writes it, if its text has several languages"
        )
    frequencies = read_pieces(path, vocabulary)
    if language not in frequencies.shares:
        raise ConfigError(
            f"{model}: there was no training text in {language} (languages: "
            f"{', '.join(sorted(frequencies.shares))}), so nothing says which pieces are its own"
        )
    tags = frozenset(vocabulary.tags)
    foreign = frequencies.foreign(language, share)
    return tuple(piece for piece in foreign if piece > EOS and piece not in tags)
