"""Weights that are distributed among the processes as well: PyTorch's FSDP2.

After Zhao et al. 2023, "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel"
(arXiv:2304.11277): each process keeps some rows of every parameter, with their gradient and
moments.  The weights of a layer are collected just before its forward pass, freed after it, and
collected again for its backward pass, which sums its gradient.  Embeddings, and families without
:meth:`~dragoman.models.interface.TranslationModel.separate_layers`, are collected for the whole
pass.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.tensor import DTensor
from torch.utils._pytree import register_pytree_node

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.attention import KeysValues
from dragoman.models.layers.self_attention import PastPositions
from dragoman.training.distributed import World, lost_on_the_way
from dragoman.training.optimizers.interface import OptimizerConfig, Parameter
from dragoman.training.sharding.flat_layout import check_known, check_shape, is_matrix
from dragoman.training.sharding.interface import (
    AVERAGE,
    FixedTensors,
    clipped,
    most_passes,
    named_moments,
    present_decay,
)

_ENTRANCES = ("encode", "encoder_states", "decode", "decode_attending")
"""Methods of a model with which a pass begins."""

# FSDP looks for tensors in a layer's results: gradients that reach them begin its backward pass.
register_pytree_node(
    KeysValues, lambda memory: ([memory.keys, memory.values], None), lambda p, _: KeysValues(*p)
)
register_pytree_node(
    PastPositions, lambda past: ([past.known, past.rows], None), lambda p, _: PastPositions(*p)
)


class ParameterSharding:
    """A :class:`~.interface.Sharding` of rows of every parameter, with an elementwise optimizer.

    All parameters of the model learn.  It is on the device of ``world``, in float32, and its
    classes become those of FSDP.
    """

    def __init__(
        self,
        model: TranslationModel,
        config: OptimizerConfig,
        precision: torch.dtype,
        ema_decay: float | None = None,
        *,
        world: World,
    ) -> None:
        self.config = config
        self._ema_decay, self._world, self._precision = ema_decay, world, precision
        self._fixed = FixedTensors(model, precision)
        self._plain = _without_weights(model)
        self._tied = {
            name: next(own for own, p in model.named_parameters() if p is parameter)
            for name, parameter in model.named_parameters(remove_duplicate=False)
        }
        _take_apart(model, precision, world)
        self._parameters: dict[str, DTensor] = {
            name: cast(DTensor, parameter) for name, parameter in model.named_parameters()
        }
        self._own = {name: p.to_local().detach() for name, p in self._parameters.items()}
        self._optimizer = config.build(
            [Parameter(own, is_matrix(self._parameters[name])) for name, own in self._own.items()]
        )
        self._average = None if ema_decay is None else _copies(self._own)

    @property
    def gradient(self) -> Tensor:
        """The gradient of this process' rows as one vector; a copy."""
        return torch.cat(
            [own.grad.reshape(-1) for own in self._own.values() if own.grad is not None]
        )

    def passes(self, counts: Sequence[int]) -> Sequence[int]:
        """The maximum over the processes, as each pass is a collective."""
        return most_passes(counts, self._world)

    def idle(self, again: Callable[[], object]) -> None:
        """Compute with weight 0, as the weights are collected for every pass."""
        again()

    def expect_last(self) -> None:
        """Nothing to do: every pass is sent."""

    def collect(self) -> None:
        """Nothing to do: PyTorch adds up the gradients of this process' rows."""

    def start_over(self) -> bool:
        """Not possible: the layers' weights are gathered from all processes in every pass."""
        return False

    def reduce(self, world: World) -> None:
        """Take the gradient from PyTorch, which has divided its sum by the number of processes."""
        for name, own in self._own.items():
            gradient = self._parameters[name].grad
            own.grad = torch.zeros_like(own)
            if gradient is not None:
                assert isinstance(gradient, DTensor), "of a parameter that is taken apart"
                own.grad = gradient.to_local().detach().mul_(world.size)

    def scale(self, factor: float) -> float:
        """Multiply the gradient by ``factor``, clip it, and return its norm before clipping."""
        gradients = [own.grad for own in self._own.values() if own.grad is not None]
        norms = torch.stack([gradient.norm().double() for gradient in gradients])
        norm = math.sqrt(self._world.all_reduce(norms.square().sum())) * factor
        factor = clipped(factor, norm, self.config.clip_norm)
        for gradient in gradients:
            gradient.mul_(factor)
        return norm

    def step(self, learning_rate: float) -> None:
        """Update this process' rows, and clear the gradient."""
        self._optimizer.step(learning_rate)
        self.clear()
        if self._average is not None and self._ema_decay is not None:
            decay = present_decay(self._ema_decay, self._optimizer.steps)
            for name, average in self._average.items():
                average.lerp_(self._own[name], 1 - decay)

    def clear(self) -> None:
        """Clear the gradient."""
        for name, own in self._own.items():
            self._parameters[name].grad = own.grad = None

    @contextmanager
    def averaged(self) -> Iterator[TranslationModel]:
        """A separate model with all weights, which each process may call any number of times."""
        whole = {
            name: nn.Parameter(self._whole(name, rows).to(self._precision), requires_grad=False)
            for name, rows in (self._average or self._own).items()
        }
        named = {name: whole[own] for name, own in self._tied.items()}
        self._plain.load_state_dict(named, strict=False, assign=True)  # tied ones stay tied
        del whole, named
        try:
            yield self._plain.eval()
        finally:
            self._plain = _without_weights(self._plain)

    def weights(self) -> dict[str, Tensor]:
        """All parameters in float32 and the saved buffers, by name; empty except in the leader."""
        gathered = self._gathered(self._own)
        return gathered | self._fixed.exact if gathered else {}

    def moments(self) -> dict[str, Tensor]:
        """The optimizer state by name, with the average of the weights; empty before a step."""
        steps = self._optimizer.steps
        if not steps:
            return {}
        kinds = {} if self._average is None else {AVERAGE.removesuffix("."): self._average}
        kinds |= self._states()
        named = {"step": torch.tensor([float(steps)])}
        for kind, rows in kinds.items():
            named |= {f"{kind}.{name}": tensor for name, tensor in self._gathered(rows).items()}
        return named

    def _states(self) -> dict[str, dict[str, Tensor]]:
        """The optimizer state of this process' rows, by kind and by the name of the parameter."""
        states = self._optimizer.state
        return {
            kind: {n: s[kind] for n, s in zip(self._own, states, strict=True)} for kind in states[0]
        }

    def _gathered(self, rows: dict[str, Tensor]) -> dict[str, Tensor]:
        """Whole tensors from the rows of all processes, on the CPU; empty except in the leader."""
        gathered = {}
        for name, own in rows.items():
            whole = self._whole(name, own)
            if self._world.is_leader:
                gathered[name] = whole.cpu()
        return gathered

    def _whole(self, name: str, rows: Tensor) -> Tensor:
        """The rows of all processes, shaped like the parameter; on the device, in every process."""
        like = self._parameters[name]
        shared = DTensor.from_local(
            rows,
            like.device_mesh,
            like.placements,
            run_check=False,
            shape=like.shape,
            stride=like.stride(),
        )
        with lost_on_the_way():
            return shared.full_tensor()

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        """Restore the results of ``weights`` and ``moments`` of any sharding."""
        self._take(self._own, self._fixed.restore(weights))
        self.clear()
        self._optimizer.reset()
        if self._average is not None:
            kept = named_moments(moments, AVERAGE.removesuffix("."))
            self._take(self._average, kept or self._fixed.restore(weights))
        if not moments:
            return
        self._optimizer.steps = int(moments["step"])
        for kind, rows in self._states().items():
            self._take(rows, named_moments(moments, kind))

    def _take(self, rows: dict[str, Tensor], tensors: dict[str, Tensor]) -> None:
        check_known(list(rows), tensors)
        for name, own in rows.items():
            check_shape(name, self._parameters[name].shape, tensors.get(name))
            parts = tensors[name].chunk(self._world.size)  # may be fewer than processes
            if self._world.rank < len(parts):
                own.copy_(parts[self._world.rank])


