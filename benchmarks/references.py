"""Our models compared with other toolkits': differences for the same weights and ids.

    python benchmarks/references.py

``loops/fairseq_cases.py`` writes the results of fairseq's models, in the peers' environment; here
the same weights are loaded into our models.  Where fairseq multiplies a matrix by a factor that
ours lacks, the factor goes into the matrix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import layers
import torch
from contenders import HERE, WHOLE_PATH, start
from pydantic import TypeAdapter
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

from dragoman.models import FAMILIES, ModelConfig
from dragoman.models.families.convs2s import ConvS2SMemory, DecoderLayer, attend
from dragoman.models.families.recurrent import RecurrentMemory
from dragoman.models.interface import Memory, TranslationModel

HALF = 0.5**0.5
PADDING = 1
"""fairseq's padding symbol."""

CASES = {
    "`transformer`, learned positions, biases of attention 0": "transformer",
    "`lstm`": "lstm",
    "`lstm`, bidirectional, first states given": "lstm-bidirectional",
    "`fconv`, its layers in the paper's order": "fconv-paper",
    "`fconv`; our layers in its order": "fconv",
    "`fconv`; our layers in the paper's order": "fconv",
}
"""What is compared, and its files from ``loops/fairseq_cases.py``."""
ITS_ORDER = "our layers in its order"
KINDS = ("full", "padded")
WHAT = ("encoder", "log-probabilities", "position by position", "attention weights", "gradients")


class Place(NamedTuple):
    """Where a weight of theirs goes in our model, as ``factor * arrange(theirs)``."""

    name: str
    arrange: Callable[[Tensor], Tensor] = lambda theirs: theirs
    factor: float = 1.0


@dataclass(frozen=True)
class Case:
    """A file of ``loops/fairseq_cases.py``."""

    config: ModelConfig
    vocabulary: int
    tensors: dict[str, Tensor]

    def under(self, folder: str) -> dict[str, Tensor]:
        """Tensors whose names have this prefix, without the prefix."""
        prefix = f"{folder}."
        return {n.removeprefix(prefix): t for n, t in self.tensors.items() if n.startswith(prefix)}


Pair = tuple[str, Tensor, Tensor]
"""Kind (one of :data:`WHAT`), our tensor, their tensor."""


# Where the weights of fconv go.  fairseq multiplies the query, the values and the sum of
# embedding and position under the query with sqrt(0.5), the equations of the paper do not.

_NORMALISED = {
    "weight_g": "parametrizations.weight.original0",
    "weight_v": "parametrizations.weight.original1",
    "bias": "bias",
}


def of_convolutional(name: str, _: int) -> Place:
    """The place of a weight of ``fconv`` in our model."""
    if found := re.fullmatch(r"(en|de)coder\.embed_(tokens|positions)\.weight", name):
        side, table = found.groups()
        ours = {"en": "source", "de": "target"}[side] + "_embedding."
        factor = HALF if side == "de" else 1.0
        if table == "tokens":
            return Place(ours + "weight", factor=factor)
        return Place(ours + "positions.table", lambda t: t[PADDING + 1 :], factor)
    layer, part = name.rsplit(".", 1)
    ours, factors = _layer_of_convolutional(layer)
    return Place(f"{ours}.{_NORMALISED[part]}", _outputs_first, factors.get(part, 1.0))


def _layer_of_convolutional(name: str) -> tuple[str, dict[str, float]]:
    number = "".join(re.findall(r"\.(\d+)", name))
    return {
        "encoder.fc1": ("encoder.into", {}),
        f"encoder.convolutions.{number}": (f"encoder.layers.{number}.convolution", {}),
        "encoder.fc2": ("encoder.out", {}),
        "decoder.fc1": ("into_decoder", {"weight_g": 1 / HALF}),
        f"decoder.convolutions.{number}": (f"decoder.{number}.convolution", {}),
        f"decoder.attention.{number}.in_projection": (
            f"decoder.{number}.query",
            {"weight_g": HALF, "bias": HALF},
        ),
        f"decoder.attention.{number}.out_projection": (
            f"decoder.{number}.output",
            {"weight_g": HALF},
        ),
        "decoder.fc2": ("out_of_decoder", {}),
        "decoder.fc3": ("output", {}),
    }[name]


