"""The card of a model: facts for others before they use it or pass it on.

It states only facts that the run records, and leaves the rest for the reader to fill in.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from dragoman.core.text_tables import markdown_table
from dragoman.saved.directions import usage

if TYPE_CHECKING:
    from dragoman.saved.saved_config import SavedConfig


_SPENT = re.compile(r"; [0-9.]+ (?:hours|minutes) of training")
"""The time in the text of :func:`_cost`, which differs between trainings of the same run."""


def card_digest(card: str) -> str:
    """A digest by which a changed card is recognised; it ignores the time of training."""
    return hashlib.sha256(_SPENT.sub("", card).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class TextTeacher:
    """A server that translated a part of the training text."""

    url: str
    """Address of its API, without anything secret."""
    models: tuple[str, ...]
    """The models that answered, as the server names them; empty if it names none."""
    terms_of_use: str
    """What the provider allows, as the user states it; "" if unstated."""


@dataclass(frozen=True)
class TrainingText:
    """A part of the text that a model was trained on."""

    name: str
    """Its corpus and files, without the folders of this machine."""
    direction: str
    """Such as ``en-de``."""
    licence: str | None = None
    """Stated by the recipe, or of the public corpus; None if unstated."""
    home: str | None = None
    """The page about a public corpus."""
    teacher: TextTeacher | None = None
    """The server that translated the text; None if there was none."""


@dataclass(frozen=True)
class CardScore:
    """A score of a finished model."""

    data: str
    """Name of the set."""
    metric: str
    """Such as BLEU."""
    value: float
    """Rounded for display."""
    signature: str = ""
    """sacreBLEU's signature of the settings that comparable scores share; "" without one."""


@dataclass(frozen=True)
class TrainingFacts:
    """Facts of a training, for the model card."""

    text: tuple[TrainingText, ...] = ()
    """Training text of the translation model and of its other tasks."""
    scores: tuple[CardScore, ...] = ()
    """Scores of dev and test sets."""
    pairs: int | None = None
    """Pairs after cleaning; None if the prepared text no longer exists."""
    steps: int = 0
    """Optimizer steps."""
    target_tokens: int = 0
    """Target pieces learned from, padding excluded."""
    seconds: float = 0.0
    """Time spent training, without validation."""
    processor: str = ""
    """The devices that finished it, such as ``2 x NVIDIA H100``."""
    precision: str = ""
    """Precision of the matrix products in training."""
    max_pieces: int | None = None
    """Longest side of a training pair, in pieces; None if not applicable."""
    choice: str = ""
    """How the dev sets chose the weights, in sentences; "" if the recipe decided."""
    confidence: str = ""
    """What confidence was calibrated on, a sentence; "" if it was not."""


def model_card(
    config: SavedConfig,
    weights: Mapping[str, Tensor],
    origin: str = "",
    facts: TrainingFacts | None = None,
    *,
    earlier: Sequence[str] = (),
) -> str:
    """The model card as Markdown.

    Args:
        config: configuration of the model.
        weights: weights by name.
        origin: origin of the weights, a sentence.
        facts: facts of the training; None if unknown.
        earlier: the cards of the models that these weights were made from.  They are quoted, as
            they state the origin of those weights and their licences.
    """
    facts = facts or TrainingFacts()
    earlier = list(dict.fromkeys(card.strip() for card in earlier))
    size = sum(tensor.numel() for tensor in weights.values())
    title, kind = _title(config)
    sections = {
        "Use": _use(config),
        "Training text and licence": _text(facts.text, earlier),
        "Scores": _scores(facts),
        "Cost": _cost(facts),
        "Limits": _limits(config, facts),
        "What it was made from": _quoted(earlier),
    }
    made = "made" if earlier and not facts.steps else "trained"
    head = (
        f"# {title}\n\n"
        f"A {kind} model of the family `{config.model.family}` with {size:,} parameters, "
        f"{made} with Dragoman.{origin and ' '}{origin}\n"
    )
    return head + "".join(f"\n## {name}\n\n{text}\n" for name, text in sections.items() if text)


def _title(config: SavedConfig) -> tuple[str, str]:
    if not config.translates:
        read = dict.fromkeys(direction.source_language for direction in config.directions)
        return ", ".join(read or [config.source_language]), "masked language"
    if config.model.writes_labels:
        return "Classifier", "classification"
    if not config.model.reads_source:
        return config.target_language, "language"
    sources, targets = _languages(config)
    return f"{', '.join(sources)} to {', '.join(targets)}", "translation"


def _languages(config: SavedConfig) -> tuple[list[str], list[str]]:
    """The source and target languages, each once, without copies."""
    translated = [
        direction
        for direction in config.directions
        if direction.source_language != direction.target_language
    ]
    sources = dict.fromkeys(direction.source_language for direction in translated) or [
        config.source_language
    ]
    targets = dict.fromkeys(direction.target_language for direction in translated) or [
        config.target_language
    ]
    return list(sources), list(targets)


def _translates(config: SavedConfig) -> bool:
    family = config.model
    return config.translates and family.reads_source and not family.writes_labels


