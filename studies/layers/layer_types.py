"""The layer types of Table 1 (Vaswani et al. 2017, section 4), as implemented in this project.

The table compares what maps a sequence of n vectors of width d to another one.  Its formulas are
listed here beside the modules that they describe; measuring and counting is elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.models.layers.attention import KeysValues, MultiHeadConfig
from dragoman.models.layers.convolution import CentredConvolution
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.neighbourhood import Everywhere, Neighbourhood, Window
from dragoman.models.layers.positions import PositionalEncodingConfig
from dragoman.models.layers.recurrence import CellConfig, advance, recurrent_layer
from dragoman.models.layers.scoring import DotProduct
from dragoman.models.layers.transformer_mixing import MixingConfig, build_encoder_mixing


@dataclass(frozen=True)
class Sizes:
    """Sizes of a layer."""

    d_model: int = 256
    """d: width of input and output."""
    heads: int = 8
    """Attention heads; they divide d_model."""
    window: int = 33
    """r: positions that restricted self-attention sees, odd."""
    kernel_width: int = 3
    """k: positions that a convolution sees, odd."""


class Layer(nn.Module, ABC):
    """A layer that reads a sentence in calls; the positions of one call are computed at once."""

    positions_per_call: int | None = None
    """How many positions can be computed at once; None for all."""

    def shared(self, x: Tensor) -> Tensor | None:
        """What all layers of a stack share, made once for them; nothing unless overridden.

        Args:
            x: ``(batch, n, d_model)``, without padding.
        """
        return None

    def start(self, x: Tensor) -> list[Tensor]:
        """The state before the first call; nothing unless overridden."""
        return []

    @abstractmethod
    def call(
        self, x: Tensor, state: list[Tensor], shared: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Read further positions, any number of them.

        Args:
            x: ``(batch, positions, d_model)``.
            state: from the call before, or :meth:`start`.
            shared: from :meth:`shared`.

        Returns:
            A tensor of the shape of ``x``, and the state of the next call.
        """

    def forward(self, x: Tensor, shared: Tensor | None) -> Tensor:
        """``(batch, n, d_model)`` to the same shape in one call, as in a model."""
        return self.call(x, self.start(x), shared)[0]


