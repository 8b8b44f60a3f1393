"""In-domain text as given, and as copied into the run of its adaptation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.techniques.adaptation.domain_texts import (
    filled_pairs,
    keys_by_language,
    split_parts,
    undivided,
    written,
)
from dragoman.text.corpora.cleaning import held_out_keys
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair

DOMAIN = "domain"
"""Name of the in-domain dev set."""


@dataclass(frozen=True)
class Domain:
    """In-domain text, each part with its languages and tags."""

    train: tuple[CorpusPart, ...]
    dev: Mapping[str, CorpusPart] = field(default_factory=dict)
    """Dev sets by name; by default, split off from the text, or the text itself if it is short."""
    test: Mapping[str, CorpusPart] = field(default_factory=dict)
    """Test sets by name."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Further values of the user's recipe."""
    where: Path | str = "adapt"
    """The user's recipe, for messages."""


@dataclass(frozen=True)
class DomainText:
    """In-domain text as copied into the run."""

    train: tuple[CorpusPart, ...]
    dev: dict[str, CorpusPart]
    test: dict[str, CorpusPart]
    notes: Sequence[str]
    repeats: bool = False
    """Whether the dev sets are the text to learn from."""


def domain_text(domain: Domain, folder: Path) -> DomainText:
    """The text to learn from, and the dev and test sets.

    All are copied, so that the files may change later.

    Args:
        domain: the text as given.
        folder: for the copies.

    Raises:
        DataError: a text has no pairs, or all text to learn from is in test sets.
    """
    test = _kept_sets(domain.test, folder, "test")
    given, pairs, notes = _apart_from_tests(domain)
    if domain.dev:
        dev = _kept_sets(domain.dev, folder, "given-dev")
        return DomainText(tuple(_copies(folder, DOMAIN, given, pairs).values()), dev, test, notes)
    split = split_parts(pairs)
    if repeats := not any(dev for _, dev in split):
        split = [(one, one) for one in pairs]
        notes.append(
            f"{undivided(pairs)}: scores of {DOMAIN} are of the pairs themselves, and show what "
            "was learned by heart"
        )
    else:
        notes += [
            f"{part.name}: {undivided([one])}: all are learned from, and no score is of them"
            for part, one, (_, dev) in zip(given, pairs, split, strict=True)
            if not dev
        ]
    train = _copies(folder, DOMAIN, given, [rest for rest, _ in split])
    as_sets = [part.for_sets() for part in given]
    sets = _copies(folder, f"dev-{DOMAIN}", as_sets, [dev for _, dev in split])
    dev = {DOMAIN if len(sets) == 1 else f"{DOMAIN}_{n}": part for n, part in sets.items()}
    return DomainText(tuple(train.values()), dev, test, notes, repeats)


def _apart_from_tests(domain: Domain) -> tuple[list[CorpusPart], list[list[Pair]], list[str]]:
    """The parts, their pairs without a side in a test set, and notes on the dropped pairs."""
    tests = keys_by_language(domain.test.values())
    found, total = [], 0
    for part in domain.train:
        pairs = filled_pairs(part)
        total += len(pairs)
        keys = tests.get(part.direction.target_language, frozenset())
        found.append((part, [p for p in pairs if keys.isdisjoint(held_out_keys([p]))]))
    given, left = [part for part, own in found if own], [own for _, own in found if own]
    lost = total - sum(map(len, left))
    if not left:
        raise DataError(
            f"{', '.join(part.name for part in domain.train)}: no pair is left to learn from, as a "
            "side of each is in a test set; give other pairs, or another test set"
        )
    notes = [f"{lost:,} of {total:,} in-domain pairs left out: a side of them is in a test set"]
    return given, left, notes if lost else []


def _kept_sets(sets: Mapping[str, CorpusPart], folder: Path, kind: str) -> dict[str, CorpusPart]:
    return {
        name: written(folder / f"{kind}-{name}.jsonl", filled_pairs(part), part)
        for name, part in sets.items()
    }


def _copies(
    folder: Path, name: str, parts: Sequence[CorpusPart], pairs: Sequence[Sequence[Pair]]
) -> dict[int, CorpusPart]:
    """Each part's pairs in a separate file, by number from 1; parts without pairs are skipped."""
    return {
        n: written(folder / (f"{name}-{n}.jsonl" if len(parts) > 1 else f"{name}.jsonl"), own, part)
        for n, (part, own) in enumerate(zip(parts, pairs, strict=True), 1)
        if own
    }
