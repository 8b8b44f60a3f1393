from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented import facts, pieces

from dragoman.core.config import parse
from dragoman.core.strict_yaml import load_yaml
from dragoman.evaluation.metrics import BleuTokenizer
from dragoman.models import TransformerConfig
from dragoman.recipe import ExperimentConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.workflows.init.choose import (
    SIZES,
    Size,
    choose_step,
    plan_training,
    plan_vocabulary,
    smaller_vocabularies,
)
from dragoman.workflows.init.commented_recipe import (
    Chosen,
    Parts,
    commented_yaml,
    notes_of,
    values_of,
)
from dragoman.workflows.init.survey import Survey


def chosen_for(
    pairs: int,
    script: str = "Latin",
    size: Size = SIZES[0],
    minutes: float = 10.0,
    speed: float = 5000.0,
    tokenizer: BleuTokenizer = "13a",
    place: str = "/text/my",
) -> Chosen:
    text, sample = facts(pairs, target_script=script), pieces(pairs)
    step_tokens = choose_step(text, sample, size, speed, minutes)
    train, dev, test = (
        CorpusPart(path=f"{place}/{name}.tsv", source="en", target="no")
        for name in ("train", "dev", "test")
    )
    return Chosen(
        text,
        sample,
        plan_vocabulary(text),
        plan_training(text, sample, size, step_tokens=step_tokens, speed=speed, minutes=minutes),
        speed,
        "cpu",
        tokenizer,
        Parts([train], {"dev": dev}, {"test": test}),
        was_split=True,
        survey=Survey(),
    )


@settings(max_examples=25)
@given(
    st.builds(
        chosen_for,
        st.integers(50, 3_000_000),
        st.sampled_from(["Latin", "Hangul", "Han", "Thai"]),
        st.sampled_from(SIZES),
        st.floats(1, 100_000),
        st.floats(100, 1e6),
        st.sampled_from(["13a", "char", "zh"]),
        st.sampled_from(["/text/my", "/text/no: # 'q' \"", "/other/\x85 ü", "/text/~x"]),
    ),
    st.integers(0, 40),
)
def test_whatever_is_chosen_can_be_read(chosen: Chosen, smaller: int) -> None:
    tried = smaller_vocabularies(chosen.vocabulary)
    chosen = Chosen(**vars(chosen) | {"vocabulary": tried[min(smaller, len(tried) - 1)]})
    values = values_of(chosen, Path("/text"))
    text = commented_yaml(values, notes_of(chosen), "en to no\nof any size")
    assert load_yaml(text) == values
    config = parse(ExperimentConfig, values, "my.yaml")  # refuses what nobody reads
    model = config.model
    assert isinstance(model, TransformerConfig)
    assert (model.d_model, model.encoder_layers) == (
        chosen.plan.size.d_model,
        chosen.plan.size.layers,
    )
    assert (model.joint_setting is not None) == config.vocabulary.joint
    assert config.training.optimizer == chosen.plan.size.optimizer
    assert config.target_language == "xx"
    assert config.data.max_pieces < config.training.step_tokens
    # Every comment stands above a value that is there, and is not cut off.
    lines = text.splitlines()
    assert all(len(line) <= 100 for line in lines if line.lstrip().startswith("#"))


def leaves(values: dict[str, Any], name: str = "") -> set[str]:
    found = set()
    for key, value in values.items():
        found.add(name + key)
        if isinstance(value, dict):
            found |= leaves(value, f"{name}{key}.")
    return found


def test_every_note_is_of_a_value() -> None:
    """At once with byte fallback, separate vocabularies and sampling, all of them are there."""
    chosen = chosen_for(29_000, "Hangul", tokenizer="char")
    vocabulary = chosen.vocabulary.model_copy(
        update={"byte_fallback": True, "character_coverage": 0.98}
    )
    plan = Chosen(**vars(chosen) | {"vocabulary": vocabulary})
    plan = Chosen(**vars(plan) | {"plan": _with_epochs(plan, 50)})
    assert set(notes_of(plan)) <= leaves(values_of(plan, Path("/text")))


def _with_epochs(chosen: Chosen, epochs: float) -> Any:
    return type(chosen.plan)(**vars(chosen.plan) | {"epochs": epochs})


def test_paths_are_seen_from_the_configuration() -> None:
    values = values_of(chosen_for(500), Path("/text"))
    assert values["data"]["train"] == [{"path": "my/train.tsv", "source": "en", "target": "no"}]
    values = values_of(chosen_for(500), Path("/elsewhere"))
    assert values["data"]["dev"]["path"] == "/text/my/dev.tsv"


@pytest.mark.parametrize(
    ("script", "tokenizer", "said"),
    [
        ("Latin", "13a", "spaces between words"),
        ("Hangul", "char", "-m pip install 'sacrebleu[ko]'"),
        ("Hangul", "ko-mecab", "no spaces between words"),
    ],
)
def test_notes_say_which_bleu(script: str, tokenizer: BleuTokenizer, said: str) -> None:
    chosen = chosen_for(9000, script, tokenizer=tokenizer)
    assert said in notes_of(chosen)["evaluation.bleu_tokenize"]
    shared = "so they share pieces" in notes_of(chosen)["vocabulary.joint"]
    assert shared == (script == "Latin")


def test_comments_stand_above_their_values() -> None:
    text = commented_yaml(
        {"a": {"b": 1, "c": "x: y"}, "d": [1]}, {"a": "whole", "a.c": "part"}, "head"
    )
    assert text == "# head\n\n# whole\na:\n  b: 1\n  # part\n  c: 'x: y'\n\nd:\n- 1\n"
