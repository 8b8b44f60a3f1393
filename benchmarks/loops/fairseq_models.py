"""fairseq's models of the same sizes as ours; run in the peers' environment."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fairseq.data import Dictionary
from fairseq.models.fconv import FConvDecoder, FConvEncoder, FConvModel
from fairseq.models.lstm import LSTMDecoder, LSTMEncoder, LSTMModel
from fairseq.models.transformer import TransformerModel
from torch import nn

SPECIAL = 4
"""First symbols of every fairseq dictionary: begin, padding, end, unknown."""


def dictionary(size: int) -> Dictionary:
    """A dictionary of ``size`` symbols, special ones included."""
    made = Dictionary()
    for number in range(size - SPECIAL):
        made.add_symbol(f"piece{number}")
    return made


def convolutional(shape: dict[str, Any], vocabulary: int) -> FConvModel:
    """``fconv`` with the sizes of a ``ConvS2SConfig``, embeddings separate."""
    symbols = dictionary(vocabulary)
    positions = shape.get("max_positions", 1024) + symbols.pad() + 1
    width = shape["d_hidden"]
    encoder = FConvEncoder(
        symbols,
        shape["d_model"],
        max_positions=positions,
        convolutions=[(width, shape.get("encoder_kernel_width", 3))] * shape["encoder_layers"],
        dropout=shape["dropout"],
    )
    decoder = FConvDecoder(
        symbols,
        shape["d_model"],
        out_embed_dim=shape["d_model"],
        max_positions=positions,
        convolutions=[(width, shape.get("decoder_kernel_width", 3))] * shape["decoder_layers"],
        dropout=shape["dropout"],
    )
    return FConvModel(encoder, decoder)


def recurrent(shape: dict[str, Any], vocabulary: int) -> LSTMModel:
    """``lstm`` with the sizes of a ``RecurrentConfig``; padding is expected on the right.

    It has general attention, input feeding, and one matrix for target and output.
    """
    symbols, width, rate = dictionary(vocabulary), shape["d_model"], shape["dropout"]
    encoder = LSTMEncoder(
        symbols,
        width,
        width,
        shape["encoder_layers"],
        dropout_in=rate,
        dropout_out=rate,
        bidirectional=shape.get("bidirectional", "none") == "all",
        left_pad=False,
    )
    decoder = LSTMDecoder(
        symbols,
        width,
        width,
        width,
        shape["decoder_layers"],
        dropout_in=rate,
        dropout_out=rate,
        encoder_output_units=encoder.output_units,
        share_input_output_embed=True,
    )
    return LSTMModel(encoder, decoder)


def transformer(shape: dict[str, Any], vocabulary: int) -> TransformerModel:
    """``transformer`` with the sizes of a ``TransformerConfig``.

    It has learned positions and one embedding for source, target and output.
    """
    symbols = dictionary(vocabulary)
    sides = {
        f"{side}_{key}": value
        for side in ("encoder", "decoder")
        for key, value in {
            "layers": shape[f"{side}_layers"],
            "embed_dim": shape["d_model"],
            "ffn_embed_dim": shape["d_ff"],
            "attention_heads": shape["heads"],
            "learned_pos": True,
        }.items()
    }
    options = Namespace(
        **sides,
        dropout=shape["dropout"],
        share_all_embeddings=True,
        max_source_positions=shape["max_positions"],
        max_target_positions=shape["max_positions"],
    )
    task = Namespace(source_dictionary=symbols, target_dictionary=symbols)
    return TransformerModel.build_model(options, task)


FAMILIES = {"convs2s": convolutional, "recurrent": recurrent, "transformer": transformer}


def model_of(shape: dict[str, Any], vocabulary: int) -> nn.Module:
    """The fairseq model that corresponds to a configuration of ours."""
    return FAMILIES[shape["family"]](shape, vocabulary)
