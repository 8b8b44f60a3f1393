"""Checks of the text in pieces: coverage by the vocabulary, and sentence lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.data.vocabularies import Parent, check_tags, label_vocabularies
from dragoman.recipe import ExperimentConfig
from dragoman.run.parents import check_parents
from dragoman.text.corpora.cleaning import normalize
from dragoman.text.formats import Pair
from dragoman.text.vocabularies import UNK, Vocabularies, Vocabulary
from dragoman.text.vocabularies.extension import extend_vocabularies, extensible
from dragoman.text.vocabularies.vocabulary_needs import Unknown, vocabulary_needs
from dragoman.text.vocabularies.vocabulary_training import train_weighted_vocabularies
from dragoman.validation import too_long
from dragoman.workflows.doctor import Diagnosis, error, ok, warning
from dragoman.workflows.doctor.text_checks import SAMPLE_PAIRS, Texts

_SHOWN_CHARACTERS = 10


@dataclass
class Encoded:
    """The sample, encoded."""

    vocabularies: Vocabularies | None = None
    """Trained on the sample for this examination only; None if that fails."""
    sources: list[list[int]] = field(default_factory=list)
    targets: list[list[int]] = field(default_factory=list)


def check_vocabulary(
    config: ExperimentConfig, texts: Texts, encoded: Encoded
) -> Iterator[Diagnosis]:
    """Check that the vocabulary can be made, and covers dev and test."""
    try:
        parent = check_parents(config)
        tagged = {**config.parts_by_key(), **config.general_text()}
        check_tags(config.full_vocabulary(), parent, tagged)
    except (ConfigError, SavedError) as problem:
        yield error("start", str(problem))
        return
    try:
        vocabularies = _vocabularies(config, texts, parent)
    except (ConfigError, DataError) as problem:
        if texts.kept > SAMPLE_PAIRS:  # may work on the whole text
            yield warning("vocabulary", f"on a sample of {SAMPLE_PAIRS:,} pairs: {problem}")
        else:
            yield error("vocabulary", str(problem))
        return
    encoded.vocabularies = vocabularies
    encoded.sources = vocabularies.source.encode_batch([pair.source for pair in texts.train])
    encoded.targets = vocabularies.target.encode_batch([pair.target for pair in texts.train])
    size = f"{len(vocabularies.target):,} pieces"
    yield ok("vocabulary", f"{size}, {'joint' if vocabularies.joint else 'per side'}")
    yield from _check_start(config, texts, parent)
    for name, pairs in texts.evaluation.items():
        yield from _check_coverage(name, pairs, vocabularies)


def _check_start(
    config: ExperimentConfig, texts: Texts, parent: Parent | None
) -> Iterator[Diagnosis]:
    """Check that the vocabulary that training starts from is extended where that pays."""
    if parent is None or parent.setting != "training.start_from" or config.model.writes_labels:
        return
    if not all(map(extensible, parent.vocabularies)):
        return
    needs = vocabulary_needs(
        parent.vocabularies, texts.sample, config.full_vocabulary(), seed=config.seed
    )
    *sides, conclusion = needs.described()
    text = "; ".join([*sides, conclusion])
    if needs.pays and not parent.extended:
        size = f"training.start_from.vocabulary: extend and vocabulary.size: {needs.size}"
        yield warning("vocabulary", f"{text}; set {size}")
    elif parent.extended and not needs.pays:
        keep = "set training.start_from.vocabulary: keep"
        yield warning("vocabulary", f"{text}; {keep}, or each new piece has to be learned")
    else:
        yield ok("vocabulary", text)


def _vocabularies(config: ExperimentConfig, texts: Texts, parent: Parent | None) -> Vocabularies:
    """Vocabularies trained on the sample, or those of the model that training starts from."""
    if config.model.writes_labels:
        return label_vocabularies(texts.sample, config.full_vocabulary(), config.seed, parent)
    if parent is None:
        return train_weighted_vocabularies(texts.sample, config.full_vocabulary(), seed=config.seed)
    if parent.extended:
        return extend_vocabularies(
            parent.vocabularies, texts.sample, config.full_vocabulary(), seed=config.seed
        )
    return parent.vocabularies


def _check_coverage(
    name: str, pairs: list[Pair], vocabularies: Vocabularies
) -> Iterator[Diagnosis]:
    for side, vocabulary in zip(("source", "target"), vocabularies, strict=True):
        unknown = Unknown.of([getattr(pair, side) for pair in pairs], vocabulary)
        if not unknown.pieces:
            continue
        yield warning(
            "vocabulary",
            f"{name}: {unknown.pieces:,} unknown pieces in {len(unknown.lines):,} {side} lines "
            f"({_unknown_characters(unknown.lines, vocabulary)}); more training text or "
            "vocabulary.byte_fallback: true would cover them",
        )


def _unknown_characters(lines: list[str], vocabulary: Vocabulary) -> str:
    tags = set(vocabulary.pieces(vocabulary.tags))
    words = (word for line in lines for word in normalize(line).split() if word not in tags)
    counts = Counter(character for word in words for character in word)
    unknown = [c for c, _ in counts.most_common() if UNK in vocabulary.encode(c)]
    more = ", ..." if len(unknown) > _SHOWN_CHARACTERS else ""
    return ", ".join(f"{c} U+{ord(c):04X}" for c in unknown[:_SHOWN_CHARACTERS]) + more


def check_lengths(config: ExperimentConfig, texts: Texts, encoded: Encoded) -> Iterator[Diagnosis]:
    """Check sentence lengths in pieces against the limits of training and translation."""
    sides = {"source": encoded.sources, "target": encoded.targets}
    lengths = {side: np.array([len(ids) for ids in side_ids]) for side, side_ids in sides.items()}
    for side, values in lengths.items():
        if side == "source" and not config.model.reads_source:
            continue
        middle, high, highest = np.percentile(values, (50, 95, 99)).astype(int)
        yield ok(
            "lengths",
            f"{side}: half of the sentences up to {middle} pieces, 95% up to {high}, 99% up to "
            f"{highest}, longest {values.max()}",
        )
    limit = config.data.max_pieces
    longest = np.maximum(lengths["source"], lengths["target"])
    if (share := float((longest > limit).mean())) == 1 and texts.kept <= SAMPLE_PAIRS:
        yield error(
            "lengths", f"all pairs exceed data.max_pieces {limit} and are dropped; raise it"
        )
    elif share > 0:
        finding = warning if share > 0.01 else ok
        yield finding(
            "lengths", f"{share:.2%} of the pairs exceed data.max_pieces {limit} and are dropped"
        )
    positions = config.model.position_limit
    if positions is not None and positions <= limit:
        yield error(
            "lengths",
            f"model.max_positions {positions} must be above data.max_pieces "
            f"{limit} to leave room for the end symbol",
        )
    yield from _check_evaluation_lengths(config, texts, encoded)


def _check_evaluation_lengths(
    config: ExperimentConfig, texts: Texts, encoded: Encoded
) -> Iterator[Diagnosis]:
    """Detect dev and test lines that translation refuses, which would end the run at scoring."""
    assert encoded.vocabularies is not None
    positions = config.model.position_limit
    for name, pairs in texts.evaluation.items():
        context = config.data.context
        reason = too_long(pairs, encoded.vocabularies, config.search, positions, context)
        if reason is not None:
            yield error(name, reason)
