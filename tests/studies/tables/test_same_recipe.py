"""Whether a run is that of its recipe: what it records by itself does not count."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import experiment
from tiny_model import save_tiny_model

from dragoman.core.config import override, parse
from dragoman.core.errors import SavedError
from dragoman.recipe import ExperimentConfig
from dragoman.training.warm_start import digest_of
from studies.tables.same_recipe import changes


def config(*settings: str) -> ExperimentConfig:
    values: dict[str, Any] = experiment()
    values["data"]["train"][0]["path"] = "/texts/numbers/train.tsv"
    return parse(ExperimentConfig, override(values, settings), "test")


@pytest.mark.parametrize(
    ("run", "recipe"),
    [
        ("training.precision=bfloat16", "training.precision=auto"),
        ("training.log_steps=3", "evaluation.metrics=[ter]"),
        ("search.batch_tokens=8192", "search.buffer_lines=9"),
        ("data.test={}", "data.processes=2"),
        ("training.max_epochs=null", "training.keep_checkpoints=9"),
    ],
)
def test_what_changes_no_weight_does_not_count(run: str, recipe: str) -> None:
    assert changes(config(run), config(recipe)) == []


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ("seed=2", "seed"),
        ("training.max_steps=13", "training.max_steps"),
        ("training.precision=bfloat16", "training.precision"),
        ("search.beam=3", "search.beam"),
        ("model.heads=4", "model.heads"),
        ("data.max_pieces=99", "data.max_pieces"),
    ],
)
def test_what_changes_the_model_does(setting: str, key: str) -> None:
    assert changes(config(setting), config()) == [key]


def test_files_may_move_with_their_folder() -> None:
    values = config().model_dump(mode="json")
    values["data"]["train"][0]["path"] = "/elsewhere/numbers/train.tsv"
    assert changes(parse(ExperimentConfig, values, "test"), config()) == []
    values["data"]["train"][0]["path"] = "/texts/letters/train.tsv"
    assert changes(parse(ExperimentConfig, values, "test"), config()) == ["data.train"]


def test_the_vocabulary_that_was_taken_is_recorded_by_the_run() -> None:
    taken = config("vocabulary={of: /runs/a/other}")
    digest = "0" * 64
    run = config(f"vocabulary={{of: /moved/a/other, digest: '{digest}'}}")
    assert changes(run, taken) == []
    assert changes(run, config("vocabulary={of: /runs/a/third}")) == ["vocabulary.of"]


def test_a_model_to_start_from_is_known_by_its_weights(tmp_path: Path) -> None:
    parent = save_tiny_model(tmp_path / "parent")
    start = "training.start_from={{model: {}{}}}"
    taken = "vocabulary={}"
    wanted = config(taken, start.format(parent, ""))
    assert wanted.training.start_from is not None
    digest = digest_of(wanted.training.start_from)
    run = config(taken, start.format("/moved/any", f", digest: '{digest}'"))
    assert changes(run, wanted) == []
    save_tiny_model(tmp_path / "parent", seed=2)
    assert changes(run, wanted) == ["training.start_from.digest"]
    assert changes(config(taken), wanted) == ["training.start_from"]
    shutil.rmtree(parent)
    with pytest.raises(SavedError):
        changes(run, wanted)