class Mixed(Layer):
    """The first sublayer of an encoder layer of a Transformer."""

    def __init__(self, sizes: Sizes, window: int | None = None, **choices: Any) -> None:
        super().__init__()
        self.mixing = build_encoder_mixing(
            sizes.d_model,
            MixingConfig(**choices),
            MultiHeadConfig(heads=sizes.heads, window=window),
            PositionalEncodingConfig(),
        )

    def shared(self, x: Tensor) -> Tensor:
        """The bias of scores, or the mask."""
        return self.mixing.shared(_mask(x), x)

    def call(
        self, x: Tensor, state: list[Tensor], shared: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """See :meth:`Layer.call`."""
        assert shared is not None
        return self.mixing.mix(x, shared), state


class BareAttention(Layer):
    """Self-attention without projections: what the paper's formula describes, but not a layer."""

    def __init__(self, sizes: Sizes, neighbourhood: Neighbourhood) -> None:
        super().__init__()
        self.heads, self.neighbourhood = sizes.heads, neighbourhood
        self.scoring = neighbourhood.restricted(DotProduct(), causal=False)
        self.dropout = Dropout(0.0)

    def shared(self, x: Tensor) -> Tensor:
        """The bias of scores."""
        return self.neighbourhood.encoder_bias(_mask(x), x)

    def call(
        self, x: Tensor, state: list[Tensor], shared: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """See :meth:`Layer.call`; queries, keys and values are slices of ``x``."""
        # (batch, heads, positions, d_model / heads)
        parts = x.unflatten(2, (self.heads, -1)).transpose(1, 2)
        context = self.scoring(parts, KeysValues(parts, parts), shared, self.dropout, 0)
        return context.transpose(1, 2).flatten(2), state


def _mask(x: Tensor) -> Tensor:
    return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)


class Recurrence(Layer):
    """An LSTM: a position needs the state after the previous one."""

    positions_per_call = 1

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.layer = recurrent_layer(CellConfig(), sizes.d_model, sizes.d_model)

    def start(self, x: Tensor) -> list[Tensor]:
        """Zeros ``(batch, d_model)``."""
        return [x.new_zeros(x.shape[0], x.shape[2]) for _ in range(2)]

    def call(
        self, x: Tensor, state: list[Tensor], shared: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """See :meth:`Layer.call`; over several positions PyTorch's own loop runs."""
        return advance(self.layer, x, state)


class Convolutional(Layer):
    """A convolution centred at each position."""

    def __init__(self, sizes: Sizes, dilation: int = 1) -> None:
        super().__init__()
        d, k = sizes.d_model, sizes.kernel_width
        self.convolution = CentredConvolution(d, d, k, dilation)

    def call(
        self, x: Tensor, state: list[Tensor], shared: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """See :meth:`Layer.call`."""
        return self.convolution(x), state


def dilation(kernel_width: int, place: int) -> int:
    """Distance between the positions of a window, by the layer's place in a stack, from 0.

    It grows by ``(k + 1) / 2``, the positions of a window from its middle on: doubled where k is
    3, as in ByteNet.  If it grew by k, some positions near either end would never meet: the path of
    a signal between them would lead outside the sentence.
    """
    return ((kernel_width + 1) // 2) ** place


Formula = Callable[[int, Sizes], float]
"""The term inside an O(), as a function of n and the sizes."""


@dataclass(frozen=True)
class Claim:
    """One cell of Table 1."""

    text: str
    formula: Formula


@dataclass(frozen=True)
class LayerType:
    """A row of Table 1."""

    name: str
    build: Callable[[Sizes, int], Layer]
    """From sizes and the layer's place in a stack, from 0; only dilation uses the place."""
    complexity: Claim
    """Operations of a layer."""
    sequential: Claim
    """Minimum number of sequential operations."""
    path: Claim
    """Maximum path length between two positions, in layers or steps."""
    uniform: bool = True
    """Whether all layers of a stack see the same positions."""


_CONSTANT = Claim("O(1)", lambda n, sizes: 1)
_QUADRATIC = Claim("O(n² d)", lambda n, sizes: n * n * sizes.d_model)
_IN_WINDOW = Claim("O(r n d)", lambda n, sizes: sizes.window * n * sizes.d_model)
_LINEAR = Claim("O(n)", lambda n, sizes: n)
_BY_WINDOW = Claim("O(n/r)", lambda n, sizes: n / sizes.window)
_BY_KERNEL = Claim("O(n/k)", lambda n, sizes: n / sizes.kernel_width)
_LOGARITHMIC = Claim("O(log_k n)", lambda n, sizes: log(n) / log(sizes.kernel_width))
_STATE = Claim("O(n d²)", lambda n, sizes: n * sizes.d_model**2)
_CONVOLVED = Claim("O(k n d²)", lambda n, sizes: sizes.kernel_width * n * sizes.d_model**2)
_SEPARATED = Claim(
    "O(k n d + n d²)",
    lambda n, sizes: n * sizes.d_model * (sizes.kernel_width + sizes.d_model),
)

LAYER_TYPES: tuple[LayerType, ...] = (
    LayerType(
        "self-attention",
        lambda sizes, place: Mixed(sizes),
        _QUADRATIC,
        _CONSTANT,
        _CONSTANT,
    ),
    LayerType(
        "self-attention, bare",
        lambda sizes, place: BareAttention(sizes, Everywhere()),
        _QUADRATIC,
        _CONSTANT,
        _CONSTANT,
    ),
    LayerType(
        "restricted",
        lambda sizes, place: Mixed(sizes, window=sizes.window),
        _IN_WINDOW,
        _CONSTANT,
        _BY_WINDOW,
    ),
    LayerType(
        "restricted, bare",
        lambda sizes, place: BareAttention(sizes, Window(sizes.window)),
        _IN_WINDOW,
        _CONSTANT,
        _BY_WINDOW,
    ),
    LayerType("recurrent", lambda sizes, place: Recurrence(sizes), _STATE, _LINEAR, _LINEAR),
    LayerType(
        "convolution",
        lambda sizes, place: Convolutional(sizes),
        _CONVOLVED,
        _CONSTANT,
        _BY_KERNEL,
    ),
    LayerType(
        "convolution, dilated",
        lambda sizes, place: Convolutional(sizes, dilation(sizes.kernel_width, place)),
        _CONVOLVED,
        _CONSTANT,
        _LOGARITHMIC,
        uniform=False,
    ),
    LayerType(
        "separable convolution",
        lambda sizes, place: Mixed(
            sizes, encoder_mixing="separable_convolution", kernel_width=sizes.kernel_width
        ),
        _SEPARATED,
        _CONSTANT,
        _BY_KERNEL,
    ),
)
"""The rows of Table 1.  "Bare" leaves out the projections, as the paper's formula does; its
convolutional row is two here, since its text distinguishes contiguous and dilated kernels."""
