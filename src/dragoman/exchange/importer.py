"""The interface of what reads a model of another toolkit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from torch import Tensor

from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies


@dataclass(frozen=True)
class ForeignModel:
    """A model of another toolkit, as Dragoman keeps models."""

    config: SavedConfig
    vocabularies: Vocabularies
    weights: dict[str, Tensor]
    """Under Dragoman's names, in float32."""
    origin: str
    """What it was made from, for the model card: toolkit, version, name."""
    licence: str | None = None
    """As its files state it; None if they do not."""
    notes: tuple[str, ...] = ()
    """What is different here, or was left out, a sentence each, for the card and the user."""


class Importer(ABC):
    """Reads models of a toolkit.

    Nothing is executed that a file holds: pickles are read by
    :func:`dragoman.exchange.pickled.read_pickled` alone.
    """

    name: ClassVar[str]
    """What the command line calls it, such as ``fairseq``."""

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether the directory or file seems to be of this toolkit, by the names of its files."""

    @abstractmethod
    def read(self, path: Path, languages: tuple[str | None, str | None]) -> ForeignModel:
        """The model in a directory or file.

        Args:
            path: as the toolkit leaves it, or as models are published.
            languages: of source and target, where the files do not say them; they win.

        Raises:
            DataError: a file is missing, damaged, hostile or not of this toolkit.
            ConfigError: the model has something that no family here can express.
            MissingExtraError: a package is missing.
        """


def unsaid(languages: tuple[str | None, str | None]) -> list[str]:
    """Notes on the languages that neither the files nor the user say.

    Args:
        languages: of source and target.
    """
    sides = zip((("source", "from"), ("target", "to")), languages, strict=True)
    return [
        f"Its files do not say the {side} language; '--{option}-language TAG' does."
        for (side, option), language in sides
        if language is None
    ]