def _outputs_first(theirs: Tensor) -> Tensor:
    """Their kernels are ``(width, channels, output)``."""
    return theirs.permute(2, 0, 1) if theirs.dim() == 3 else theirs


def of_recurrent(name: str, _: int) -> Place | None:
    """The place of a weight of ``lstm`` in our model; None if ours has no such weight."""
    if "_proj." in name and name.startswith("decoder.encoder_"):
        return None  # of the initial state, which is given
    if found := re.fullmatch(r"encoder\.lstm\.(.*_l)(\d+)(.*)", name):
        part, number, direction = found.groups()
        return Place(f"encoder.layers.{number}.{part}0{direction}")
    if name.startswith("decoder.layers."):
        return Place(f"{name}_l0")
    ours = {
        "encoder.embed_tokens.weight": Place("source_embedding.weight"),
        "decoder.embed_tokens.weight": Place("target_embedding.weight"),
        "decoder.attention.input_proj.weight": Place("decoder.attention.key.weight", torch.t),
        "decoder.attention.output_proj.weight": Place("decoder.combine.weight"),
    }
    return ours[name]


_SUBLAYERS = {
    "self_attn": {"encoder": "attention", "decoder": "self_attention"},
    "encoder_attn": {"decoder": "cross_attention"},
}
_PROJECTIONS = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
_LINEAR = {"fc1": "inner", "fc2": "outer"}
_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}


def of_transformer(name: str, d_model: int) -> Place | None:
    """The place of a weight of ``transformer`` in our model; None if ours has none such."""
    if name.endswith("_proj.bias"):
        return None
    side, part, *rest = name.split(".")
    if part == "embed_tokens":
        return Place("source_embedding.weight")
    if part == "embed_positions":
        ours = {"encoder": "source", "decoder": "target"}[side]
        # Ours are multiplied by the root of the width, as embeddings are in both.
        return Place(f"{ours}_embedding.positions.table", lambda t: t[PADDING + 1 :], d_model**-0.5)
    number, sublayer, *inside = rest
    layer = f"{side}.{number}"
    if sublayer in _SUBLAYERS:
        projection, kind = inside
        return Place(f"{layer}.{_SUBLAYERS[sublayer][side]}.{_PROJECTIONS[projection]}.{kind}")
    if sublayer in _NORMS[side]:
        return Place(f"{layer}.residuals.{_NORMS[side].index(sublayer)}.norm.{inside[0]}")
    return Place(f"{layer}.feed_forward.{_LINEAR[sublayer]}.{inside[0]}")


PLACES: dict[str, Callable[[str, int], Place | None]] = {
    "convs2s": of_convolutional,
    "recurrent": of_recurrent,
    "transformer": of_transformer,
}


class AttentionFirst(DecoderLayer):
    """Our layer in fairseq's order: attention, then the residual sum."""

    def forward(
        self, x: Tensor, context: Tensor, embedded: Tensor, memory: ConvS2SMemory
    ) -> tuple[Tensor, Tensor, Tensor]:
        convolved, context = self.convolution.extend(x, context)
        gated = functional.glu(convolved, dim=-1)
        c, weights = attend(self.query(gated) + embedded, memory)
        return ((gated + self.output(c)) * HALF + x) * HALF, context, weights


def compare(label: str, case: Case) -> Iterator[Pair]:
    """Compare all results in a case."""
    model = FAMILIES[case.config.family](case.config, case.vocabulary, case.vocabulary)
    model = model.double().eval()
    place_of = PLACES[case.config.family]
    places = {name: place_of(name, case.config.d_model) for name in case.under("weights")}
    parameters: dict[str, Tensor] = dict(model.named_parameters())
    take(parameters, places, case)
    if ITS_ORDER in label:
        decoder: Any = model.decoder
        for layer in decoder:
            layer.__class__ = AttentionFirst
    yield from results(model, case)
    yield from gradients(parameters, places, case)


def take(parameters: dict[str, Tensor], places: dict[str, Place | None], case: Case) -> None:
    """Load their weights into our model."""
    with torch.no_grad():
        for name, theirs in case.under("weights").items():
            if (place := places[name]) is not None:
                ours = parameters[place.name]
                ours.copy_((place.factor * place.arrange(theirs)).view_as(ours))
    taken = {place.name for place in places.values() if place is not None}
    rest = {name for name in parameters if name not in taken}
    assert all(name.startswith("first_state.") for name in rest), rest


