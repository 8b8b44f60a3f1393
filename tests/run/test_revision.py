"""What may change of a run that has begun, and what is said of the rest."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import experiment
from stores import write_store

from dragoman.core.config import override, parse
from dragoman.core.errors import ConfigError
from dragoman.recipe import ExperimentConfig
from dragoman.run.revision import (
    CHANGEABLE,
    as_decided,
    ended_by,
    measuring_digest,
    plain_values,
    progress_of,
    revised,
    with_length_ratio,
)
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.training.checkpoint import Best, Place, Progress, write_checkpoint
from dragoman.training.components import TakenComponent


def config(**training: Any) -> ExperimentConfig:
    values = experiment()
    values["training"] |= training
    values["training"]["schedule"] = {"warmup_steps": 5, **training.get("schedule", {})}
    return parse(ExperimentConfig, values, "tiny.yaml")


def at_step(run: Path, step: int, **progress: Any) -> Path:
    write_checkpoint(run, Progress(step=step, **progress), {"w": torch.ones(1)}, {})
    return run


def test_limits_intervals_search_and_scores_may_change(tmp_path: Path) -> None:
    run = at_step(tmp_path, 12)
    settings = ["training.max_steps=40", "training.patience=3", "training.validation_steps=20"]
    settings += ["training.log_steps=5", "training.keep_checkpoints=9", "data.processes=2"]
    settings += ["search.beam=7", "evaluation.metrics=[chrf]", "training.best_metric=chrf"]
    found = revised(config(), settings, run)
    assert (found.training.max_steps, found.training.patience, found.search.beam) == (40, 3, 7)
    assert found.training.best_metric == "chrf"
    assert (found.training.log_steps, found.data.processes) == (5, 2)
    assert revised(config(), ["seed=1", "model.d_model=16"], run) == config()  # as they are


def test_a_glossary_is_found_from_wherever_the_run_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ["evaluation.metrics=[terms]", "evaluation.glossary=terms.tsv"]
    found = revised(config(), settings, at_step(tmp_path / "run", 12))
    assert found.evaluation.glossary == str(tmp_path / "terms.tsv")


@pytest.mark.parametrize(
    "setting",
    [
        "seed=7",
        "model.d_model=32",
        "vocabulary.size=130",
        "data.max_pieces=9",
        "data.test.news.path=other.tsv",
        "training.step_tokens=600",
        "training.optimizer.beta1=0.8",
        "training.schedule.decay=linear",
        "training.label_smoothing=0",
        "training.precision=auto",
        "training.start_from={model: runs/other, vocabulary: new}",
    ],
)
def test_what_would_make_the_steps_so_far_untrue_is_refused(setting: str, tmp_path: Path) -> None:
    settings = ["training.max_steps=40", setting]
    key = setting.partition("=")[0]
    with pytest.raises(ConfigError, match=f"{key}.* cannot change .* What can change: ") as caught:
        revised(config(), settings, at_step(tmp_path, 12))
    assert all(name in str(caught.value) for name in CHANGEABLE)
    assert "max_steps cannot" not in str(caught.value)


def test_how_scores_are_measured_cannot_change_where_bounds_count_from_them(
    tmp_path: Path,
) -> None:
    values = plain_values(config())
    dev = values["data"]["dev"]
    values["data"]["dev"] = {"one": dev, "general": dev}
    values["evaluation"]["metrics"] = ["chrf"]
    settings = ["search.beam=7", "evaluation.chrf_word_order=2"]
    for metric in ("loss", "chrf"):
        bounds = {"general": {"may_lose": 1, "metric": metric}}
        values["training"] |= {"bounds": bounds, "best_metric": metric, "average_checkpoints": 0}
        before = parse(ExperimentConfig, values, "tiny.yaml")
        run = at_step(tmp_path / metric, 12)
        revised(before, ["search.batch_tokens=99", "evaluation.confidence_samples=9"], run)
        if metric == "loss":
            assert revised(before, settings, run).search.beam == 7
        else:
            with pytest.raises(ConfigError, match=r"search\.beam, evaluation\.chrf_word_order can"):
                revised(before, settings, run)


def test_what_scores_are_measured_with_has_a_digest() -> None:
    def digest(*settings: str) -> str:
        values = override(plain_values(config()), list(settings))
        return measuring_digest(parse(ExperimentConfig, values, "tiny.yaml"))

    assert digest() == digest("training.max_steps=9", "search.buffer_lines=9")
    assert len({digest(), digest("search.beam=9"), digest("evaluation.bleu_tokenize=char")}) == 3


def test_every_changeable_key_exists() -> None:
    values = config().model_dump()
    for key in CHANGEABLE:
        place = values
        for name in key.split("."):
            assert name in place
            place = place[name]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("training.max_steps=11", "max_steps 11: 12 steps are done already"),
        ("training.max_epochs=1", "max_epochs 1: 2 epochs are done already"),
        ("training.max_minutes=1.5", "max_minutes 1.5: 2 minutes are done already"),
        ("training.max_steps=12", None),
        ("training.max_epochs=2", None),
        ("training.patience=1", None),
    ],
)
def test_an_end_that_is_passed_is_refused(setting: str, said: str | None, tmp_path: Path) -> None:
    run = at_step(
        tmp_path, 12, places={"translation": Place(2)}, seconds=120.0, stale_validations=3
    )
    before = config(max_steps=40, max_minutes=1.0)  # which ended a moment after its minute
    if said is None:
        found = revised(before, [setting], run)
        assert ended_by(found, run) is not None
        return
    with pytest.raises(ConfigError, match=said):
        revised(before, [setting], run)


def test_which_limit_ended_a_run(tmp_path: Path) -> None:
    assert progress_of(tmp_path) == Progress()
    assert ended_by(config(max_steps=12), tmp_path) is None
    run = at_step(tmp_path, 12, stale_validations=2, best=Best("loss", 1.0, 6))
    assert ended_by(config(max_steps=12), run) == "training.max_steps: 12"
    assert ended_by(config(max_steps=13), run) is None
    assert ended_by(config(max_steps=13, patience=2), run) == "training.patience: 2"
    assert ended_by(config(max_steps=13, patience=3), run) is None


@pytest.mark.parametrize(
    ("decay", "step", "jumps"),
    [
        ("linear", 20, True),
        ("cosine", 20, True),
        ("linear", 12, True),
        ("linear", 3, False),
        ("inverse_sqrt", 20, False),
        ("constant", 20, False),
    ],
)
def test_a_jump_of_the_learning_rate_is_told(
    decay: str, step: int, jumps: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A decay to zero that ended, or was near its end, begins again from higher up."""
    before = config(max_steps=20, schedule={"decay": decay, "peak_learning_rate": 0.5})
    with caplog.at_level(logging.WARNING):
        revised(before, ["training.max_steps=40"], at_step(tmp_path, step))
    assert ("learning rate" in caplog.text) == jumps
    if (decay, step) == ("linear", 20):
        assert "step 21 is 0.271, not 0:" in caplog.text
        assert "the loss may rise" in caplog.text


