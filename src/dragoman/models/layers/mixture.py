"""Sparsely-gated mixture of experts (Shazeer et al. 2017, arXiv:1701.06538).

The balancing losses are per batch, which is the input of one device in one pass.  A variation is
not linear in the batch, so a step of several batches minimises the mean of their losses, weighted
by target tokens, and not the loss of the joint batch.  The joint loss's gradient would need the
sums over the whole step before the first backward pass, hence a second forward pass of every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from dragoman.core.config import Config
from dragoman.models.layers.tally import Tally

_LEAST_DEVIATION = 1e-2
"""Minimum deviation of the noise; not in equation 4, but the load loss divides by its square."""


class MixtureConfig(Config):
    """Several feed-forward sublayers (experts) in place of one; each position uses some of them."""

    experts: int = Field(4, ge=3, le=1024)
    """Number of feed-forward sublayers, of d_ff each."""
    experts_per_token: int = Field(2, ge=2)
    """Number of experts that a position uses (k in the paper); must be less than experts."""
    importance_loss: float = Field(0.01, ge=0)
    """Weight of the loss that balances the sums of gate values per expert in each batch
    (section 4); 0 disables this."""
    load_loss: float = Field(0.01, ge=0)
    """Weight of the loss that balances the numbers of positions per expert in each batch
    (appendix A); 0 disables this."""

    def conflicts(self) -> Iterator[str]:
        """Yield an invalid number of experts: a position must leave some experts unused."""
        if self.experts_per_token >= self.experts:
            yield (
                f"experts_per_token {self.experts_per_token} must be less than "
                f"experts {self.experts}"
            )


@dataclass(frozen=True)
class _Routing:
    """The gates' decisions in one pass, ``(positions, experts)`` each."""

    gates: Tensor  # weights of the experts, 0 for those not used
    load: Tensor  # probabilities that another draw of the noise would use the expert


class Mixture(nn.Module):
    """``sum_i G(x)_i E_i(x)`` over the k experts with the highest gates (equation 1).

    ``G(x) = softmax(KeepTopK(H(x), k))`` and, in training, ``H(x)_i = (x W_g)_i + noise *
    softplus((x W_noise)_i)`` with normal noise (equations 3 to 5, with 0.01 added to the
    deviation); without noise otherwise.  Experts have no capacity limit, so a position's result
    does not depend on its neighbours.
    """

    def __init__(
        self, d_model: int, config: MixtureConfig, expert: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        self.config = config
        self.gate = nn.Linear(d_model, config.experts, bias=False)
        self.noise = nn.Linear(d_model, config.experts, bias=False)
        for linear in (self.gate, self.noise):  # equal loads at first (appendix A)
            nn.init.zeros_(linear.weight)
        self.experts = nn.ModuleList(expert() for _ in range(config.experts))
        self._routing: _Routing | None = None
        self.used = Tally()
        """``(2, experts)``: numbers of positions, and sums of gate values; padding is excluded."""

    def forward(self, x: Tensor) -> Tensor:
        """``(rows, length, d_model)`` to the same shape."""
        flat = x.flatten(0, -2)  # (positions, d_model)
        values, chosen = self._choose(flat)
        return self._combined(flat, values.softmax(-1).to(x.dtype), chosen).view_as(x)

    def balancing_loss(self, mask: Tensor) -> Tensor:
        """Weighted importance and load losses of the last training pass, which is then discarded.

        Padding, False in ``mask``, ``(rows, length)``, is excluded.
        """
        assert self._routing is not None, "no pass in training mode came before"
        routing, self._routing = self._routing, None
        real = mask.flatten()
        gates = routing.gates[real]  # (real positions, experts)
        importance, load = gates.sum(0), routing.load[real].sum(0)  # (experts,)
        self.used.add(torch.stack([(gates > 0).sum(0), importance.detach()]))
        weights = self.config.importance_loss, self.config.load_loss
        return weights[0] * _squared_variation(importance) + weights[1] * _squared_variation(load)

    def _choose(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The k highest values of ``H(x)`` and their experts, ``(positions, k)`` each."""
        k = self.config.experts_per_token
        wide = torch.promote_types(x.dtype, torch.float32)
        clean = self.gate(x).to(wide)  # (positions, experts)
        if not self.training:
            best = clean.topk(k, dim=-1)
            return best.values, best.indices
        deviation = functional.softplus(self.noise(x).to(wide)) + _LEAST_DEVIATION
        noisy = clean + torch.randn_like(clean) * deviation
        best = noisy.topk(k + 1, dim=-1)  # (positions, k + 1)
        values, chosen = best.values[:, :k], best.indices[:, :k]
        gates = torch.zeros_like(clean).scatter(-1, chosen, values.softmax(-1))
        # A used expert must beat the best unused one; an unused expert, the worst used one.
        used = torch.zeros_like(clean, dtype=torch.bool).scatter(-1, chosen, value=True)
        rival = torch.where(used, best.values[:, k:], best.values[:, k - 1 : k])
        self._routing = _Routing(gates, torch.special.ndtr((clean - rival) / deviation))
        return values, chosen

    def _combined(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        """The weighted sum of experts, ``(positions, d_model)``; each expert runs once."""
        order = chosen.flatten().argsort(stable=True)  # (positions * k,), sorted by expert
        positions = order // chosen.shape[1]
        parts = x[positions].split(self._loads(chosen))  # (load, d_model) per expert
        results = [expert(part) for expert, part in zip(self.experts, parts, strict=True)]
        weighted = torch.cat(results) * weights.flatten()[order].unsqueeze(1)
        return torch.zeros_like(x).index_add(0, positions, weighted)

    def _loads(self, chosen: Tensor) -> list[int]:
        if chosen.is_meta:  # counting operations without data: equal loads
            share, rest = divmod(chosen.numel(), len(self.experts))
            return [share + (number < rest) for number in range(len(self.experts))]
        counts: list[int] = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        return counts


def _squared_variation(x: Tensor) -> Tensor:
    """The variance divided by the square of the mean (section 4)."""
    return x.var(correction=0) / x.mean().square()


def balancing_loss(layers: Iterable[tuple[object, Tensor]]) -> Tensor | None:
    """The sum of the balancing losses of the last training pass, None if there are none.

    Args:
        layers: the feed-forward sublayer of each layer, and the mask of the positions it reads.
    """
    losses = [
        layer.balancing_loss(mask)
        for layer, mask in layers
        if isinstance(layer, Mixture) and layer.training
    ]
    return torch.stack(losses).sum() if losses else None


def expert_figures(model: nn.Module) -> dict[str, float]:
    """Evenness of the use of experts in training since the last call, in the least even layer.

    Returns:
        ``least_used_expert`` and ``most_used_expert`` are the shares of positions that use them,
        k / experts if all are used equally.  ``expert_load_variation`` and
        ``expert_importance_variation`` are the coefficients of variation of the numbers of
        positions and of the sums of gate values, 0 if all are equal.  Empty without a pass.
    """
    mixtures = [module for module in model.modules() if isinstance(module, Mixture)]
    uses = [use.double().cpu() for mixture in mixtures if (use := mixture.used.take()) is not None]
    if not uses:
        return {}
    # The gates of a position sum to 1, so importance sums to the number of positions.
    shares = [use[0] / use[1].sum() for use in uses]
    load, importance = (
        max(_squared_variation(use[kind]).sqrt().item() for use in uses) for kind in (0, 1)
    )
    return {
        "least_used_expert": min(share.min().item() for share in shares),
        "most_used_expert": max(share.max().item() for share in shares),
        "expert_load_variation": load,
        "expert_importance_variation": importance,
    }
