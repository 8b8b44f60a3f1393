"""From files to a configuration: read, split, measure, choose, write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.apps.init import measure
from dragoman.apps.init.choose import (
    Pieces,
    Plan,
    choose_batch,
    choose_size,
    plan_training,
    warnings,
    worth_measuring,
)
from dragoman.apps.init.look import Facts, look_at
from dragoman.apps.init.material import Material
from dragoman.apps.init.recipe import Chosen, notes_of, render, values_of
from dragoman.apps.init.split import SetFile, hold_out, write_set
from dragoman.device import best_device
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.tokenizers import best_tokenizer
from dragoman.files import atomic_directory, atomic_write
from dragoman.saved import build_model
from dragoman.text.corpus import CorpusPart, Pair, read_pairs

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Started:
    """What was written, and what to say of it."""

    chosen: Chosen
    config: Path
    text: Path | None
    """The folder of the sets that were split off, if any were."""
    parameters: int
    warnings: list[str]


def text_folder(config: Path) -> Path:
    """Where the sets of a configuration go that had to be split off."""
    return config.with_name(f"{config.stem}-text")


def start(material: Material, config: Path, minutes: float, tell: Tell) -> Started:
    """Write a configuration for a text, with dev and test sets if it has none.

    Nothing is written before everything is known, and nothing is replaced.

    Args:
        material: the text.
        config: the file to write.
        minutes: that training and scoring may take.
        tell: is told what is being done.

    Raises:
        ConfigError: the file or the folder for the sets is there already.
        DataError: the text cannot be read, or is too small.
        StorageError: the disk refuses.
    """
    needs_split = material.dev is None or material.test is None
    folder = text_folder(config)
    for path in (config, folder) if needs_split else (config,):
        if path.exists() or path.is_symlink():
            raise ConfigError(
                f"{path}: is there already; move it away or choose another name with --output"
            )
    tell(f"reading {material.train.name}")
    dev, test = (None if part is None else _filled(part) for part in (material.dev, material.test))
    with atomic_directory(folder) if needs_split else nullcontext() as place:
        if place is None:
            assert dev is not None
            assert test is not None
            facts, sample = look_at(material.train, _languages(material), [dev, test])
            parts = material.train, material.dev, material.test
        else:
            dev, test = hold_out(material.train, dev=dev, test=test)
            facts, sample = _split(material, dev, test, place)
            parts = _written(material, folder)
        if not sample:
            raise DataError(
                f"{material.train.name}: none of {facts.read:,} pairs stays after cleaning "
                f"({_counts(facts)}); look at the text"
            )
        tell("measuring how fast models learn from it here")
        encoded = measure.encode(facts, sample)
        pieces = measure.lengths(facts, encoded, dev, test)
        plan, speed = _planned(facts, encoded, pieces, minutes)
    train_part, dev_part, test_part = parts
    assert dev_part is not None
    assert test_part is not None
    chosen = Chosen(
        facts,
        pieces,
        encoded.config,
        plan,
        minutes,
        speed,
        best_device().type,
        best_tokenizer(facts.target.scripts),
        train_part,
        dev_part,
        test_part,
        needs_split,
    )
    _write(chosen, config)
    model = measure.model_of(plan.size, joint=encoded.config.joint, dropout=plan.dropout)
    built = build_model(model, encoded.vocabularies)
    return Started(
        chosen,
        config,
        folder if needs_split else None,
        sum(parameter.numel() for parameter in built.parameters()),
        warnings(facts, plan, minutes),
    )


def _languages(material: Material) -> tuple[str, str]:
    return material.source_language, material.target_language


def _filled(part: CorpusPart) -> list[Pair]:
    pairs = [pair for pair in read_pairs(part) if part.fills(pair)]
    if not pairs:
        raise DataError(f"{part.name}: no pair has both sides filled; look at the file")
    return pairs


def _split(
    material: Material, dev: list[Pair], test: list[Pair], place: Path
) -> tuple[Facts, list[Pair]]:
    """Write what was split off, and the rest as the training text."""
    languages = _languages(material)
    for name, part, pairs in (("dev", material.dev, dev), ("test", material.test, test)):
        if part is None:
            write_set(place / f"{name}.tsv", pairs, languages)
    with atomic_write(place / "train.tsv") as stream:
        file = SetFile(stream, languages)
        facts, sample = look_at(material.train, languages, [dev, test], file.add)
    # The pairs themselves are found in the text again; only what repeats them is a loss.
    itself = sum(
        len(pairs) for part, pairs in ((material.dev, dev), (material.test, test)) if part is None
    )
    dropped = facts.dropped | {"held out": facts.dropped.get("held out", 0) - itself}
    return replace(facts, dropped={why: n for why, n in dropped.items() if n > 0}), sample


def _written(
    material: Material, folder: Path
) -> tuple[CorpusPart, CorpusPart | None, CorpusPart | None]:
    """Training text, dev and test set: as given, or where they are written."""
    source, target = _languages(material)

    def written(name: str) -> CorpusPart:
        path = str((folder / f"{name}.tsv").absolute())
        return CorpusPart(path=path, source=source, target=target)

    return written("train"), material.dev or written("dev"), material.test or written("test")


def _planned(
    facts: Facts, encoded: measure.Encoded, pieces: Pieces, minutes: float
) -> tuple[Plan, float]:
    """The plan, and the speed that it rests on."""
    speeds: dict[str, float] = {}
    while size := worth_measuring(facts, pieces, speeds, minutes):
        batch_tokens = measure.first_batch_tokens(size)
        speeds[size.name] = measure.measure_speed(size, encoded, batch_tokens, pieces.limit)
    size = choose_size(facts, pieces, speeds, minutes)
    speed = speeds[size.name]
    batch_tokens = choose_batch(facts, pieces, size, speed, minutes)
    if batch_tokens != measure.first_batch_tokens(size):
        speed = measure.measure_speed(size, encoded, batch_tokens, pieces.limit)
    plan = plan_training(
        facts, pieces, size, batch_tokens=batch_tokens, speed=speed, minutes=minutes
    )
    return plan, speed


def _write(chosen: Chosen, config: Path) -> None:
    facts = chosen.facts
    head = (
        f"{facts.source.language} to {facts.target.language}, for a training of about "
        f"{max(1, round(chosen.plan.seconds / 60))} minutes on the machine where this was written "
        "by dragoman init.\nEvery key: docs/configuration.md"
    )
    values = values_of(chosen, config.parent)
    with atomic_write(config) as stream:
        stream.write(render(values, notes_of(chosen), " ".join(head.split(" "))))


def _counts(facts: Facts) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in facts.dropped.items())
