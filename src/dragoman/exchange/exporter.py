"""The interface of what writes a model for another program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dragoman.saved.expressible import Known
from dragoman.saved.saved_config import SavedModel

SYSTEM_KNOWN: Known = {
    "source_language": None,
    "target_language": None,
    "directions": None,
    "search": None,
}
"""What every export can express besides the model: which languages it translates, the tags in
front of a text that ask for them, and settings of search, which are the caller's."""


@dataclass(frozen=True)
class ExportReport:
    """What was written, and how it was compared with the model."""

    files: tuple[str, ...]
    """Names in the directory."""
    compared: str
    """What was compared, such as "log-probabilities of 20 sentences, through onnxruntime"."""
    difference: float | None = None
    """Largest difference of a log-probability or logit; None if texts were compared."""
    equal_texts: tuple[int, int] | None = None
    """How many translations were equal, and of how many; None if none were compared."""
    differences: tuple[str, ...] = ()
    """What the other program is known to do otherwise, a sentence each."""


class Exporter(ABC):
    """Writes a model for another program.

    A setting that the other program does not know is refused, also one that is added to a
    family later: an exporter names what it can express, not what it cannot.
    """

    name: ClassVar[str]
    """What the command line calls it, such as ``onnx``."""

    @abstractmethod
    def check(self, saved: SavedModel) -> None:
        """Refuse a model that cannot be expressed.

        Raises:
            ConfigError: each setting that the other program lacks.
        """

    def guide(self, saved: SavedModel) -> str:
        """How to use what is written, as Markdown for its ``README.md``; nothing by default."""
        return ""

    def written_tags(self, saved: SavedModel) -> dict[str, str]:
        """How a text is to write each tag in front of it there.

        By default, none can where what splits text would put a piece for a space before it, or
        knows no tags.
        """
        vocabulary = saved.vocabularies.source
        if vocabulary.tags_alone:
            return {}
        return {tag: tag for tag in vocabulary.pieces(vocabulary.tags)}

    @abstractmethod
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        """Write into an empty directory, read it again with the other program, and compare.

        Raises:
            ConfigError: see :meth:`check`.
            ExportError: what was written does not give what the model gives.
            MissingExtraError: a package is missing.
            StorageError: the disk refuses.
        """
