"""General text: text to mix in, and dev sets that measure how much of it a model unlearns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman.core.errors import ConfigError, DataError
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.adaptation.domain_texts import (
    count_pairs,
    filled_pairs,
    keys_by_language,
    sampled,
)
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.techniques.host import Host
from dragoman.text.corpora.cleaning import held_out_keys
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.lines import read_lines
from dragoman.text.reservoir import Reservoir
from dragoman.translation.synthesis import GivenLine, translate_corpus

Origin = Literal["given", "run", "replay"]
_ORIGINS: dict[Origin, str] = {
    "given": "the general pairs given",
    "run": "text that the model was trained on",
    "replay": "the model's own translations of the lines given",
}

GENERAL_DEV_PAIRS = 200
_ALL_DEV_PAIRS = 600  # of up to six sets; a few lines show a loss of 1 chrF by chance
_FEWEST_DEV_PAIRS = 100  # of each of more sets
_REPLAY_LINES = 2000
REPLAY_DIRECTORY = "replay"
GENERAL = "general"
"""The name of the general dev set; ``general_NAME`` if the model's run has several."""
MAY_LOSE = 1.0
"""chrF that general text may lose by default."""
MAY_DIFFER = 10.0
"""The default if the references are the model's own translations: the score before is 100, and
every change counts."""


@dataclass(frozen=True)
class GeneralText:
    """General pairs, and named dev sets that share no pair with them."""

    origin: Origin
    parts: tuple[CorpusPart, ...]
    dev_sets: dict[str, CorpusPart]
    has_own_references: bool = False
    """Whether the references of the dev sets are the model's own translations."""
    shares_lines: bool = False
    """Whether a dev set has lines of in-domain pairs that are learned, as it has too few others."""
    notes: tuple[str, ...] = ()
    """Notes for the user about the dev sets."""

    @property
    def may_lose(self) -> float:
        """The default bound."""
        return MAY_DIFFER if self.has_own_references else MAY_LOSE

    def described(self) -> str:
        """The origin of the text, for the user."""
        if not self.has_own_references:
            return _ORIGINS[self.origin]
        return (
            f"{_ORIGINS[self.origin]} (scores of these show how far it departs from what it said "
            "before, not how good that is)"
        )


@dataclass(frozen=True)
class GeneralChoice:
    """The sources of general text; by default, the run of the model."""

    pairs: tuple[CorpusPart, ...] = ()
    """Pairs, with languages and tags."""
    replay: Path | None = None
    """Lines in the source language for the model to translate."""
    dev: CorpusPart | None = None
    """General dev set; by default split off from the text, or that of the model's run."""


def general_text(
    choice: GeneralChoice,
    parent: ParentModel,
    direction: Direction,
    *,
    size: int,
    folder: Path,
    learned: Sequence[CorpusPart],
    without: Iterable[CorpusPart] = (),
    seed: int,
    host: Host,
) -> GeneralText:
    """Draw general text, or make it.

    No pair of a dev set may be learned, and cleaning would drop in-domain pairs that share lines
    with a dev set, so these lines are left out of the dev sets.  If most lines of a dev set are
    such lines, it is not used.  It keeps them if it is the only one or they are of another
    language; cleaning must then keep the pairs.

    Args:
        choice: the sources of the text.
        parent: the model.
        direction: of the domain; ``choice.replay`` is translated in the model's nearest direction.
        size: maximum number of pairs to learn from.
        folder: for the files.
        learned: in-domain text to learn from, whose sources and targets are not drawn in its target
            languages.
        without: dev and test sets of the domain, which are not drawn either.
        seed: of the choice.
        host: shows the work.
    """
    origin, parts = _whole(choice, parent, host, direction, size=size, folder=folder, seed=seed)
    given = {GENERAL: choice.dev} if choice.dev is not None else {}
    if not given and origin == "run":
        given = _all_named(parent.general_dev_sets())
    draw = _DevSets(_keys(learned, parts), keys_by_language(learned), folder, seed)
    own = [*learned, *without]
    sets = draw.of_given(given) if given else draw.split_off(parts, keys_by_language(own))
    keys = keys_by_language([*own, *sets.parts.values()])
    rest = sampled(parts, size, seed + 1, folder=folder, name=GENERAL, without=keys)
    if not rest or not sets.parts:
        name = parts[0].name if choice.replay is None else choice.replay.name
        raise DataError(
            f"{name}: too little general text to learn from some of it and to watch the "
            "rest; give more, or a dev set with --general-dev"
        )
    own_references = origin == "replay" and choice.dev is None
    return GeneralText(
        *(origin, tuple(rest), sets.parts, own_references, sets.shares_lines, tuple(sets.notes))
    )


