"""The layout of a model's learned parameters in one long vector.

The vector may be cut into parts, each of which divides evenly among processes::

    | part 0: of process 0 | of process 1 | part 1: of process 0 | of process 1 | ...

A parameter lies within one part, and a part may end in padding.  The share of a process is the
concatenation of its ranges of all parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.core.errors import SavedError

ALIGNMENT = 16
"""In numbers.  Ranges begin at multiples of it, so that vectorised kernels group the same numbers
together in every process, and round them alike."""


def is_matrix(parameter: Tensor) -> bool:
    """Whether it is decayed; the gains of weight normalisation have the shape ``(outputs, 1)``."""
    return parameter.dim() >= 2 and parameter.numel() > parameter.shape[0]


def learned_parameters(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Those that require a gradient, by name; decayed ones first, so that each kind is a slice."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    return sorted(named, key=lambda item: not is_matrix(item[1]))


def check_shape(name: str, shape: Sequence[int], tensor: Tensor | None) -> None:
    """Check that a tensor of a checkpoint is there and has the shape of the model's."""
    if tensor is None or tensor.shape != shape:
        found = "nothing" if tensor is None else list(tensor.shape)
        raise SavedError(
            f"the checkpoint is from another configuration: {name} should be {list(shape)}, "
            f"found {found}"
        )


def check_known(names: Sequence[str], tensors: Mapping[str, Tensor]) -> None:
    """Check that a checkpoint has no other tensors than these."""
    if unknown := sorted(tensors.keys() - set(names)):
        raise SavedError(
            f"the checkpoint is from another configuration: {unknown[0]} does not belong"
        )


@dataclass(frozen=True)
class FlatLayout:
    """The place of every learned parameter in a flat vector."""

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]
    starts: tuple[int, ...]
    """The start of each parameter."""
    parts: tuple[slice, ...]
    """Ranges that divide evenly among the processes, without gaps."""
    decayed: int
    """The end of the parts whose parameters are decayed."""
    processes: int = 1

    @classmethod
    def unbroken(cls, named: Sequence[tuple[str, Tensor]]) -> FlatLayout:
        """One parameter after another without padding, for a process that keeps all of them."""
        starts, decayed, length = [], 0, 0
        for _, parameter in named:
            starts.append(length)
            length += parameter.numel()
            decayed = length if is_matrix(parameter) else decayed
        return cls(*_described(named), tuple(starts), (slice(0, length),), decayed)

    @classmethod
    def whole(cls, named: Sequence[tuple[str, Tensor]], processes: int) -> FlatLayout:
        """As :meth:`unbroken`, padded at the end to make a single part."""
        flat = cls.unbroken(named)
        length = _padded(flat.length, processes)
        return cls(
            flat.names, flat.shapes, flat.starts, (slice(0, length),), flat.decayed, processes
        )

    @classmethod
    def cut(
        cls,
        named: Sequence[tuple[str, Tensor]],
        processes: int,
        belongs: Callable[[str], object],
        part_numbers: int,
    ) -> FlatLayout:
        """Cut into parts of adjacent parameters.

        Args:
            named: the parameters, decayed ones first.
            processes: number of processes, among which each part divides evenly.
            belongs: from a parameter's name to its kind: a part has parameters of one kind.
            part_numbers: a part ends as soon as it has this many numbers.
        """
        starts: list[int] = []
        parts: list[slice] = []
        begin = length = decayed = 0
        kind: object = None
        for name, parameter in named:
            new = (is_matrix(parameter), belongs(name))
            if length > begin and (new != kind or length - begin >= part_numbers):
                end = begin + _padded(length - begin, processes)
                parts.append(slice(begin, end))
                begin = length = end
            kind = new
            starts.append(length)
            length += parameter.numel()
            if not is_matrix(parameter):
                continue
            decayed = begin + _padded(length - begin, processes)
        parts.append(slice(begin, begin + _padded(length - begin, processes)))
        return cls(*_described(named), tuple(starts), tuple(parts), decayed, processes)

    @property
    def length(self) -> int:
        """Numbers in the vector, padding included."""
        return self.parts[-1].stop

    def part_of(self, index: int) -> int:
        """The part that contains the parameter with this index."""
        start = self.starts[index]
        return next(i for i, part in enumerate(self.parts) if start < part.stop)

    def views(self, flat: Tensor) -> list[Tensor]:
        """The parameters as views of ``flat``, in the order of :attr:`names`."""
        return [
            flat[start : start + shape.numel()].view(shape)
            for start, shape in zip(self.starts, self.shapes, strict=True)
        ]

    def by_name(self, flat: Tensor) -> dict[str, Tensor]:
        """The parameters as views of ``flat``."""
        return dict(zip(self.names, self.views(flat), strict=True))

    def flat(self, tensors: Mapping[str, Tensor], like: Tensor) -> Tensor:
        """Tensors by the names of the parameters as one vector; zeros in padding."""
        check_known(self.names, tensors)
        flat = like.new_zeros(self.length)
        for name, place in self.by_name(flat).items():
            check_shape(name, place.shape, tensors.get(name))
            place.copy_(tensors[name])
        return flat

    def range_of(self, part: slice, rank: int) -> slice:
        """The range of a process in a part."""
        width = (part.stop - part.start) // self.processes
        return slice(part.start + rank * width, part.start + (rank + 1) * width)

    def share(self, flat: Tensor, rank: int) -> Tensor:
        """The share of a process; a view if there is a single part."""
        ranges = [flat[self.range_of(part, rank)] for part in self.parts]
        return ranges[0] if len(ranges) == 1 else torch.cat(ranges)

    def places(self) -> list[slice]:
        """The ranges of a process within its share, by part."""
        return [
            slice(part.start // self.processes, part.stop // self.processes) for part in self.parts
        ]

    def decayed_in_share(self, rank: int) -> int:
        """The number of decayed numbers in a process' share."""
        ranges = (self.range_of(part, rank) for part in self.parts)
        return sum(max(0, min(own.stop, self.decayed) - own.start) for own in ranges)


def _described(
    named: Sequence[tuple[str, Tensor]],
) -> tuple[tuple[str, ...], tuple[torch.Size, ...]]:
    return tuple(name for name, _ in named), tuple(p.shape for _, p in named)


def _padded(length: int, processes: int) -> int:
    """The next length whose equal ranges begin at multiples of :data:`ALIGNMENT`."""
    unit = ALIGNMENT * processes
    return -(-length // unit) * unit