def results(model: TranslationModel, case: Case) -> Iterator[Pair]:
    """Compare the forward pass; leaves the gradients of the loss in the model."""
    t = case.tensors
    mask, real = t["source"] != PADDING, t["gold"] != PADDING
    memory = with_first_state(model.encode(t["source"], mask), case)
    hidden, _ = model.decode(t["target"], memory, model.start(memory))
    log_p = model.logits(hidden).log_softmax(-1)
    log_p.gather(-1, t["gold"].unsqueeze(-1)).squeeze(-1)[real].sum().neg().backward()
    yield "encoder", memory.hidden[mask], t["encoder"][mask]
    if isinstance(memory, ConvS2SMemory):
        yield "encoder", memory.values[mask] * HALF, t["values"][mask]
    yield "log-probabilities", log_p[real], t["log_probabilities"][real]
    with torch.no_grad():
        weights = model.attention_weights(t["target"], memory)
        if case.config.family == "transformer":
            weights = weights[:, -1:]  # fairseq returns those of its last layer
        steps = torch.cat(list(one_by_one(model, t["target"], memory)), dim=1)
    yield "position by position", steps[real], t["log_probabilities"][real]
    yield "attention weights", weights.mean((1, 2))[real], t["attention"][real]


def with_first_state(memory: Memory, case: Case) -> Memory:
    """The memory, with the decoder's initial states of the case if it has any."""
    first = case.under("first")
    if not first:
        return memory
    assert isinstance(memory, RecurrentMemory)
    layers = zip(first["hidden"], first["cell"], strict=True)
    return replace(memory, first=[[hidden, cell] for hidden, cell in layers])


def one_by_one(model: TranslationModel, target: Tensor, memory: Memory) -> Iterator[Tensor]:
    """Log-probabilities position by position, as search computes them."""
    state = model.start(memory)
    for piece in target.split(1, dim=1):
        hidden, state = model.decode(piece, memory, state)
        yield model.logits(hidden).log_softmax(-1)


def gradients(
    parameters: dict[str, Tensor], places: dict[str, Place | None], case: Case
) -> Iterator[Pair]:
    """Compare gradients of all weights."""
    for name, theirs in case.under("gradients").items():
        if (place := places[name]) is not None:
            ours = parameters[place.name].grad
            assert ours is not None, f"{place.name} has no gradient"
            yield "gradients", place.factor * ours.flatten(), place.arrange(theirs).flatten()


def read(path: Path) -> Case:
    """A case as it was written."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        config = TypeAdapter(ModelConfig).validate_json(metadata["config"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - no mapping
    return Case(config, json.loads(metadata["vocabulary"]), tensors)


def table(cases: Mapping[str, Iterable[Case]]) -> Iterator[str]:
    """Rows of Markdown: the number of values, and the largest difference of each kind."""
    yield f"| fairseq's | numbers | {' | '.join(WHAT)} |"
    yield "|---|---:" + "|---:" * len(WHAT) + "|"
    for label, files in cases.items():
        numbers, largest = 0, dict.fromkeys(WHAT, 0.0)
        for what, ours, theirs in (pair for case in files for pair in compare(label, case)):
            numbers += theirs.numel()
            largest[what] = max(largest[what], (ours - theirs).abs().max().item())
        differences = " | ".join(f"{largest[what]:.0e}" for what in WHAT)
        yield f"| {label} | {numbers:,} | {differences} |"


@click.command()
@click.option("--scratch", type=WHOLE_PATH, default=HERE / "scratch")
@click.option("--peers", type=WHOLE_PATH, default=HERE / "peers")
def main(scratch: Path, peers: Path) -> None:
    """Print the differences of our models from fairseq's, and of layers from Hugging Face's."""
    folder = scratch / "references"
    folder.mkdir(parents=True, exist_ok=True)
    theirs = folder / "huggingface.safetensors"
    for script, target in (("fairseq_cases", folder), ("huggingface_cases", theirs)):
        command = [peers / "bin/python", HERE / f"loops/{script}.py", target]
        start(command, HERE, folder / f"{script}.log")
    cases = {
        label: [read(folder / f"{name}.{kind}.safetensors") for kind in KINDS]
        for label, name in CASES.items()
    }
    click.echo("\n".join([*table(cases), "", *layers.table(load_file(theirs))]))


if __name__ == "__main__":
    main()
