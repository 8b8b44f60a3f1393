"""Models as two ONNX graphs in float32: the encoder, and one step of the decoder with its state.

``encoder.onnx`` reads ``source`` and ``source_mask``, both ``(batch, source)``, and gives the keys
and values of each decoder layer, ``memory_keys_0`` ... of ``(batch, heads, source, width)``.
``decoder.onnx`` reads one ``target`` piece of each row, ``(rows, 1)``, the source mask, that
memory, and what earlier steps have kept, ``past_keys_0`` ... of ``(rows, heads, past, width)``; it
gives the ``logits`` of the next piece, ``(rows, vocabulary)``, and ``keys_0`` ... for the next.
Rows are sentences times beam, a sentence's beams adjacent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import override

from dragoman.core.errors import MissingExtraError
from dragoman.exchange.interface import TRANSFORMER_KNOWN, Exporter, ExportReport
from dragoman.exchange.probes import COUNT, Floats, Probe, batches, check_gap, probes
from dragoman.exchange.vocabulary_files import NOT_NORMALISED, write_vocabularies
from dragoman.models.families.transformer import (
    DecoderLayer,
    Transformer,
    TransformerMemory,
    TransformerState,
)
from dragoman.models.layers.attention import KeysValues, mask_bias
from dragoman.models.layers.positions import SinusoidalPositions
from dragoman.models.layers.self_attention import PastPositions
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.saved_config import SavedModel
from dragoman.text.vocabularies import BOS, PAD

try:
    import onnx  # noqa: F401 - PyTorch writes graphs through it
    import onnxruntime
except ImportError as error:
    raise MissingExtraError.of("ONNX Runtime", "onnxruntime", "onnx") from error

OPSET = 17
"""Version of the operators, which ONNX Runtime knows from 1.12 on."""
POSITIONS = 2048
"""Rows of the table of positions that are not learned: maximum length of a source or target."""
TOLERANCE = 1e-4
"""Largest difference of a log-probability, relative to one below -1, such as that of a piece with a
large negative bias."""
ENCODER_FILE, DECODER_FILE = "encoder.onnx", "decoder.onnx"

_KNOWN: Known = {
    **TRANSFORMER_KNOWN,
    "model.d_k": None,
    "model.d_v": None,
    "model.attention": None,
    "model.activation": None,
    "model.norm": None,
    "model.normalization": None,
    "model.norm_epsilon": None,
    "model.final_norm": None,
    "model.positions": None,
    "model.max_positions": None,
    "model.distance_buckets": None,
    "model.bucket_distance": None,
    "model.relative_distance": None,
    "model.timescales": None,
    "model.first_position": None,
    "model.scale_embeddings": None,
    "model.begin": None,
    "model.source_end": None,
}
_REMEDY = "leave the model with Dragoman"

Arrays = dict[str, np.ndarray[Any, Any]]
Graph = Callable[[Arrays], Arrays]
"""Inputs to outputs, by their names."""


class _Encoder(nn.Module):
    """Source ids to the keys and values of every decoder layer."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, source_mask: Tensor) -> tuple[Tensor, ...]:
        return _flat(self.model.encode(source, source_mask).layers)