def _take_apart(model: TranslationModel, precision: torch.dtype, world: World) -> None:
    """Leave some rows of each parameter in each process."""
    if world.device.type == "cpu" and not hasattr(torch.cpu.Stream, "record_event"):
        raise ConfigError(
            f"training.sharding: parameters needs a newer PyTorch on CPUs, and this is "
            f"{torch.__version__}; upgrade it, or set sharding to gradients"
        )
    # Keys and values are views, but the warning concerns in-place changes, and there are none here.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor")
    world.all_reduce(torch.zeros(1, device=world.device))  # forms the group
    mesh = init_device_mesh(world.device.type, (world.size,))
    policy = MixedPrecisionPolicy(
        param_dtype=precision, reduce_dtype=torch.float32, cast_forward_inputs=False
    )
    for layer in model.separate_layers():
        fully_shard(layer, mesh=mesh, mp_policy=policy)
        for method in getattr(layer, "entrances", ()):
            register_fsdp_forward_method(layer, method)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    for method in _ENTRANCES:
        register_fsdp_forward_method(model, method)


def _without_weights(model: TranslationModel) -> TranslationModel:
    """A copy whose parameters take no memory."""
    memo = {
        id(p): nn.Parameter(torch.empty_like(p, device="meta"), requires_grad=False)
        for p in model.parameters()
    }
    return copy.deepcopy(model, memo)


def _copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}