def _use(config: SavedConfig) -> str:
    """Commands that use the model; for translation also Python and HTTP."""
    use = usage("MODEL", config)
    if not _translates(config):
        return f"```\n{use}\n```"
    targets = _languages(config)[1]
    several = len(targets) > 1
    told = f', target_language="{targets[0]}"' if several else ""
    request = json.dumps({"text": ["..."], "target": targets[0]})
    return (
        f"```\n{use}\n```\n\n"
        "From Python:\n\n"
        f'```python\nimport dragoman\n\ntranslator = dragoman.load("MODEL"{told})\n'
        'print(translator.translate(["..."]))\n```\n\n'
        "Over HTTP:\n\n"
        "```\ndragoman serve MODEL\n"
        "curl -X POST http://localhost:5000/v1/translate -H 'Content-Type: application/json' \\\n"
        f"  -d '{request}'\n```"
    )


def _text(parts: Iterable[TrainingText], earlier: Sequence[str]) -> str:
    parts = list(dict.fromkeys(parts))
    if not parts and earlier:
        return "Those of what it was made from, below."
    if not parts:
        return (
            "Licence: that of the text it was trained on, which is not recorded here; state it "
            "before you share the model."
        )
    rows = [
        [
            f"[{part.name}]({part.home})" if part.home else part.name,
            part.direction,
            part.licence or "not stated",
        ]
        for part in parts
    ]
    table = markdown_table(["text", "direction", "licence"], rows)
    last = "What these licences demand of text may apply to the model, too."
    if any(part.licence is None for part in parts):
        last += " State those that are missing before you share the model."
    teachers = dict.fromkeys((part.name, part.teacher) for part in parts if part.teacher)
    told = [f"- {name}: {_taught_by(teacher)}" for name, teacher in teachers if teacher]
    return "\n\n".join([table, last, *(["\n".join(told)] if told else [])])


def _taught_by(teacher: TextTeacher) -> str:
    """The server that translated a text, and its terms of use, on one line."""
    models = f"{', '.join(teacher.models)} at " if teacher.models else ""
    terms = teacher.terms_of_use or "not stated; state them before you share the model."
    return " ".join(f"translated by {models}{teacher.url}. Terms of use: {terms}".split())


def _scores(facts: TrainingFacts) -> str:
    """Scores, and what was decided by those of the dev sets."""
    table = _score_table(facts.scores)
    return "\n\n".join(text for text in (table, facts.choice, facts.confidence) if text)


def _score_table(scores: Iterable[CardScore]) -> str:
    rows = [
        [
            f"{score.data}, {score.metric}",
            f"{score.value:.2f}",
            f"`{score.signature}`" if score.signature else "",
        ]
        for score in scores
    ]
    return markdown_table(["", "", "signature of sacreBLEU"], rows, "lrl") if rows else ""


def _quoted(earlier: Sequence[str]) -> str:
    """Earlier cards, word for word, since people add to them."""
    if not earlier:
        return ""
    told = "Scores and cost below are not of this model."
    cards = ["\n".join(f"> {line}".rstrip() for line in card.splitlines()) for card in earlier]
    return "\n\n".join([told, *cards])


def _cost(facts: TrainingFacts) -> str:
    """Time and devices of this run's training alone."""
    if not facts.steps:
        return ""
    read = [] if facts.pairs is None else [f"{facts.pairs:,} pairs after cleaning"]
    read += [f"{facts.steps:,} steps", f"{facts.target_tokens:,} target pieces"]
    hours = facts.seconds / 3600
    spent = f"{hours:.1f} hours" if hours > 2 else f"{hours * 60:.1f} minutes"
    where = f" on {facts.processor}" if facts.processor else ""
    how = f" in {facts.precision}" if facts.precision else ""
    return f"{', '.join(read)}; {spent} of training{where}{how}, without validation."


def _limits(config: SavedConfig, facts: TrainingFacts) -> str:
    """Known limits: uses that the model was not trained for."""
    if not _translates(config):
        return ""
    told = []
    pairs = dict.fromkeys(direction.name for direction in config.directions)
    if pairs:
        told.append(f"It was trained for {', '.join(pairs)}, and for no other direction.")
    if facts.max_pieces is not None:
        told.append(
            f"No training pair had a side of more than {facts.max_pieces} pieces; longer sentences "
            "are translated less reliably."
        )
    if config.model.position_limit is not None:
        told.append(f"It reads and writes up to {config.model.position_limit - 1} pieces.")
    unit = "It translates sentences one by one, without their context."
    if config.context is not None:
        unit = "It reads a sentence with its neighbours; alone it may be worse."
    told.append(unit)
    if facts.text:
        told.append("Other kinds of text than those above were not trained on.")
    if facts.scores or facts.text:
        sets = list(dict.fromkeys(score.data for score in facts.scores))
        told.append(
            f"Measured on {', '.join(sets)} alone: nothing is known of its quality elsewhere."
            if sets
            else "Its quality was not measured."
        )
    return "\n".join(f"- {text}" for text in told)
