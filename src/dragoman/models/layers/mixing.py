"""Mixing the positions of a sentence: the first sublayer of every layer.

The paper uses self-attention (Vaswani et al. 2017, section 3.2.3), which is one of several choices.
A layer depends only on the two classes of this file, not on the choice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn

Past = Any
"""A layer's record of the target positions read so far: a tensor or a dataclass of tensors whose
axis 0 is rows, see :class:`dragoman.models.interface.State`.
"""

Shared = Any
"""Input shared by all layers of a stack in a pass, such as the bias of scores: a tensor or a
dataclass of tensors.
"""


class EncoderMixing(nn.Module, ABC):
    """Mixes every source position with the others, before and after it."""

    def shared(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Shared:
        """The input that all layers of a stack share in a pass; the mask unless overridden.

        Args:
            mask: ``(batch, source)``, True is a real token.
            like: gives type and device.
            marked: ``(batch, source)``, True is a token that sees, and is seen by, all others in
                spite of restricted attention.
        """
        return mask

    @abstractmethod
    def mix(self, x: Tensor, shared: Shared) -> Tensor:
        """``(batch, source, d_model)`` to the same shape; padding has no effect elsewhere.

        ``shared`` is from :meth:`shared` of any layer of the stack.
        """


class DecoderMixing(nn.Module, ABC):
    """Mixes every target position with earlier positions."""

    def shared(self, rows: int, start: int, length: int, like: Tensor) -> Shared | None:
        """The input that all layers of a stack share in a pass; None unless overridden.

        Args:
            rows: sentences times beam.
            start: target positions read before.
            length: target positions read now.
            like: gives type and device.
        """
        return None

    @abstractmethod
    def past(self, rows: int, like: Tensor) -> Past:
        """The past before the first position; ``like`` gives type and device."""

    @abstractmethod
    def read(self, x: Tensor, past: Past, start: int, shared: Shared | None) -> tuple[Tensor, Past]:
        """Read any number of further positions.

        Args:
            x: ``(rows, length, d_model)``.
            past: of the positions before, from the last call or from :meth:`past`.
            start: the number of positions before.
            shared: from :meth:`shared` of any layer of the stack.

        Returns:
            ``(rows, length, d_model)``, and the past for later positions.
        """
