"""Elastic weight consolidation: a model learns a new domain without forgetting.

Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural networks" (arXiv:1612.00796),
equation 3: the loss gets the penalty

    weight / 2 * sum_i F_i (theta_i - theta0_i)^2

where ``theta0`` are the weights that training began with, and ``F`` is the diagonal of the Fisher
information on general text, which measures how much the likelihood depends on each weight.
Thompson et al. 2019 (N19-1209) do so for translation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BeforeValidator, Field
from torch import Tensor, nn

from dragoman.core.config import Config
from dragoman.core.errors import DataError
from dragoman.data.batches import Batch, make_batch
from dragoman.models.interface import TranslationModel
from dragoman.saved.weights import read_tensors, write_tensors
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.reservoir import Reservoir
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.distributed import World
from dragoman.training.objectives.cross_entropy import CrossEntropy
from dragoman.training.sharding.vector import VectorSharding

CONSOLIDATION_FILE = "consolidation.safetensors"
"""A run's file with the Fisher information and the weights that training began with, by name."""
_FISHER, _ORIGIN = "fisher.", "origin."


def _several(value: Any) -> Any:
    """A single part as a list."""
    return [value] if isinstance(value, (Mapping, CorpusPart)) else value


class ConsolidationConfig(Config):
    """Elastic weight consolidation (Kirkpatrick et al. 2017; in translation, Thompson et al. 2019).

    Adds weight / 2 times the sum of F (theta - theta0)^2 to the loss per target token, where theta0
    are the weights of `start_from` and F their diagonal Fisher information on general text.
    """

    weight: float = Field(ge=0, le=1e12)
    """Weight of the penalty; 0 disables it. The right value depends on the model and on both texts:
    try powers of ten."""
    pairs: int = Field(1000, ge=1, le=10_000_000)
    """Maximum pairs of `text` on which the Fisher information is estimated, drawn at random; each
    takes a backward pass, once when training begins."""
    text: Annotated[tuple[CorpusPart, ...], Field(min_length=1), BeforeValidator(_several)]
    """General text that the model should not unlearn, such as its training text: one part or
    several, from which pairs are drawn in proportion to their sizes."""


class Consolidation:
    """The penalty of weights that move away from their initial values.

    Args:
        sharding: has the weights and their gradient, or a share of them.
        fisher: diagonal Fisher information by the names of the learned weights.
        origin: the weights that training began with, by the same names.
        weight: of the penalty.
    """

    def __init__(
        self,
        sharding: VectorSharding,
        fisher: dict[str, Tensor],
        origin: dict[str, Tensor],
        weight: float,
    ) -> None:
        self._sharding, self._weight = sharding, weight
        self._fisher, self._origin = sharding.flat(fisher), sharding.flat(origin)

    def add_gradient(self, tokens: float) -> None:
        """Add its gradient, times ``tokens``, to that of the step, which divides by them."""
        moved = self._sharding.master - self._origin
        self._sharding.gradient.addcmul_(moved, self._fisher, value=self._weight * tokens)

    def value(self) -> float:
        """The penalty itself; a collective of all processes."""
        moved = self._sharding.master - self._origin
        return self._sharding.total(self._fisher * moved * moved) * self._weight / 2


def write_consolidation(
    path: Path, model: TranslationModel, batches: Sequence[Batch], world: World
) -> None:
    """Measure the Fisher information, and write it with the current weights.

    The leading process writes the file.  Every process has all batches, of one pair each.
    """
    fisher = fisher_diagonal(model, batches, world)
    origin = {name: p for name, p in model.named_parameters() if p.requires_grad}
    tensors = {f"{_FISHER}{name}": tensor for name, tensor in fisher.items()}
    tensors |= {f"{_ORIGIN}{name}": tensor for name, tensor in origin.items()}
    world.broadcast(lambda: write_tensors(path, tensors))


def read_consolidation(path: Path, sharding: VectorSharding, weight: float) -> Consolidation:
    """The penalty of a run, from the file of :func:`write_consolidation`."""
    tensors = read_tensors(path)
    fisher, origin = (
        {name[len(prefix) :]: t for name, t in tensors.items() if name.startswith(prefix)}
        for prefix in (_FISHER, _ORIGIN)
    )
    return Consolidation(sharding, fisher, origin, weight)


def fisher_diagonal(
    model: TranslationModel, batches: Sequence[Batch], world: World
) -> dict[str, Tensor]:
    """The empirical Fisher information: mean squares of gradients of log p(target | source).

    ``F_i = 1/N sum_n (d log p(y_n | x_n) / d theta_i)^2`` over N pairs (Thompson et al. 2019,
    equation 4), without dropout or label smoothing.

    Batches are of one pair each, as squares of sums over several pairs would differ.  The processes
    share the pairs, and all get the same result.  The model, in float32, is left unchanged.

    Returns:
        By the names of the parameters that learn, in their shapes.
    """
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    parameters = list(named.values())
    squares = torch.zeros(
        sum(p.numel() for p in parameters), dtype=torch.float64, device=parameters[0].device
    )
    objective = CrossEntropy(0.0)
    was_training = model.training
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.RNNBase):  # cuDNN's backward pass needs it; they have no dropout
            module.training = True
    for batch in batches[world.rank :: world.size]:
        objective.backward(model, batch.to(parameters[0].device))
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        squares += torch.cat([g.reshape(-1) for g in gradients]).double().square()
        model.zero_grad(set_to_none=True)
    model.train(was_training)
    fisher = (world.all_reduce(squares) / len(batches)).float()
    parts = fisher.split([p.numel() for p in parameters])
    return {name: part.view(named[name].shape) for name, part in zip(named, parts, strict=True)}


def general_pairs(
    config: ConsolidationConfig,
    parts: Sequence[CorpusPart],
    vocabularies: Vocabularies,
    *,
    max_pieces: int,
    seed: int,
) -> list[Batch]:
    """A sample of the general text, as batches of one pair each.

    A pair with a side longer than ``max_pieces`` is left out, as in training.

    Raises:
        DataError: the text cannot be read, or has no usable pair.
    """
    sample: Reservoir[Pair] = Reservoir(config.pairs, seed)
    for part in parts:
        for pair in evaluation_pairs(part):
            sample.add(pair)
    sources = vocabularies.source.encode_batch([pair.source for pair in sample.items])
    targets = vocabularies.target.encode_batch([pair.target for pair in sample.items])
    batches = [
        make_batch([source], [target])
        for source, target in zip(sources, targets, strict=True)
        if max(len(source), len(target)) <= max_pieces
    ]
    if not batches:
        names = ", ".join(part.name for part in parts)
        raise DataError(
            f"{names}: no pair with both sides filled and at most {max_pieces} pieces each "
            "(training.consolidation.text)"
        )
    return batches
