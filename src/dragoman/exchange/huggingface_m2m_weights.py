"""Weights of M2M100ForConditionalGeneration and MBartForConditionalGeneration, from ours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.exchange.huggingface_files import LAYER_NAMES
from dragoman.exchange.huggingface_m2m_importer import FAIRSEQ_FIRST, FIRST_POSITION
from dragoman.exchange.huggingface_writing import layers
from dragoman.exchange.weight_layout import SILENT, permute_width, sines_first
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.saved_config import SavedModel
from dragoman.text.vocabularies import BOS, EOS

BEGIN, PADDING, END = (FAIRSEQ_FIRST.index(name) for name in ("<s>", "<pad>", "</s>"))
"""Rows of special pieces there."""


@dataclass(frozen=True)
class PieceTables:
    """The embeddings and the output, in the rows there."""

    shared: Tensor  # (rows, d_model)
    output: Tensor  # (rows, d_model)
    bias: Tensor  # (rows,)
    begin: int
    """The row that targets begin with."""
    silent: Tensor
    """Ids here of pieces that are never put out, as a mask, ``(pieces,)``."""

    @classmethod
    def of(cls, weights: Mapping[str, Tensor], rows: Sequence[int], size: int) -> PieceTables:
        """From weights under our names, whose source and target embeddings are equal."""
        ours, output = weights["source_embedding.weight"], weights["output.weight"]
        bias = weights.get("output.bias", torch.zeros(len(ours)))
        silent = bias < SILENT / 2
        # As in M2M-100, where the end symbol begins targets, too, and <s> has no use.
        ends = bool(silent[BOS]) and torch.equal(ours[BOS], ours[EOS])
        places = torch.tensor(rows)
        tables = torch.zeros(2, size, ours.shape[1])
        tables[:, places] = torch.stack([ours, output])
        if ends:
            tables[:, BEGIN] = 0
        biases = torch.full((size,), SILENT)
        biases[places] = bias
        return cls(tables[0], tables[1], biases, END if ends else BEGIN, silent)

    def needs_output(self, rows: Sequence[int]) -> bool:
        """Whether the embeddings cannot serve as the output, without a bias.

        A row of zeros will do for the begin symbol if it has no use.
        """
        if not torch.equal(self.shared, self.output):
            return True
        used = [row for row in rows if row != BEGIN or self.begin == BEGIN]
        return bool(self.bias[used].max() != self.bias[used].min())


class WeightsThere(ABC):
    """The weights of a model there."""

    def __init__(
        self, saved: SavedModel, config: TransformerConfig, rows: Sequence[int], size: int
    ) -> None:
        self.config, self.rows = config, rows
        self.ours = self.ordered(_parameters(saved))
        self.pieces = PieceTables.of(self.ours, rows, size)

    @abstractmethod
    def ordered(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Our weights with the columns in the order there."""

    @abstractmethod
    def around(self) -> dict[str, Tensor]:
        """The embeddings, the output, and what depends on them."""

    def all(self) -> dict[str, Tensor]:
        """All weights under the names there."""
        state = dict(layers(self.ours, self.config))
        for side in ("encoder", "decoder"):
            for part in ("weight", "bias"):
                final = f"{LAYER_NAMES.final_norm.format(side=side)}.{part}"
                state[final] = self.ours[f"{side}_norm.{part}"]
        state |= self.around()
        return {name: tensor.contiguous() for name, tensor in state.items()}

    def untied(self, output: Tensor) -> dict[str, Tensor]:
        """The matrices of a model with another output, whose other names are not tied either."""
        names = ("shared", "encoder.embed_tokens", "decoder.embed_tokens")
        shared = {f"model.{name}.weight": self.pieces.shared.clone() for name in names}
        return {**shared, "lm_head.weight": output}


class M2M100Weights(WeightsThere):
    """Of M2M100ForConditionalGeneration."""

    @override
    def ordered(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        return permute_width(weights, sines_first(self.config.d_model))

    @override
    def around(self) -> dict[str, Tensor]:
        # The output has no bias there.  The outputs of the last normalisation, with gain and bias
        # of 1 each, always sum to d_model, so that the bias becomes part of the output's matrix,
        # and so do the gain and bias that the normalisation has here.
        if not self.pieces.needs_output(self.rows):
            return {"model.shared.weight": self.pieces.shared}
        final = LAYER_NAMES.final_norm.format(side="decoder")
        gain, shift = (self.ours[f"decoder_norm.{part}"].double() for part in ("weight", "bias"))
        output = self.pieces.output.double()
        constant = output @ (shift - gain) + self.pieces.bias.double()
        folded = output * gain + constant.unsqueeze(1) / self.config.d_model
        ones = {f"{final}.{part}": torch.ones(self.config.d_model) for part in ("weight", "bias")}
        return {**self.untied(folded.float()), **ones}


class MbartWeights(WeightsThere):
    """Of MBartForConditionalGeneration."""

    @override
    def ordered(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        return weights

    @override
    def around(self) -> dict[str, Tensor]:
        scale = self.config.embedding.scale(self.config.d_model)
        state = {"final_logits_bias": self.pieces.bias.unsqueeze(0)}
        # A source here has the tag of the target language at its first place, which is not read.
        for side, name, earlier in (("encoder", "source", 1), ("decoder", "target", 0)):
            table = self.ours[f"{name}_embedding.positions.table"] * scale
            there = torch.zeros(len(table) + FIRST_POSITION, self.config.d_model)
            there[FIRST_POSITION - earlier : len(there) - earlier] = table
            state[f"model.{side}.embed_positions.weight"] = there
            norm = LAYER_NAMES.embedding_norm.format(side=side)
            for part in ("weight", "bias"):
                state[f"{norm}.{part}"] = self.ours[f"{name}_embedding.norm.{part}"]
        if torch.equal(self.pieces.shared, self.pieces.output):
            return {**state, "model.shared.weight": self.pieces.shared}
        return {**state, **self.untied(self.pieces.output)}


def _parameters(saved: SavedModel) -> dict[str, Tensor]:
    """All weights; tied ones have each of their names."""
    named = saved.model.named_parameters(remove_duplicate=False)
    return {name: parameter.detach().float().cpu() for name, parameter in named}