def test_a_lower_learning_rate_is_not_said_to_raise_the_loss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = config(max_steps=40, schedule={"decay": "linear", "peak_learning_rate": 0.5})
    with caplog.at_level(logging.WARNING):
        revised(before, ["training.max_steps=13"], at_step(tmp_path, 12))
    assert "step 13 is 0, not " in caplog.text
    assert "the remaining steps change less" in caplog.text
    assert "may rise" not in caplog.text


def test_the_manual_names_all_that_may_change() -> None:
    manual = Path(__file__).parents[2] / "docs" / "runs-and-models.md"
    text = manual.read_text("utf-8").split("may change, also before")[1].split("\n\n")[0]
    for key in CHANGEABLE:
        assert f"`{key.removeprefix('training.')}`" in text, key


def test_another_component_is_another_recipe() -> None:
    """Only the digest of one is left open, as that of ``start_from``."""
    begun, same, other = (
        with_component(TakenComponent(model=model, digest=digest))
        for model, digest in (("lm", "a" * 64), ("lm", None), ("other", None))
    )
    assert as_decided(same, begun) == begun
    assert as_decided(other, begun).training.components["language_model"].model == "other"


def with_component(component: TakenComponent) -> ExperimentConfig:
    training = config().training.model_copy(update={"components": {"language_model": component}})
    return config().model_copy(update={"training": training})


PAIRS = {"path": "train.tsv", "source": "en", "target": "de"}
ROWS = [([5] * 3, [6] * 3)] * 2 + [([4], [6] * 9)] * 4


def recipe_of(*parts: dict[str, Any]) -> ExperimentConfig:
    """A recipe of these parts, some of which would need others beside them."""
    whole = parse(ExperimentConfig, experiment(), "tiny.yaml")
    train = tuple(parse(CorpusPart, part, "a part") for part in parts)
    return whole.model_copy(update={"data": whole.data.model_copy(update={"train": train})})


def alone(*transforms: dict[str, Any]) -> dict[str, Any]:
    return {"target": "mono.de", "transforms": list(transforms)}


@pytest.mark.parametrize(
    "wordless",
    [
        alone({"kind": "dummy_source"}),
        alone({"kind": "dummy_source", "cut_off": True}),
        alone({"kind": "back_translation"}),
        alone({"kind": "case", "to": "lower", "sides": "target", "share": 0.5}, {"kind": "copy"}),
    ],
)
def test_the_usual_length_is_that_of_sources_with_words(
    wordless: dict[str, Any], tmp_path: Path
) -> None:
    store = write_store(tmp_path / "data", ROWS, [(2, 1.0), (4, 1.0)])
    begun = recipe_of(PAIRS, wordless)
    assert with_length_ratio(begun, store).search.length_ratio == 1.0
    begun = recipe_of(wordless, wordless)
    assert with_length_ratio(begun, store) is begun


def test_copied_text_has_words(tmp_path: Path) -> None:
    store = write_store(tmp_path / "data", ROWS, [(2, 1.0), (4, 1.0)])
    begun = recipe_of(PAIRS, alone({"kind": "copy"}))
    assert with_length_ratio(begun, store).search.length_ratio == 5.0


@pytest.mark.parametrize("target", [False, True])
def test_sources_with_context_of_their_own_have_no_usual_length(
    target: bool, tmp_path: Path
) -> None:
    """What is usual behind five sentences would cut the translation of one that stands alone."""
    store = write_store(tmp_path / "data", ROWS, [(2, 1.0), (4, 1.0)])
    begun = recipe_of(PAIRS, PAIRS)
    context = ContextConfig(sentences=5, target=target)
    begun = begun.model_copy(update={"data": begun.data.model_copy(update={"context": context})})
    expected = 5.0 if target else None
    assert with_length_ratio(begun, store).search.length_ratio == expected
