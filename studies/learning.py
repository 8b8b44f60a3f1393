"""Training small models on generated tasks, and the Transformer that stands beside them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dragoman.models.families.transformer import Transformer

PAD = 0
"""The id of padding, in sources and answers."""


@dataclass(frozen=True)
class Schedule:
    """How a model is trained, by Adam."""

    steps: int
    rate: float
    """Learning rate after a tenth of the steps, halved four times in the last half of them."""
    clip: float = 1.0
    """Maximum norm of the gradient."""
    noise: float = 0.0
    """Standard deviation of the noise added to each gradient at the first step, if all answers are
    wrong; it falls with the root of the step (Kaiser & Sutskever 2015, section 3)."""

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        done = step / self.steps
        halvings = max(0, int((done - 0.5) * 10))
        return float(self.rate * min(1.0, done * 10) * 0.5**halvings)


Learnable = Callable[[int], tuple[Tensor, float]]
"""Takes the step, from 1; returns the loss and which share of the answers is wrong."""


def learn(
    model: nn.Module, batch_loss: Learnable, schedule: Schedule, advance: Callable[[int], object]
) -> float:
    """Train a model; ``advance`` is called with the number of steps done.

    Returns:
        The minutes that it took.
    """
    began = time.perf_counter()
    optimizer = torch.optim.Adam(model.parameters(), schedule.rate, eps=1e-6)
    model.train()
    for step in range(1, schedule.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = schedule.rate_at(step)
        optimizer.zero_grad()
        loss, wrong = batch_loss(step)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), schedule.clip)
        if schedule.noise:
            _add_noise(model, schedule.noise * wrong / step**0.5)
        optimizer.step()
        advance(step)
    model.eval()
    return (time.perf_counter() - began) / 60


def _add_noise(model: nn.Module, deviation: float) -> None:
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.add_(torch.randn_like(parameter.grad), alpha=deviation)


def answer_loss(logits: Tensor, answers: Tensor) -> tuple[Tensor, float]:
    """Mean cross-entropy per position, and the share of rows with a wrong symbol.

    Args:
        logits: ``(batch, length, symbols)``.
        answers: ids ``(batch, length)``; all of them count, padding too.
    """
    loss = cross_entropy(logits.flatten(0, 1), answers.flatten())
    wrong = (logits.detach().argmax(-1) != answers).any(-1).float().mean().item()
    return loss, wrong


class SmallTransformer(nn.Module):
    """Dragoman's Transformer, which writes an answer of known length.

    Args:
        symbols: number of ids of sources and answers, where :data:`PAD` is padding.
        d_model: width; the feed-forward layers are four times as wide.
        layers: number of encoder layers, and of decoder layers.
        dropout: as in the paper.
    """

    def __init__(
        self, symbols: int, d_model: int = 64, layers: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        config = Transformer.Config(
            d_model=d_model,
            encoder_layers=layers,
            decoder_layers=layers,
            heads=4,
            d_ff=4 * d_model,
            norm="pre",
            dropout=dropout,
        )
        self.begin = symbols
        self.inner = Transformer(config, symbols + 1, symbols + 1)

    def loss(self, source: Tensor, answers: Tensor) -> tuple[Tensor, float]:
        """See :func:`answer_loss`; takes ids ``(batch, source)`` and ``(batch, length)``."""
        begin = answers.new_full((len(answers), 1), self.begin)
        target = torch.cat([begin, answers[:, :-1]], 1)
        memory = self.inner.encode(source, source != PAD)
        hidden, _ = self.inner.decode(target, memory, self.inner.start(memory))
        return answer_loss(self._scores(hidden), answers)

    def _scores(self, hidden: Tensor) -> Tensor:
        """Logits of the symbols alone: the begin symbol is never written."""
        return self.inner.logits(hidden)[..., : self.begin]

    @torch.no_grad()
    def answer(self, source: Tensor, length: int) -> Tensor:
        """Write ``length`` symbols greedily: ``(batch, source)`` to ``(batch, length)``."""
        memory = self.inner.encode(source, source != PAD)
        state = self.inner.start(memory)
        last = source.new_full((len(source), 1), self.begin)
        written = []
        for _ in range(length):
            hidden, state = self.inner.decode(last, memory, state)
            last = self._scores(hidden).argmax(-1)
            written.append(last)
        return torch.cat(written, 1)