class _Step(nn.Module):
    """One piece of each row to the scores of the next one, and the state after it."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, target: Tensor, source_mask: Tensor, *kept: Tensor) -> tuple[Tensor, ...]:
        layers = 2 * len(self.model.decoder)
        memory, past = _paired(kept[:layers]), _paired(kept[layers:])
        seen = self.model.seen(source_mask)
        bias = mask_bias(seen, memory[0].keys.dtype)[:, None, None, :]
        hidden, state = self.model.decode(
            target,
            TransformerMemory(memory[0].keys, source_mask, memory, bias),
            TransformerState([PastPositions(layer) for layer in past], past[0].keys.shape[2]),
        )
        now = [cast(PastPositions, layer).known for layer in state.layers]
        return (self.model.logits(hidden)[:, 0], *_flat(now))


class _RootMeanSquare(nn.Module):
    """RMS normalisation as :class:`torch.nn.RMSNorm`, in operators that every opset has."""

    def __init__(self, norm: nn.RMSNorm) -> None:
        super().__init__()
        self.weight, self.epsilon = norm.weight, norm.eps or 0.0

    def forward(self, x: Tensor) -> Tensor:
        square = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(square + self.epsilon) * self.weight


class OnnxExporter(Exporter):
    """Writes ``encoder.onnx``, ``decoder.onnx`` and the vocabularies."""

    name = "onnx"

    @override
    def check(self, saved: SavedModel) -> None:
        check_expressible(saved.config, _KNOWN, "ONNX export", _REMEDY)

    @override
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        drawn = probes(saved)
        model = saved.model
        assert isinstance(model, Transformer), "see check"
        write_graphs(model, directory)
        encode, step = (_session(directory / name) for name in (ENCODER_FILE, DECODER_FILE))
        gap = max(_gap(encode, step, list(batch)) for batch in batches(drawn, COUNT // 2))
        notes = write_vocabularies(saved, directory, _spm_names(saved), with_ids=True)
        longest = saved.model.position_limit or POSITIONS
        return ExportReport(
            compared=f"log-probabilities of {len(drawn)} sentences of random pieces, step by step "
            f"in padded batches, through ONNX Runtime {onnxruntime.__version__}",
            difference=gap,
            differences=(
                f"Sources and targets have up to {longest} pieces, the end symbol included.",
                "The search is the caller's, with what it forbids, such as unknown pieces.",
                NOT_NORMALISED,
                *notes,
            ),
        )

    @override
    def guide(self, saved: SavedModel) -> str:
        source, target = _spm_names(saved)
        return (
            f"`{ENCODER_FILE}` and `{DECODER_FILE}` are ONNX graphs of opset {OPSET} in float32; "
            f"`{source}` splits sources and `{target}` joins outputs. The special pieces are pad "
            "0, unknown 1, begin 2 and end 3: a source ends with the end symbol, and the first "
            "target piece is the begin symbol. Names and shapes of all inputs, and a complete "
            "program, are in Dragoman's docs/import-export.md."
        )


def write_graphs(model: Transformer, directory: Path) -> None:
    """Write both graphs.

    Args:
        model: in evaluation mode.  It is changed: its tables of positions grow to
            :data:`POSITIONS`, and normalisations are replaced by equal ones.
        directory: where to write them.
    """
    for module in list(model.modules()):
        if isinstance(module, SinusoidalPositions):
            module.table = module.rows(POSITIONS).to(module.table)
        for name, child in list(module.named_children()):
            if isinstance(child, nn.RMSNorm):
                setattr(module, name, _RootMeanSquare(child))
    layers = range(len(model.decoder))
    memory = [f"memory_{part}_{i}" for i in layers for part in ("keys", "values")]
    past = [name.replace("memory", "past") for name in memory]
    now = [name.removeprefix("memory_") for name in memory]
    source = torch.full((2, 3), PAD + 5)
    mask = torch.ones(2, 3, dtype=torch.bool)
    sentences = {0: "batch", 1: "source"}
    with torch.inference_mode(mode=False), torch.no_grad():
        of_source = _Encoder(model)(source, mask)
        axes: dict[str, dict[int, str]] = {"source": sentences, "source_mask": sentences}
        axes |= {name: {0: "batch", 2: "source"} for name in memory}
        _trace(_Encoder(model), (source, mask), directory / ENCODER_FILE, axes, list(axes)[:2])
        target = torch.full((4, 1), BOS)  # two rows of each sentence
        attention = [cast(DecoderLayer, layer).self_attention for layer in model.decoder]
        kept = []
        for part in attention:
            empty = part.past(4, of_source[0]).known
            kept += [empty.keys.new_zeros(4, empty.keys.shape[1], 2, empty.keys.shape[3])]
            kept += [empty.values.new_zeros(4, empty.values.shape[1], 2, empty.values.shape[3])]
        axes = {"target": {0: "rows"}, "source_mask": sentences}
        axes |= {name: {0: "batch", 2: "source"} for name in memory}
        axes |= {name: {0: "rows", 2: "past"} for name in past}
        inputs = list(axes)
        axes |= {"logits": {0: "rows"}, **{name: {0: "rows", 2: "positions"} for name in now}}
        read = (target, mask, *of_source, *kept)
        _trace(_Step(model), read, directory / DECODER_FILE, axes, inputs)


def _trace(
    module: nn.Module,
    arguments: tuple[Tensor, ...],
    path: Path,
    axes: Mapping[str, Mapping[int, str]],
    inputs: list[str],
) -> None:
    """Write the graph of a call.

    PyTorch's older exporter, which records one call, needs a hundredth of the newer exporter's time
    and no further package.  Its limits show when the graphs are compared.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about itself, and about branches that do not depend on it
        torch.onnx.export(
            module.eval(),
            arguments,
            str(path),
            input_names=inputs,
            output_names=[name for name in axes if name not in inputs],
            dynamic_axes={name: dict(named) for name, named in axes.items()},
            opset_version=OPSET,
            dynamo=False,
        )


