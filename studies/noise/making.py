"""Pairs that are wrong on purpose: a known share of a clean corpus, by kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.formats import Pair, Sides
from dragoman.text.lines import write_text

Kind = Literal["misaligned", "copied", "truncated", "wrong_language"]
RIGHT = ""
"""What a pair without noise has in the column of its kind."""
_FEWEST_WORDS = 4  # of a target that can be truncated


class NoisyPair(NamedTuple):
    """A pair, and what was done to it."""

    source: str
    target: str
    kind: str
    """A :data:`Kind`, or :data:`RIGHT`."""


def add_noise(
    pairs: Sequence[Pair],
    shares: Mapping[Kind, float],
    seed: int,
    others: Sequence[str] | None = None,
) -> list[NoisyPair]:
    """Make a share of the pairs wrong; the others, and the order, stay as they are.

    - misaligned: the targets of these pairs change places among themselves;
    - copied: the source takes the place of the target;
    - truncated: the first half of the target's words, if it has at least four;
    - wrong_language: the same line of ``others`` takes the place of the target.

    A pair that this does not change, such as one whose new target is the same sentence, counts as
    right.

    Args:
        pairs: clean pairs.
        shares: of all pairs, by kind; they sum to at most 1.
        seed: of the choice of pairs.
        others: targets in another language, as many as there are pairs.

    Raises:
        ConfigError: the shares sum to more than 1, or ``others`` are missing.
        DataError: ``others`` are of another number.
    """
    if sum(shares.values()) > 1 + 1e-9:
        raise ConfigError(f"the shares of noise sum to {sum(shares.values()):g}; at most 1")
    if shares.get("wrong_language") and others is None:
        raise ConfigError("wrong-language needs the text in another language; add --other FILE")
    if others is not None and len(others) != len(pairs):
        raise DataError(
            f"{len(others):,} lines in another language for {len(pairs):,} pairs; a line and its "
            "translation must have the same number in both"
        )
    rng = Random(seed)
    order = list(range(len(pairs)))
    rng.shuffle(order)
    made = [NoisyPair(pair.source, pair.target, RIGHT) for pair in pairs]
    begin = 0
    for kind, share in shares.items():
        chosen = order[begin : begin + round(share * len(pairs))]
        begin += len(chosen)
        for number, target in zip(chosen, _targets(kind, pairs, chosen, others), strict=True):
            if target != pairs[number].target:
                made[number] = NoisyPair(pairs[number].source, target, kind)
    return made


def write_noisy(path: Path, pairs: Iterable[NoisyPair], sides: Sides) -> None:
    """Write JSON lines with the two sides and ``noise``, the kind.

    Raises:
        StorageError: the disk refuses.
    """
    with write_text(path) as stream:
        for pair in pairs:
            row = dict(zip((*sides, "noise"), pair, strict=True))
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def _targets(
    kind: Kind, pairs: Sequence[Pair], chosen: Sequence[int], others: Sequence[str] | None
) -> list[str]:
    """The new targets of the chosen pairs, which are in random order."""
    if kind == "misaligned":
        # Each gets that of the next one, so no pair keeps its own.
        return [pairs[number].target for number in (*chosen[1:], *chosen[:1])]
    change: dict[str, Callable[[int], str]] = {
        "copied": lambda number: pairs[number].source,
        "truncated": lambda number: _first_half(pairs[number].target),
        "wrong_language": lambda number: (others or ())[number],
    }
    return [change[kind](number) for number in chosen]


def _first_half(text: str) -> str:
    words = text.split()
    return " ".join(words[: len(words) // 2]) if len(words) >= _FEWEST_WORDS else text
