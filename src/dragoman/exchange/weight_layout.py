"""The same Transformer with its weights in another order: of its width, or of its pieces.

The sum that residual connections carry has no preferred order: if every weight that reads it or
adds to it is permuted in the same way, the function stays exactly the same.  So positions whose
sines all come before their cosines, as in most toolkits, need no setting here, where sines and
cosines alternate: the weights are permuted once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

SILENT = -1e4
"""Bias of the output for a symbol that the original cannot put out: exp(-1e4) is 0 in any
precision, and the number is finite in all of them."""

# By the end of a weight's name: along which axis it reads or writes the residual sum.
_READERS = r"(query|key|value|inner|gate)\.weight|(embedding|^output)\.weight|positions\.table"
_WRITERS = r"(attention\.output|outer)\.(weight|bias)|norm\.(weight|bias)"
_OTHERS = r"(query|key|value|inner|^output)\.bias"


def sines_then_cosines(d_model: int) -> Tensor:
    """The order that turns ``sin, sin, ..., cos, cos, ...`` into ``sin, cos, sin, cos, ...``.

    Returns:
        Indices ``(d_model,)``: column ``i`` here is column ``order[i]`` there.
    """
    half = (d_model + 1) // 2
    order = torch.empty(d_model, dtype=torch.int64)
    order[0::2] = torch.arange(half)
    order[1::2] = torch.arange(half, d_model)
    return order


def inverse(order: Tensor) -> Tensor:
    """The order that undoes ``order``."""
    return torch.argsort(order)


def permute_width(weights: Mapping[str, Tensor], order: Tensor) -> dict[str, Tensor]:
    """The weights of an equal Transformer whose residual sum has another order.

    Args:
        weights: of a :class:`~dragoman.models.families.transformer.Transformer` with self-attention
            and feed-forward sublayers, under its names.
        order: column ``i`` of the result is column ``order[i]`` of what was given.
    """
    permuted = {}
    for name, tensor in weights.items():
        if re.search(f"({_WRITERS})$", name):
            permuted[name] = tensor[order]
        elif re.search(f"({_READERS})$", name):
            permuted[name] = tensor[:, order]
        else:
            assert re.search(f"({_OTHERS})$", name), f"{name} is not of a standard Transformer"
            permuted[name] = tensor
    return permuted


def with_rows(
    weights: Mapping[str, Tensor],
    source: Sequence[int],
    target: Sequence[int],
    *,
    begin: int | None,
    silent: Sequence[int] = (),
) -> dict[str, Tensor]:
    """The weights with the rows of pieces in another order, and symbols that the original lacks.

    A matrix that serves both sides must get the same order for both.

    Args:
        weights: of a Transformer; those with rows of pieces are the embeddings and the output.
        source: for each source piece here, its row there; a row may be taken several times.
        target: the same of the target.
        begin: place, here, of the symbol that outputs begin with, which no output contains; None if
            the original can put it out.
        silent: places, here, of further pieces that the original cannot put out.

    Returns:
        All weights.  If a piece is silent, ``output.bias`` is among them, and the configuration
        needs ``output_bias: true``.
    """
    changed = dict(weights)
    rows = {"source_embedding.weight": source, "target_embedding.weight": target}
    rows |= {"output.weight": target, "output.bias": target}
    for name, order in rows.items():
        if name in changed:
            changed[name] = changed[name][torch.tensor(list(order))]
    quiet = [*silent, *([] if begin is None else [begin])]
    if not quiet:
        return changed
    bias = changed.get("output.bias", torch.zeros(len(target))).clone()
    bias[quiet] = SILENT
    return changed | {"output.bias": bias}
