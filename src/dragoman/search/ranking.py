"""The best pieces of a row: exact, fast over a large vocabulary, and the same on every run.

``torch.topk`` does not specify which of several equal scores it returns.  Here the lowest id
wins, so that a translation depends neither on the machine nor on the batch it was computed in.
"""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 64  # pieces whose maximum is looked at before the pieces themselves


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` highest scores of each row and their ids, best first, each ``(rows, count)``.

    Ties are broken by lowest id.  ``scores`` are ``(rows, vocabulary)``, float32 or float64; -inf
    marks forbidden pieces.
    """
    if scores.dtype != torch.float32:  # for accurate references; twenty times slower
        values, ids = scores.sort(dim=1, descending=True, stable=True)
        return values[:, :count], ids[:, :count]
    ids = torch.arange(scores.size(1), device=scores.device).expand_as(scores)
    blocks = scores.size(1) // _BLOCK
    if blocks > 2 * count:
        ids = _within_best_blocks(scores, blocks, count)
    values = scores.gather(1, ids)
    place = _keys(values, ids).topk(count, dim=1).indices
    return values.gather(1, place), ids.gather(1, place)


def _within_best_blocks(scores: Tensor, blocks: int, count: int) -> Tensor:
    """Ids in the ``count`` blocks with the highest maxima, and those after the last block.

    Each chosen block has a piece that beats every piece of the other blocks, so that these contain
    the best.
    """
    device = scores.device
    tail = blocks * _BLOCK
    highest = scores[:, :tail].unflatten(1, (blocks, _BLOCK)).amax(2)  # (rows, blocks)
    chosen = _keys(highest, torch.arange(blocks, device=device)).topk(count, dim=1).indices
    # (rows, count, _BLOCK)
    inside = chosen.unsqueeze(2) * _BLOCK + torch.arange(_BLOCK, device=device)
    behind = torch.arange(tail, scores.size(1), device=device).expand(len(scores), -1)
    return torch.cat([inside.flatten(1), behind], dim=1)


def _keys(scores: Tensor, ids: Tensor) -> Tensor:
    """Integers in the order of ``scores``; among equal scores the lowest id ranks highest.

    Read as an integer, the bits of a positive float32 rise with its value; those of a negative
    float32 fall.
    """
    infinity = float("inf")  # NaN of either sign counts as this
    scores = scores.nan_to_num(nan=infinity, posinf=infinity, neginf=-infinity)
    bits = (scores + 0.0).view(torch.int32)  # -0.0 becomes 0.0
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return (ordered.long() << 32) - ids
