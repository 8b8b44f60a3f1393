"""Encoding the text, and measuring the speed of models on real batches of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

import numpy as np

from dragoman.core.device import best_device
from dragoman.core.errors import ConfigError, DataError
from dragoman.data.batches import Batch, make_batch
from dragoman.data.grouping import group_by_length
from dragoman.models import ModelConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.text.formats import Pair
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_needs import Unknown
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.training.settings import TrainingConfig
from dragoman.workflows.init.choose import Pieces, Size, plan_vocabulary, smaller_vocabularies
from dragoman.workflows.init.look import Facts
from dragoman.workflows.rehearsal import Measured, Rehearsal

_SECONDS = 4.0  # of training steps per measured model
_SMALL_STEP_TOKENS = 2000  # for a first estimate on a CPU, where larger steps are hardly faster


@dataclass(frozen=True)
class EncodedSample:
    """A sample encoded with a vocabulary that the text allows."""

    config: VocabularyConfig
    vocabularies: Vocabularies
    sources: list[list[int]]
    targets: list[list[int]]


def encode(facts: Facts, sample: Sequence[Pair], held_out: Sequence[Pair] = ()) -> EncodedSample:
    """Train the vocabulary, smaller than planned if the text is too small.

    Args:
        held_out: pairs of the dev and test sets; their characters missing from the text are
            spelt in bytes.
    """
    encoded = _encoded(plan_vocabulary(facts), sample)
    if not encoded.config.byte_fallback and _is_lacking(encoded.vocabularies, held_out):
        with suppress(DataError):  # the text is too small for bytes
            return _encoded(plan_vocabulary(facts, is_lacking=True), sample)
    return encoded


def _is_lacking(vocabularies: Vocabularies, pairs: Sequence[Pair]) -> bool:
    """Whether some pairs have characters that the vocabularies cannot spell."""
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return any(
        Unknown.of(lines, vocabulary).pieces
        for lines, vocabulary in zip(sides, vocabularies, strict=True)
    )


def _encoded(wanted: VocabularyConfig, sample: Sequence[Pair]) -> EncodedSample:
    problem: ConfigError | None = None
    for config in smaller_vocabularies(wanted):
        try:
            vocabularies = train_vocabularies(sample, config, seed=1)
        except ConfigError as error:
            problem = error
            continue
        return EncodedSample(
            config,
            vocabularies,
            vocabularies.source.encode_batch([pair.source for pair in sample]),
            vocabularies.target.encode_batch([pair.target for pair in sample]),
        )
    raise DataError(
        "the text has too few different words and characters for a vocabulary; give more text, or "
        "look whether it repeats one line"
    ) from problem


def lengths(
    facts: Facts, encoded: EncodedSample, dev: Sequence[Pair], test: Sequence[Pair]
) -> Pieces:
    """Lengths of all sets in pieces."""

    def tokens(pairs: Sequence[Pair]) -> int:
        ids = encoded.vocabularies.target.encode_batch([pair.target for pair in pairs])
        return sum(map(len, ids)) + len(ids)

    return Pieces(
        np.array([len(ids) + 1 for ids in encoded.sources], dtype=np.int64),
        np.array([len(ids) + 1 for ids in encoded.targets], dtype=np.int64),
        facts.pairs / len(encoded.sources),
        tokens(dev),
        tokens(test),
    )


def model_of(size: Size, *, joint: bool, dropout: float) -> TransformerConfig:
    """The Transformer of that size."""
    return TransformerConfig(
        encoder_layers=size.layers,
        decoder_layers=size.layers,
        d_model=size.d_model,
        d_ff=size.d_ff,
        heads=size.heads,
        dropout=dropout,
        norm="pre",
        embeddings="shared" if joint else "target",
    )


def first_step_tokens(size: Size) -> int:
    """Tokens per step for measuring a size before the plan sets them."""
    if best_device().type == "cuda":
        return size.most_step_tokens
    return min(size.most_step_tokens, _SMALL_STEP_TOKENS)


def measure_speed(size: Size, encoded: EncodedSample, step_tokens: int, limit: int) -> float:
    """Target tokens per second of training on this machine, at its present load.

    Args:
        limit: maximum pieces; longer pairs are left out.
    """
    joint = encoded.config.joint
    rehearsal = Rehearsal(
        model_of(size, joint=joint, dropout=0.1),
        TrainingConfig(optimizer=size.optimizer),
        encoded.vocabularies,
        endless_steps(encoded, step_tokens, limit),
        seed=1,
    )
    return rehearsal.tokens_per_second(_SECONDS)


def measure_continued(
    model: ModelConfig,
    training: TrainingConfig,
    encoded: EncodedSample,
    step_tokens: int,
    limit: int,
) -> Measured:
    """Speed and memory of training a model of these sizes further, at the machine's present load.

    Args:
        model: its sizes; the weights are drawn at random.
        training: says whether an adapter learns.
        encoded: the text, in its pieces.
        step_tokens: of the steps that are measured.
        limit: maximum pieces; longer pairs are left out.
    """
    steps = endless_steps(encoded, step_tokens, limit)
    first = next(steps)
    rehearsal = Rehearsal(model, training, encoded.vocabularies, chain([first], steps), seed=1)
    kept = rehearsal.kept_bytes() / sum(batch.target_output.numel() for batch in first)
    return Measured(rehearsal.tokens_per_second(_SECONDS), kept)


def endless_steps(encoded: EncodedSample, step_tokens: int, limit: int) -> Iterator[list[Batch]]:
    """An endless stream of steps like those of training, in random order.

    Args:
        step_tokens: maximum padded tokens per step and side.
        limit: maximum pieces; longer pairs are left out.
    """
    groups = _groups(encoded, step_tokens, limit)
    rng = random.Random(1)
    while True:
        rng.shuffle(groups)
        for rows in groups:
            yield [_batch(rows)]


def batches_of(encoded: EncodedSample, step_tokens: int, limit: int) -> list[Batch]:
    """All pairs but those that are too long, once, such as those of a dev set."""
    return [_batch(rows) for rows in _groups(encoded, step_tokens, limit)]


_Rows = list[tuple[list[int], list[int]]]


def _groups(encoded: EncodedSample, step_tokens: int, limit: int) -> list[_Rows]:
    pairs = [
        pair
        for pair in zip(encoded.sources, encoded.targets, strict=True)
        if max(map(len, pair)) <= limit
    ]
    if not pairs:
        raise DataError(
            f"no pair of the text has at most {limit} pieces on either side, and a model reads "
            "single sentences; split its lines into sentences"
        )
    sides = [np.array([len(pair[side]) + 1 for pair in pairs]) for side in (0, 1)]
    groups = group_by_length(sides[0], sides[1], step_tokens)
    return [[pairs[row] for row in group] for group in groups]


def _batch(rows: _Rows) -> Batch:
    return make_batch([source for source, _ in rows], [target for _, target in rows])
