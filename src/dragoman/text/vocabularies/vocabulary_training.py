"""Training of vocabularies by sentencepiece, on text in which pairs may count more than once."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import sentencepiece

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.examples import Example
from dragoman.text.pairs import Pair
from dragoman.text.reservoir import Reservoir, tempered, whole_counts
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.sentencepiece_vocabulary import TAGS_ALONE, SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary import (
    BOS,
    EOS,
    PAD,
    UNK,
    UNKNOWN_SURFACE,
    VocabularyConfig,
    prepare_line,
)

Sides = tuple[str, str] | Pair | Example
"""A source and its target."""

Counted = tuple[str, int]
"""A line and its count."""

# The number of threads changes the last digits of a unigram model, and is stored in the file.  A
# fixed number gives the same model on every machine, and costs nothing on a small one.
_TRAINING_THREADS = 16
_COUNTED: dict[str, Any] = {"input_format": "tsv"}
_ANY_SIZE: dict[str, Any] = {"hard_vocab_limit": False}
_EVERY_WORD: dict[str, Any] = {"use_all_vocab": True}
_SMALLEST_COUNT = 100  # of a line if languages are balanced: within half a percent of its weight
_LONGEST_TRAINING_LINE = 2**20  # bytes; sentencepiece drops longer lines silently
# sentencepiece's trainer writes it for unknown characters, and drops lines that have it silently.
_RESERVED = "\u2585"


def train_vocabularies(
    pairs: Iterable[Sides], config: VocabularyConfig, *, seed: int
) -> Vocabularies:
    """:func:`train_weighted_vocabularies` with the same weight for all pairs."""
    return train_weighted_vocabularies(((pair, 1.0) for pair in pairs), config, seed=seed)


def train_weighted_vocabularies(
    pairs: Iterable[tuple[Sides, float]], config: VocabularyConfig, *, seed: int
) -> Vocabularies:
    """Trains the vocabularies of a corpus; the same pairs and seed give the same files.

    A pair of weight 2 counts like two of weight 1, in the proportions of
    :func:`~dragoman.text.reservoir.whole_counts`.

    Args:
        pairs: sources and targets with their weight, read once. At most ``config.training_pairs``
            are kept, each with the same probability.
    """
    sources, targets = counted_lines(pairs, config, seed, joint=config.joint)
    if config.joint:
        vocabulary = train_vocabulary(sources + targets, config, "")
        return Vocabularies(vocabulary, vocabulary)
    return Vocabularies(
        train_vocabulary(sources, config, "source "),
        train_vocabulary(targets, config, "target ", kind=config.target_kind),
    )


def counted_lines(
    pairs: Iterable[tuple[Sides, float]], config: VocabularyConfig, seed: int, *, joint: bool
) -> tuple[list[Counted], list[Counted]]:
    """The lines of each side of a sample of at most ``training_pairs`` pairs, counted by weight.

    ``config.balance`` sets the weight of each language. All directions then have an equal share of
    the sample.

    Args:
        pairs: examples if languages are balanced.
        config: only ``training_pairs`` and ``balance`` are read.
        joint: whether the lines of both sides train one vocabulary, and languages count over both.
    """
    if config.balance is None:
        sample: Reservoir[tuple[Sides, float]] = Reservoir(config.training_pairs, seed)
        for pair in pairs:
            sample.add(pair)
        counts = whole_counts(weight for _, weight in sample.items)
        sources = [(pair[0], counts[weight]) for pair, weight in sample.items]
        targets = [(pair[1], counts[weight]) for pair, weight in sample.items]
        return sources, targets
    sides = balanced_lines(pairs, config.balance, config.training_pairs, seed, joint=joint)
    weights = (weight for side in sides for _, weight in side)
    counts = whole_counts(weights, smallest=_SMALLEST_COUNT)
    counted = [[(line, counts[weight]) for line, weight in side] for side in sides]
    return counted[0], counted[1]


def balanced_lines(
    pairs: Iterable[tuple[Sides, float]],
    temperature: float,
    most: int,
    seed: int,
    *,
    joint: bool,
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The lines of each side of at most ``most`` pairs, weighted by their languages.

    Each direction gets the same number of places in the sample, so that small ones are kept whole.
    The weights then restore the original size of each direction, tempered by language.

    Args:
        pairs: examples with their weights; pairs without languages count as one direction.
        joint: whether a language is counted over both sides together.
    """
    samples = _sampled(pairs, most, seed)
    sides: list[list[tuple[str, str, float]]] = [[], []]
    for languages, sample in samples.items():
        scale = sample.seen / len(sample.items)
        for pair, weight in sample.items:
            for text, language, lines in zip(pair[:2], languages, sides, strict=True):
                if text:
                    lines.append((text, language, weight * scale))
    sizes: list[dict[str, float]] = [defaultdict(float), defaultdict(float)]
    for side, lines in enumerate(sides):
        for _, language, weight in lines:
            sizes[0 if joint else side][language] += weight
    factors = [tempered(one, temperature) for one in sizes]
    weighted = [
        [(line, weight * factors[0 if joint else side][language]) for line, language, weight in one]
        for side, one in enumerate(sides)
    ]
    return weighted[0], weighted[1]


