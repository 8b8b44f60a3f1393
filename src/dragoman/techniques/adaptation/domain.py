"""In-domain text as given or read from a recipe, and as copied into the run of its adaptation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.core.recipe_library import found_recipe
from dragoman.recipe import read_values
from dragoman.recipe.description import has_sets_by_name
from dragoman.techniques.adaptation.domain_texts import (
    filled_pairs,
    keys_by_language,
    split_parts,
    undivided,
    written,
)
from dragoman.techniques.adaptation.parent import ParentModel
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


def read_domain(path: Path, parent: ParentModel, settings: Sequence[str] = ()) -> Domain:
    """The in-domain text that a recipe describes, whose other values are overrides.

    A part of one direction without tags gets the tags of the model for that direction.
    """
    path = found_recipe(path)
    values = read_values(path, settings)
    data = values.pop("data", None)
    if not isinstance(data, dict) or not isinstance(data.get("train"), list) or not data["train"]:
        raise ConfigError(f"{path}: data.train: name the in-domain pairs there")
    if "model" in values:
        raise ConfigError(f"{path}: model: is that of {parent.path}; remove it")
    languages = (
        _language(values, "source_language", parent.config.source_language, path),
        _language(values, "target_language", parent.config.target_language, path),
    )

    def part(given: Any, key: str) -> CorpusPart:
        if not isinstance(given, dict):
            raise ConfigError(f"{path}: {key}: should be a section of keys, found {given!r}")
        resolved = parse(CorpusPart, given, f"{path}: {key}").resolved(*languages)
        nearest = parent.nearest_direction(resolved.direction)
        if nearest.name == resolved.direction.name and not (resolved.tags or resolved.transforms):
            return resolved.model_copy(update={"tags": nearest.tags})
        return resolved

    train = tuple(part(given, f"data.train.{n}") for n, given in enumerate(data.pop("train")))
    dev = data.pop("dev", None)
    sets = dev if has_sets_by_name(dev) else {} if dev is None else {DOMAIN: dev}
    tests = data.pop("test", None) or {}
    if tests and not has_sets_by_name(tests):
        raise ConfigError(
            f"{path}: data.test: give each set a name, as in test: {{ui: {{path: ui.tsv, source: "
            "en, target: de}}"
        )
    overrides = {**values, "data": data} if data else values
    return Domain(
        train,
        {str(name): part(given, f"data.dev.{name}") for name, given in sets.items()},
        {str(name): part(given, f"data.test.{name}") for name, given in tests.items()},
        overrides,
        path,
    )


def _language(values: dict[str, Any], key: str, known: str, path: Path) -> str:
    """The language that a recipe names; by default, that of the model."""
    language = values.get(key, known)
    if not isinstance(language, str):  # YAML takes no for a truth value
        raise ConfigError(f"{path}: {key}: should be a text, found {language}; put it in quotes")
    return language


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
    """
    test = _kept_sets(domain.test, folder, "test")
    given, pairs, notes = _apart_from_tests(domain)
    if domain.dev:
        dev = _kept_sets(domain.dev, folder, "given-dev")
        return DomainText(tuple(_copies(folder, DOMAIN, given, pairs).values()), dev, test, notes)
    split = split_parts(pairs)
    if repeats := not any(dev for _, dev in split):
        split = [(own, own) for own in pairs]
        notes.append(
            f"{undivided(pairs)}: scores of {DOMAIN} are of the pairs themselves, and show what "
            "was learned by heart"
        )
    else:
        notes += [
            f"{part.name}: {undivided([own])}: all are learned from, and no score is of them"
            for part, own, (_, dev) in zip(given, pairs, split, strict=True)
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
    given, left, total = [], [], 0
    for part in domain.train:
        pairs = filled_pairs(part)
        total += len(pairs)
        keys = tests.get(part.direction.target_language, frozenset())
        if apart := [pair for pair in pairs if keys.isdisjoint(held_out_keys([pair]))]:
            given.append(part)
            left.append(apart)
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
