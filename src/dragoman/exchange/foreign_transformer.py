"""The template of importers: a Transformer of another toolkit becomes one of ours.

An importer opens the files.  Its subclass of :class:`ForeignTransformer` has a table of names
(:class:`LayerNames`), the settings, and the toolkit's peculiarities, such as other positions and
joined projections.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import ForeignWeights
from dragoman.exchange.interface import ForeignModel, Languages
from dragoman.exchange.weight_layout import permute_width, sines_then_cosines, with_rows
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.layers.sublayers import GATES
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK, Vocabularies
from dragoman.text.vocabularies.foreign_vocabulary import Numbered

SIDES = ("encoder", "decoder")
_OURS = {"encoder": "source", "decoder": "target"}
_SHARING = {
    (True, True): "shared",
    (False, True): "target",
    (True, False): "inputs",
    (False, False): "separate",
}
"""Our ``embeddings`` by whether source and target have one matrix, and target and output."""


@dataclass(frozen=True, kw_only=True)
class LayerNames:
    """A table of names, to which ``.weight`` and ``.bias`` are added."""

    encoder_layer: str = "encoder.layers.{number}"
    decoder_layer: str = "decoder.layers.{number}"
    first_layer: int = 0
    """Number of the first layer."""
    attention: str
    """Attention of an encoder layer."""
    self_attention: str
    """Attention of a decoder layer to earlier pieces."""
    cross_attention: str
    projections: Mapping[str, str]
    """Their names by ours: ``query``, ``key``, ``value`` and ``output``."""
    feed_forward: Mapping[str, str]
    """Their names by ours: ``inner`` and ``outer``.  ``{last}`` stands for the number of the
    sublayer, 1 in an encoder layer and 2 in a decoder layer."""
    gated: Mapping[str, str] | None = None
    """The same with ``gate``, of a feed-forward sublayer with a gate, such as SwiGLU."""
    encoder_norms: tuple[str, ...]
    """Of the normalisations of an encoder layer, in the order of its sublayers."""
    decoder_norms: tuple[str, ...]
    final_norm: str = "{side}.layer_norm"
    embedding_norm: str = "{side}.layernorm_embedding"
    """Of the sum of embedding and position, if it is normalised."""

    def place(self, side: str, number: int) -> str:
        """The name of a layer of the encoder or the decoder."""
        layer = self.encoder_layer if side == "encoder" else self.decoder_layer
        return layer.format(number=self.first_layer + number)

    def attentions(self, side: str) -> dict[str, str]:
        """Their names of the attentions of a layer, by ours."""
        if side == "encoder":
            return {"attention": self.attention}
        return {"self_attention": self.self_attention, "cross_attention": self.cross_attention}

    def norms(self, side: str) -> dict[str, str]:
        """Their names of the normalisations of a layer, by ours."""
        names = self.encoder_norms if side == "encoder" else self.decoder_norms
        return {f"residuals.{place}.norm": name for place, name in enumerate(names)}

    def sublayers(self, side: str, *, gated: bool = False) -> dict[str, str]:
        """Their names of the parts of a feed-forward sublayer, by ours."""
        names = self.gated if gated and self.gated is not None else self.feed_forward
        last = str(len(self.attentions(side)))
        return {
            f"feed_forward.{ours}": name.replace("{last}", last) for ours, name in names.items()
        }

    def layers(self, encoder_layers: int, decoder_layers: int) -> dict[str, str]:
        """Their names of the parts of all layers without a gate, by ours, in order."""
        names: dict[str, str] = {}
        for side, count in zip(SIDES, (encoder_layers, decoder_layers), strict=True):
            sublayers = [
                {f"{ours}.{part}": f"{theirs}.{name}" for part, name in self.projections.items()}
                for ours, theirs in self.attentions(side).items()
            ]
            parts: dict[str, str] = {}
            norms = self.norms(side).items()
            last = self.sublayers(side)
            for sublayer, (ours, norm) in zip([*sublayers, last], norms, strict=True):
                parts |= {**sublayer, ours: norm}
            for number in range(count):
                here, there = f"{side}.{number}", self.place(side, number)
                names |= {f"{here}.{ours}": f"{there}.{theirs}" for ours, theirs in parts.items()}
        return names


FAIRSEQ = LayerNames(
    attention="self_attn",
    self_attention="self_attn",
    cross_attention="encoder_attn",
    projections={"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"},
    feed_forward={"inner": "fc1", "outer": "fc2"},
    encoder_norms=("self_attn_layer_norm", "final_layer_norm"),
    decoder_norms=("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
)
"""Of fairseq, and of MarianMTModel and others of Hugging Face."""


@dataclass(frozen=True)
class ForeignSides:
    """The vocabularies of source and target."""

    numbered: tuple[Numbered, Numbered]
    sizes: tuple[int, int]
    """Number of pieces there."""
    notes: Sequence[str] = ()
    """How text may be split otherwise than there, a sentence each."""

    @property
    def vocabularies(self) -> Vocabularies:
        """Ours."""
        return Vocabularies(self.numbered[0].vocabulary, self.numbered[1].vocabulary)

    @property
    def are_equal(self) -> bool:
        """Whether both sides have the same pieces in the same rows."""
        source, target = self.numbered
        return self.vocabularies.same_ids and source.rows == target.rows


@dataclass(frozen=True)
class PieceMatrices:
    """The vectors of each piece and its bias in the output, in the rows of the other toolkit."""

    source: Tensor  # (source pieces, d_model)
    target: Tensor  # (target pieces, d_model)
    output: Tensor  # (target pieces, d_model)
    bias: Tensor | None = None  # (target pieces,)

    def check_rows(self, sizes: tuple[int, int], where: Path) -> None:
        """Refuse matrices that have not one row for each entry of the dictionaries."""
        for name, size in (("source", sizes[0]), ("target", sizes[1]), ("output", sizes[1])):
            tensor: Tensor = getattr(self, name)
            if tensor.dim() != 2 or len(tensor) != size:
                raise DataError(
                    f"{where}: the {name} embeddings have the shape {list(tensor.shape)}, but the "
                    f"dictionary has {size} pieces; its files do not belong together"
                )
        if self.bias is not None and self.bias.shape != (sizes[1],):
            raise DataError(
                f"{where}: the output bias has the shape {list(self.bias.shape)}, but the "
                f"dictionary has {sizes[1]} pieces; its files do not belong together"
            )

    def ours(
        self, sides: ForeignSides, *, zero_start: bool = False
    ) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The matrices in the order of our vocabularies.

        Matrices with equal content are tied here, even if the other toolkit has two names for them.

        Args:
            sides: vocabularies of source and target.
            zero_start: whether outputs begin with a vector of zeros in place of a piece's.

        Returns:
            The weights under our names, and the settings that follow from them.
        """
        rows = [[0 if row is None else row for row in side.rows] for side in sides.numbered]
        target = sides.numbered[1].rows
        lacking = [place for place, row in enumerate(target) if row is None]
        if zero_start or target[BOS] in {target[PAD], target[UNK], target[EOS]}:
            lacking.append(BOS)  # the original has no piece of its own for it
        # Copies of pieces are only read.
        first = {row: place for place, row in reversed(list(enumerate(target)))}
        lacking += [place for place in range(EOS + 1, len(target)) if first[target[place]] < place]
        weights = {
            "source_embedding.weight": self.source,
            "target_embedding.weight": self.target,
            "output.weight": self.output,
        }
        if self.bias is not None:
            weights["output.bias"] = self.bias
        weights = with_rows(weights, rows[0], rows[1], silent=sorted(set(lacking)))
        tied = torch.equal(self.target, self.output)
        one = torch.equal(self.source, self.target) and sides.are_equal
        sharing = _SHARING[one, tied]
        if tied:
            del weights["output.weight"]
        if one:
            del weights["target_embedding.weight"]
        settings = {"embeddings": sharing, "output_bias": "output.bias" in weights}
        return weights, settings | ({"begin": "zeros"} if zero_start else {})


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


