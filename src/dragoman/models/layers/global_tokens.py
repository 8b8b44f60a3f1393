"""Global tokens in a window (Longformer, Beltagy et al. 2020, arXiv:2004.05150, section 3.1).

Some positions of a source see, and are seen by, all others, beside the window of
:class:`~dragoman.models.layers.neighbourhood.Window`.  Two layers then connect any two positions.
Longformer gives global attention separate projections.  Here, as in BigBird (Zaheer et al. 2020),
it shares those of the window, so that a position that is not global can attend to both by one
softmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from dragoman.models.layers.attention import KeysValues, mask_bias
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.mixing import Shared
from dragoman.models.layers.neighbourhood import Band, Window
from dragoman.models.layers.scoring import Attending, Scoring
from dragoman.models.layers.source_tags import ReadsTags, SourceTags


class GlobalTokens(ReadsTags):
    """Marks the global tokens of a source: its first positions, and certain pieces at any position.

    Args:
        positions: number of positions from the first on.
        tags: pieces, whose ids :meth:`know` looks up; before that, none is marked.
    """

    def __init__(self, positions: int, tags: Sequence[str]) -> None:
        super().__init__()
        self.positions, self.tags = positions, tuple(tags)
        self.ids: Tensor
        self.register_buffer("ids", torch.full((len(self.tags),), -1), persistent=False)

    def know(self, tags: SourceTags) -> None:
        """Look up the ids of the global pieces."""
        self.ids.copy_(torch.tensor([tags.id_of(tag) for tag in self.tags], dtype=torch.int64))

    def forward(self, source: Tensor, mask: Tensor) -> Tensor:
        """Global tokens, ``(batch, source)``; True in ``mask`` is a real token."""
        first = torch.arange(source.shape[1], device=source.device) < self.positions
        named = (source.unsqueeze(2) == self.ids).any(2)  # (batch, source)
        return (first | named) & mask


@dataclass(frozen=True)
class GlobalBias:
    """Bias and positions of the global tokens of a pass."""

    blocks: Tensor
    """Bias of window and global keys, ``(batch * blocks, 1, block, window + global)``."""
    places: Tensor
    """Positions of global tokens, ``(batch, 1, global, 1)``; the source length for missing ones."""
    all: Tensor
    """Bias of all keys, for global queries: ``(batch, 1, 1, source)``."""


class GlobalWindow(Window):
    """A window in encoder and decoder, with global tokens in the encoder.

    ``typical`` is the number of global tokens assumed when costs are counted without text.
    """

    def __init__(self, size: int, typical: int) -> None:
        super().__init__(size)
        self.typical = typical

    @override
    def restricted(self, scoring: Scoring, causal: bool) -> Attending:
        return super().restricted(scoring, causal) if causal else Globals(scoring, self.centred)

    @override
    def encoder_bias(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Shared:
        assert marked is not None
        length = mask.shape[1]
        most = min(length, self.typical) if mask.is_meta else int(marked.sum(1).max())
        positions = torch.arange(length, device=mask.device).expand_as(mask)
        # (batch, global): in their order, followed by the length in sentences with fewer
        places = positions.masked_fill(~marked, length).sort(dim=1).values[:, :most]
        # A near global token is seen once, outside the window.
        near = self.centred.bias(mask & ~marked, length, like)
        there = mask_bias(places < length, like.dtype)[:, None, None, :]
        blocks = len(near) // len(mask)
        there = there.repeat_interleave(blocks, 0).expand(-1, -1, near.shape[2], -1)
        return GlobalBias(
            torch.cat([near, there], dim=3),
            places[:, None, :, None],
            mask_bias(mask, like.dtype)[:, None, None, :],
        )


class Globals(Attending):
    """Any scoring of a window's and the global keys, and of all keys for global queries."""

    def __init__(self, scoring: Scoring, band: Band) -> None:
        super().__init__()
        self.scoring, self.band = scoring, band

    @override
    def forward(
        self, query: Tensor, memory: KeysValues, bias: GlobalBias, dropout: Dropout, first: int
    ) -> Tensor:
        rows, _, length, _ = query.shape
        near = KeysValues(
            self._with_globals(memory.keys, bias.places),
            self._with_globals(memory.values, bias.places),
        )
        blocks = self.band.query_blocks(query, length)
        first = self.band.first(length, length)
        seen = self.scoring(blocks, near, bias.blocks, dropout, first)
        joined = self.band.joined(seen, rows, length, length)  # (rows, heads, length, d_v)
        # (rows, heads, global, d_v)
        of_all = self.scoring(_at(query, bias.places), memory, bias.all, dropout, 0)
        # Missing global tokens are written to one extra position, which is dropped.
        places = bias.places.expand(-1, joined.shape[1], -1, joined.shape[3])
        longer = functional.pad(joined, (0, 0, 0, 1))
        return longer.scatter(2, places, of_all)[:, :, :length]

    def _with_globals(self, x: Tensor, places: Tensor) -> Tensor:
        """Each block of keys or values, followed by the sentence's global keys or values."""
        near = self.band.key_blocks(x, x.shape[2])
        blocks = len(near) // len(x)
        return torch.cat([near, _at(x, places).repeat_interleave(blocks, 0)], dim=2)


def _at(x: Tensor, places: Tensor) -> Tensor:
    """``(rows, heads, length, d)`` at ``(rows, 1, global, 1)``: ``(rows, heads, global, d)``."""
    existing = places.clamp(max=x.shape[2] - 1)
    return x.gather(2, existing.expand(-1, x.shape[1], -1, x.shape[3]))
