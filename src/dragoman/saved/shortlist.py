"""The shortlist of a vocabulary: the target pieces that may translate each source piece.

``dragoman shortlist`` writes ``shortlist.safetensors`` beside the weights.  It belongs to the
vocabularies, not to the weights, so that every model with the same vocabularies can use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError, SavedError
from dragoman.saved.model import SHORTLIST_FILE, model_directory
from dragoman.saved.system import TranslationSystem
from dragoman.saved.weights import read_metadata, read_tensors, write_tensors
from dragoman.text.vocabularies import EOS, Vocabularies
from dragoman.text.vocabularies.piece_links import PieceTable

_TENSORS = {"starts", "pieces", "always"}
_AGAIN = "build it again with 'dragoman shortlist'"


class ShortlistOrigin(Config):
    """Origin and purpose of a shortlist."""

    fingerprints: tuple[str, str]
    """Fingerprints of the source and the target vocabulary."""
    likeliest: int
    """Maximum target pieces of a source piece."""
    frequent: int
    """Number of the most frequent target pieces, which every sentence may have."""
    text: str
    """The text that it was learned from."""
    pairs: int
    """Number of pairs there."""


@dataclass(frozen=True)
class Shortlist:
    """The target pieces that each source piece allows, and those that are always allowed."""

    table: PieceTable
    always: npt.NDArray[np.int64]
    """Pieces that every sentence may have, the symbols among them, in ascending order."""
    origin: ShortlistOrigin

    def allowed(
        self, sources: Sequence[Sequence[int]], pieces: int, more: Sequence[Sequence[int]] = ()
    ) -> npt.NDArray[np.bool_]:
        """Whether the output of each sentence may have each piece, ``(sentences, pieces)``.

        Args:
            sources: ids of each sentence.
            pieces: size of the target vocabulary.
            more: for each sentence, pieces that it may have as well, such as a forced prefix.
        """
        found = np.zeros((len(sources), pieces), np.bool_)
        found[:, self.always] = True
        for row, source in zip(found, sources, strict=True):
            for piece in {*source}:
                row[self.table.of(piece)] = True
        for row, ids in zip(found, more, strict=False):
            row[list(ids)] = True
        return found


def write_shortlist(path: Path, shortlist: Shortlist) -> None:
    """Write a shortlist, whole or not at all."""
    tensors = {
        "starts": torch.from_numpy(shortlist.table.starts),
        "pieces": torch.from_numpy(shortlist.table.pieces.astype(np.int32)),
        "always": torch.from_numpy(shortlist.always.astype(np.int32)),
    }
    write_tensors(path, tensors, {"shortlist": shortlist.origin.model_dump_json()})


def read_shortlist(path: Path, vocabularies: Vocabularies) -> Shortlist:
    """Read a file of :func:`write_shortlist`.

    Raises:
        ConfigError: the file does not exist.
        SavedError: it is damaged, or for other vocabularies.
    """
    if not path.is_file():
        raise ConfigError(
            f"{path}: no such file, so there is no shortlist; build one with 'dragoman shortlist "
            "RUN', or leave out --shortlist"
        )
    tensors = read_tensors(path)
    origin = _origin(path)
    if origin.fingerprints != vocabularies.fingerprints:
        raise SavedError(
            f"{path}: this shortlist is for other vocabularies than those of the model; {_AGAIN}"
        )
    sizes = tuple(map(len, vocabularies))
    whole = not any(value.is_floating_point() for value in tensors.values())
    if (
        tensors.keys() != _TENSORS
        or not whole
        or not _is_sound({k: v.numpy() for k, v in tensors.items()}, sizes)
    ):
        raise SavedError(f"{path}: damaged (its pieces are not those of the model); {_AGAIN}")
    starts, pieces, always = (tensors[name].numpy() for name in ("starts", "pieces", "always"))
    return Shortlist(PieceTable(starts, pieces.astype(np.int64)), always.astype(np.int64), origin)


def is_shortlist(path: Path) -> bool:
    """Whether :func:`write_shortlist` wrote a file, and so may replace it."""
    try:
        _origin(path)
    except SavedError:
        return False
    return True


def _origin(path: Path) -> ShortlistOrigin:
    text = read_metadata(path).get("shortlist")
    if text is None:
        raise SavedError(f"{path}: these are tensors, but no shortlist; {_AGAIN}")
    try:
        return ShortlistOrigin.model_validate_json(text)
    except ValueError as error:
        raise SavedError(
            f"{path}: damaged (what it was made from is unreadable); {_AGAIN}"
        ) from error


def _is_sound(arrays: dict[str, npt.NDArray[np.generic]], sizes: tuple[int, ...]) -> bool:
    """Whether all pieces exist, and each list begins at the end of another."""
    source, target = sizes
    starts = arrays["starts"]
    if any(value.ndim != 1 or value.dtype.kind != "i" for value in arrays.values()):
        return False
    if len(starts) != source + 1 or starts[0] != 0 or starts[-1] != len(arrays["pieces"]):
        return False
    known = all(
        not len(one) or (one.min() >= 0 and one.max() < target)
        for one in (arrays["pieces"], arrays["always"])
    )
    return known and bool((np.diff(starts) >= 0).all()) and EOS in arrays["always"]


def shortlist_path(system: TranslationSystem) -> Path:
    """The file of a system's shortlist: named in its description, or beside its model."""
    if isinstance(system.shortlist, Path):
        return system.shortlist
    return model_directory(system.models[0]) / SHORTLIST_FILE
