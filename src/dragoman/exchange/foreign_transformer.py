"""The template of importers: a Transformer of another toolkit becomes one of ours.

An importer opens the files.  Its subclass of :class:`ForeignTransformer` says what is peculiar to
the toolkit: a table of names, settings, positions, and joined or repeated projections.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from dragoman.core.errors import DataError
from dragoman.exchange.foreign_files import ForeignWeights
from dragoman.exchange.interface import ForeignModel, Languages
from dragoman.exchange.layer_names import SIDES, LayerNames
from dragoman.exchange.piece_rows import ForeignSides, PieceMatrices
from dragoman.exchange.weight_layout import permute_width, sines_then_cosines
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.saved_config import SavedConfig


@dataclass(frozen=True)
class Positions:
    """How a Transformer tells positions apart."""

    settings: Mapping[str, Any]
    """Of :class:`TransformerConfig`."""
    tables: Sequence[Tensor] = ()
    """Learned positions of source and target, ``(max_positions, d_model)``, as they are added to
    scaled embeddings."""
    sines_first: bool = False
    """Whether all sines come before all cosines, where they alternate here."""


@dataclass
class ForeignTransformer(ABC):
    """A Transformer of another toolkit; its weights are taken one by one."""

    weights: ForeignWeights
    sides: ForeignSides

    zero_biases: ClassVar[bool] = False
    """Whether a missing bias of an attention or a normalisation is zero, or else absent."""

    @property
    @abstractmethod
    def names(self) -> LayerNames:
        """Of the parts of a layer there."""

    @abstractmethod
    def matrices(self) -> PieceMatrices:
        """The embeddings and the weights of the output."""

    @abstractmethod
    def settings(self, d_model: int) -> dict[str, Any]:
        """Sizes and choices, by the fields of :class:`TransformerConfig`.

        Raises:
            ConfigError: the model has something that the Transformer here lacks.
            DataError: an option does not make sense.
        """

    @property
    def zero_start(self) -> bool:
        """Whether outputs begin with a vector of zeros in place of a piece's."""
        return False

    @property
    @abstractmethod
    def options_file(self) -> Path:
        """The file of the settings, for messages."""

    def positions(self, d_model: int) -> Positions:
        """Positions; the paper's by default."""
        return Positions({})

    def attention(self, model: TransformerConfig, theirs: str, ours: str) -> dict[str, Tensor]:
        """The weights of one attention under our names, by default from one matrix each.

        Args:
            model: our configuration.
            theirs: the attention's name there.
            ours: its name here, such as ``decoder.0.cross_attention``.
        """
        weights: dict[str, Tensor] = {}
        for our_part, part in self.names.projections.items():
            weights |= self.weights.layer(f"{theirs}.{part}", f"{ours}.{our_part}", bias=self._bias)
        return weights

    def leave_out(self) -> Sequence[str]:
        """Ignore weights that do not change the function; returns notes on them."""
        return ()

    def check_all_taken(self) -> None:
        """Refuse a model that has more than was taken."""
        self.weights.check_all_taken()

    def imported(
        self, languages: Languages, origin: str, search: dict[str, Any], notes: Sequence[str]
    ) -> ForeignModel:
        """The model as Dragoman keeps models.

        Args:
            languages: of source and target, if known.
            origin: toolkit, version and name.
            search: settings that the toolkit searches with by default.
            notes: how that search differs, a sentence each.
        """
        matrices = self.matrices()
        matrices.check_rows(self.sides.sizes, self.weights.where)
        weights, settings = matrices.ours(self.sides, zero_start=self.zero_start)
        d_model = matrices.source.shape[1]
        positions = self.positions(d_model)
        settings = {**self.settings(d_model), **positions.settings, **settings}
        model = transformer_config(settings, self.options_file)
        scale = model.embedding.scale(d_model)
        for side, table in zip(("source", "target"), positions.tables, strict=False):
            weights[f"{side}_embedding.positions.table"] = table / scale
        weights |= self._stack(model)
        left_out = self.leave_out()
        self.check_all_taken()
        if positions.sines_first:
            weights = permute_width(weights, sines_then_cosines(d_model))
        return ForeignModel(
            config=SavedConfig(
                source_language=languages[0] or "source",
                target_language=languages[1] or "target",
                model=model,
                search=search,
            ),
            vocabularies=self.sides.vocabularies,
            weights=weights,
            origin=origin,
            notes=(*unsaid(languages), *self.sides.notes, *left_out, *notes),
        )

    def _stack(self, model: TransformerConfig) -> dict[str, Tensor]:
        """The weights of all layers and the final normalisations, under our names."""
        gated = model.feed_forward.activation == "swiglu"
        weights: dict[str, Tensor] = {}
        for side, count in zip(SIDES, (model.encoder_layers, model.decoder_layers), strict=True):
            if model.residual.ends_normalised:
                final = self.names.final_norm.format(side=side)
                weights |= self.weights.layer(final, f"{side}_norm")
            for number in range(count):
                there, here = self.names.place(side, number), f"{side}.{number}"
                for ours, theirs in self.names.attentions(side).items():
                    weights |= self.attention(model, f"{there}.{theirs}", f"{here}.{ours}")
                for ours, theirs in self.names.sublayers(gated=gated).items():
                    weights |= self.weights.layer(
                        f"{there}.{theirs}", f"{here}.{ours}", bias=not gated
                    )
                for ours, theirs in self.names.norms(side).items():
                    weights |= self.weights.layer(
                        f"{there}.{theirs}", f"{here}.{ours}", bias=self._bias
                    )
        return weights

    @property
    def _bias(self) -> bool | None:
        return True if self.zero_biases else None


def transformer_config(settings: Mapping[str, Any], where: Path) -> TransformerConfig:
    """Our configuration of a model.

    Args:
        settings: sizes and choices by name.
        where: the file that they are from, for messages.

    Raises:
        DataError: a value does not make sense.
    """
    try:
        return TransformerConfig(**settings)
    except ValueError as error:
        raise DataError(f"{where}: {' '.join(str(error).split()):.300}") from error


def unsaid(languages: Languages) -> list[str]:
    """Notes on the languages that neither the files nor the user say."""
    sides = zip((("source", "from"), ("target", "to")), languages, strict=True)
    return [
        f"Its files do not say the {side} language; '--{option}-language TAG' does."
        for (side, option), language in sides
        if language is None
    ]
