"""The Neural GPU (Kaiser & Sutskever 2015, arXiv:1511.08228) and the Extended Neural GPU.

The latter is that of Kaiser & Bengio 2016, "Can Active Memory Replace Attention?"
(arXiv:1610.08613), section 3.  Shapes: w is the width of the memory, n its length, m its maps.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, dropout, one_hot, pad

from studies.learning import answer_loss
from studies.neural_gpu.arithmetic import padded


@dataclass(frozen=True)
class Sizes:
    """Sizes and regularisation of a Neural GPU; the defaults are those of the papers."""

    maps: int = 24
    width: int = 4
    layers: int = 2
    """CGRUs per step."""
    relaxed: int = 6
    """Sets of weights, used in turn, before they are joined (parameter sharing relaxation)."""
    dropout: float = 0.1
    """On the memory, divided by the number of steps, so that it is the same for any length."""


def hard_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid with a cut-off, so that gates can be 0 and 1 exactly: 1.2 sigmoid(x) - 0.1."""
    return (1.2 * torch.sigmoid(x) - 0.1).clamp(0, 1)


class CGRU(nn.Module):
    """The convolutional gated recurrent unit: memory ``(batch, m, w, n)`` to the same.

    ``s' = u * s + (1 - u) * tanh(U # (r * s) + B)`` with ``u = sigmoid(U' # s + B')`` and
    ``r = sigmoid(U'' # s + B'')``, where # is a convolution and the sigmoids have a cut-off.  With
    a tape p, ``W # p`` is added inside each of the three (Kaiser & Bengio 2016, section 3).

    Args:
        maps: m.
        sets: number of sets of weights, see :meth:`forward`.
        tape: whether a tape is read, too.
        kernel: size of the convolutions, along width and length.
    """

    def __init__(self, maps: int, sets: int = 1, *, tape: bool = False, kernel: int = 3) -> None:
        super().__init__()
        inputs = 2 * maps if tape else maps
        self.kernel = kernel
        # Update and reset gate in one convolution.
        self.gates = nn.Parameter(torch.empty(sets, 2 * maps, inputs, kernel, kernel))
        self.candidate = nn.Parameter(torch.empty(sets, maps, inputs, kernel, kernel))
        self.gates_bias = nn.Parameter(torch.ones(sets, 2 * maps))  # begins by keeping all
        self.candidate_bias = nn.Parameter(torch.zeros(sets, maps))
        bound = (3 / (inputs * kernel * kernel)) ** 0.5
        for weights in (self.gates, self.candidate):
            nn.init.uniform_(weights, -bound, bound)

    def forward(self, state: Tensor, turn: int = 0, tape: Tensor | None = None) -> Tensor:
        """One step; ``turn`` counts steps and chooses among the sets of weights."""
        which, around = turn % len(self.gates), self.kernel // 2
        seen = state if tape is None else torch.cat([state, tape], 1)
        gates = conv2d(seen, self.gates[which], self.gates_bias[which], padding=around)
        update, reset = hard_sigmoid(gates).chunk(2, 1)
        kept = reset * state
        kept = kept if tape is None else torch.cat([kept, tape], 1)
        new = conv2d(kept, self.candidate[which], self.candidate_bias[which], padding=around)
        return update * state + (1 - update) * new.tanh()

    def distance(self) -> Tensor:
        """Sum of squares of the distances of all sets of weights from their mean."""
        return torch.stack([(w - w.mean(0)).square().sum() for w in self.parameters()]).sum()

    @torch.no_grad()
    def join(self) -> None:
        """Replace all sets of weights by their mean."""
        for weights in self.parameters():
            weights.copy_(weights.mean(0, keepdim=True).expand_as(weights))


