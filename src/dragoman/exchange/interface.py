"""The interfaces of importers, which read models of other toolkits, and of exporters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeAlias

from torch import Tensor

from dragoman.saved.expressible import Known
from dragoman.saved.saved_config import SavedConfig, SavedModel
from dragoman.saved.shortlist import Shortlist
from dragoman.text.vocabularies import Vocabularies

Languages: TypeAlias = tuple[str | None, str | None]
"""Tags of the source and the target language, where they are known."""


@dataclass(frozen=True)
class ForeignModel:
    """A model of another toolkit, as Dragoman keeps models."""

    config: SavedConfig
    vocabularies: Vocabularies
    weights: dict[str, Tensor]
    """Under Dragoman's names, in float32."""
    origin: str
    """Its source, for the model card: toolkit, version, name."""
    licence: str | None = None
    """As its files state it; None if unknown."""
    notes: tuple[str, ...] = ()
    """Differences and omissions, a sentence each, for the card and the user."""
    shortlist: Shortlist | None = None
    """The target pieces that may translate each source piece, if the files say it."""


class Importer(ABC):
    """Reads models of a toolkit.

    Code in files is never executed: pickles are only read by
    :func:`dragoman.exchange.pickled.read_pickled`.
    """

    name: ClassVar[str]
    """Its name on the command line, such as ``fairseq``."""

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether the directory or file seems to be of this toolkit, by the names of its files."""

    @abstractmethod
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        """The model in a directory or file.

        Args:
            path: as the toolkit leaves it, or as models are published.
            languages: of source and target, where the files do not say them; they win.

        Raises:
            DataError: a file is missing, damaged, hostile or not of this toolkit.
            ConfigError: the model has something that no family here can express.
            MissingExtraError: a package is missing.
        """


SYSTEM_KNOWN: Known = {
    "source_language": None,
    "target_language": None,
    "directions": None,
    "search": None,
}
"""Settings besides the model that every export can express: its languages, the tags in front of a
text that choose them, and settings of search, which are the caller's."""

TRANSFORMER_KNOWN: Known = {
    **SYSTEM_KNOWN,
    "model.family": ["transformer"],
    "model.d_model": None,
    "model.encoder_layers": None,
    "model.decoder_layers": None,
    "model.heads": None,
    "model.d_ff": None,
    "model.attention_bias": None,
    "model.output_bias": None,
    "model.embeddings": None,
}
"""The same with sizes, biases and tied matrices of a Transformer."""


@dataclass(frozen=True, kw_only=True)
class ExportReport:
    """Files that were written, and how they were compared with the model."""

    files: tuple[str, ...] = ()
    """Names in the directory; :func:`~dragoman.exchange.exporting.export_model` fills them in."""
    compared: str
    """Quantity compared, such as "log-probabilities of 20 sentences, through onnxruntime"."""
    difference: float | None = None
    """Largest difference of a log-probability or logit; None if texts were compared."""
    equal_texts: tuple[int, int] | None = None
    """Numbers of equal and of compared translations; None if none were compared."""
    differences: tuple[str, ...] = ()
    """Known differences of the other program, a sentence each."""


class Exporter(ABC):
    """Writes a model for another program.

    A setting that the other program does not know is refused, also one that is added to a
    family later: an exporter names what it can express, not what it cannot.
    """

    name: ClassVar[str]
    """Its name on the command line, such as ``onnx``."""

    @abstractmethod
    def check(self, saved: SavedModel) -> None:
        """Refuse a model that has settings which the other program lacks.

        Raises:
            ConfigError: names each.
        """

    def guide(self, saved: SavedModel) -> str:
        """Instructions for ``README.md``, as Markdown; none by default."""
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

    def reads_tags(self, saved: SavedModel) -> bool:
        """Whether tags are part of a text there; if not, :meth:`guide` says how to give them."""
        return True

    @abstractmethod
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        """Write a model that was checked into an empty directory, and compare it there.

        Raises:
            ExportError: the other program's results differ from the model's.
        """
