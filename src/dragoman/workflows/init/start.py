"""From files to a configuration: read, split, measure, choose, write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.core.claims import new_outputs
from dragoman.core.device import best_device
from dragoman.core.errors import DataError
from dragoman.core.files import atomic_directory, atomic_write
from dragoman.evaluation.tokenizers import best_tokenizer
from dragoman.recipe.schema import schema_file
from dragoman.saved.model import build_model
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import FORMATS, Pair
from dragoman.workflows.init import measure
from dragoman.workflows.init.choose import (
    Pieces,
    Plan,
    choose_size,
    choose_step,
    plan_training,
    warnings,
    worth_measuring,
)
from dragoman.workflows.init.commented_recipe import (
    Chosen,
    Parts,
    commented_yaml,
    notes_of,
    values_of,
)
from dragoman.workflows.init.look import Facts, hold_out, look_at
from dragoman.workflows.material import Material

Tell = Callable[[str], None]
REMEDY = "move it away or choose another name with --output"


@dataclass(frozen=True)
class Started:
    """The files written, and facts to report about them."""

    chosen: Chosen
    config: Path
    text: Path | None
    """The folder of the sets that were split off, if any."""
    parameters: int
    warnings: list[str]


def folder_to_split(material: Material, config: Path) -> Path | None:
    """The folder for sets that have to be split off; None if all are given."""
    if material.dev is not None and material.test is not None:
        return None
    return config.with_name(f"{config.stem}-text")


def start(material: Material, config: Path, minutes: float, tell: Tell) -> Started:
    """Write a configuration for a text, with dev and test sets if it has none.

    Nothing is written until everything is known, and nothing is replaced.
    """
    folder = folder_to_split(material, config)
    with new_outputs(filter(None, (config, folder)), REMEDY):
        return _start(material, config, folder, minutes, tell)


def _start(
    material: Material, config: Path, folder: Path | None, minutes: float, tell: Tell
) -> Started:
    with text_of(material, folder, tell) as text:
        tell("measuring training speed on it")
        encoded = measure.encode(text.facts, text.sample, [*text.dev, *text.test])
        pieces = measure.lengths(text.facts, encoded, text.dev, text.test)
        plan, speed = _planned(text.facts, encoded, pieces, minutes)
    chosen = Chosen(
        facts=text.facts,
        pieces=pieces,
        vocabulary=encoded.config,
        plan=plan,
        speed=speed,
        device=best_device().type,
        tokenizer=best_tokenizer(text.facts.target.scripts),
        parts=text.parts,
        was_split=folder is not None,
    )
    _write(chosen, config)
    model = measure.model_of(plan.size, joint=encoded.config.joint, dropout=plan.dropout)
    built = build_model(model, encoded.vocabularies)
    parameters = sum(parameter.numel() for parameter in built.parameters())
    return Started(chosen, config, folder, parameters, warnings(text.facts, plan, minutes))


@dataclass(frozen=True)
class InitialText:
    """The text that was read, and its files."""

    facts: Facts
    sample: list[Pair]
    dev: list[Pair]
    test: list[Pair]
    parts: Parts


@contextmanager
def text_of(material: Material, folder: Path | None, tell: Tell) -> Iterator[InitialText]:
    """Read a text; sets that are not given are put in place when the block ends well.

    Args:
        material: the text.
        folder: for the sets that have to be split off; None if all are given.
        tell: takes a line for the user.
    """
    tell(f"reading {material.train.name}")
    with atomic_directory(folder) if folder else nullcontext() as place:
        yield _split_off(material, place, folder) if place and folder else _as_given(material)


def _as_given(material: Material) -> InitialText:
    assert material.dev is not None
    assert material.test is not None
    dev, test = _filled(material.dev), _filled(material.test)
    facts, sample = look_at(material.train, _languages(material), [dev, test])
    _check_not_empty(material, facts)
    return InitialText(facts, sample, dev, test, Parts(material.train, material.dev, material.test))


def _split_off(material: Material, place: Path, folder: Path) -> InitialText:
    """Write the sets that were not given, and the rest as the training text.

    Args:
        place: where to write.
        folder: its final path.
    """
    languages = _languages(material)
    given = [None if part is None else _filled(part) for part in (material.dev, material.test)]
    dev, test = hold_out(material.train, dev=given[0], test=given[1])
    split_off = {
        name: pairs
        for name, pairs, there in (("dev", dev, given[0]), ("test", test, given[1]))
        if there is None
    }
    for name, pairs in split_off.items():
        with FORMATS["tsv"].write([place / f"{name}.tsv"], languages) as add:
            for pair in pairs:
                add(pair)
    with FORMATS["tsv"].write([place / "train.tsv"], languages) as add:
        facts, sample = look_at(material.train, languages, [dev, test], add)
    _check_not_empty(material, facts)
    # The held-out pairs also occur in the text. Only repetitions of them are lost.
    itself = sum(map(len, split_off.values()))
    dropped = facts.dropped | {"held out": facts.dropped.get("held out", 0) - itself}
    facts = replace(facts, dropped={why: n for why, n in dropped.items() if n > 0})

    def written(name: str) -> CorpusPart:
        path = str((folder / f"{name}.tsv").absolute())
        return CorpusPart(path=path, source=languages[0], target=languages[1])

    parts = Parts(
        written("train"), material.dev or written("dev"), material.test or written("test")
    )
    return InitialText(facts, sample, dev, test, parts)


def _check_not_empty(material: Material, facts: Facts) -> None:
    if not facts.pairs:
        why = ", ".join(f"{reason} {count:,}" for reason, count in facts.dropped.items())
        raise DataError(
            f"{material.train.name}: none of {facts.read:,} pairs remains after cleaning ({why}); "
            "look at the text"
        )


def _languages(material: Material) -> tuple[str, str]:
    return material.source_language, material.target_language


def _filled(part: CorpusPart) -> list[Pair]:
    pairs = [pair for pair in read_pairs(part) if part.fills(pair)]
    if not pairs:
        raise DataError(f"{part.name}: no pair has both sides filled; look at the file")
    return pairs


def _planned(
    facts: Facts, encoded: measure.EncodedSample, pieces: Pieces, minutes: float
) -> tuple[Plan, float]:
    """The plan, and the speed on which it is based."""
    speeds: dict[str, float] = {}
    while size := worth_measuring(facts, pieces, speeds, minutes):
        step_tokens = measure.first_step_tokens(size)
        speeds[size.name] = measure.measure_speed(size, encoded, step_tokens, pieces.limit)
    size = choose_size(facts, pieces, speeds, minutes)
    speed = speeds[size.name]
    step_tokens = choose_step(facts, pieces, size, speed, minutes)
    if step_tokens != measure.first_step_tokens(size):
        speed = measure.measure_speed(size, encoded, step_tokens, pieces.limit)
    plan = plan_training(facts, pieces, size, step_tokens=step_tokens, speed=speed, minutes=minutes)
    return plan, speed


def _write(chosen: Chosen, config: Path) -> None:
    facts = chosen.facts
    # A language may be any column name.
    languages = [" ".join(side.language.split()) for side in (facts.source, facts.target)]
    head = (
        f"{languages[0]} to {languages[1]}, by dragoman init, for a training run of about "
        f"{chosen.plan.minutes}\non the machine where it was written.  "
        "Every key: docs/configuration.md"
    )
    write_recipe(config, values_of(chosen, config.parent), notes_of(chosen), head)


def write_recipe(
    config: Path, values: Mapping[str, Any], notes: Mapping[str, str], head: str
) -> None:
    """Write a configuration with its comments, for editors that know the schema."""
    schema = f"yaml-language-server: $schema={schema_file().as_uri()}\n"
    with atomic_write(config) as stream:
        stream.write(commented_yaml(values, notes, schema + head))
