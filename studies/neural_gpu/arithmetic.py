"""Binary addition and multiplication as sequences of symbols, least significant bit first.

The tasks of Kaiser & Sutskever 2015 (arXiv:1511.08228): ``1+2`` of two bits is ``10+01``, and its
answer ``110``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import add, mul
from random import Random

import torch
from torch import Tensor

from studies.learning import PAD

ZERO, ONE, OPERATOR = 1, 2, 3
SYMBOLS = 4
"""Number of ids, padding included."""


def as_bits(number: int, length: int) -> list[int]:
    """The ids of the ``length`` lowest bits of a number, the lowest first."""
    return [ONE if number >> place & 1 else ZERO for place in range(length)]


@dataclass(frozen=True)
class Arithmetic:
    """One operation on two numbers of equally many bits."""

    name: str
    operation: Callable[[int, int], int]
    answer_length: Callable[[int], int]
    """Bits of the answer, by those of a number."""

    def draw(self, bits: int, count: int, rng: Random) -> tuple[Tensor, Tensor]:
        """Draw ``count`` questions of numbers below ``2 ** bits``.

        Returns:
            Sources ``(count, 2 * bits + 1)`` and answers ``(count, answer_length(bits))``.
        """
        sources, answers = [], []
        for _ in range(count):
            one, other = rng.getrandbits(bits), rng.getrandbits(bits)
            sources.append([*as_bits(one, bits), OPERATOR, *as_bits(other, bits)])
            answers.append(as_bits(self.operation(one, other), self.answer_length(bits)))
        return torch.tensor(sources), torch.tensor(answers)


TASKS = {
    "addition": Arithmetic("addition", add, lambda bits: bits + 1),
    "multiplication": Arithmetic("multiplication", mul, lambda bits: 2 * bits),
}


class Curriculum:
    """Numbers of bits to train on, longer when the longest so far are answered well.

    Half of the batches have the current length, the others any up to it (Kaiser & Sutskever 2015,
    section 3, curriculum learning).
    """

    PASSED = 0.15
    """Share of wrong answers, as a moving average, below which the length grows."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.current = 1
        self._wrong = 1.0

    def draw(self, rng: Random) -> int:
        """Number of bits of the next batch."""
        return self.current if rng.random() < 0.5 else rng.randint(1, self.current)

    def heard(self, bits: int, wrong: float) -> None:
        """Take note of which share of a batch's answers was wrong."""
        if bits < self.current:
            return
        self._wrong += 0.2 * (wrong - self._wrong)
        if self._wrong < self.PASSED and self.current < self.longest:
            self.current += 1
            self._wrong = 1.0


def padded(tensor: Tensor, length: int) -> Tensor:
    """Rows filled up with padding to ``length``."""
    return torch.nn.functional.pad(tensor, (0, length - tensor.shape[1]), value=PAD)
