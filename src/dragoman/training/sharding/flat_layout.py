"""The layout of a model's learned parameters in one long vector.

The vector may be cut into parts, each of which divides evenly among processes::

    | part 0: of process 0 | of process 1 | part 1: of process 0 | of process 1 | ...

A parameter lies within one part, and a part may end in padding.  The share of a process is the
concatenation of its ranges of all parts.  Some parameters may be kept from being cut: their parts
have padding at the end of each range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

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


class SharePiece(NamedTuple):
    """Numbers of a process' share that are updated together."""

    place: slice
    """In the share."""
    shape: torch.Size
    """Of a matrix that is not cut; otherwise that of a vector."""
    is_decayed: bool
    is_whole: bool
    """Whether it is a parameter that is not cut."""


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
    uncut: frozenset[str] = frozenset()
    """Names of parameters of which each lies within the range of one process."""

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
        part_numbers: int | None,
        uncut: frozenset[str] = frozenset(),
    ) -> FlatLayout:
        """Cut into parts of adjacent parameters.

        Args:
            named: the parameters, decayed ones first.
            processes: number of processes, among which each part divides evenly.
            belongs: from a parameter's name to its kind: a part has parameters of one kind.
            part_numbers: a part ends as soon as it has this many numbers.  A part of uncut
                parameters needs enough of them for all processes.  None for any number.
            uncut: names of parameters that each belong to one process.
        """
        starts: list[int] = []
        parts: list[slice] = []
        end = decayed = 0
        most = max((p.numel() for name, p in named if name in uncut), default=0)
        for group in _groups(named, belongs, part_numbers, uncut, processes * most):
            sizes = [parameter.numel() for _, parameter in group]
            arranged = _uncut if group[0][0] in uncut else _joined
            offsets, length = arranged(sizes, processes)
            starts += [end + offset for offset in offsets]
            parts.append(slice(end, end + length))
            end += length
            if is_matrix(group[0][1]):
                decayed = end
        return cls(*_described(named), tuple(starts), tuple(parts), decayed, processes, uncut)

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

    def flat(
        self, tensors: Mapping[str, Tensor], like: Tensor, names: Sequence[str] | None = None
    ) -> Tensor:
        """Tensors by the names of the parameters as one vector; zeros in padding.

        Args:
            tensors: those of all parameters, or of ``names`` alone, with zeros for the others.
            like: has the type and device of the vector.
        """
        names = self.names if names is None else names
        check_known(names, tensors)
        flat = like.new_zeros(self.length)
        places = self.by_name(flat)
        for name in names:
            check_shape(name, places[name].shape, tensors.get(name))
            places[name].copy_(tensors[name])
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

    def pieces(self, rank: int) -> list[SharePiece]:
        """The pieces of a process' share, in its order: uncut parameters, and the rest as vectors.

        Vectors are as long as possible, but each is decayed as a whole or not at all.
        """
        pieces: list[SharePiece] = []
        for part, place in zip(self.parts, self.places(), strict=True):
            own = self.range_of(part, rank)
            uncut = [
                (start - own.start + place.start, shape)
                for name, start, shape in zip(self.names, self.starts, self.shapes, strict=True)
                if name in self.uncut and part.start <= start < part.stop
            ]
            if uncut:
                pieces += [
                    SharePiece(slice(start, start + shape.numel()), shape, True, True)
                    for start, shape in sorted(uncut)
                    if place.start <= start < place.stop
                ]
                continue
            middle = place.start + min(max(self.decayed - own.start, 0), own.stop - own.start)
            for begin, end, is_decayed in (
                (place.start, middle, True),
                (middle, place.stop, False),
            ):
                if end > begin:
                    _lengthen(pieces, begin, end, is_decayed)
        return pieces


def _described(
    named: Sequence[tuple[str, Tensor]],
) -> tuple[tuple[str, ...], tuple[torch.Size, ...]]:
    return tuple(name for name, _ in named), tuple(p.shape for _, p in named)


def _lengthen(pieces: list[SharePiece], begin: int, end: int, is_decayed: bool) -> None:
    """Add a range to the last piece if it is of the same kind, or else as a new piece."""
    if pieces and not pieces[-1].is_whole and pieces[-1].is_decayed == is_decayed:
        last = pieces.pop()
        begin = last.place.start
    pieces.append(SharePiece(slice(begin, end), torch.Size([end - begin]), is_decayed, False))


def _groups(
    named: Sequence[tuple[str, Tensor]],
    belongs: Callable[[str], object],
    part_numbers: int | None,
    uncut: frozenset[str],
    uncut_numbers: int,
) -> Iterator[list[tuple[str, Tensor]]]:
    """The parameters of each part, as in :meth:`FlatLayout.cut`."""
    group: list[tuple[str, Tensor]] = []
    kind, length = None, 0
    for name, parameter in named:
        new = is_matrix(parameter), name in uncut, belongs(name)
        limit = part_numbers
        if limit is not None and name in uncut:
            limit = max(limit, uncut_numbers)
        if group and (new != kind or (limit is not None and length >= limit)):
            yield group
            group, length = [], 0
        kind = new
        group.append((name, parameter))
        length += parameter.numel()
    yield group


def _joined(sizes: Sequence[int], processes: int) -> tuple[list[int], int]:
    """Where parameters of these sizes begin, one after another, and the length of their part."""
    *offsets, end = accumulate(sizes, initial=0)
    return offsets, _padded(end, processes)


def _uncut(sizes: Sequence[int], processes: int) -> tuple[list[int], int]:
    """As :func:`_joined`, but each parameter lies within the range of one process.

    The largest come first, each in the range that is filled least (Graham 1969).
    """
    filled = [0] * processes
    found: dict[int, tuple[int, int]] = {}
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        rank = filled.index(min(filled))
        found[index] = rank, filled[rank]
        filled[rank] += _padded(sizes[index], 1)
    width = max(filled)
    places = [found[index] for index in range(len(sizes))]
    return [rank * width + offset for rank, offset in places], width * processes


def _padded(length: int, processes: int) -> int:
    """The next length whose equal ranges begin at multiples of :data:`ALIGNMENT`."""
    unit = ALIGNMENT * processes
    return -(-length // unit) * unit
