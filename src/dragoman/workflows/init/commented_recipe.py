"""The chosen values as a configuration, with a comment on each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from dragoman.core.config import to_yaml
from dragoman.evaluation.metric import BleuTokenizer
from dragoman.evaluation.sacrebleu_metrics import installing
from dragoman.evaluation.tokenizers import suitable_tokenizers
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.workflows.init.choose import (
    MANY_CHARACTERS,
    SIZES,
    Pieces,
    Plan,
    script_names,
    shares_scripts,
)
from dragoman.workflows.init.look import Facts
from dragoman.workflows.init.survey import Survey
from dragoman.workflows.init.text_choice import notes_on_text

_COLUMNS = 96
_SAMPLED_EPOCHS = 40
_ABOUT_OPTIMIZERS = {
    "muon": "learns more from the same text than adam, though a step takes a little longer",
    "adam": "muon learns more from the same text at smaller sizes; not compared at this one",
}


class Parts(NamedTuple):
    """The files of the text."""

    train: list[CorpusPart]
    dev: dict[str, CorpusPart]
    """By name: that of its direction, if there are several."""
    test: dict[str, CorpusPart]

    def values(self, folder: Path) -> dict[str, Any]:
        """As in a configuration in a folder."""
        dev, test = (
            {name: part_values(part, folder) for name, part in sets.items()}
            for sets in (self.dev, self.test)
        )
        return {
            "train": [part_values(part, folder) for part in self.train],
            "dev": dev if len(dev) > 1 else next(iter(dev.values())),
            "test": test,
        }


@dataclass(frozen=True)
class Chosen:
    """All choices that make up a configuration."""

    facts: Facts
    pieces: Pieces
    vocabulary: VocabularyConfig
    plan: Plan
    speed: float
    """Target tokens per second."""
    device: str
    tokenizer: BleuTokenizer
    parts: Parts
    was_split: bool
    """Whether a set was split off."""
    survey: Survey


def values_of(chosen: Chosen, folder: Path) -> dict[str, Any]:
    """The configuration as plain values.

    Args:
        folder: of the file; paths of text below it are made relative to it.
    """
    plan, vocabulary = chosen.plan, chosen.vocabulary
    size = plan.size
    pieces: dict[str, Any] = {"size": vocabulary.size, "joint": vocabulary.joint}
    if vocabulary.byte_fallback:
        pieces["byte_fallback"] = True
    if vocabulary.character_coverage < 1:
        pieces["character_coverage"] = vocabulary.character_coverage
    if vocabulary.balance is not None:
        pieces["balance"] = vocabulary.balance
    if plan.epochs >= _SAMPLED_EPOCHS:
        pieces["sampling"] = 0.1
    model: dict[str, Any] = {
        "family": "transformer",
        "encoder_layers": size.layers,
        "decoder_layers": size.layers,
        "d_model": size.d_model,
        "d_ff": size.d_ff,
        "heads": size.heads,
        "dropout": plan.dropout,
        "norm": "pre",
    }
    if not vocabulary.joint:
        model["embeddings"] = "target"
    return {
        "seed": 1,
        "source_language": chosen.facts.source.language,
        **({"target_language": chosen.facts.target.language} if len(chosen.parts.dev) == 1 else {}),
        "data": {
            **chosen.parts.values(folder),
            "max_pieces": chosen.pieces.limit,
        },
        "vocabulary": pieces,
        "model": model,
        "training": {
            "step_tokens": plan.step_tokens,
            "optimizer": {"kind": size.optimizer.kind},
            "schedule": {
                "peak_learning_rate": size.peak_learning_rate,
                "warmup_steps": plan.warmup_steps,
                "decay": "linear",
            },
            "max_steps": plan.steps,
            "max_minutes": plan.max_minutes,
            "validation_steps": plan.validation_steps,
            "checkpoint_steps": plan.checkpoint_steps,
            "average_checkpoints": "dev",
            "best_metric": "chrf",
        },
        "evaluation": {"metrics": ["chrf", "bleu"], "bleu_tokenize": chosen.tokenizer},
    }


def part_values(part: CorpusPart, folder: Path) -> dict[str, Any]:
    """A part as plain values, with paths as :func:`path_from` writes them."""
    values = part.model_dump(exclude_none=True, exclude_defaults=True)
    for key in ("path",) if part.path is not None else ("source", "target"):
        values[key] = path_from(values[key], folder)
    if part.transforms:
        values["transforms"] = [
            {"kind": one.kind, **one.model_dump(exclude_defaults=True)} for one in part.transforms
        ]
    return values


def path_from(path: str, folder: Path) -> str:
    """A path relative to ``folder`` if below it; any other unchanged."""
    relative = os.path.relpath(path, os.path.realpath(folder))
    inside = not relative.startswith(os.pardir) and not relative.startswith("~")
    return relative if inside else path


def notes_of(chosen: Chosen) -> dict[str, str]:
    """The reason for each value and advice on changing it, by its key."""
    facts, plan, pieces = chosen.facts, chosen.plan, chosen.pieces
    notes = {
        "data": about_text(chosen.facts, was_split=chosen.was_split),
        "data.max_pieces": "at least 999 of 1,000 pairs are no longer; longer ones are excluded "
        "from training",
        "vocabulary.size": f"for {facts.target.length:,} characters of target text; a larger one "
        "has too few examples of each piece",
        "vocabulary.joint": _about_scripts(facts),
        "vocabulary.byte_fallback": _about_bytes(chosen),
        "vocabulary.character_coverage": "the rarest characters are spelt in bytes",
        "vocabulary.sampling": "BPE-dropout: every epoch splits words differently; 0 turns it off",
        "model": _about_size(chosen),
        "model.dropout": f"for {plan.epochs:.1f} epochs; use more (0.3) if the dev "
        "loss rises while the training loss falls",
        "model.norm": "learns faster than the paper's post, which pays off in short training runs",
        "model.embeddings": "one matrix for target and output; the source has its own pieces",
        "training.step_tokens": "large enough to be steady, small enough for many steps; "
        "if memory runs out, set device_tokens to half of it",
        "training.optimizer": _ABOUT_OPTIMIZERS[plan.size.optimizer.kind],
        "training.schedule.peak_learning_rate": "halve it if the loss jumps or stays high",
        "training.schedule.warmup_steps": "an eighth of all steps",
        "training.schedule.decay": "to zero at max_steps; change both together",
        "training.max_steps": _about_steps(chosen),
        "training.max_minutes": "if steps are slower than measured, the learning rate decays to "
        "zero within this time; remove it for longer training",
        "training.average_checkpoints": "the mean of the last five checkpoints or the best one, "
        "whichever is better on the dev set; a number decides: 5 for the mean, 0 for the best",
        "training.best_metric": "chrF counts characters and is steadier than BLEU with little text",
        "evaluation.bleu_tokenize": about_tokenizer(chosen.facts, chosen.tokenizer),
    }
    if chosen.vocabulary.balance is not None:
        notes["vocabulary.balance"] = "some target languages have much less text than others"
    if note := about_training_text(chosen.facts, chosen.parts, chosen.survey):
        notes["data.train"] = note
    if pieces.dev_tokens:
        notes["training.validation_steps"] = "each validation translates the dev set"
    return notes


def about_text(facts: Facts, *, was_split: bool) -> str:
    """Sizes of the sets, and where those that were not given come from."""
    text = f"{facts.pairs:,} training pairs, {facts.dev_pairs:,} dev, {facts.test_pairs:,} test"
    if was_split:
        text += (
            "; sets that were not given were split off in blocks of neighbouring lines, and no "
            "training pair repeats a sentence in them"
        )
    return text


def about_training_text(facts: Facts, parts: Parts, survey: Survey) -> str:
    """What is in the training text, and what is done about its strings and short lines."""
    found = [about_folders(parts, survey), *notes_on_text(facts.features, parts.train)]
    return ". ".join(filter(None, found))


def about_folders(parts: Parts, survey: Survey) -> str:
    """What is in the folders of the training text, if it has any."""
    if not any(part.file_format.is_folder for part in parts.train):
        return ""
    return (
        f"{'; '.join(map(str, survey.parts))}. Folders are read as they are when training starts; "
        "what is in the dev and test sets is kept out"
    )


def _about_scripts(facts: Facts) -> str:
    names = [script_names(side) for side in (facts.source, facts.target)]
    if shares_scripts(facts):
        return f"both sides are in {names[1]}, so they share pieces"
    return (
        f"{facts.source.language} is in {names[0]}, {facts.target.language} in {names[1]}: too "
        "little in common to share pieces"
    )


def _about_bytes(chosen: Chosen) -> str:
    different = max(side.characters for side in (chosen.facts.source, chosen.facts.target))
    if different > MANY_CHARACTERS:
        return f"the text has {different:,} different characters: those it lacks are spelt in bytes"
    if chosen.vocabulary.character_coverage < 1:
        return "characters that have no piece are spelt in bytes"
    return "dev or test has characters that the training text lacks: they are spelt in bytes"


def _about_size(chosen: Chosen) -> str:
    plan = chosen.plan
    learned = plan.epochs * chosen.pieces.epoch_tokens
    names = [size.name for size in SIZES]
    text = (
        f"the {plan.size.name} one of {', '.join(names)}, for {_short(learned)} target tokens to "
        f"train on, from {_short(chosen.pieces.epoch_tokens)} of text"
    )
    if plan.size is not SIZES[-1]:
        larger = SIZES[names.index(plan.size.name) + 1]
        text += (
            f"; the next larger one ({larger.layers} layers, d_model {larger.d_model}) needs "
            f"{_short(larger.least_learned)} and {_short(larger.least_text)}"
        )
    return text


def _about_steps(chosen: Chosen) -> str:
    plan = chosen.plan
    passes = f"{plan.epochs:.1f} epochs"
    if plan.is_cut_by_epochs:
        return (
            f"{passes}; more would only memorise the text, so this takes less than the given time"
        )
    return (
        f"{passes} at {chosen.speed:,.0f} target tokens per second on this {chosen.device}; "
        "for more time: dragoman init --minutes"
    )


def about_tokenizer(facts: Facts, tokenizer: BleuTokenizer) -> str:
    """Why BLEU counts these words."""
    wanted = suitable_tokenizers(facts.target.scripts)
    if not wanted:
        return "for text with spaces between words; use none if it is already tokenised"
    if wanted[0] == tokenizer:
        return "this language has no spaces between words"
    return f"{wanted[0]} is usual for this language; to use it: {installing(wanted[0])}"


def _short(count: float) -> str:
    for size, unit in ((1e9, " billion"), (1e6, " million")):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{round(count, -3):,.0f}" if count >= 1000 else f"{count:.0f}"


def commented_yaml(values: Mapping[str, Any], notes: Mapping[str, str], head: str = "") -> str:
    """Values as YAML, each with its note above it.

    Args:
        notes: comments by dotted key.
    """
    lines = [f"# {line}" for line in head.splitlines()]
    for key, value in values.items():
        lines += ["", *_rendered(key, value, notes, key, 0)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _rendered(key: str, value: Any, notes: Mapping[str, str], name: str, depth: int) -> list[str]:
    indent = "  " * depth
    lines = []
    if name in notes:
        width = _COLUMNS - len(indent)
        lines += [f"{indent}# {line}" for line in wrap(notes[name], width)]
    has_notes = any(note.startswith(f"{name}.") for note in notes)
    if isinstance(value, Mapping) and has_notes:
        lines.append(f"{indent}{key}:")
        for inner, part in value.items():
            lines += _rendered(inner, part, notes, f"{name}.{inner}", depth + 1)
    else:
        lines += [f"{indent}{line}" for line in to_yaml({key: value}).rstrip("\n").split("\n")]
    return lines
