"""General text: what is mixed in, and what shows how much of it a model unlearns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.core.errors import ConfigError, DataError
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.adaptation.domain_texts import keys_by_language, sampled
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.techniques.host import Host
from dragoman.text.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.lines import read_lines
from dragoman.text.reservoir import Reservoir
from dragoman.translation.synthesis import GivenLine, translate_corpus

Origin = Literal["given", "run", "replay"]

GENERAL_DEV_PAIRS = 200
_ALL_DEV_PAIRS = 600  # of up to six sets; a few lines show a loss of 1 chrF by chance
_FEWEST_DEV_PAIRS = 100  # of each of more sets
_REPLAY_LINES = 2000
REPLAY_DIRECTORY = "replay"
GENERAL = "general"
"""The name of the general dev set; ``general_NAME`` where the model's run has several."""
MAY_LOSE = 1.0
"""chrF that general text may lose by default."""
MAY_DIFFER = 10.0
"""The same where its translations are the model's own: 100 before, and any change counts."""


@dataclass(frozen=True)
class GeneralText:
    """General pairs, and dev sets by name that none of them repeats."""

    origin: Origin
    parts: tuple[CorpusPart, ...]
    dev_sets: dict[str, CorpusPart]
    has_own_references: bool = False
    """Whether the references of the dev sets are the model's own translations."""

    @property
    def may_lose(self) -> float:
        """The default bound."""
        return MAY_DIFFER if self.has_own_references else MAY_LOSE

    def told(self) -> str:
        """Where it comes from, for people."""
        told = {
            "given": "the general pairs given",
            "run": "text that the model was trained on",
            "replay": "the model's own translations of the lines given",
        }[self.origin]
        if self.has_own_references:
            told += (
                " (scores of these show how far it departs from what it said before, not how good "
                "that is)"
            )
        return told


@dataclass(frozen=True)
class GeneralChoice:
    """Where general text is to come from; by default, from the run of the model."""

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
    without: Iterable[CorpusPart],
    seed: int,
    host: Host,
) -> GeneralText:
    """Draw general text, or make it.

    Args:
        choice: where from.
        parent: the model.
        direction: of the domain; ``choice.replay`` is translated in the nearest of the model's own.
        size: maximum number of pairs to learn from.
        folder: for the files.
        without: in-domain text, whose sources and targets are not drawn in its target languages.
        seed: of the choice.
        host: shows the work.

    Raises:
        ConfigError: there is none.
        DataError: it cannot be read, or is too small.
        StorageError: the disk refuses.
    """
    options: Any = {"size": size, "folder": folder, "seed": seed, "host": host}
    origin, parts = _found(choice, parent, direction, **options)
    given = {GENERAL: choice.dev} if choice.dev is not None else {}
    if not given and origin == "run":
        given = _all_named(parent.general_dev_sets())
    dev_sets: dict[str, CorpusPart] = {}
    pairs_each = max(_FEWEST_DEV_PAIRS, _ALL_DEV_PAIRS // max(1, len(given)))
    pairs_each = min(GENERAL_DEV_PAIRS, pairs_each)
    for name, part in given.items():
        (dev_sets[name],) = sampled(
            [part], pairs_each, seed, folder=folder, name=f"dev-{name}"
        ) or [part]
    own = tuple(without)
    if not dev_sets:
        dev = sampled(
            parts,
            GENERAL_DEV_PAIRS,
            seed,
            folder=folder,
            name="dev-general",
            without=keys_by_language(own),
        )
        dev_sets = {
            GENERAL if len(dev) == 1 else f"{GENERAL}_{number}": part
            for number, part in enumerate(dev, 1)
        }
    keys = keys_by_language([*own, *dev_sets.values()])
    rest = sampled(parts, size, seed + 1, folder=folder, name=GENERAL, without=keys)
    if not rest or not dev_sets:
        raise DataError(
            f"{parts[0].name}: too little general text to learn from some of it and to watch the "
            "rest; give more, or a dev set with --general-dev"
        )
    own_references = origin == "replay" and choice.dev is None
    return GeneralText(origin, tuple(rest), dev_sets, own_references)


def _all_named(sets: Mapping[str, CorpusPart]) -> dict[str, CorpusPart]:
    """The dev sets of the model's run by what they are called here, each by a name of its own."""
    found: dict[str, CorpusPart] = {}
    for name, part in sets.items():
        called = _named(name)
        while called in found:
            called += "_2"
        found[called] = part
    return found


def _named(name: str) -> str:
    """What a dev set of the model's run is called here."""
    return GENERAL if name in {"", GENERAL} else f"{GENERAL}_{name.removeprefix(GENERAL + '_')}"


def _found(
    choice: GeneralChoice,
    parent: ParentModel,
    direction: Direction,
    *,
    size: int,
    folder: Path,
    seed: int,
    host: Host,
) -> tuple[Origin, Sequence[CorpusPart]]:
    """The text, whole."""
    if choice.pairs:
        return "given", choice.pairs
    if choice.replay is not None:
        options: Any = {"size": size, "folder": folder, "seed": seed, "host": host}
        own = parent.nearest_direction(direction)
        return "replay", [_replayed(choice.replay, parent, own, **options)]
    if parts := parent.general_parts():
        return "run", parts
    raise ConfigError(
        f"{parent.path}: the text it was trained on is not here, and without any general text "
        "nothing shows what the model unlearns; give pairs with --general, or lines in its source "
        "language with --replay, which it translates itself"
    )


def _replayed(
    path: Path,
    parent: ParentModel,
    direction: Direction,
    *,
    size: int,
    folder: Path,
    seed: int,
    host: Host,
) -> CorpusPart:
    """The model's own translations of some lines, in one of its directions."""
    drawn: Reservoir[GivenLine] = Reservoir(min(size, _REPLAY_LINES) + GENERAL_DEV_PAIRS, seed)
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            drawn.add(GivenLine(line, number))
    lines = sorted(drawn.items, key=lambda line: line.number)
    system = TranslationSystem(models=(parent.path,), tags=direction.tags)

    def progress(start: int, total: int) -> AbstractContextManager[Any]:
        return host.counting("translating general text", "lines", total, start)

    made = translate_corpus(
        system,
        lines,
        folder / REPLAY_DIRECTORY,
        known="source",
        shard_lines=200,
        progress=progress,
    )
    return CorpusPart(
        path=str(made.path.absolute()),
        source="source",
        target="target",
        tags=direction.tags,
        source_language=direction.source_language,
        target_language=direction.target_language,
    )
