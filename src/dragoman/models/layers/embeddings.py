"""Which matrices of pieces are one (Press and Wolf 2017; Vaswani et al. 2017, section 3.4)."""

from __future__ import annotations

from typing import Literal

from torch import nn

Sharing = Literal["shared", "target", "separate"]
"""shared: one matrix for source, target and output; target: one for target and output; separate:
three matrices."""


def tie(sharing: Sharing, source: nn.Module | None, target: nn.Module, output: nn.Module) -> None:
    """Let matrices that are one be one: the ``weight`` of each module, ``(vocabulary, d_model)``.

    What remains is the source's, or else the target's, with the values that it has.  A model that
    reads no source has none to share.
    """
    if source is not None and sharing == "shared":
        target.weight = source.weight
    if sharing != "separate":
        output.weight = target.weight
