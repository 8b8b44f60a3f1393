"""The same Transformer with its weights in another order: of its width, or of its pieces.

The residual sum has no preferred order: the function stays exactly the same if all weights that
read it or add to it are permuted alike.  Most toolkits have all sines of positions before all
cosines, while they alternate here.  Permuting the weights once replaces a setting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from dragoman.core.errors import DataError

SILENT = -1e4
"""Bias of the output for a symbol that the original cannot put out: exp(-1e4) is 0 in any
precision, and the number is finite in all of them."""

# By the end of a weight's name: along which axis it reads or writes the residual sum.
_READERS = r"(query|key|value|inner|gate)\.weight|(embedding|^output)\.weight|positions\.table"
_WRITERS = r"(attention\.output|outer)\.(weight|bias)|norm\.(weight|bias)|forget\.bias"
_BOTH = r"(forget|candidate)\.weight"  # of a recurrence over the residual sum
_AXES = {0: f"{_WRITERS}|{_BOTH}", 1: f"{_READERS}|{_BOTH}"}
_OTHERS = r"(query|key|value|inner|^output)\.bias|buckets\.table"


def sines_then_cosines(d_model: int) -> Tensor:
    """The order that turns ``sin, sin, ..., cos, cos, ...`` into ``sin, cos, sin, cos, ...``.

    Returns:
        Indices ``(d_model,)``: column ``i`` here is column ``order[i]`` there.
    """
    return torch.argsort(sines_first(d_model))


def sines_first(d_model: int) -> Tensor:
    """The order that undoes :func:`sines_then_cosines`, ``(d_model,)``."""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def permute_width(
    weights: Mapping[str, Tensor], order: Tensor, where: Path | str = "the model"
) -> dict[str, Tensor]:
    """The weights of an equal Transformer whose residual sum has another order.

    Args:
        weights: of a :class:`~dragoman.models.families.transformer.Transformer` with self-attention
            or SSRU and feed-forward sublayers, under its names.
        order: column ``i`` of the result is column ``order[i]`` of what was given.
        where: the file that they are from, for messages.
    """
    permuted = {}
    for name, tensor in weights.items():
        permuted[name] = tensor
        axes = [axis for axis, names in _AXES.items() if re.search(f"({names})$", name)]
        assert axes or re.search(f"({_OTHERS})$", name), f"{name} is of no known Transformer"
        for axis in axes:
            if tensor.dim() <= axis or tensor.shape[axis] != len(order):
                raise DataError(
                    f"{where}: {name} here has the shape {list(tensor.shape)} there, which does "
                    f"not fit the model's width {len(order)}"
                )
            permuted[name] = permuted[name].index_select(axis, order)
    return permuted


def repeat_heads(
    tensor: Tensor, groups: int, times: int, where: Path | str = "the model"
) -> Tensor:
    """Keys or values of each head, from shared ones (Shazeer 2019; Ainslie et al. 2023).

    Args:
        tensor: a weight or bias whose first axis is ``groups * d_k``.
        groups: number of different heads.
        times: number of successive heads that share them; the result has ``groups * times * d_k``
            rows.
        where: the file that it is from, for messages.
    """
    if times == 1:
        return tensor
    heads = _by_head(tensor, groups, where)
    return heads.repeat_interleave(times, dim=0).flatten(0, 1)


def rotation_in_pairs(tensor: Tensor, heads: int, where: Path | str = "the model") -> Tensor:
    """Queries or keys whose rotated pairs are neighbours, where they were halves of a head.

    Products of queries and keys stay the same, since both are permuted alike.

    Args:
        tensor: a weight or bias whose first axis is ``heads * d_k``.
        heads: their number.
        where: the file that it is from, for messages.
    """
    split = _by_head(tensor, heads, where)
    return split[:, sines_then_cosines(split.shape[1])].flatten(0, 1)


def _by_head(tensor: Tensor, heads: int, where: Path | str) -> Tensor:
    """A weight or bias with an axis of heads in front."""
    if len(tensor) % heads:
        raise DataError(
            f"{where}: a weight of the shape {list(tensor.shape)} is not of {heads} heads; its "
            "files do not belong together"
        )
    return tensor.view(heads, -1, *tensor.shape[1:])


def with_rows(
    weights: Mapping[str, Tensor],
    source: Sequence[int],
    target: Sequence[int],
    *,
    silent: Sequence[int] = (),
) -> dict[str, Tensor]:
    """The weights with the rows of pieces in another order, and symbols that the original lacks.

    A matrix that serves both sides must get the same order for both.

    Args:
        weights: of a Transformer; those with rows of pieces are the embeddings and the output.
        source: for each source piece here, its row there; a row may be taken several times.
        target: the same of the target.
        silent: places, here, of pieces that the original cannot put out, such as a symbol that only
            begins outputs.

    Returns:
        All weights.  If a piece is silent, ``output.bias`` is among them, and the configuration
        needs ``output_bias: true``.
    """
    changed = dict(weights)
    if list(source) == list(target):
        target = source
    rows = {"source_embedding.weight": source, "target_embedding.weight": target}
    rows |= {"output.weight": target, "output.bias": target}
    done: dict[tuple[int, int], Tensor] = {}  # a matrix of several names is copied once
    for name, order in rows.items():
        if name in changed:
            same = id(changed[name]), id(order)
            if same not in done:
                done[same] = changed[name][torch.tensor(list(order))]
            changed[name] = done[same]
    if silent:
        bias = changed.get("output.bias", torch.zeros(len(target))).clone()
        bias[list(silent)] = SILENT
        changed["output.bias"] = bias
    return changed
