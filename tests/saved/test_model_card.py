from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from dragoman.models.families.recurrent_lm import RecurrentLMConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model_card import (
    CardScore,
    TextTeacher,
    TrainingFacts,
    TrainingText,
    card_digest,
    model_card,
)
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.context import ContextConfig
from dragoman.text.examples import Direction

WEIGHTS = {"a": torch.zeros(3, 400), "b": torch.zeros(34)}
FACTS = TrainingFacts(
    text=(
        TrainingText("news: train.en.gz + train.de.gz", "en-de", "CC0-1.0", "https://example.org"),
        TrainingText("mine.tsv", "en-de"),
    ),
    scores=(
        CardScore("dev", "loss", 1.234567),
        CardScore("test", "bleu", 30.456, "nrefs:1|tok:13a"),
    ),
    pairs=29000,
    steps=1500,
    target_tokens=6_000_000,
    seconds=9000,
    processor="2 x NVIDIA H100",
    precision="bfloat16",
    max_pieces=256,
)


def card(facts: TrainingFacts | None = FACTS, **values: Any) -> str:
    directions = (Direction(source_language="en", target_language="de"),)
    config = SavedConfig(**{"model": TransformerConfig(), "directions": directions, **values})
    return model_card(config, WEIGHTS, "It began elsewhere.", facts)


def test_it_tells_what_the_run_knows() -> None:
    told = card()
    assert told.startswith(
        "# en to de\n\nA translation model of the family `transformer` with 1,234 parameters, "
        "trained with Dragoman. It began elsewhere.\n"
    )
    for line in (
        "| [news: train.en.gz + train.de.gz](https://example.org) | en-de | CC0-1.0 |",
        "| mine.tsv | en-de | not stated |",
        "State those that are missing",
        "| dev, loss | 1.23 |  |",
        r"| test, bleu | 30.46 | `nrefs:1\|tok:13a` |",
        "29,000 pairs after cleaning, 1,500 steps, 6,000,000 target pieces; 2.5 hours of training "
        "on 2 x NVIDIA H100 in bfloat16, without validation.",
        "It was trained for en-de, and for no other direction.",
        "a side of more than 256 pieces",
        "Measured on dev, test alone",
        "dragoman translate MODEL < input.txt",
        'dragoman.load("MODEL")',
        """-d '{"text": ["..."], "target": "de"}'""",
    ):
        assert line in told, line


@pytest.mark.parametrize("seconds", [0.4, 59.0, 7000.0, 7300.0, 1e6])
def test_its_digest_is_the_same_however_long_training_took(seconds: float) -> None:
    other = card(replace(FACTS, seconds=seconds))
    assert (other != card()) and card_digest(other) == card_digest(card())
    assert card_digest(card(replace(FACTS, steps=1501))) != card_digest(card())
    assert card_digest(f"{other}\nLicence: CC0-1.0\n") != card_digest(other)


def test_it_invents_nothing() -> None:
    told = card(None)
    assert "is not recorded here; state it" in told
    assert "## Scores" not in told
    assert "## Cost" not in told
    assert "pieces" not in told
    assert "Measured" not in told and "measured" not in told


def test_a_stated_licence_is_not_asked_for() -> None:
    text = (TrainingText("mine.tsv", "en-de", "CC0-1.0"),)
    assert "missing" not in card(TrainingFacts(text=text))


def test_the_teachers_of_synthetic_text_are_named_with_their_terms() -> None:
    url = "https://example.org/v1"
    stated = TextTeacher(url, ("llm-1", "llm-2"), "May train\n other models.")
    text = (
        TrainingText("pairs.jsonl.gz", "en-de", "CC0-1.0", teacher=stated),
        TrainingText("pairs.jsonl.gz", "de-en", "CC0-1.0", teacher=stated),
        TrainingText("more.jsonl.gz", "de-en", "CC0-1.0", teacher=TextTeacher(url, (), "")),
    )
    told = card(TrainingFacts(text=text))
    assert (
        "demand of text may apply to the model, too.\n\n"
        f"- pairs.jsonl.gz: translated by llm-1, llm-2 at {url}. Terms of use: May train other "
        "models.\n"
        f"- more.jsonl.gz: translated by {url}. Terms of use: not stated; state them before you "
        "share the model.\n\n"
    ) in told
    assert "translated by" not in card()


def test_several_languages_are_asked_for_by_name() -> None:
    both = tuple(Direction(source_language="en", target_language=one) for one in ("de", "fr"))
    told = card(directions=both)
    assert "dragoman translate MODEL --to de" in told
    assert 'target_language="de")' in told
    assert """'{"text": ["..."], "target": "de"}'""" in told
    assert "It was trained for en-de, en-fr, and" in told


def test_context_and_positions_are_limits() -> None:
    learned = TransformerConfig(positions="learned", max_positions=100)
    told = card(model=learned, context=ContextConfig())
    assert "up to 99 pieces" in told
    assert "with its neighbours" in told
    assert "one by one" in card()


@pytest.mark.parametrize(
    ("values", "title"),
    [
        ({"model": RecurrentLMConfig(), "target_language": "de"}, "# de\n\nA language model"),
        ({"translates": False}, "# en\n\nA masked language model"),
    ],
)
def test_what_does_not_translate_has_no_limits_of_translation(
    values: dict[str, Any], title: str
) -> None:
    told = card(**values)
    assert told.startswith(title)
    assert "## Limits" not in told
    assert "curl" not in told


def test_earlier_cards_are_quoted_once_and_say_the_licence() -> None:
    config = SavedConfig(model=TransformerConfig())
    told = model_card(config, WEIGHTS, earlier=["# One\n\n- a\n", "# One\n\n- a\n", "# Two"])
    assert "1,234 parameters, made with Dragoman." in told
    assert "Those of what it was made from, below." in told
    assert told.endswith("not of this model.\n\n> # One\n>\n> - a\n\n> # Two\n")
    assert "trained with Dragoman." in model_card(config, WEIGHTS, facts=FACTS, earlier=["# A"])