class NeuralGPU(nn.Module):
    """Steps of CGRUs, as many as there are symbols, over a memory that begins as the input.

    Args:
        symbols: number of ids.
        sizes: sizes and regularisation.
    """

    def __init__(self, symbols: int, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(symbols, sizes.maps)
        self.units = nn.ModuleList(CGRU(sizes.maps, sizes.relaxed) for _ in range(sizes.layers))
        self.output = nn.Linear(sizes.maps, symbols)

    def cgrus(self) -> list[CGRU]:
        """All units, whose weights are relaxed."""
        return [module for module in self.modules() if isinstance(module, CGRU)]

    def remember(self, source: Tensor) -> Tensor:
        """The memory after n steps: ids ``(batch, n)`` to ``(batch, m, w, n)``.

        The embedded input is the first row of the first memory; the others are zero.
        """
        steps = source.shape[1]
        first = self.embedding(source).transpose(1, 2).unsqueeze(2)  # (batch, m, 1, n)
        state = pad(first, (0, 0, 0, self.sizes.width - 1))
        for turn in range(steps):
            for unit in self.units:
                state = dropout(unit(state, turn), self.sizes.dropout / steps, self.training)
        return state

    def read(self, state: Tensor) -> Tensor:
        """Logits ``(batch, n, symbols)`` of the first row of a memory."""
        logits: Tensor = self.output(state[:, :, 0].transpose(1, 2))
        return logits

    def loss(self, source: Tensor, answers: Tensor) -> tuple[Tensor, float]:
        """See :func:`answer_loss`; behind the answer there must be padding."""
        return answer_loss(self.read(self.remember(source)), padded(answers, source.shape[1]))

    @torch.no_grad()
    def answer(self, source: Tensor, length: int) -> Tensor:
        """The first ``length`` symbols of the output, all found at once."""
        return self.read(self.remember(source))[:, :length].argmax(-1)

    def pull(self, strength: float) -> Tensor:
        """What draws the sets of weights together (section 3, parameter sharing relaxation)."""
        return strength * torch.stack([unit.distance() for unit in self.cgrus()]).sum()

    def join(self) -> None:
        """Replace all sets of weights of each unit by their mean."""
        for unit in self.cgrus():
            unit.join()


class ExtendedNeuralGPU(NeuralGPU):
    """The Neural GPU with an active-memory decoder: each symbol depends on those before it.

    From ``d_0``, the memory after reading, and an empty tape, ``d_{t+1} = CGRU(d_t, p_t)``; symbol
    t is read from place t of the first row of ``d_{t+1}`` and embedded there on the tape.
    """

    def __init__(self, symbols: int, sizes: Sizes) -> None:
        super().__init__(symbols, sizes)
        self.written = nn.Embedding(symbols, sizes.maps)
        self.decoder = CGRU(sizes.maps, sizes.relaxed, tape=True)

    def write(self, source: Tensor, length: int, answers: Tensor | None) -> tuple[Tensor, Tensor]:
        """Logits and symbols, which are the most likely ones; with ``answers``, these are read."""
        state = self.remember(source)
        tape = torch.zeros_like(state)
        logits, symbols = [], []
        for place in range(length):
            state = self.decoder(state, place, tape)
            logits.append(self.output(state[:, :, 0, place]))
            symbols.append(logits[-1].argmax(-1))
            read = symbols[-1] if answers is None else answers[:, place]
            # Added out of place, as the tape of each step is needed for the gradient.
            here = one_hot(torch.tensor(place), tape.shape[3]).to(tape)
            row = self.written(read)[:, :, None, None] * here  # (batch, m, 1, n)
            tape = tape + pad(row, (0, 0, 0, self.sizes.width - 1))
        return torch.stack(logits, 1), torch.stack(symbols, 1)

    def loss(self, source: Tensor, answers: Tensor) -> tuple[Tensor, float]:
        """See :func:`answer_loss`; the right symbols are on the tape (teacher forcing)."""
        return answer_loss(self.write(source, answers.shape[1], answers)[0], answers)

    @torch.no_grad()
    def answer(self, source: Tensor, length: int) -> Tensor:
        """Write ``length`` symbols, each the most likely one after those before."""
        return self.write(source, length, None)[1]
