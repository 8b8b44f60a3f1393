"""Whether a run is that of its recipe: what it records by itself does not count."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import experiment
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.config import override, parse
from dragoman.core.errors import SavedError
from dragoman.data.alignments import ALIGNMENTS_DIRECTORY
from dragoman.data.origin import describe
from dragoman.data.store import StoreWriter, write_manifest
from dragoman.recipe import ExperimentConfig
from dragoman.training.warm_start import digest_of
from studies.tables.same_recipe import begun_values, changes, other_text


def config(*settings: str) -> ExperimentConfig:
    values: dict[str, Any] = experiment()
    values["data"]["train"][0]["path"] = "/texts/numbers/train.tsv"
    return parse(ExperimentConfig, override(values, settings), "test")


def begun(wanted: ExperimentConfig) -> ExperimentConfig:
    """What a run of it would have recorded."""
    return parse(ExperimentConfig, begun_values(wanted), "test")


@pytest.mark.parametrize(
    ("run", "recipe"),
    [
        ("training.precision=bfloat16", "training.precision=auto"),
        ("training.log_steps=3", "evaluation.metrics=[ter]"),
        ("search.batch_tokens=8192", "search.buffer_lines=9"),
        ("data.processes=2", "evaluation.bleu_tokenize=char"),
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


RISK = "{kind: expected_risk, reward: chrf}"


@pytest.mark.parametrize(
    "settings",
    [
        [f"training.objective={RISK}"],
        [f"training.tasks={{translation: {{objective: {RISK}}}}}"],
        ["training.best_metric=chrf", "training.average_checkpoints=0"],
        ["training.best_metric=chrf", "training.patience=2"],
        [
            "training.best_metric=chrf",
            "training.average_checkpoints=dev",
            "finish.length_penalties=[]",
        ],
        [
            "data.dev={own: {source: a, target: b}, more: {source: c, target: d}}",
            "training.bounds={more: {may_lose: 1, metric: chrf}}",
            "training.average_checkpoints=1",
        ],
    ],
)
def test_settings_of_scores_count_where_training_goes_by_them(settings: list[str]) -> None:
    """Those of other scores do not, nor does a further one."""
    words, best = "evaluation.chrf_word_order=2", "training.best_metric=chrf"
    assert changes(config(words, best), config(best)) == [], "it selects nothing here"
    wanted = config(*settings)
    assert changes(config(words, *settings), wanted) == ["evaluation.chrf_word_order"]
    others = ["evaluation.bleu_tokenize=char", "evaluation.metrics=[bleu, chrf, ter]"]
    assert changes(config(*others, *settings), wanted) == []


def test_a_command_may_go_by_scores_that_its_recipe_does_not_name() -> None:
    run = config("evaluation.bleu_tokenize=char", "evaluation.metrics=[ter]")
    assert changes(run, config(), ["bleu"]) == ["evaluation.bleu_tokenize"]


def test_tests_count_where_other_lines_are_kept_out_of_training(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("en\tde\none\teins\n", encoding="utf-8")
    (tmp_path / "new.tsv").write_text("en\tde\ntwo\tzwei\n", encoding="utf-8")
    dev, none = f"data.dev.path={tmp_path / 'dev.tsv'}", "data.test={}"
    tests = f"data.test={{news: {{path: {tmp_path}/NAME.tsv, source: en, target: de}}}}"
    known, new, gone = (tests.replace("NAME", name) for name in ("dev", "new", "gone"))
    before = config(dev, none)
    assert changes(before, config(dev, known)) == [], "the same lines are kept out"
    assert changes(before, config(dev, new)) == ["data.test.news"]
    assert changes(before, config(dev, gone)) == ["data.test.news"], "nobody can tell"
    kept = "data.cleaning.keep_held_out=true"
    assert changes(config(dev, none, kept), config(dev, new, kept)) == []


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


def test_a_vocabulary_that_was_made_again_is_noticed(tmp_path: Path) -> None:
    wanted = config(f"vocabulary={{of: {save_tiny_model(tmp_path / 'a/other')}}}")
    run = begun(wanted)
    assert run.vocabulary.digest is not None
    assert changes(run, wanted) == []
    save_tiny_model(tmp_path / "a/other", ["q r s t u", "u t s", "r q"] * 9)
    assert changes(run, wanted) == ["vocabulary.digest"]
    assert changes(wanted, wanted) == [], "an older release recorded none"


def test_vectors_that_were_made_again_are_noticed(tmp_path: Path) -> None:
    vectors = tmp_path / "de.vec"
    vectors.write_text("1 2\neins 0.6 0.8\n", encoding="utf-8")
    wanted = config(f"training.embeddings={{target: {vectors}}}")
    run = begun(wanted)
    assert changes(run, wanted) == []
    vectors.write_text("1 2\neins 0.8 0.6\n", encoding="utf-8")
    assert changes(run, wanted) == ["training.embeddings.digest"]
    vectors.unlink()
    assert changes(run, wanted) == [], "nobody can tell"


def test_word_alignments_that_were_made_again_are_noticed(tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.write_text("0-0\n", encoding="utf-8")
    guided = "training.objective={kind: guided_alignment}"
    wanted = config(guided, f"data.train.0.alignments={links}")
    (tmp_path / ALIGNMENTS_DIRECTORY).mkdir()
    with StoreWriter(tmp_path / ALIGNMENTS_DIRECTORY) as writer:
        manifest = writer.manifest([], 9, "", describe([links]))
    write_manifest(tmp_path / ALIGNMENTS_DIRECTORY, manifest)
    assert list(other_text(tmp_path, wanted)) == []
    links.write_text("0-1\n", encoding="utf-8")
    assert list(other_text(tmp_path, wanted)) == ["the word alignments of data.train"]
    links.unlink()
    assert list(other_text(tmp_path, wanted)) == []


def test_components_are_recorded_as_a_run_would(tmp_path: Path) -> None:
    """Their configurations in place of their paths, and their weights by digests."""
    translator = save_tiny_model(tmp_path / "translator")
    lm = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    named = f"{{family: deep_fusion, translation: {translator}, language_model: {lm}}}"
    wanted = config(f"model={named}", f"vocabulary={{of: {translator}}}")
    run = begun(wanted)
    assert changes(run, wanted) == []
    assert changes(wanted, wanted) == [], "as older records have it"
    save_tiny_model(tmp_path / "lm", seed=2, config=TINY_LM)
    assert changes(run, wanted) == ["training.components.language_model.digest"]


def test_a_model_to_start_from_is_known_by_its_weights(tmp_path: Path) -> None:
    parent = save_tiny_model(tmp_path / "parent")
    start = "training.start_from={{model: {}{}}}"
    taken = "vocabulary={}"
    wanted = config(taken, start.format(parent, ""))
    assert wanted.training.start_from is not None
    digest = digest_of(wanted.training.start_from)
    assert begun(wanted).training.start_from == wanted.training.start_from.model_copy(
        update={"digest": digest}
    )
    run = config(taken, start.format("/moved/any", f", digest: '{digest}'"))
    assert changes(run, wanted) == []
    save_tiny_model(tmp_path / "parent", seed=2)
    assert changes(run, wanted) == ["training.start_from.digest"]
    assert changes(config(taken), wanted) == ["training.start_from"]
    shutil.rmtree(parent)
    with pytest.raises(SavedError):
        changes(run, wanted)
