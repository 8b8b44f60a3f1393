"""Tiny models of two families, in float64, so that near ties and rounding decide nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from dragoman.data.batches import pad_sources
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.interface import Memory, State, TranslationModel

Build = Callable[..., TranslationModel]

# Threads waiting for one another take longer than matrices this small.
torch.set_num_threads(1)


@dataclass(frozen=True)
class RecurrentState(State):
    hidden: Tensor  # (rows, width)


class Recurrent(TranslationModel):
    """A mean of source embeddings read at every step of a GRU: small, and unlike attention."""

    def __init__(self, source_vocabulary: int, target_vocabulary: int, width: int = 5) -> None:
        super().__init__()
        self.source = nn.Embedding(source_vocabulary, width)
        self.target = nn.Embedding(target_vocabulary, width)
        self.cell = nn.GRUCell(2 * width, width)
        self.output = nn.Linear(width, target_vocabulary)

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        mask = source_mask.unsqueeze(2)
        place = torch.arange(1, source.size(1) + 1).unsqueeze(1)  # order matters
        total = (self.source(source) * mask * place).sum(1, keepdim=True)
        return Memory(total / mask.sum(1, keepdim=True), source_mask)

    def start(self, memory: Memory, beam: int = 1) -> RecurrentState:
        return RecurrentState(memory.hidden[:, 0].repeat_interleave(beam, dim=0))

    def decode(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, RecurrentState]:
        assert isinstance(state, RecurrentState)
        hidden, outputs = state.hidden, []
        context = memory.hidden[:, 0].repeat_interleave(len(target) // len(memory.hidden), dim=0)
        for position in range(target.size(1)):
            embedded = self.target(target[:, position])
            hidden = self.cell(torch.cat([embedded, context], dim=1), hidden)
            outputs.append(hidden)
        return torch.stack(outputs, dim=1), RecurrentState(hidden)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.output(hidden)


def _recurrent(source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    return Recurrent(source_vocabulary, target_vocabulary)


def _transformer(source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    config = TransformerConfig(
        encoder_layers=2,
        decoder_layers=2,
        d_model=6,
        d_ff=7,
        heads=2,
        dropout=0.3,
        embeddings="separate",
    )
    return Transformer(config, source_vocabulary, target_vocabulary)


@pytest.fixture(params=[_recurrent, _transformer], ids=["recurrent", "transformer"])
def build(request: pytest.FixtureRequest) -> Build:
    """``build(seed, source_vocabulary, target_vocabulary)``: one of the families."""

    def build(
        seed: int = 1, source_vocabulary: int = 11, target_vocabulary: int = 13, spread: float = 4.0
    ) -> TranslationModel:
        torch.manual_seed(seed)
        model: TranslationModel = request.param(source_vocabulary, target_vocabulary)
        model.double().eval().requires_grad_(False)
        with torch.no_grad():  # so sharp that hypotheses differ much in score
            for parameter in model.get_submodule("output").parameters():
                parameter.mul_(spread)
        return model

    return build


@pytest.fixture
def pad() -> Callable[[Sequence[Sequence[int]]], tuple[Tensor, Tensor]]:
    return pad_sources
