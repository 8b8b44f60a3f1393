"""What models say about given translations (forced decoding): their scores, and where they look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from dragoman.data.batches import make_batch
from dragoman.search import score_targets
from dragoman.translation.engine import TorchEngine, evaluating
from dragoman.translation.outputs import Scored
from dragoman.translation.streaming import group_by_length


def score_encoded(
    engine: TorchEngine,
    source: Sequence[Sequence[int]],
    target: Sequence[Sequence[int]],
    batch_tokens: int,
) -> list[Scored]:
    """How likely each target is as the translation of its source.

    Args:
        engine: the scorer and its models.
        source: ids of each sentence, without begin and end symbol.
        target: the same of their translations.
        batch_tokens: size of a batch, padding included.
    """
    scored: list[Scored] = [Scored(0.0, 0)] * len(source)

    def length(number: int) -> int:
        return max(len(source[number]), len(target[number])) + 1

    with evaluating(engine.models):
        for numbers in group_by_length(range(len(source)), length, batch_tokens):
            batch = make_batch([source[n] for n in numbers], [target[n] for n in numbers])
            batch = batch.to(engine.device)
            sums = score_targets(
                engine.scorer,
                batch.source,
                batch.source_mask,
                batch.target_input,
                batch.target_output,
            )
            for number, log_probability in zip(numbers, sums.tolist(), strict=True):
                scored[number] = Scored(log_probability, len(target[number]) + 1)
    return scored


def mean_attention(
    engine: TorchEngine,
    source: Sequence[Sequence[int]],
    target: Sequence[Sequence[int]],
    batch_tokens: int,
) -> Iterator[tuple[int, Tensor]]:
    """Where models look while they write given targets, as one matrix a sentence.

    The mean over the heads of the last layer but one, which follows the translation of words best
    (Garg et al. 2019, arXiv:1909.02074, section 3.2), or of the only one; and over the models of an
    ensemble.

    Args:
        engine: its models have attention over the source.
        source: ids of each sentence, without begin and end symbol.
        target: the same of their translations.
        batch_tokens: size of a batch, padding included.

    Yields:
        The number of a sentence, longest first, and its weights ``(target, source)`` in float32 on
        the CPU, end symbols included.
    """

    def length(number: int) -> int:
        return max(len(source[number]), len(target[number])) + 1

    for numbers in group_by_length(range(len(source)), length, batch_tokens):
        batch = make_batch([source[n] for n in numbers], [target[n] for n in numbers])
        batch = batch.to(engine.device)
        found = []
        with evaluating(engine.models), torch.inference_mode():
            for model in engine.models:
                memory = model.encode(batch.source, batch.source_mask)
                weights = model.attention_weights(batch.target_input, memory)
                found.append(weights[:, max(0, weights.size(1) - 2)].float().mean(1))
        means = torch.stack(found).mean(0).cpu()  # (batch, target, source)
        for number, one in zip(numbers, means, strict=True):
            yield number, one[: len(target[number]) + 1, : len(source[number]) + 1]


def attended(engine: TorchEngine, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """Where the only model of an engine looks in a source while it writes a target.

    Returns:
        Weights ``(layers, heads, target, source)`` in float32 on the CPU, end symbols included.
    """
    (model,) = engine.models
    batch = make_batch([source], [target]).to(engine.device)
    with evaluating(engine.models), torch.inference_mode():
        memory = model.encode(batch.source, batch.source_mask)
        weights = model.attention_weights(batch.target_input, memory)
    return weights[0].float().cpu()