def _sampled(
    pairs: Iterable[tuple[Sides, float]], most: int, seed: int
) -> dict[tuple[str, str], Reservoir[tuple[Sides, float]]]:
    """A sample of each direction; all directions share the ``most`` places equally.

    The number of directions is not known in advance, so samples shrink as new ones appear.
    """
    samples: dict[tuple[str, str], Reservoir[tuple[Sides, float]]] = {}
    for item in pairs:
        pair = item[0]
        languages = (
            (pair.source_language, pair.target_language)
            if isinstance(pair, Example)
            else ("source", "target")
        )
        if languages not in samples:
            room = max(1, most // (len(samples) + 1))
            for sample in samples.values():
                sample.shrink(room)
            samples[languages] = Reservoir(room, seed)
        samples[languages].add(item)
    return samples


def train_vocabulary(
    lines: Sequence[Counted],
    config: VocabularyConfig,
    side: str,
    *,
    exact_size: bool = True,
    kind: Literal["bpe", "unigram", "word"] | None = None,
) -> SentencePieceVocabulary:
    """Trains on lines, each repeated by its count.

    Args:
        side: name of the side in messages, such as "source "; empty for both.
        exact_size: whether a text that does not give ``config.size`` pieces is an error.
        kind: in place of ``config.kind``; ``word`` makes a piece of every word, without limit.

    Raises:
        ConfigError: the size does not fit the text.
        DataError: there is no text.
    """
    prepared = ((prepare_line(raw.replace(_RESERVED, " ")), count) for raw, count in lines)
    text = [(line, count) for line, count in prepared if line]
    if not text:
        raise DataError(f"there is no {side}text to train a vocabulary on; is the corpus empty?")
    weighted = any(count > 1 for _, count in text)  # normalised text has no tab
    model = io.BytesIO()
    kind = kind or config.kind
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(f"{line}\t{n}" if weighted else line for line, n in text),
            **(_COUNTED if weighted else {}),  # would be stored in the model
            **({} if exact_size else _ANY_SIZE),
            **(_EVERY_WORD if kind == "word" else {}),
            model_writer=model,
            model_type=kind,
            vocab_size=config.size,
            byte_fallback=config.byte_fallback and kind != "word",
            character_coverage=config.character_coverage,
            normalization_rule_name=config.normalization,
            user_defined_symbols=[] if kind == "word" else list(config.tags),  # words already
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            unk_surface=UNKNOWN_SURFACE,
            max_sentence_length=_LONGEST_TRAINING_LINE,
            num_threads=_TRAINING_THREADS,
            minloglevel=2,  # errors only: they also come as exceptions
        )
    except RuntimeError as error:
        raise _explain(error, config, side) from error
    return SentencePieceVocabulary(model.getvalue() + TAGS_ALONE)


def _explain(error: RuntimeError, config: VocabularyConfig, side: str) -> ConfigError:
    size = f"vocabulary.size {config.size}"
    # The bounds of two sides may leave no size for both.
    other = (
        "; if no size suits both sides, set vocabulary.joint: true or another vocabulary.kind"
        if side
        else ""
    )
    if found := re.search(r"too high.*<= (\d+)", str(error)):
        return ConfigError(
            f"{size} is larger than the {side}text allows; set it to {found[1]} or less{other}"
        )
    if found := re.search(r"required_chars\. \d+ vs (\d+)", str(error)):
        return ConfigError(
            f"{size} is too small for the characters of the {side}text; set it to {found[1]} or "
            f"more, or lower vocabulary.character_coverage{other}"
        )
    return ConfigError(f"sentencepiece cannot train the {side}vocabulary: {error}")
