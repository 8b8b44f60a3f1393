"""The dev sets choose among the candidates for a run's model, unless the recipe does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from worlds import ALONE

from dragoman.core.config import parse
from dragoman.recipe import ExperimentConfig
from dragoman.recipe.finish import USUAL_LENGTH_PENALTIES
from dragoman.run import model_choice
from dragoman.run.model_choice import LEAST_GAIN, ChosenModel, make_model
from dragoman.run.set_scoring import SetScorer
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.training.checkpoint import Best, Progress, write_checkpoint
from dragoman.training.sharding.interface import AVERAGE
from dragoman.validation import Evaluated

WEIGHTS = {2: 4.0, 4: 8.0, 6: 1.0, 8: 3.0}
"""The only weight of each checkpoint, which is its dev score as well."""


@dataclass(frozen=True)
class WeightScorer(SetScorer):
    """Scores weights by their value, and notes what it scores."""

    scored: list[str] = field(default_factory=list)

    def __call__(
        self, weights: dict[str, Tensor], sets: dict[str, CorpusPart], what: str = "the model"
    ) -> dict[str, Evaluated]:
        self.scored.append(f"{what}: {self.config.search.length_penalty}")
        report = {"loss": 1.0, "chrf": {"value": weights["w"].item()}}
        return {name: Evaluated(report, None) for name in sets}

    def model_of(self, weights: dict[str, Tensor]) -> Any:
        raise AssertionError("only length penalties need a model")


def run_with(folder: Path, best: int, value: float, **training: Any) -> WeightScorer:
    """A run of four checkpoints, the best of which was validated at ``value``."""
    part = {"path": str(folder / "text.tsv"), "source": "en", "target": "de"}
    values = {
        "data": {"train": [part], "dev": part},
        "training": {"best_metric": "chrf", "keep_checkpoints": 3, **training},
        "evaluation": {"metrics": ["chrf", "bleu"]},
    }
    (folder / "text.tsv").write_text("en\tde\na\tb\n", encoding="utf-8")
    for step, weight in WEIGHTS.items():
        progress = Progress(step=step, best=Best("chrf", value, best))
        averages = {f"{AVERAGE}w": torch.tensor([10 * weight])}
        write_checkpoint(folder, progress, {"w": torch.tensor([weight])}, averages)
    vocabularies: Any = None
    config = parse(ExperimentConfig, values, "test")
    return WeightScorer(config, folder, vocabularies, ALONE, lambda line: None)


def chosen(score: WeightScorer) -> tuple[str, float, list[str]]:
    """Name and weight of what becomes the model, and the names of what was scored."""
    made = make_model(score)
    return made.candidate.name, made.weights["w"].item(), [x.split(":")[0] for x in score.scored]


def test_a_best_checkpoint_that_is_better_than_the_mean_becomes_the_model(tmp_path: Path) -> None:
    score = run_with(tmp_path, best=4, value=8.0)
    names = ["mean of 3 checkpoints", "checkpoint of step 4"]
    assert chosen(score) == (names[1], 8.0, [f"the {name}" for name in names])
    choice = make_model(score).to_json()
    assert choice["metric"] == "chrf"
    assert choice["candidates"] == [
        {"name": names[0], "score": 4.0, "chosen": False},
        {"name": names[1], "score": 8.0, "chosen": True},
    ]


def test_a_mean_that_is_better_becomes_the_model(tmp_path: Path) -> None:
    """As validated in training, the best checkpoint might be as good, so it is scored."""
    score = run_with(tmp_path, best=8, value=4.05)
    assert chosen(score)[:2] == ("mean of 3 checkpoints", 4.0)
    assert make_model(score).scores == {"mean of 3 checkpoints": 4.0, "checkpoint of step 8": 3.0}


def test_a_checkpoint_that_was_clearly_worse_is_not_scored_again(tmp_path: Path) -> None:
    score = run_with(tmp_path, best=4, value=3.9)
    assert chosen(score) == ("mean of 3 checkpoints", 4.0, ["the mean of 3 checkpoints"])
    assert make_model(score).to_json()["candidates"] == [
        {"name": "mean of 3 checkpoints", "score": 4.0, "chosen": True},
        {"name": "checkpoint of step 4", "score": 3.9, "chosen": False},
    ]


def test_the_mean_has_at_most_five_checkpoints(tmp_path: Path) -> None:
    score = run_with(tmp_path, best=4, value=0.0, keep_checkpoints=9)
    assert chosen(score)[:2] == ("mean of 4 checkpoints", 4.0)
    assert score.config.training.averaged == 5


@pytest.mark.parametrize(
    ("averaged", "expected"),
    [(1, ("checkpoint of step 8", 3.0)), (3, ("mean of 3 checkpoints", 4.0)), (0, None)],
)
def test_a_recipe_that_decides_is_obeyed(
    averaged: int, expected: tuple[str, float] | None, tmp_path: Path
) -> None:
    score = run_with(tmp_path, best=4, value=8.0, average_checkpoints=averaged)
    found = chosen(score)
    assert found[:2] == (expected or ("checkpoint of step 4", 8.0))
    assert len(score.scored) == 1
    assert make_model(score).to_json()["candidates"] == []
    assert score.config.length_penalties == ()


def test_moving_averages_are_compared_with_the_mean(tmp_path: Path) -> None:
    score = run_with(tmp_path, best=4, value=80.0, ema_decay=0.9)
    name, weight, scored = chosen(score)
    assert (name, weight) == ("moving average of step 4", 80.0)
    assert scored == [
        "the moving average of step 8",
        "the moving average of step 4",
        "the mean of 3 checkpoints",
    ]


def test_the_plain_mean_may_be_better_than_moving_averages(tmp_path: Path) -> None:
    score = run_with(tmp_path, best=4, value=0.1, ema_decay=0.9)
    for step, weight in WEIGHTS.items():
        progress = Progress(step=step, best=Best("chrf", 0.1, 4))
        weights = {"w": torch.tensor([weight])}
        write_checkpoint(tmp_path, progress, weights, {f"{AVERAGE}w": torch.tensor([0.2])})
    assert chosen(score)[:2] == ("mean of 3 checkpoints", 4.0)


def test_with_bounds_the_best_within_them_becomes_the_model(tmp_path: Path) -> None:
    score = run_with(tmp_path, best=4, value=8.0)
    data = score.config.data.model_copy(update={"dev": {"one": score.config.data.dev}})
    training = score.config.training.model_copy(update={"bounds": {"two": None}})
    changed = {"data": data, "training": training}
    bounded = replace(score, config=score.config.model_copy(update=changed))
    assert bounded.config.training.averaged == 0
    assert chosen(bounded)[:2] == ("checkpoint of step 4", 8.0)
    assert len(score.scored) == 1


def penalised(
    score: WeightScorer, monkeypatch: pytest.MonkeyPatch, found: dict[float, tuple[float, float]]
) -> ChosenModel:
    """What becomes the model if length penalties have these chrF and BLEU."""
    figures = {one: {"chrf": chrf, "bleu": bleu} for one, (chrf, bleu) in found.items()}
    monkeypatch.setattr(model_choice, "_penalty_scores", lambda *_: figures)
    return make_model(score)


ENOUGH = 20 + LEAST_GAIN + 0.01


def test_a_clearly_better_length_penalty_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = run_with(tmp_path, best=4, value=8.0)
    assert score.config.length_penalties == USUAL_LENGTH_PENALTIES
    found = {0.6: (20.0, 5.0), 0.2: (20.1, 5.0), 1.0: (ENOUGH, 5.0), 1.5: (19.0, 5.0)}
    made = penalised(score, monkeypatch, found)
    assert made.config.search.length_penalty == 1.0
    assert score.scored[-1] == "the model: 1.0", "dev scores are those of the new penalty"
    kept = [one["length_penalty"] for one in made.to_json()["length_penalties"] if one["chosen"]]
    assert kept == [1.0]
    assert made.weights["w"].item() == 8.0


@pytest.mark.parametrize(
    "found",
    [
        {0.6: (20.0, 5.0), 0.2: (20.1, 5.0), 1.0: (20.0 + LEAST_GAIN / 2, 5.0)},
        {0.6: (20.0, 5.0), 1.0: (ENOUGH, 4.9), 1.5: (30.0, 1.0)},
    ],
    ids=["gains little", "loses BLEU"],
)
def test_a_length_penalty_that_does_not_pay_is_not_kept(
    found: dict[float, tuple[float, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = run_with(tmp_path, best=4, value=8.0)
    made = penalised(score, monkeypatch, found)
    assert made.config.search.length_penalty == 0.6
    assert {one: trial.score for one, trial in made.penalties.items()} == {
        penalty: chrf for penalty, (chrf, _) in found.items()
    }
    assert len(score.scored) == 2
    assert penalised(score, monkeypatch, {}).penalties == {}


def test_small_dev_sets_choose_no_length_penalty(tmp_path: Path) -> None:
    score = run_with(tmp_path, best=4, value=8.0)
    made = ChosenModel(None, {}, {}, score.config)  # type: ignore[arg-type]
    assert model_choice._penalty_scores(score, made, (0.6, 1.0)) == {}
