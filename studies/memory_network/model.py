"""The end-to-end memory network (Sukhbaatar et al. 2015, arXiv:1503.08895)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from studies.learning import PAD, answer_loss


def position_encoding(lengths: Tensor, words: int, width: int) -> Tensor:
    """Weights of word j and dimension k of sentences of J words; section 4.1.

    ``l_kj = (1 - j/J) - (k/d)(1 - 2j/J)``, with j and k from 1; unlike a sum of embeddings, the
    weighted one depends on the order of words.

    Args:
        lengths: J of each sentence, ``(...)``.
        words: number of places, padding included.
        width: d.

    Returns:
        ``(..., words, width)``.
    """
    j = torch.arange(1, words + 1) / lengths.clamp(min=1)[..., None]  # (..., words)
    k = torch.arange(1, width + 1) / width
    return (1 - j)[..., None] - k * (1 - 2 * j)[..., None]


class MemoryNetwork(nn.Module):
    """Hops of attention over the sentences of a story, with adjacent weight tying (section 2.2).

    ``A^{k+1} = C^k``, ``B = A^1`` and ``W = C^K`` transposed, so there are K + 1 matrices, and as
    many temporal encodings, which count sentences from the last one backwards.

    Args:
        symbols: number of ids.
        width: d.
        hops: K.
        sentences: maximum number of sentences; only the last ones of a longer story are read.
    """

    def __init__(self, symbols: int, width: int = 32, hops: int = 3, sentences: int = 50) -> None:
        super().__init__()
        self.hops, self.sentences = hops, sentences
        self.linear = False
        """Whether the softmax over sentences is left out, as at first (section 4.2)."""
        self.matrices = nn.ParameterList(torch.empty(symbols, width) for _ in range(hops + 1))
        self.times = nn.ParameterList(torch.empty(sentences, width) for _ in range(hops + 1))
        for weights in self.parameters():
            nn.init.normal_(weights, std=0.1)

    def embed(self, which: int, words: Tensor) -> Tensor:
        """Sentences by one of the matrices: ids ``(..., words)`` to ``(..., width)``."""
        embedded = self.matrices[which][words]  # (..., words, width)
        there = words != PAD
        weights = position_encoding(there.sum(-1), *embedded.shape[-2:])
        # The output layer trains the row of padding, too, so that it does not stay zero.
        return (weights * embedded * there[..., None]).sum(-2)

    def forward(self, story: Tensor, question: Tensor) -> Tensor:
        """Logits of the answer.

        Args:
            story: ids ``(batch, sentences, words)``, the last sentence last.
            question: ids ``(batch, words)``.

        Returns:
            ``(batch, symbols)``.
        """
        story = story[:, -self.sentences :].flip(1)  # the latest first, as times are counted
        times = [time[: story.shape[1]] for time in self.times]
        state = self.embed(0, question)  # u, (batch, width)
        for hop in range(self.hops):
            memory = self.embed(hop, story) + times[hop]  # m, (batch, sentences, width)
            output = self.embed(hop + 1, story) + times[hop + 1]  # c, the same
            state = self.hop(state, memory, output)
        return state @ self.matrices[-1].T

    def hop(self, state: Tensor, memory: Tensor, output: Tensor) -> Tensor:
        """``u + o`` with ``o = sum_i p_i c_i`` and ``p = softmax(u m_i)``; equations (1) and (2).

        Args:
            state: u, ``(batch, width)``.
            memory: m, ``(batch, sentences, width)``.
            output: c, ``(batch, sentences, width)``.
        """
        scores = torch.einsum("bd,bsd->bs", state, memory)
        shares = scores if self.linear else scores.softmax(-1)
        return state + torch.einsum("bs,bsd->bd", shares, output)

    def loss(self, story: Tensor, question: Tensor, answers: Tensor) -> tuple[Tensor, float]:
        """See :func:`answer_loss`; answers are ``(batch,)``."""
        return answer_loss(self(story, question)[:, None], answers[:, None])

    @torch.no_grad()
    def answer(self, story: Tensor, question: Tensor) -> Tensor:
        """The most likely answers, ``(batch,)``."""
        most: Tensor = self(story, question).argmax(-1)
        return most