def _flat(layers: list[KeysValues]) -> tuple[Tensor, ...]:
    return tuple(tensor for layer in layers for tensor in (layer.keys, layer.values))


def _paired(tensors: tuple[Tensor, ...]) -> list[KeysValues]:
    return [KeysValues(*pair) for pair in zip(tensors[::2], tensors[1::2], strict=True)]


def _spm_names(saved: SavedModel) -> tuple[str, str]:
    if saved.vocabularies.joint:
        return "vocabulary.spm", "vocabulary.spm"
    return "source.spm", "target.spm"


def _gap(encode: Graph, step: Graph, drawn: list[Probe]) -> float:
    """The largest difference, see :data:`TOLERANCE`, in a batch of sentences of unlike length."""
    largest = 0.0
    for row, pair in zip(_stepwise(encode, step, drawn), drawn, strict=True):
        scores = pair.log_probabilities
        gap = np.abs(row[: len(pair.target)] - scores) / np.maximum(1, np.abs(scores))
        check_gap("the ONNX graphs give", gap.max(), TOLERANCE)
        largest = max(largest, float(gap.max()))
    return largest


def _session(path: Path) -> Graph:
    """A graph as a function from its inputs to its outputs, by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def _stepwise(encode: Graph, step: Graph, drawn: list[Probe]) -> Floats:
    """Log-probabilities by feeding the targets piece by piece, ``(rows, target, vocabulary)``."""
    source = np.full((len(drawn), max(len(pair.source) for pair in drawn)), PAD)
    target = np.full((len(drawn), max(len(pair.target) for pair in drawn)), PAD)
    for row, pair in enumerate(drawn):
        source[row, : len(pair.source)] = pair.source
        target[row, : len(pair.target)] = pair.target
    mask = source != PAD
    memory = encode({"source": source, "source_mask": mask})
    past = {
        name.replace("memory", "past"): np.zeros((len(drawn), kept.shape[1], 0, kept.shape[3]), "f")
        for name, kept in memory.items()
    }
    read = np.concatenate([np.full((len(drawn), 1), BOS), target[:, :-1]], axis=1)
    steps = []
    for position in range(read.shape[1]):
        piece = {"target": read[:, position : position + 1], "source_mask": mask}
        out = step({**piece, **memory, **past})
        steps.append(torch.from_numpy(out.pop("logits")).log_softmax(-1).numpy())
        past = {f"past_{name}": kept for name, kept in out.items()}
    scores: Floats = np.stack(steps, axis=1)
    return scores
