"""Sublayers of the Transformer and how they are connected (Vaswani et al. 2017, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from dragoman.core.config import Config
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.mixture import Mixture, MixtureConfig

Norm = Literal["post", "pre"]
Normalization = Literal["layer", "rms"]
Activation = Literal["relu", "gelu", "gelu_tanh", "swish", "swiglu", "geglu", "geglu_tanh"]

_POINTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "swish": functional.silu,
}


GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "swiglu": _POINTWISE["swish"],
    "geglu": _POINTWISE["gelu"],
    "geglu_tanh": _POINTWISE["gelu_tanh"],
}
"""The function of the gate by :data:`Activation`, in the variants of :class:`GatedFeedForward`."""


class FeedForwardConfig(Config):
    """The feed-forward sublayers; the defaults are the paper's base model."""

    d_ff: int = Field(2048, ge=1)
    """Width inside the feed-forward sublayers."""
    activation: Activation = "relu"
    """Activation of the feed-forward sublayers: relu (the paper), gelu (exact), gelu_tanh
    (approximated, as in GPT), swish (x times its sigmoid, also called SiLU). With a gate (Shazeer
    2020): swiglu, geglu (exact), geglu_tanh (approximated, as in T5 1.1). A gate is a third matrix;
    with 2/3 of d_ff, all have the same number of parameters as without a gate."""
    feed_forward_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout inside the feed-forward sublayer; not in the paper."""
    mixture: MixtureConfig | None = None
    """Mixture of experts in place of every feed-forward sublayer (Shazeer et al. 2017); none if not
    given."""


class ResidualConfig(Config):
    """Residual connection, dropout and normalisation of sublayers; the defaults are the paper's."""

    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on sublayer outputs and on the sum of embedding and position (section 5.4)."""
    norm: Norm = "post"
    """Where layer normalisation is applied: after the residual sum (post, the paper) or before the
    sublayer (pre)."""
    normalization: Normalization = "layer"
    """Kind of normalisation: layer normalisation (layer, the paper), or by the root mean square
    alone (rms, Zhang and Sennrich 2019)."""
    norm_epsilon: float = Field(1e-5, gt=0, le=0.1)
    """Added to the variance before its root is taken; other toolkits have 1e-6."""
    final_norm: bool | None = None
    """Whether encoder and decoder end with a normalisation; by default, only with norm: pre."""

    @property
    def ends_normalised(self) -> bool:
        """Whether a stack of layers ends with a separate normalisation."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm


class FeedForward(nn.Module):
    """``f(x W_1 + b_1) W_2 + b_2``, equation 2.

    ``relu``: ``f(x) = max(0, x)``, the paper's.  ``gelu``: ``x P(X <= x)`` for a standard normal
    ``X`` (Hendrycks and Gimpel 2016, section 2), exact, or approximated by a hyperbolic tangent
    (``gelu_tanh``).  ``swish``: ``x sigmoid(x)`` (Ramachandran et al. 2017, with beta = 1).
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float,
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(dropout)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(..., d_model)`` to the same shape."""
        return self.outer(self.dropout(self.activation(self.inner(x))))


class GatedFeedForward(nn.Module):
    """``(f(x W) * x V) W_2``, no bias (Shazeer 2020, equation 6).

    ``f`` is SiLU in SwiGLU, and GELU in GEGLU.

    All three matrices have the configured width d_ff, so there are half as many weights again as in
    a :class:`FeedForward` of that width.  The paper compares at equal size by taking 2/3 of d_ff.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float,
        activation: Callable[[Tensor], Tensor] = functional.silu,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.inner = nn.Linear(d_model, d_ff, bias=False)
        self.outer = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = Dropout(dropout)
        for linear in (self.gate, self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        """``(..., d_model)`` to the same shape."""
        return self.outer(self.dropout(self.activation(self.gate(x)) * self.inner(x)))


def build_one_feed_forward(d_model: int, config: FeedForwardConfig) -> nn.Module:
    """One feed-forward sublayer, even if the configuration has a mixture."""
    d_ff, dropout = config.d_ff, config.feed_forward_dropout
    if config.activation in GATES:
        return GatedFeedForward(d_model, d_ff, dropout, GATES[config.activation])
    return FeedForward(d_model, d_ff, dropout, _POINTWISE[config.activation])


def build_feed_forward(d_model: int, config: FeedForwardConfig) -> nn.Module:
    """One feed-forward sublayer, or a mixture of them."""
    expert = partial(build_one_feed_forward, d_model, config)
    return expert() if config.mixture is None else Mixture(d_model, config.mixture, expert)


def normalization(d_model: int, config: ResidualConfig) -> nn.Module:
    """A normalisation of the last axis, with a learned gain.

    ``layer``: LayerNorm, as in the paper.  ``rms``: ``x / RMS(x) * g``, without the mean and
    without a bias (Zhang and Sennrich 2019, equation 4).
    """
    if config.normalization == "rms":
        # PyTorch's own epsilon grows with the type: 0.008 in bfloat16
        return nn.RMSNorm(d_model, eps=config.norm_epsilon)
    return nn.LayerNorm(d_model, eps=config.norm_epsilon)


class Residual(nn.Module):
    """Residual connection and normalisation around a sublayer.

    ``post``: ``LayerNorm(x + Dropout(Sublayer(x)))``, as published (section 5.4).
    ``pre``: ``x + Dropout(Sublayer(LayerNorm(x)))`` (Wang et al. 2019), which needs a final
    normalisation of the stack.
    """

    def __init__(self, d_model: int, config: ResidualConfig) -> None:
        super().__init__()
        self.norm = normalization(d_model, config)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """``(rows, length, d_model)`` to the same shape."""
        if self.pre:
            return self.dropout(sublayer(self.norm(x)), onto=x)
        return self.norm(self.dropout(sublayer(x), onto=x))


def final_norm(d_model: int, config: ResidualConfig) -> nn.Module:
    """The end of a stack of layers: by default a normalisation with ``pre``, else nothing."""
    return normalization(d_model, config) if config.ends_normalised else nn.Identity()