@dataclass
class _Sets:
    """Dev sets of general text by name."""

    parts: dict[str, CorpusPart] = field(default_factory=dict)
    shares_lines: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _DevSets:
    """Draws dev sets of general text, without lines of the in-domain text if possible."""

    keys: frozenset[int]
    """Keys of the in-domain pairs, as cleaning recognises them in any language."""
    by_language: Mapping[str, frozenset[int]]
    """The same by target language, as text of several languages often shares its sources."""
    folder: Path
    seed: int

    def of_given(self, given: Mapping[str, CorpusPart]) -> _Sets:
        """A sample of each of some dev sets.

        A sample with few lines is not used, unless it is the only one.
        """
        sets = _Sets()
        poor: dict[str, CorpusPart] = {}
        size = max(_FEWEST_DEV_PAIRS, _ALL_DEV_PAIRS // len(given))
        size = min(GENERAL_DEV_PAIRS, size)
        for name, part in given.items():
            apart = self._apart([part], {})
            if self._leaves_enough([part], size, apart):
                self._add(sets, name, part, size, apart)
            elif self._leaves_enough([part], size, self.by_language):
                self._add(sets, name, part, size, self.by_language)
            else:
                poor[name] = part
        is_watched = bool(sets.parts)
        for name, part in poor.items():
            if is_watched:
                sets.notes.append(
                    f"general dev set {name}: not used, as in-domain pairs have the same source or "
                    "translation as most of its lines"
                )
            else:
                self._add(sets, name, part, size, {})
        return sets

    def split_off(
        self, parts: Sequence[CorpusPart], without: Mapping[str, frozenset[int]]
    ) -> _Sets:
        """A dev set of some lines of general text, for each part."""
        as_sets = [part.for_sets() for part in parts]
        wanted = self._apart(as_sets, without)
        shares = not self._leaves_enough(as_sets, GENERAL_DEV_PAIRS, wanted)
        dev = self._sampled(
            as_sets, GENERAL_DEV_PAIRS, "dev-general", without if shares else wanted
        )
        named = {
            GENERAL if len(dev) == 1 else f"{GENERAL}_{number}": part
            for number, part in enumerate(dev, 1)
        }
        return _Sets(named, shares)

    def _add(
        self,
        sets: _Sets,
        name: str,
        part: CorpusPart,
        size: int,
        without: Mapping[str, frozenset[int]],
    ) -> None:
        """Add a sample of a set without some of its lines, and note how many were left out."""
        lines, remaining = count_pairs([part]), count_pairs([part], without)
        apart = count_pairs([part], self._apart([part], {}))
        for count, fate in (
            (lines - remaining, "left out of it, as"),
            (remaining - apart, "kept, as few others are there, although"),
        ):
            if count:
                sets.notes.append(
                    f"general dev set {name}: {count:,} of {lines:,} lines {fate} an in-domain "
                    "pair has the same source or translation"
                )
        (sets.parts[name],) = self._sampled([part], size, f"dev-{name}", without) or [part]
        sets.shares_lines |= remaining > apart

    def _leaves_enough(
        self, parts: Sequence[CorpusPart], size: int, without: Mapping[str, frozenset[int]]
    ) -> bool:
        """Whether a set without some lines has 100, or at least half of its lines."""
        fewest = min(_FEWEST_DEV_PAIRS, size)
        remaining = count_pairs(parts, without, most=fewest)
        return remaining == fewest or 2 * remaining >= count_pairs(parts, most=2 * fewest)

    def _apart(
        self, parts: Sequence[CorpusPart], without: Mapping[str, frozenset[int]]
    ) -> dict[str, frozenset[int]]:
        languages = {part.direction.target_language for part in parts}
        return {name: self.keys | without.get(name, frozenset()) for name in languages}

    def _sampled(
        self,
        parts: Sequence[CorpusPart],
        size: int,
        name: str,
        without: Mapping[str, frozenset[int]],
    ) -> list[CorpusPart]:
        return sampled(parts, size, self.seed, folder=self.folder, name=name, without=without)


def _keys(learned: Sequence[CorpusPart], general: Sequence[CorpusPart]) -> frozenset[int]:
    """Keys of in-domain pairs; of either side if the model learns opposite directions."""
    directions = [part.direction for part in (*learned, *general)]
    targets = {direction.target_language for direction in directions}
    opposite = any(direction.source_language in targets for direction in directions)
    pairs = (pair for part in learned for pair in filled_pairs(part))
    return held_out_keys(pairs, either_side=opposite)


def _all_named(sets: Mapping[str, CorpusPart]) -> dict[str, CorpusPart]:
    """The dev sets of the model's run, each under a unique name for the adaptation."""
    named: dict[str, CorpusPart] = {}
    for name, part in sets.items():
        unique = GENERAL
        if name not in {"", GENERAL}:
            unique = f"{GENERAL}_{name.removeprefix(GENERAL + '_')}"
        while unique in named:
            unique += "_2"
        named[unique] = part
    return named


def _whole(
    choice: GeneralChoice,
    parent: ParentModel,
    host: Host,
    direction: Direction,
    *,
    size: int,
    folder: Path,
    seed: int,
) -> tuple[Origin, Sequence[CorpusPart]]:
    """All general text."""
    if choice.pairs:
        return "given", choice.pairs
    if choice.replay is not None:
        lines = _drawn_lines(choice.replay, min(size, _REPLAY_LINES) + GENERAL_DEV_PAIRS, seed)
        own = parent.nearest_direction(direction)
        return "replay", [_replayed(lines, parent, host, own, folder / REPLAY_DIRECTORY)]
    if parts := parent.general_parts():
        return "run", parts
    raise ConfigError(
        f"{parent.path}: the text it was trained on is not here, and without any general text "
        "nothing shows what the model unlearns; give pairs with --general, or lines in its source "
        "language with --replay, which it translates itself"
    )


def _drawn_lines(path: Path, size: int, seed: int) -> list[GivenLine]:
    """Some of the lines of a file that are not empty, in order."""
    drawn: Reservoir[GivenLine] = Reservoir(size, seed)
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            drawn.add(GivenLine(line, number))
    return sorted(drawn.items, key=lambda line: line.number)


def _replayed(
    lines: list[GivenLine], parent: ParentModel, host: Host, direction: Direction, folder: Path
) -> CorpusPart:
    """The model's own translations of some lines, in one of its directions."""
    system = TranslationSystem(models=(parent.path,), tags=direction.tags)
    # Named by the content: a command that was refused for too few lines may be given more.
    made_of = [parent.digest, list(direction.tags), lines]
    name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:12]

    def progress(start: int, total: int) -> AbstractContextManager[Any]:
        return host.counting("translating general text", "lines", total, start)

    made = translate_corpus(
        system, lines, folder / name, known="source", shard_lines=200, progress=progress
    )
    return CorpusPart(
        path=str(made.path.absolute()),
        source="source",
        target="target",
        tags=direction.tags,
        source_language=direction.source_language,
        target_language=direction.target_language,
    )
