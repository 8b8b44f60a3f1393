"""Training on 8 to 128 GPUs on paper: bytes sent, memory and time of a step, by kind of sharding.

python benchmarks/network.py prints the tables "on paper" of "Training in several processes" in
docs/scaling.md.  Parameters are counted from the configurations; the rate of computation is
measured on one GPU, and those of networks are what makers publish or what is assumed, each said in
:class:`Links`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from plans import Rates

from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.size import meta_model

KINDS = ("none", "state", "gradients", "parameters")
GPUS = (8, 16, 32, 64, 128)
LAYERS = 12
"""Of encoder and decoder."""
PASS_PIECES = 25_000
"""A GPU's share of a step is split into passes of at most so many pieces."""


@dataclass(frozen=True)
class Links:
    """What is taken as known."""

    machine_gpus: int = 8
    """GPUs of a machine."""
    inside: float = 450e9
    """Bytes a second that a GPU sends to others of its machine: NVIDIA's figure for an H200."""
    outside: float = 400e9
    """Bytes a second between machines: eight network cards of 400 Gbit/s each, over which rings are
    spread, so that a GPU's bytes pass all of them."""
    share: float = 0.7
    """Of these rates, what collectives reach; assumed."""
    latency: float = 5e-6
    """Seconds that a message takes; a ring of n processes passes n - 1 of them; assumed."""
    compute: Mapping[str, float] = field(
        default_factory=lambda: {"base": Rates.card_base, "big": Rates.card_big}
    )
    """Operations a second of a GPU in training, by the size of the model; measured."""


@dataclass(frozen=True)
class Weights:
    """Numbers of parameters, and how often a pass collects them where they are taken apart."""

    encoder: int
    decoder: int
    rest: int

    @classmethod
    def of(cls, config: TransformerConfig, pieces: int) -> Weights:
        """Counted without building the model."""
        model = meta_model(config, pieces, pieces)
        assert isinstance(model, Transformer), "the family of the paper"
        encoder, decoder = (
            sum(p.numel() for layer in layers for p in layer.parameters())
            for layers in (model.encoder, model.decoder)
        )
        total = sum(p.numel() for p in model.parameters())
        return cls(encoder, decoder, total - encoder - decoder)

    @property
    def total(self) -> int:
        """All of them."""
        return self.encoder + self.decoder + self.rest

    @property
    def collected(self) -> int:
        """Sent in a pass to collect the weights of layers.

        Those of an encoder layer are collected for its forward and its backward pass; those of a
        decoder layer, whose keys and values of the source are computed apart, twice for each.
        """
        return 2 * self.encoder + 4 * self.decoder + self.rest


def sent(kind: str, weights: Weights, gpus: int, passes: int) -> float:
    """Bytes that a GPU sends in a step: gradients in float32, working weights in bfloat16.

    ``parameters`` sums the gradient of a decoder layer's keys and values of the source, an eighth
    of the layer, once more.
    """
    share, total = (gpus - 1) / gpus, weights.total
    numbers = {
        "none": 2 * 4 * total,
        "state": 4 * total + 2 * total,
        "gradients": passes * 4 * total + 2 * total,
        "parameters": passes * (4 * (total + weights.decoder / 8) + 2 * weights.collected),
    }
    return share * numbers[kind]


def memory(kind: str, weights: Weights, gpus: int) -> float:
    """Bytes of weights, gradient and Adam's state in a GPU; activations come on top."""
    total = weights.total
    return {
        "none": 20 * total,  # 2 weights, 2 their gradient, 4 its sum, 4 master weights, 8 moments
        "state": 8 * total + 12 * total / gpus,
        # The gradient of embeddings waits for the end of the pass.
        "gradients": 2 * total + 2 * weights.rest + 16 * total / gpus,
        # Embeddings, and two layers at once.
        "parameters": 4 * weights.rest + 4 * 2 * weights.decoder / (LAYERS / 2) + 16 * total / gpus,
    }[kind]


def messages(kind: str, passes: int, layers: int) -> int:
    """Collectives of a step."""
    parts = layers + 2
    return {
        "none": 2,  # a sum is two rings
        "state": 2,
        "gradients": passes * parts + parts,
        "parameters": passes * 5 * parts,
    }[kind]


def step_seconds(
    kind: str, weights: Weights, gpus: int, passes: int, layers: int, computing: float, links: Links
) -> tuple[float, float]:
    """Seconds of a step if nothing is sent while ``computing``, and if all of it is."""
    slowest = links.inside if gpus <= links.machine_gpus else links.outside
    ring = messages(kind, passes, layers) * (gpus - 1) * links.latency
    network = sent(kind, weights, gpus, passes) / (slowest * links.share) + ring
    return computing + network, max(computing, network)


def size_rows(models: dict[str, Weights]) -> Iterator[str]:
    """A table of bytes sent in a step of one pass, and of memory."""
    cells = [(name, gpus) for name in models for gpus in (GPUS[0], GPUS[-1])]
    yield "| | " + " | ".join(f"{name}, {gpus} GPUs" for name, gpus in cells) + " |"
    yield "|---|" + "---:|" * len(cells)
    for kind in KINDS:
        figures = [
            f"{sent(kind, models[name], gpus, 1) / 1e9:.2f} GB, "
            f"{memory(kind, models[name], gpus) / 1e9:.2f} GB"
            for name, gpus in cells
        ]
        yield f"| {kind} | {' | '.join(figures)} |"


def time_rows(name: str, weights: Weights, step_tokens: int, links: Links) -> Iterator[str]:
    """A table of the time of a step, and of its share that computes."""
    flops = 6.0 * weights.total * step_tokens  # of products with weights
    rate = links.compute[name.partition(",")[0]]
    yield f"| {name}, {step_tokens:,} pieces | {' | '.join(f'{n} GPUs' for n in GPUS)} |"
    yield "|---|" + "---:|" * len(GPUS)
    for kind in KINDS:
        cells = []
        for gpus in GPUS:
            passes = max(1, -(-step_tokens // gpus // PASS_PIECES))
            ideal = flops / gpus / rate
            slow, fast = step_seconds(kind, weights, gpus, passes, LAYERS, ideal, links)
            seconds = f"{1e3 * fast:.1f} to {1e3 * slow:.1f} ms"
            cells.append(f"{seconds} ({ideal / slow:.0%} to {ideal / fast:.0%})")
        yield f"| {kind} | {' | '.join(cells)} |"


if __name__ == "__main__":
    base = Weights.of(TransformerConfig(), 37_000)
    big = Weights.of(TransformerConfig(d_model=1024, d_ff=4096, heads=16), 37_000)
    fast, cloud = Links(), Links(outside=12.5e9)  # one card of 100 Gbit/s in a machine
    tables = [
        size_rows({"base": base, "big": big}),
        time_rows("base, 8 x 400 Gbit/s", base, 25_000, fast),
        time_rows("big, 8 x 400 Gbit/s", big, 400_000, fast),
        time_rows("big, 100 Gbit/s", big, 400_000, cloud),
    ]
    print("\n\n".join("\n".join(table) for table in tables))
