"""The text of a configuration: what was found in it, and its training, dev and test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.files import atomic_directory
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import FORMATS, Pair
from dragoman.text.transforms.tagging import TagConfig
from dragoman.workflows.init.commented_recipe import Parts
from dragoman.workflows.init.look import Facts, hold_out, hold_out_alike, look_at, name_of
from dragoman.workflows.init.survey import Survey
from dragoman.workflows.material import Material

Tell = Callable[[str], None]


@dataclass(frozen=True)
class InitialText:
    """The text that was read, and its files."""

    facts: Facts
    sample: list[Pair]
    dev: list[Pair]
    test: list[Pair]
    parts: Parts
    survey: Survey


def folder_to_split(materials: Sequence[Material], config: Path) -> Path | None:
    """The folder for sets that have to be split off; None if all are given."""
    if all(one.dev is not None and one.test is not None for one in materials):
        return None
    return config.with_name(f"{config.stem}-text")


@contextmanager
def text_of(
    materials: Sequence[Material], folder: Path | None, tell: Tell
) -> Iterator[InitialText]:
    """Read a text; sets that are not given are put in place when the block ends well.

    Args:
        materials: the text of each direction; all have the same source language.
        folder: for the sets that have to be split off; None if all are given.
        tell: takes a line for the user.
    """
    materials = _directed(materials)
    tell(f"reading {name_of([part for one in materials for part in one.train])}")
    with atomic_directory(folder) if folder else nullcontext() as place:
        yield _divided(materials, place, folder)


def _directed(materials: Sequence[Material]) -> Sequence[Material]:
    """The materials of several directions, whose parts say into which language they translate."""
    if len(materials) == 1:
        return materials

    def directed(part: CorpusPart | None, material: Material) -> CorpusPart | None:
        return part and part.model_copy(
            update={
                "source_language": material.source_language,
                "target_language": material.target_language,
                "transforms": (TagConfig(kind="tag"),),
            }
        )

    return [
        replace(
            one,
            train=tuple(filter(None, (directed(part, one) for part in one.train))),
            dev=directed(one.dev, one),
            test=directed(one.test, one),
        )
        for one in materials
    ]


def _divided(materials: Sequence[Material], place: Path | None, folder: Path | None) -> InitialText:
    """Write the sets that were not given, and read the text.

    A training text that is one file is written, too, without the pairs of these sets.  Folders and
    several files are read where they are, so that training sees them as they are then.

    Args:
        place: where to write; None if all sets were given.
        folder: its final path.
    """
    survey = Survey.of(
        [
            part.resolved(one.source_language, one.target_language)
            for one in materials
            for part in one.train
        ]
    )
    sets = _held_out_sets(materials)
    parts, split_off = _placed(materials, sets, place, folder)
    languages = _languages(materials)
    dev, test = ([pair for both in sets for pair in both[at]] for at in (0, 1))
    if place is not None and folder is not None and _is_copied(parts.train):
        with FORMATS["tsv"].write([place / "train.tsv"], languages) as add:
            facts, sample = look_at(parts.train, languages, [dev, test], add)
        parts.train[:] = [_written(folder / "train.tsv", materials[0])]
    else:
        facts, sample = look_at(parts.train, languages, [dev, test])
    _check_not_empty(name_of(materials[0].train), facts)
    # The held-out pairs also occur in the text. Only repetitions of them are lost.
    dropped = facts.dropped | {"held out": facts.dropped.get("held out", 0) - split_off}
    counts = {why: n for why, n in dropped.items() if n > 0}
    return InitialText(replace(facts, dropped=counts), sample, dev, test, parts, survey)


def _placed(
    materials: Sequence[Material],
    sets: Sequence[tuple[list[Pair], list[Pair]]],
    place: Path | None,
    folder: Path | None,
) -> tuple[Parts, int]:
    """The parts with all sets, of which those are written that were not given, and their pairs."""
    held_out: dict[str, dict[str, CorpusPart]] = {"dev": {}, "test": {}}
    written = 0
    for one, both in zip(materials, sets, strict=True):
        for name, pairs, given in zip(held_out, both, (one.dev, one.test), strict=True):
            key, file = name, f"{name}.tsv"
            if len(materials) > 1:
                key = f"{one.source_language}-{one.target_language}"
                file = f"{name}.{key}.tsv"
            if given is not None:
                held_out[name][key] = given
                continue
            assert place is not None
            assert folder is not None
            with FORMATS["tsv"].write([place / file], _languages([one])) as add:
                for pair in pairs:
                    add(pair)
            held_out[name][key] = _written(folder / file, one)
            written += len(pairs)
    train = [part for one in materials for part in one.train]
    return Parts(train, held_out["dev"], held_out["test"]), written


def _held_out_sets(materials: Sequence[Material]) -> list[tuple[list[Pair], list[Pair]]]:
    """The dev and test set of each direction, if possible with the same sources."""
    sets: list[tuple[list[Pair], list[Pair]]] = []
    for one in materials:
        given = [None if part is None else _filled(part) for part in (one.dev, one.test)]
        alike = hold_out_alike(one.train, sets[0]) if sets and given == [None, None] else None
        sets.append(alike or hold_out(one.train, dev=given[0], test=given[1]))
    return sets


def _is_copied(train: Sequence[CorpusPart]) -> bool:
    return len(train) == 1 and not train[0].file_format.is_folder


def _written(path: Path, material: Material) -> CorpusPart:
    """A set that was split off, with the languages and tags of its training text."""
    source, target = _languages([material])
    like = material.train[0]
    return CorpusPart(
        path=str(path.absolute()),
        source=source,
        target=target,
        source_language=like.source_language,
        target_language=like.target_language,
        transforms=like.transforms,
    )


def _check_not_empty(name: str, facts: Facts) -> None:
    if not facts.pairs:
        why = ", ".join(f"{reason} {count:,}" for reason, count in facts.dropped.items())
        raise DataError(
            f"{name}: none of {facts.read:,} pairs remains after cleaning ({why}); look at the text"
        )


def _languages(materials: Sequence[Material]) -> tuple[str, str]:
    return materials[0].source_language, ", ".join(one.target_language for one in materials)


def _filled(part: CorpusPart) -> list[Pair]:
    pairs = [pair for pair in read_pairs(part) if part.fills(pair)]
    if not pairs:
        raise DataError(f"{part.name}: no pair has both sides filled; look at the file")
    return pairs
