"""Importing Marian's own models, as Marian leaves them and OPUS publishes OPUS-MT.

Junczys-Dowmunt et al. 2018, arXiv:1804.00344.  A model is a ``.npz`` with its options in it,
``decoder.yml`` and vocabularies.  The Transformer has biases everywhere, sinusoids of
tensor2tensor, all sines before all cosines, and zeros in place of the first target embedding.  Its
decoder has self-attention or SSRU (Kim et al. 2019, D19-5632).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import ForeignOptions, ForeignWeights
from dragoman.exchange.foreign_transformer import (
    ForeignTransformer,
    LayerNames,
    PieceMatrices,
    Positions,
)
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.marian_binary import read_binary_weights, read_lexical_shortlist
from dragoman.exchange.marian_directory import (
    ARCHIVE,
    BINARY,
    PACKAGE,
    PREPROCESS,
    WEIGHTS,
    DecoderOptions,
    is_student,
    languages_in,
    licence_in,
    read_sides,
    weights_in,
)
from dragoman.exchange.marian_files import (
    LAYER_NAMES,
    OPTIONS_NAME,
    parts_of,
    read_npz,
)
from dragoman.exchange.opus_codes import directions_into
from dragoman.models.families.transformer import TransformerConfig

_SSRU_NAMES = {
    "pre": replace(
        LAYER_NAMES,
        self_attention="rnn",
        decoder_norms=("rnn_ln_{kind}", *LAYER_NAMES.decoder_norms[1:]),
    ),
    "post": replace(
        LAYER_NAMES,
        self_attention="rnn",
        decoder_norms=("rnn_ffn_ln_{kind}", *LAYER_NAMES.decoder_norms[1:]),
    ),
}
_NORMS = {("", "an"): "post", ("n", "a"): "pre"}
"""By the operations before and after a sublayer, without dropout."""
_DECODERS = {"self-attention": "self_attention", "rnn": "ssru"}
# What changes the function, first the meaning of a missing option.
_REQUIRED: Mapping[str, Sequence[Any]] = {
    "transformer-ffn-depth": [2],
    "transformer-decoder-ffn-depth": [0, 2],
    "transformer-postprocess-emb": ["d", ""],
    "transformer-postprocess-top": ["", "n", "d", "dn"],
    "transformer-no-projection": [False],
    "transformer-rnn-projection": [False],
    "transformer-no-bias": [False],
    "transformer-no-affine": [False],
    "transformer-train-position-embeddings": [False],
    "transformer-disable-position-embeddings": [False],
    "transformer-pool": [False],
    "transformer-tied-layers": [[]],
    "right-left": [False],
    "ulr": [False],
    "factors-dim-emb": [0],
    "lemma-dim-emb": [0],
}


class MarianImporter(Importer):
    """Reads a ``.npz``, its directory, or the archive of both that OPUS publishes."""

    name = "marian"

    @override
    def recognises(self, path: Path) -> bool:
        if path.is_file():
            return path.suffix.lower() in {ARCHIVE, WEIGHTS} or is_student(path)
        return bool(weights_in(path))

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        if path.is_file() and path.suffix.lower() in {WEIGHTS, BINARY}:
            return _read(path.parent, path, path, languages)
        with PACKAGE.unpacked(path) as (directory, _):
            return _read(directory, None, path, languages)


def _read(directory: Path, weights: Path | None, path: Path, languages: Languages) -> ForeignModel:
    """The model in a directory, of which ``path`` is what the user named."""
    decoder = DecoderOptions.of(directory)
    file = weights or decoder.weights()
    arrays, values = (read_binary_weights if file.suffix == BINARY else read_npz)(file)
    options = _Options(values, file, prefix=f"{OPTIONS_NAME}: ")
    options.check_kind()
    known = languages_in(directory, file, languages)
    sides = read_sides(directory, decoder.vocabularies(), options.sizes(), known)
    theirs = _MarianTransformer(_weights(arrays, file, options.norm), sides, options)
    version = options.of_type("version", str, "unknown version").split(" ")[0]
    search, notes = decoder.search()
    if (directory / PREPROCESS).is_file():
        notes.append(
            f"{PREPROCESS} is not run: it may normalise punctuation or split words before text "
            "is split into pieces."
        )
    if options.norm == "pre":
        notes.append(
            "It normalises before each sublayer. Keys and values of self-attention are normalised, "
            "too, as Marian 1.12 trains; older versions, and Marian while it translates, do not "
            "normalise them, so compare some translations."
        )
    if decoder.shortlist() is not None:
        notes.append("Its lexical shortlist is kept: 'dragoman translate --shortlist' uses it.")
    if file.suffix == BINARY:
        notes.append(
            "Weights in int8 are the same numbers in float32 here, and sums are not rounded to "
            "fewer bits, so that a few translations may differ."
        )
    model = theirs.imported(known, f"Marian ({version:.20}), {path.resolve().name}", search, notes)
    config = model.config
    into = directions_into(
        config.source_language, config.target_language, model.vocabularies.source
    )
    shortlist = decoder.shortlist()
    return replace(
        model,
        config=config.model_copy(update={"directions": into}),
        licence=licence_in(directory),
        shortlist=None if shortlist is None else read_lexical_shortlist(shortlist, sides),
    )


@dataclass(frozen=True)
class _Options(ForeignOptions):
    """``special:model.yml``."""

    def check_kind(self) -> None:
        """Refuse other models than a Transformer of one source, and what ours lacks."""
        self.choice("type", ["transformer"], None)
        self.check(_REQUIRED)
        if self.decoder_mixing == "ssru":
            self.choice("dec-cell", ["ssru"], "gru")
        kinds = self.of_type("input-types", list, [])
        if others := [kind for kind in kinds if kind != "sequence"]:
            raise ConfigError(
                f"{self.where}: {self.prefix}input-types: {others!r:.80} is not known here"
            )

    @property
    def norm(self) -> str:
        """``pre`` or ``post``."""
        names = "transformer-preprocess", "transformer-postprocess"
        given = tuple(
            self.of_type(name, str, default)
            for name, default in zip(names, ("", "dan"), strict=True)
        )
        norm = _NORMS.get((given[0].replace("d", ""), given[1].replace("d", "")))
        if norm is None:
            raise ConfigError(
                f"{self.where}: {self.prefix}{names[0]}: {given[0]!r:.40} with {names[1]}: "
                f"{given[1]!r:.40} cannot be imported, only '' with 'dan', or 'n' with 'da'"
            )
        return norm

    @property
    def decoder_mixing(self) -> str:
        """``self_attention`` or ``ssru``."""
        return self.ours("transformer-decoder-autoreg", _DECODERS, "self-attention")

    def sizes(self) -> tuple[int, int]:
        """Numbers of pieces of source and target."""
        sizes = self.of_type("dim-vocabs", list)
        if len(sizes) != 2 or any(type(size) is not int for size in sizes):
            raise ConfigError(
                f"{self.where}: {self.prefix}dim-vocabs: {sizes!r:.80} cannot be imported, only "
                "two sizes, of one source and one target"
            )
        return sizes[0], sizes[1]


class _MarianWeights(ForeignWeights):
    """Weights by Marian's names: matrices are ``(input, output)``, vectors ``(1, output)``."""

    norm = "post"

    @override
    def layer(self, theirs: str, ours: str, *, bias: bool | None = None) -> dict[str, Tensor]:
        weight, own_bias = parts_of(theirs, ours, self.norm)
        matrix = self.vector(weight) if ours.endswith("norm") else self.matrix(weight)
        return {f"{ours}.weight": matrix, f"{ours}.bias": self.vector(own_bias)}

    def matrix(self, name: str) -> Tensor:
        """The matrix of a linear layer, ``(output, input)``."""
        tensor = self.take(name)
        if tensor.dim() != 2:
            raise DataError(
                f"{self.where}: {name} has the shape {list(tensor.shape)}, expected a matrix"
            )
        return tensor.T.contiguous()

    def vector(self, name: str) -> Tensor:
        """A vector."""
        return self.take(name).reshape(-1)


