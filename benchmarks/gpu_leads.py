"""Ways to compute a training step and a search on a GPU, each beside the eager one.

Training: a lead changes a model in place and returns the objective to minimise.  Whatever it
changes, losses must stay those of ``eager``.  Search: a lead changes how a position is decoded.
``benchmarks/README.md`` says which of them were measured.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.data.batches import Batch
from dragoman.models.families.transformer import Transformer
from dragoman.models.interface import rebuilt
from dragoman.models.layers import attention, self_attention
from dragoman.models.layers.attention import KeysValues
from dragoman.text.vocabularies import PAD, Vocabularies
from dragoman.training.compilation import compile_layers
from dragoman.training.objectives import CrossEntropy
from dragoman.training.objectives.projected_loss import Sums, WholePass, whole_pass
from dragoman.training.tasks import Objective

SMOOTHING = 0.1
BACKEND = os.environ.get("BACKEND", "inductor")
"""The compiler; ``aot_eager`` tries everything but the generated code, in seconds."""


def compiled(function: Callable[..., Any], mode: str | None = None, **options: Any) -> Any:
    """The function as BACKEND compiles it, which without inductor knows no modes."""
    if BACKEND == "inductor":
        options["mode"] = mode
    return torch.compile(function, backend=BACKEND, **options)


def eager(model: Transformer) -> Objective:
    """As the trainer computes."""
    return CrossEntropy(SMOOTHING)


def sides(model: Transformer) -> Objective:
    """Encoder and decoder compiled, the loss in chunks."""
    for name in ("encode", "decode"):
        setattr(model, name, compiled(getattr(model, name)))
    return CrossEntropy(SMOOTHING)


def layers(model: Transformer, objective: Objective | None = None) -> Objective:
    """Every layer a compiled region without a break."""
    compile_layers(model, backend=BACKEND, fullgraph=True)
    return objective or CrossEntropy(SMOOTHING)


def _fused_pass(*inputs: Any) -> Sums:
    return whole_pass(*inputs, fused=BACKEND == "inductor")


def whole_graph(model: Transformer, mode: str | None = None) -> Objective:
    """The whole pass one graph, with projection and loss as an operator."""
    # Sizes are fixed, as CUDA graphs need them, and as the rows have them.
    return WholePass(SMOOTHING, compute=compiled(_fused_pass, mode, fullgraph=True, dynamic=False))


def unmasked(model: Transformer) -> Objective:
    """Attention without masks of padding: what batches without padding could gain at most."""
    for module in (attention, self_attention):
        module.attend = _attend_to_all  # type: ignore[attr-defined]
    return CrossEntropy(SMOOTHING)


def _attend_to_all(
    query: Tensor, memory: KeysValues, bias: Tensor | None, _: Any, scale: float | None = None
) -> Tensor:
    causal = bias is not None and bias.dim() == 2  # (query, key); that of padding has four axes
    return functional.scaled_dot_product_attention(
        query, memory.keys, memory.values, is_causal=causal, scale=scale
    )


def liger(model: Transformer) -> Objective:
    """Projection and loss by Liger's kernel, which reports no likelihood."""
    from liger_kernel.transformers import (  # type: ignore[import-not-found]
        LigerFusedLinearCrossEntropyLoss,
    )

    loss = LigerFusedLinearCrossEntropyLoss(
        ignore_index=PAD, label_smoothing=SMOOTHING, reduction="sum"
    )

    def compute(model: Transformer, batch: Batch, _: float) -> Sums:
        memory = model.encode(batch.source, batch.source_mask)
        hidden, _state = model.decode(batch.target_input, memory, model.start(memory))
        gold = batch.target_output.flatten()
        smoothed = loss(model.output.weight, hidden.flatten(0, 1), gold)
        return smoothed, smoothed.detach()

    return WholePass(SMOOTHING, compute=compute)


TRAINING: dict[str, Callable[[Transformer], Objective]] = {
    "eager": eager,
    "compiled": sides,
    "layers": layers,
    "operator": lambda model: WholePass(SMOOTHING),
    "fused-loss": lambda model: WholePass(SMOOTHING, compute=_fused_pass),
    "layers-fused-loss": lambda model: layers(model, WholePass(SMOOTHING, compute=_fused_pass)),
    "graph": whole_graph,
    "cuda-graphs": partial(whole_graph, mode="reduce-overhead"),
    "unmasked": unmasked,
    "liger": liger,
}
"""By name, as rows of the order have them."""


def decode_compiled(model: Transformer, mode: str | None = None) -> None:
    """Every further position by compiled code, for any number of earlier ones."""
    decode = compiled(model.decode, mode, dynamic=True)

    def copied(*inputs: Any) -> Any:  # the next position overwrites what a CUDA graph returned
        hidden, state = decode(*inputs)
        return hidden.clone(), _copy(state)

    decoding: Any = decode if mode is None else copied
    model.decode = decoding  # type: ignore[method-assign]


def _copy(part: Any) -> Any:
    return part.clone() if isinstance(part, Tensor) else rebuilt(part, _copy)


SEARCH: dict[str, Callable[[Transformer], None]] = {
    "eager": lambda model: None,
    "compiled": decode_compiled,
    "cuda-graphs": partial(decode_compiled, mode="reduce-overhead"),
}
"""By name; ``ctranslate2`` is :func:`by_ctranslate2`."""


def by_ctranslate2(
    model: Transformer, sources: Tensor, beam: int, length: int, tokens: int, device: str
) -> Callable[[], Any]:
    """A search by CTranslate2 in bfloat16, of the same model and outputs of the same length.

    Args:
        model: with float32 weights.
        sources: ids ``(sentences, length)``.
        beam: hypotheses.
        length: pieces of every output.
        tokens: padded source pieces that are searched together.
        device: where, ``cuda`` or ``cpu``; on a CPU in float32.
    """
    import ctranslate2

    from dragoman.translation.engines.ctranslate2_conversion import (
        specification,
    )

    side = _Numbers(model.output.out_features)
    spec = specification(model, cast(Vocabularies, SimpleNamespace(source=side, target=side)))
    spec.validate()
    spec.optimize()
    with TemporaryDirectory() as folder:
        spec.save(folder)
        kind = "bfloat16" if device == "cuda" else "float32"
        translator = ctranslate2.Translator(str(Path(folder)), device=device, compute_type=kind)
    lines = [side.pieces(line) for line in sources.tolist()]
    return lambda: translator.translate_batch(
        lines,
        beam_size=beam,
        min_decoding_length=length,
        max_decoding_length=length,
        max_batch_size=tokens,
        batch_type="tokens",
    )


class _Numbers:
    """A vocabulary whose pieces are their ids."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def pieces(self, ids: Any) -> list[str]:
        return [f"p{number}" for number in ids]


def is_installed(lead: str) -> bool:
    """Whether the package of a lead is there."""
    package = {"liger": "liger_kernel", "ctranslate2": "ctranslate2"}.get(lead)
    return package is None or find_spec(package) is not None
