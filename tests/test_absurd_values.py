"""Experiments that nobody means: absurd values end in an error of one line, and quickly."""

from __future__ import annotations

import os
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import pytest
import yaml
from command_line import experiment, write_experiment

from dragoman.cli.reference import EXAMPLE
from dragoman.core.config import Config, parse
from dragoman.core.errors import ConfigError
from dragoman.core.sections import keys_of, members
from dragoman.evaluation.significance import SignificanceConfig
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.text.corpora.corpus_part import CorpusPart


def configs(kind: type[Config]) -> Iterator[type[Config]]:
    """A configuration class, and those in its fields."""
    yield kind
    for field in keys_of(kind).values():
        for part in members(field, Config):
            yield from configs(part)


def numbers(kind: type) -> Iterator[tuple[type[Config], str]]:
    """Every class and field of all configurations whose value is a number of this kind."""
    every: list[type[Config]] = [*configs(ExperimentConfig), SignificanceConfig]
    for config in dict.fromkeys(every):
        for name, field in keys_of(config).items():
            union = get_origin(field.annotation) in {Union, types.UnionType}
            kinds = get_args(field.annotation) if union else (field.annotation,)
            if kind in kinds:
                yield config, name


def message(config: type[Config], values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(config, values, "run.yaml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), float("-inf")])
def test_infinity_is_no_value_of_anything(value: float) -> None:
    found = list(numbers(float))
    assert len(found) > 25
    for config, name in found:
        assert f"{name}: Input should be a finite" in message(config, {name: value}), name


def test_whole_numbers_beyond_64_bits_are_no_value_of_anything() -> None:
    found = list(numbers(int))
    assert len(found) > 50
    for config, name in found:
        assert f" {name}: " in message(config, {name: 2**63}), (config, name)


@pytest.mark.parametrize(
    "setting",
    [
        "model.encoder_layers=100000000",
        "model.heads=100000000",
        "model.mixture.experts=100000000",
        "vocabulary.size=100000000",
        "data.processes=100000000",
        "evaluation.confidence_samples=100000000",
    ],
)
def test_sizes_that_would_never_end_are_refused(setting: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Input should be less than or equal to"):
        read_experiment(write_experiment(tmp_path), [setting])


@pytest.mark.parametrize("weight", [0, 1e-300, -1, 1e300, float("inf")])
def test_weights_are_of_a_size_that_an_epoch_can_show(weight: float) -> None:
    part = {"path": "a.tsv", "source": "en", "target": "de", "weight": weight}
    assert message(CorpusPart, part).startswith("run.yaml: weight: Input should be")


def test_all_conflicts_between_sections_are_named() -> None:
    values = yaml.safe_load(EXAMPLE)
    values["vocabulary"]["joint"] = False
    values["training"]["best_metric"] = "chrf"
    values["evaluation"]["metrics"] = ["bleu"]
    values["data"]["test"]["dev"] = {"target": "x"}
    text = message(ExperimentConfig, values)
    assert text.startswith("run.yaml: 4 problems: (1) configuration: model.embeddings: shared nee")
    for problem in (
        "(2) configuration: data.test: dev is the name of",
        "(3) configuration: training.best_metric chrf is not among evaluation.metrics",
        "(4) configuration: data.test.dev has no source",
    ):
        assert problem in text


def test_heads_that_do_not_divide_are_one_problem() -> None:
    values = experiment()
    values["model"] |= {"heads": 3, "positions": "rotary"}
    assert message(ExperimentConfig, values) == (
        "run.yaml: model: d_model 16 is not divisible by heads 3; "
        "change one of them or give d_k and d_v"
    )


def test_a_home_that_nobody_has_is_a_folder(tmp_path: Path) -> None:
    values = experiment()
    values["data"]["dev"]["path"] = "~nobody-of-this-name/dev.tsv"
    config = read_experiment(write_experiment(tmp_path, values))
    assert config.data.dev_sets["dev"].path == str(tmp_path / "~nobody-of-this-name/dev.tsv")


def test_a_base_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    for base in ("loop.yaml", "~nobody-of-this-name/x.yaml", "x" * 5000, "."):
        path = write_experiment(tmp_path, {"base": base})
        with pytest.raises(
            ConfigError, match=r"cannot be read|a directory|no such configuration file"
        ):
            read_experiment(path)


def test_text_that_cannot_be_read_twice_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tsv")
    (tmp_path / "loop").symlink_to("loop")
    values = experiment()
    values["data"]["train"][0]["path"] = "pipe.tsv"
    values["data"]["dev"]["path"] = "loop/dev.tsv"
    values["data"]["test"]["news"]["path"] = "x" * 5000 + ".tsv"
    path = write_experiment(tmp_path, values)
    with pytest.raises(ConfigError) as caught:
        read_experiment(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: 3 problems: (1) data.train.0: {tmp_path / 'pipe.tsv'} is a pi")
    assert "(2) data.dev: " in text
    assert "Too many levels of symbolic links  (3) data.test.news: " in text
    assert text.endswith(": File name too long")
    assert len(text) < 600