@dataclass
class _MarianTransformer(ForeignTransformer):
    weights: _MarianWeights
    options: _Options

    @property
    @override
    def names(self) -> LayerNames:
        ssru = self.options.decoder_mixing == "ssru"
        return _SSRU_NAMES[self.options.norm] if ssru else LAYER_NAMES

    @property
    @override
    def zero_start(self) -> bool:
        return True

    @override
    def matrices(self) -> PieceMatrices:
        tied_all, tied_sides, tied_output = (
            self.options.of_type(f"tied-embeddings{end}", bool, False)
            for end in ("-all", "-src", "")
        )
        one = tied_all or tied_sides
        source = self.weights.take("Wemb" if one else "encoder_Wemb")
        target = source if one else self.weights.take("decoder_Wemb")
        bias = None
        if not self.options.of_type("output-omit-bias", bool, False):
            bias = self.weights.vector("decoder_ff_logit_out_b")
        if tied_all or tied_output:
            output = target
        elif "decoder_ff_logit_out_Wt" in self.weights:  # of later versions
            output = self.weights.take("decoder_ff_logit_out_Wt")
        else:
            output = self.weights.matrix("decoder_ff_logit_out_W")
        return PieceMatrices(source, target, output, bias)

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        options = self.options
        if options.of_type("dim-emb", int) != d_model:
            raise DataError(
                f"{options.where}: {options.prefix}dim-emb: {options.get('dim-emb')}, but the "
                f"embeddings have the width {d_model}; they do not belong together"
            )
        d_ff = options.of_type("transformer-dim-ffn", int)
        if (decoder := options.of_type("transformer-decoder-dim-ffn", int, 0)) not in {0, d_ff}:
            raise ConfigError(
                f"{options.where}: transformer-dim-ffn {d_ff} and transformer-decoder-dim-ffn "
                f"{decoder} differ; here both sides have the same"
            )
        return {
            "encoder_layers": options.of_type("enc-depth", int),
            "decoder_layers": options.of_type("dec-depth", int),
            "d_model": d_model,
            "heads": options.of_type("transformer-heads", int),
            "d_ff": d_ff,
            "activation": options.choice("transformer-ffn-activation", ["swish", "relu"], "swish"),
            "attention_bias": True,
            "norm": options.norm,
            "norm_epsilon": 1e-6,
            "final_norm": "n" in options.of_type("transformer-postprocess-top", str, ""),
            "decoder_mixing": options.decoder_mixing,
        }

    @override
    def positions(self, d_model: int) -> Positions:
        settings = {"positions": "sinusoidal", "timescales": "tensor2tensor"}
        return Positions(settings, sines_first=True)

    @override
    def attention(self, model: TransformerConfig, theirs: str, ours: str) -> dict[str, Tensor]:
        if self.options.decoder_mixing != "ssru" or not ours.endswith("self_attention"):
            return super().attention(model, theirs, ours)
        name = theirs.replace(".", "_")
        return {
            f"{ours}.candidate.weight": self.weights.matrix(f"{name}_W"),
            f"{ours}.forget.weight": self.weights.matrix(f"{name}_Wf"),
            f"{ours}.forget.bias": self.weights.vector(f"{name}_bf"),
        }


def _weights(arrays: Mapping[str, Any], file: Path, norm: str) -> _MarianWeights:
    """Checked as weights of other toolkits are when they are taken."""
    tensors = {}
    for name, array in arrays.items():
        try:
            tensors[name] = torch.from_numpy(array.astype(array.dtype.newbyteorder("="), order="C"))
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{file}: {name!r:.80} holds {array.dtype}, expected real numbers"
            ) from error
    weights = _MarianWeights(tensors, file)
    weights.norm = norm
    return weights
