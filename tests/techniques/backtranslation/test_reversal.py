"""A recipe turned round: the same text, with its sides exchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import experiment

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.recipe import ExperimentConfig
from dragoman.techniques.backtranslation.reversal import direction_of, real_parts, reversed_recipe
from dragoman.text.corpora.cleaning import CleaningReport, clean_part
from dragoman.text.corpora.corpus import evaluation_pairs


@pytest.fixture
def values(text: Path) -> dict[str, Any]:
    """A tiny recipe, with absolute paths."""
    found = experiment()
    data = found["data"]
    for part in (*data["train"], data["dev"], data["test"]["news"]):
        part["path"] = str(text / part["path"])
    return found


def recipe(values: dict[str, Any]) -> ExperimentConfig:
    return parse(ExperimentConfig, values, "tiny.yaml")


def test_all_text_changes_sides(values: dict[str, Any]) -> None:
    config = recipe(values)
    found = reversed_recipe(config)
    assert (found.source_language, found.target_language) == ("de", "en")
    for one, other in zip(config.parts(), found.parts(), strict=True):
        assert one[0] == other[0]
        pairs = [(pair.source, pair.target) for pair in evaluation_pairs(one[1])]
        assert pairs == [(pair.target, pair.source) for pair in evaluation_pairs(other[1])]
    unchanged = {"data", "source_language", "target_language", "evaluation"}
    assert found.model_dump(exclude=unchanged) == config.model_dump(exclude=unchanged)


def test_twice_is_the_same_recipe(values: dict[str, Any]) -> None:
    train = values["data"]["train"][0]
    train["tags"] = ["<2de>", "<ui>"]
    train["transforms"] = [
        {"kind": "tag"},
        {"kind": "case", "to": "lower", "sides": "source"},
        {"kind": "noise"},
    ]
    values["data"]["cleaning"] = {"source_scripts": ["Latin"], "target_scripts": ["Han"]}
    values["vocabulary"]["tags"] = ["<2de>", "<x>"]
    config = recipe(values)
    once = reversed_recipe(config)
    assert once.data.cleaning.source_scripts == ("Han",)
    assert once.vocabulary.tags == ("<2en>", "<x>")
    twice = reversed_recipe(once)
    resolved = {"source_language": "en", "target_language": "de"}
    for part, original in zip(twice.parts(), config.parts(), strict=True):
        assert part[1] == original[1].model_copy(update=resolved)
    assert twice.model_dump(exclude={"data"}) == config.model_dump(exclude={"data"})


def test_a_tag_names_the_new_target_and_case_follows_its_language(
    values: dict[str, Any],
) -> None:
    train = values["data"]["train"][0]
    train["tags"] = ["<2de>", "<ui>"]
    train["transforms"] = [
        {"kind": "case", "to": "lower", "sides": "source"},
        {"kind": "tag", "tags": ["<2de>", "<x>"]},
        {"kind": "tag"},
        {"kind": "noise"},
        {"kind": "case", "to": "upper", "sides": "source", "share": 0.5},
    ]
    (part,) = real_parts(reversed_recipe(recipe(values)))
    assert part.tags == ("<2en>", "<ui>")
    assert list(part.symbols()) == ["<2en>", "<ui>", "<2en>", "<x>", "<2en>"]
    lower, _, _, noise, upper = part.transforms
    assert (lower.kind, getattr(lower, "sides", None)) == ("case", "target")
    assert noise.kind == "noise"
    assert getattr(upper, "sides", None) == "source"  # noise of the input stays there


def test_plain_files_and_several_dev_sets(values: dict[str, Any]) -> None:
    values["data"]["train"] = [{"source": "/a.en", "target": "/a.de", "weight": 2}]
    dev = values["data"]["dev"]
    values["data"]["dev"] = {"one": dev, "two": dict(dev)}
    found = reversed_recipe(recipe(values))
    (part,) = found.data.train
    assert (part.source, part.target, part.weight) == ("/a.de", "/a.en", 2)
    assert isinstance(found.data.dev, dict)
    assert {name: (one.source, one.target) for name, one in found.data.dev.items()} == {
        "one": ("de", "en"),
        "two": ("de", "en"),
    }


def test_kinds_of_vocabularies_change_sides(values: dict[str, Any]) -> None:
    values["model"]["embeddings"] = "separate"
    values["vocabulary"] |= {"joint": False, "kind": "unigram", "target_kind": "bpe"}
    found = reversed_recipe(recipe(values)).vocabulary
    assert (found.kind, found.target_kind) == ("bpe", "unigram")


def test_text_without_a_source_is_left_out(values: dict[str, Any]) -> None:
    copies = {"target": "/mono.de", "transforms": [{"kind": "copy"}]}
    values["data"]["train"].append(copies)
    config = recipe(values)
    assert direction_of(config).name == "en-de"
    assert len(reversed_recipe(config).data.train) == 1


def learned(config: ExperimentConfig) -> list[set[str]]:
    """What the first training part keeps of its pairs, each as its two texts."""
    held_out = config.held_out(config.data.never_trained_on)
    cleaned = clean_part(config.data.train[0], config.cleaning, CleaningReport(), held_out=held_out)
    return [{pair.source, pair.target} for pair in cleaned]


@pytest.mark.parametrize("sides", [{"source": "en", "target": "de"}, {"target": "de"}])
def test_what_is_never_trained_on_is_not_in_reverse_either(
    sides: dict[str, str], values: dict[str, Any]
) -> None:
    train = values["data"]["train"][0]
    everything = learned(recipe(values))
    first = [{"kind": "filter", "last_line": 11}]
    values["data"]["held_out"] = [{"path": train["path"], **sides, "transforms": first}]
    config = recipe(values)
    forward = learned(config)
    assert forward == [pair for pair in everything if pair in forward]
    assert len(everything) - 20 <= len(forward) < len(everything)
    assert learned(reversed_recipe(config)) == forward


def test_bleu_suits_the_new_target(values: dict[str, Any], tmp_path: Path) -> None:
    lines = "".join(json.dumps({"en": "你好世界", "de": "Hallo Welt"}) + "\n" for _ in range(3))
    (tmp_path / "dev.jsonl").write_text(lines, encoding="utf-8")
    values["data"]["dev"]["path"] = str(tmp_path / "dev.jsonl")
    assert reversed_recipe(recipe(values)).evaluation.bleu_tokenize == "zh"
    values["evaluation"] = {"bleu_tokenize": "none"}
    assert reversed_recipe(recipe(values)).evaluation.bleu_tokenize == "none"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"training": {"start_from": {"model": "/model", "vocabulary": "new"}}},
            "training.start_from: its model translates in",
        ),
        (
            {
                "data": {"train": [{"source": "/a", "target": "/b", "alignments": "/c"}]},
                "training": {"objective": {"kind": "guided_alignment"}},
            },
            r"data\.train\.0\.alignments link source to target words and are not turned round",
        ),
        (
            {"data": {"held_out": [{"path": "/a.po"}]}},
            r"data\.held_out: the sides of po files cannot be exchanged",
        ),
        ({"data": {"train": [{"path": "/a.po"}]}}, "sides of po files cannot be exchanged"),
        (
            {
                "vocabulary": {"joint": False, "target_kind": "word"},
                "model": {"embeddings": "separate"},
            },
            "vocabulary.target_kind: word is of targets alone",
        ),
    ],
)
def test_what_cannot_be_turned_round_says_what_to_do(
    values: dict[str, Any], changes: dict[str, Any], problem: str
) -> None:
    for section, more in changes.items():
        values[section] = {**values[section], **more}
    with pytest.raises(ConfigError, match=rf"{problem}.*--reverse"):
        reversed_recipe(recipe(values))


def test_one_direction_only(values: dict[str, Any]) -> None:
    tag = [{"kind": "tag"}]
    (train,) = values["data"]["train"]
    french = {**train, "target_language": "fr", "transforms": tag}
    values["data"]["train"] = [{**train, "transforms": tag}, french]
    for one in (values["data"]["dev"], values["data"]["test"]["news"]):
        one["transforms"] = tag
    with pytest.raises(ConfigError, match="several directions: en-de, en-fr; back-translate one"):
        direction_of(recipe(values))


def test_a_classifier_has_no_opposite_direction(values: dict[str, Any]) -> None:
    for part in (*values["data"]["train"], values["data"]["dev"], values["data"]["test"]["news"]):
        del part["target"]
        part["label"] = "news"
    backbone = {"family": "transformer", "encoder_layers": 1, "heads": 2, "d_model": 16}
    values["model"] = {"family": "classifier", "backbone": backbone}
    values["evaluation"] = {"metrics": ["accuracy"]}
    values["training"]["best_metric"] = "accuracy"
    with pytest.raises(ConfigError, match="a classifier has no opposite direction"):
        direction_of(recipe(values))


def test_a_language_model_has_no_opposite_direction(values: dict[str, Any]) -> None:
    for part in (*values["data"]["train"], values["data"]["dev"], values["data"]["test"]["news"]):
        del part["source"]
    values["model"] = {"family": "transformer_lm", "layers": 1, "heads": 2, "d_model": 16}
    values["evaluation"] = {"metrics": []}
    with pytest.raises(ConfigError, match="a language model has no opposite direction"):
        direction_of(recipe(values))


def test_a_masked_language_model_has_no_opposite_direction(values: dict[str, Any]) -> None:
    values["evaluation"] = {"metrics": []}
    values["training"]["objective"] = {"kind": "masked_lm"}
    with pytest.raises(ConfigError, match="masked_lm trains no translator"):
        direction_of(recipe(values))


def test_a_model_composed_of_others_is_not_turned_round(values: dict[str, Any]) -> None:
    translation = {"family": "transformer", **values["model"]}
    values["model"] = {
        "family": "deep_fusion",
        "translation": translation,
        "language_model": "/language-model",
        "train": "translation",
    }
    values["vocabulary"] = {"of": "/language-model"}
    with pytest.raises(ConfigError, match=r"deep_fusion is composed of models .*--reverse"):
        reversed_recipe(recipe(values))


def test_the_digest_of_a_vocabulary_is_found_anew(values: dict[str, Any]) -> None:
    values["vocabulary"] = {"of": "/run", "digest": "0" * 64}
    assert reversed_recipe(recipe(values)).vocabulary.model_dump(exclude_defaults=True) == {
        "of": "/run"
    }


def test_the_usual_ratio_of_lengths_is_found_anew(values: dict[str, Any]) -> None:
    """As in the recipe of a run, which has measured its own."""
    values["search"] = {**values.get("search", {}), "length_ratio": 2.5}
    assert recipe(values).search.length_ratio == 2.5
    assert reversed_recipe(recipe(values)).search.length_ratio is None


def test_terms_are_of_one_side(values: dict[str, Any]) -> None:
    terms = [{"kind": "terms", "glossary": "terms.tsv"}, {"kind": "case", "to": "lower"}]
    values["data"]["train"][0]["transforms"] = terms
    values["data"]["dev"]["transforms"] = [{"kind": "with_terms", "glossary": "terms.tsv"}]
    found = reversed_recipe(recipe(values))
    assert [one.kind for one in found.data.train[0].transforms] == ["case"]
    assert all(not part.transforms for part in found.data.dev_sets.values())


@pytest.mark.parametrize(("glossary", "kept"), [("terms.tsv", False), ("terms.tbx.gz", True)])
def test_terms_are_counted_where_the_glossary_has_both_languages(
    glossary: str, kept: bool, values: dict[str, Any]
) -> None:
    """A table is of one direction: of the other, its rate would say nothing, or be an error."""
    metrics = ["bleu", "terms", "numbers"]
    values["evaluation"] = {"metrics": metrics, "glossary": glossary}
    found = reversed_recipe(recipe(values)).evaluation
    assert found.glossary == (glossary if kept else None)
    assert found.metrics == tuple(name for name in metrics if kept or name != "terms")


def test_terms_are_annotated_in_one_way_and_scored_by_a_glossary(values: dict[str, Any]) -> None:
    part = values["data"]["train"][0]
    values["data"]["train"] = [
        {**part, "transforms": [{"kind": "terms", "glossary": "terms.tsv", "method": method}]}
        for method in ("append", "replace")
    ]
    with pytest.raises(ConfigError, match=r"in two ways \(append in data.train.0, replace in"):
        recipe(values)
    values["data"]["train"] = [part]
    values["evaluation"] = {**values.get("evaluation", {}), "metrics": ["bleu", "terms"]}
    with pytest.raises(ConfigError, match=r"name it in evaluation\.glossary"):
        recipe(values)
