"""The text of an adaptation: copies of pairs in its run, which can then always be resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.evaluation.languages import wrong_language_share
from dragoman.text.corpora.cleaning import held_out_keys
from dragoman.text.corpora.corpus import kept_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import FORMATS, Pair
from dragoman.text.reservoir import Reservoir

TEXT_DIRECTORY = "text"
FEWEST_TO_SPLIT = 200
"""Minimum pairs of a part to split off a dev set; all pairs of smaller parts are learned."""
MOST_DEV_PAIRS = 200
_REFUSED, _MUCH = 0.5, 0.1  # shares of lines in another language
_ENOUGH_LINES = 20  # below that, the language of short lines is a guess,
_ENOUGH_CHARACTERS = 100  # and below that, no guess is worth a warning


def filled_pairs(part: CorpusPart) -> list[Pair]:
    """The pairs of a part that pass its filters and have both sides."""
    pairs = [pair for pair in kept_pairs(part) if part.fills(pair)]
    if not pairs:
        raise DataError(f"{part.name}: no pair with both sides filled; give at least one")
    return pairs


def split_dev(
    pairs: Sequence[Pair], without: frozenset[int] = frozenset()
) -> tuple[list[Pair], list[Pair]]:
    """Pairs to learn from and a dev set, which is empty if the pairs are few or similar.

    The dev set is spread evenly over the text, and neither side of it is among the other pairs.

    Args:
        pairs: the text.
        without: keys of pairs that must not be in the dev set, of
            :func:`~dragoman.text.corpora.cleaning.held_out_keys`.
    """
    if len(pairs) < FEWEST_TO_SPLIT:
        return list(pairs), []
    wanted = min(MOST_DEV_PAIRS, len(pairs) // 10)
    chosen = (pairs[round((n + 0.5) * len(pairs) / wanted)] for n in range(wanted))
    dev = [pair for pair in chosen if without.isdisjoint(held_out_keys([pair]))]
    keys = held_out_keys(dev)
    rest = [pair for pair in pairs if keys.isdisjoint(held_out_keys([pair]))]
    return (rest, dev) if rest else (list(pairs), [])


def split_parts(parts: Sequence[Sequence[Pair]]) -> list[tuple[list[Pair], list[Pair]]]:
    """The results of :func:`split_dev` for each part.

    No dev set shares a side with a part that is learned completely: cleaning would drop such pairs.
    """
    split = list(map(split_dev, parts))
    whole = held_out_keys(pair for rest, dev in split if not dev for pair in rest)
    return [split_dev(pairs, whole) for pairs in parts] if whole else split


def undivided(parts: Iterable[Sequence[Pair]]) -> str:
    """A note with the size of these parts and the reason why they have no dev set."""
    sizes = list(map(len, parts))
    few = dict.fromkeys("few" if size < FEWEST_TO_SPLIT else "similar" for size in sizes)
    return (
        f"too {' or '.join(few)} in-domain pairs to set some apart "
        f"({' + '.join(f'{size:,}' for size in sizes)})"
    )


def written(path: Path, pairs: Iterable[Pair], like: CorpusPart) -> CorpusPart:
    """Write pairs, and return the part that reads them, with the other values of ``like``."""
    with FORMATS["jsonl"].write([path], ("source", "target")) as add:
        for pair in pairs:
            add(pair)
    return like.kept_in(path).model_copy(update={"weight": 1.0})


def keys_by_language(parts: Iterable[CorpusPart]) -> dict[str, frozenset[int]]:
    """Keys of the pairs of some parts, by their target language.

    Corpora of several languages often share their sources, so a source of one language need not be
    left out of the others.
    """
    keys: dict[str, frozenset[int]] = {}
    for part in parts:
        language = part.direction.target_language
        keys[language] = keys.get(language, frozenset()) | held_out_keys(filled_pairs(part))
    return keys


def sampled(
    parts: Sequence[CorpusPart],
    size: int,
    seed: int,
    *,
    folder: Path,
    name: str,
    without: Mapping[str, frozenset[int]] | None = None,
) -> list[CorpusPart]:
    """A random sample of the pairs of several parts, in a separate file for each part.

    Args:
        parts: pairs are drawn from each in proportion to its size.
        size: maximum number of pairs in total.
        seed: the same text and seed give the same sample.
        folder: for the files.
        name: of the files, to which a number is added if there are several.
        without: keys of pairs that must not be drawn, of
            :func:`~dragoman.text.corpora.cleaning.held_out_keys`, by their target language.

    Returns:
        The parts from which pairs were drawn.
    """
    drawn: Reservoir[tuple[int, Pair]] = Reservoir(size, seed)
    for numbered in _pairs_without(parts, without or {}):
        drawn.add(numbered)
    found = []
    for number, part in enumerate(parts):
        # In the order of the text, not in that of drawing.
        pairs = sorted((p for n, p in drawn.items if n == number), key=lambda pair: pair.line)
        if pairs:
            label = name if len(parts) == 1 else f"{name}-{number}"
            found.append(written(folder / f"{label}.jsonl", pairs, part))
    return found


def count_pairs(
    parts: Sequence[CorpusPart],
    without: Mapping[str, frozenset[int]] | None = None,
    *,
    most: int | None = None,
) -> int:
    """The number of pairs that :func:`sampled` can draw; counting stops at ``most``."""
    return sum(1 for _ in islice(_pairs_without(parts, without or {}), most))


def _pairs_without(
    parts: Sequence[CorpusPart], without: Mapping[str, frozenset[int]]
) -> Iterator[tuple[int, Pair]]:
    """The complete pairs without a side among the keys, with the number of their part."""
    for number, part in enumerate(parts):
        unwanted = without.get(part.direction.target_language, frozenset())
        for pair in kept_pairs(part):
            if part.fills(pair) and unwanted.isdisjoint(held_out_keys([pair])):
                yield number, pair


def language_warnings(parts: Sequence[CorpusPart], *, refuse: bool) -> list[str]:
    """Warnings about in-domain text that is not in its declared language.

    Args:
        parts: with their languages.
        refuse: raise an error if at least half of a side, of no fewer than 20 lines, is in another
            language.
    """
    found = []
    for part in parts:
        pairs = filled_pairs(part)
        for side, language in (
            ("source", part.source_language or ""),
            ("target", part.target_language or ""),
        ):
            lines = [getattr(pair, side) for pair in pairs]
            share = wrong_language_share(lines, language)
            if share is None or share <= _MUCH or sum(map(len, lines)) < _ENOUGH_CHARACTERS:
                continue
            line = f"{part.name}: {share:.0%} of the {side} lines seem to be in another language"
            if refuse and share >= _REFUSED and len(pairs) >= _ENOUGH_LINES:
                raise DataError(
                    f"{line} than {language}; correct the file or the languages (--source, "
                    "--target), or confirm with --any-language that they are right"
                )
            found.append(f"{line} than {language}; they are used all the same")
    return found