class ToolkitOptions(Protocol):
    """Options of a model, as its toolkit has them."""

    @property
    def where(self) -> Path:
        """Their file, for messages."""


@dataclass
class ForeignTransformer(ABC):
    """A Transformer of another toolkit; its weights are taken one by one."""

    weights: ForeignWeights
    sides: ForeignSides
    options: ToolkitOptions

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
        """

    @property
    def zero_start(self) -> bool:
        """Whether outputs begin with a vector of zeros in place of a piece's."""
        return False

    def normalizes_embeddings(self) -> bool:
        """Whether sums of embedding and position are normalised, which the weights tell."""
        names = [f"{self.names.embedding_norm.format(side=side)}.weight" for side in SIDES]
        there = [name in self.weights for name in names]
        if there[0] != there[1]:
            raise ConfigError(
                f"{self.weights.where}: only one of encoder and decoder normalises embeddings, "
                "which no family here can express"
            )
        return there[0]

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
        del matrices  # the largest weights, which are copied
        positions = self.positions(d_model)
        settings = {**self.settings(d_model), **positions.settings, **settings}
        model = transformer_config(settings, self.options.where)
        scale = model.embedding.scale(d_model)
        for side, table in zip(("source", "target"), positions.tables, strict=False):
            weights[f"{side}_embedding.positions.table"] = table / scale
        weights |= self.stack(model)
        left_out = self.leave_out()
        self.check_all_taken()
        self.weights.release()
        if positions.sines_first:  # one at a time: the model is in memory once
            order = sines_then_cosines(d_model)
            for name in list(weights):
                weights |= permute_width({name: weights.pop(name)}, order)
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

    def stack(self, model: TransformerConfig) -> dict[str, Tensor]:
        """The weights of all layers and other normalisations, under our names."""
        gated = model.feed_forward.activation in GATES
        weights: dict[str, Tensor] = {}
        for side, count in zip(SIDES, (model.encoder_layers, model.decoder_layers), strict=True):
            if model.embedding.normalize_embeddings:
                there = self.names.embedding_norm.format(side=side)
                weights |= self.weights.layer(there, f"{_OURS[side]}_embedding.norm")
            if model.residual.ends_normalised:
                final = self.names.final_norm.format(side=side)
                weights |= self.weights.layer(final, f"{side}_norm")
            for number in range(count):
                there, here = self.names.place(side, number), f"{side}.{number}"
                for ours, theirs in self.names.attentions(side).items():
                    weights |= self.attention(model, f"{there}.{theirs}", f"{here}.{ours}")
                for ours, theirs in self.names.sublayers(side, gated=gated).items():
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
    """Our configuration of a model with these settings, which are of the file ``where``."""
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
