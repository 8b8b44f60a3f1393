"""The vocabularies of a run: trained on its training text, and retrained when it changes.

A run that starts from another model keeps the vocabularies of that model, or extends them.
``vocabulary.json`` beside them records their origin and identifies them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import storage_errors, write_json
from dragoman.data.origin import InputFile, clean_text_settings, digest, same_content
from dragoman.data.prepare import nothing_left
from dragoman.data.store import Side, Store
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport, clean_part
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example
from dragoman.text.labels import label_vocabulary
from dragoman.text.tags import missing_tags
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.extension import extend, extend_vocabularies
from dragoman.text.vocabularies.piece_frequencies import PieceFrequencies
from dragoman.text.vocabularies.saved_vocabularies import FILE_NAMES
from dragoman.text.vocabularies.vocabulary_training import (
    counted_lines,
    train_vocabulary,
    train_weighted_vocabularies,
)

ORIGIN_FILE = "vocabulary.json"

WeightedExamples = Callable[[], Iterator[tuple[Example, float]]]
"""Yields the cleaned text of all parts in order, each example with the weight of its part."""


@dataclass(frozen=True)
class Parent:
    """The vocabularies of the model that a run starts from or takes the vocabulary of."""

    vocabularies: Vocabularies
    where: str
    """Its name in messages."""
    extended: bool
    """Whether its vocabulary is extended by pieces of the new text."""
    setting: Literal["training.start_from", "vocabulary.of"] = "training.start_from"
    """The setting that names it."""


class VocabularyOrigin(Config):
    """The content of ``vocabulary.json``."""

    settings: str
    """Digest of all settings that they depend on."""
    inputs: list[InputFile]
    """The corpus files."""
    fingerprints: list[str]
    """Fingerprints of the source and the target vocabulary."""


def prepare_vocabularies(
    directory: Path,
    parts: Sequence[CorpusPart],
    config: VocabularyConfig,
    cleaning: CleaningConfig,
    *,
    seed: int,
    inputs: Sequence[InputFile],
    held_out: frozenset[int] = frozenset(),
    parent: Parent | None = None,
    sets: Mapping[str, CorpusPart] = MappingProxyType({}),
    labels: bool = False,
    examples: WeightedExamples | None = None,
) -> Vocabularies:
    """The vocabularies in ``directory``; trained if missing, or if anything they depend on changed.

    They are trained on the cleaned text, in which a pair counts as often as an epoch shows it.
    Vocabularies that the user put there are used unchanged.

    Args:
        parts: the corpus, with absolute paths.
        parent: model whose vocabularies are kept or extended.
        sets: dev and test sets, and general text, by their key in the configuration.
        labels: whether targets are labels.  If so, each label is a piece of the target vocabulary,
            and the settings and ``parent`` apply to the source alone.
        examples: the text, cleaned elsewhere; by default it is read and cleaned here.

    Raises:
        ConfigError: the vocabulary does not fit the text, lacks a tag of it or of a set, or differs
            from that of ``parent``.
        DataError: the text cannot be used, or cleaning leaves nothing of it.
        SavedError: vocabularies that the user put there are damaged.
        StorageError: the disk refuses.
    """
    text = clean_text_settings(parts, cleaning, held_out)
    if config.balance is not None:
        text["directions"] = [part.direction.name for part in parts]
    if labels:
        text["labels"] = True
    settings = _settings(config, seed, parent, text)
    tagged = {**{f"data.train.{number}": part for number, part in enumerate(parts)}, **sets}
    if (found := _usable(directory, settings, inputs)) is not None:
        _check_descent(found, parent, directory, sides=1 if labels else 2)
        _check_known(_tags_of(found), tagged, config, parent, f"{directory}: the vocabulary here")
        return found
    check_tags(config, parent, tagged)
    if parent is not None and not parent.extended and not labels:
        _replace(directory, parent.vocabularies, settings, inputs)
        return parent.vocabularies
    report = CleaningReport()
    pairs = examples() if examples else _weighted_pairs(parts, cleaning, report, held_out)
    if (first := next(pairs, None)) is None:
        raise nothing_left(parts, report)
    whole = chain([first], pairs)
    if labels:
        vocabularies = label_vocabularies(whole, config, seed, parent)
    elif parent is None:
        vocabularies = train_weighted_vocabularies(whole, config, seed=seed)
    else:
        vocabularies = extend_vocabularies(parent.vocabularies, whole, config, seed=seed)
    _replace(directory, vocabularies, settings, inputs)
    return vocabularies


def label_vocabularies(
    pairs: Iterable[tuple[Example, float]],
    config: VocabularyConfig,
    seed: int,
    parent: Parent | None,
) -> Vocabularies:
    """A source vocabulary, kept or extended from ``parent`` if given, and one of all labels.

    Args:
        pairs: texts with their labels, and weights; read once.
    """
    found: set[str] = set()

    def watched() -> Iterator[tuple[Example, float]]:
        for example, weight in pairs:
            found.add(example.target)
            yield example, weight

    if parent is not None and not parent.extended:
        source = parent.vocabularies.source
        for _ in watched():
            pass
    else:
        lines, _ = counted_lines(watched(), config, seed, joint=False)
        if parent is None:
            source = train_vocabulary(lines, config, "source ")
        else:
            source = extend(parent.vocabularies.source, lines, config, "source ")
    return Vocabularies(source, label_vocabulary(found))


def _settings(
    config: VocabularyConfig, seed: int, parent: Parent | None, text: dict[str, Any]
) -> str:
    """Digest of everything that vocabularies depend on, apart from the content of the files."""
    # Later settings are left out if unset, so that older vocabularies are not retrained.
    later = {name for name in ("balance", "target_kind") if getattr(config, name) is None}
    trained = config.model_dump(mode="json", exclude={"sampling", "of", "digest"} | later)
    values = {"vocabulary": trained, "seed": seed, **text}
    if parent is not None:
        values |= {"parent": list(parent.vocabularies.fingerprints), "extended": parent.extended}
    return digest(values)


def check_tags(
    config: VocabularyConfig, parent: Parent | None, tagged: Mapping[str, CorpusPart]
) -> None:
    """Check that a vocabulary, before it is made, will have the tags of all sources.

    Args:
        config: with the tags of the training text.
        tagged: training text, dev and test sets and general text, by their key in the
            configuration.
    """
    known = list(config.tags)
    if parent is not None:
        own = _tags_of(parent.vocabularies)
        known = [*own, *missing_tags(known, own)] if parent.extended else own
    _check_known(known, tagged, config, parent, "the vocabulary of the run")


def _tags_of(vocabularies: Vocabularies) -> list[str]:
    return vocabularies.source.pieces(vocabularies.source.tags)


def _check_known(
    known: Sequence[str],
    tagged: Mapping[str, CorpusPart],
    config: VocabularyConfig,
    parent: Parent | None,
    where: str,
) -> None:
    """Check that all tags in front of sources are among ``known``.

    Raises:
        ConfigError: a tag is unknown.
    """
    lacking = {key: missing_tags(part.symbols(), known) for key, part in tagged.items()}
    tags = list(dict.fromkeys(chain.from_iterable(lacking.values())))
    if not tags:
        return
    is_taught = set(tags) <= set(config.tags)
    if parent is not None and not parent.extended:
        where = f"{parent.where}: its vocabulary, which is kept,"
        remedy = "Remove vocabulary.of, so that one with the tag is trained"
        if parent.setting == "training.start_from":
            remedy = "Set training.start_from.vocabulary: extend"
        remedy += ", or remove it" if is_taught else " and use the tag in data.train, or remove it"
    elif is_taught:  # the vocabulary was not made from this configuration
        remedy = "Remove it, so that one with the tag is trained here, or remove the tag"
    else:
        remedy = "Use the tag in data.train or name it in vocabulary.tags, or remove it"
    keys = ", ".join(key for key, there in lacking.items() if there)
    raise ConfigError(
        f"{where} has no tag {', '.join(tags)}; tags there: {', '.join(known) or 'none'}. "
        f"{remedy} from {keys}"
    )


def _check_descent(found: Vocabularies, parent: Parent | None, directory: Path, sides: int) -> None:
    """Check that vocabularies that the user put there match the model that the run starts from.

    Only the first of ``sides`` are compared.

    Raises:
        ConfigError: they differ.
    """
    if parent is None:
        return
    for ours, theirs in list(zip(found, parent.vocabularies, strict=True))[:sides]:
        pieces = theirs.pieces(range(len(theirs)))
        same = ours.fingerprint == theirs.fingerprint
        if not (
            same or (parent.extended and ours.pieces(range(len(ours)))[: len(pieces)] == pieces)
        ):
            story = "the run starts from; remove it, or set training.start_from.vocabulary: new"
            if parent.setting == "vocabulary.of":
                story = "vocabulary.of names; remove one of the two"
            raise ConfigError(
                f"{directory}: the vocabulary here is not that of {parent.where}, which {story}"
            )


def _usable(directory: Path, settings: str, inputs: Sequence[InputFile]) -> Vocabularies | None:
    """The existing vocabularies, unless unfinished or made here from other settings or files."""
    note = directory / ORIGIN_FILE
    if not any((directory / name).exists() for name in FILE_NAMES):
        return None
    if not note.exists():
        return Vocabularies.load(directory)
    try:
        found = Vocabularies.load(directory)
        origin = VocabularyOrigin.model_validate_json(note.read_bytes())
    except (SavedError, ValueError, OSError):
        return None  # a process was killed halfway, or an older release made it
    if origin.fingerprints != list(found.fingerprints):
        return found  # the user replaced what was made here
    current = origin.settings == settings and same_content(origin.inputs, inputs)
    return found if current else None


def _weighted_pairs(
    parts: Sequence[CorpusPart],
    cleaning: CleaningConfig,
    report: CleaningReport,
    held_out: frozenset[int],
) -> Iterator[tuple[Example, float]]:
    for part in parts:
        for pair in clean_part(part, cleaning, report, held_out=held_out):
            yield pair, part.weight


def _replace(
    directory: Path, vocabularies: Vocabularies, settings: str, inputs: Sequence[InputFile]
) -> None:
    """Replace the vocabularies in an order in which no crash leaves a mistakable set behind."""
    for name in FILE_NAMES:
        with storage_errors(directory / name):
            (directory / name).unlink(missing_ok=True)
    origin = VocabularyOrigin(
        settings=settings, inputs=list(inputs), fingerprints=list(vocabularies.fingerprints)
    )
    write_json(directory / ORIGIN_FILE, origin.model_dump())
    vocabularies.save(directory)


def counted_pieces(store: Store, vocabularies: Vocabularies) -> PieceFrequencies:
    """The share of each target piece in all text of each language.

    For a language that is translated into, the text is its targets.  For other languages it is
    their sources, counted only if both vocabularies have the same ids.
    """
    size = len(vocabularies.target)
    counts: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(size, np.int64))
    into = {part.target_language for part in store.parts}
    for number, part in enumerate(store.parts):
        sides: list[tuple[Side, str]] = [("target", part.target_language)]
        if vocabularies.same_ids and part.source_language not in into:
            sides.append(("source", part.source_language))
        for side, language in sides:
            counts[language] += store.piece_counts(side, number, size)
    return PieceFrequencies(
        {
            language: (count / max(1, count.sum())).astype(np.float32)
            for language, count in counts.items()
        }
    )
