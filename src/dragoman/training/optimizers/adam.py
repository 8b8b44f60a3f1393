"""Adam and AdamW with PyTorch's fused step, without its optimizer classes.

Creating the first of those imports PyTorch's compiler, which takes as long to load as PyTorch
itself; nothing here is compiled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.adamw import adamw


class FusedAdam:
    """Adam (Kingma and Ba 2015), or AdamW with decoupled decay (Loshchilov and Hutter 2019).

    Results are bit for bit those of ``torch.optim.Adam`` and ``torch.optim.AdamW`` with
    ``fused=True``, and the state has the same names.

    Args:
        kind: which of the two.
        parameters: each with its weight decay; updated in place from ``grad``.
        beta1: decay of the first moment.
        beta2: decay of the second moment.
        epsilon: added to the denominator.
    """

    def __init__(
        self,
        kind: Literal["adam", "adamw"],
        parameters: Sequence[tuple[Tensor, float]],
        *,
        beta1: float,
        beta2: float,
        epsilon: float,
    ) -> None:
        self._update = adamw if kind == "adamw" else adam
        self._parameters = list(parameters)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon
        self.learning_rate = 0.0
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)
        """``step``, ``exp_avg`` and ``exp_avg_sq`` by parameter; empty before the first step."""

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for parameter, weight_decay in self._parameters:
            if parameter.grad is None:
                continue
            state = self.state[parameter]
            if not state:
                state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
                state["exp_avg"] = torch.zeros_like(parameter)
                state["exp_avg_sq"] = torch.zeros_like(parameter)
            self._update(
                [parameter],
                [parameter.grad],
                [state["exp_avg"]],
                [state["exp_avg_sq"]],
                [],
                [state["step"]],
                fused=True,
                amsgrad=False,
                beta1=self._beta1,
                beta2=self._beta2,
                lr=self.learning_rate,
                weight_decay=weight_decay,
                eps=self._epsilon,
                maximize=False,
            )
