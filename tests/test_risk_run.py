"""Expected risk in whole runs, which continue a trained model by its own translations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import experiment
from worlds import ALONE

from dragoman.core.config import parse, to_yaml
from dragoman.core.errors import ConfigError
from dragoman.data.batches import make_batch
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.recipe.contradictions import nothing_improved
from dragoman.saved.model import build_model, load_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text import synthetic
from dragoman.training.checkpoint import checkpoints
from dragoman.workflows.rehearsal import measure

MODEL = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 11, "heads": 2}
RISK = {"kind": "expected_risk", "count": 3, "extra_length": 3, "reward": "chrf"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 30, dev=5, test=3)
    return folder


@pytest.fixture(scope="module")
def base(corpus: Path) -> Path:
    """A model by likelihood."""
    values = read(corpus, objective={"kind": "cross_entropy"})
    train(values, corpus / "base")
    return corpus / "base"


def read(
    corpus: Path, *transforms: dict[str, Any], model: dict[str, Any] = MODEL, **training: Any
) -> ExperimentConfig:
    values = experiment()
    sides = {"target": "de"} if transforms else {"source": "en", "target": "de"}
    values["data"] = {
        "train": [{"path": "train.tsv", **sides, "transforms": list(transforms)}],
        "dev": {"path": "dev.tsv", "source": "en", "target": "de"},
        "processes": 1,
    }
    values["vocabulary"] = {"size": 120}
    if "start_from" in training:
        del values["vocabulary"]
    values["model"] = model
    values["evaluation"] = {"metrics": []}
    values["training"] |= {
        "objective": RISK,
        "max_steps": 2,
        "validation_steps": 2,
        "checkpoint_steps": 2,
        "log_steps": 1,
        "best_metric": "loss",
        **training,
    }
    path = corpus / "experiment.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return read_experiment(path)


def train(config: ExperimentConfig, run: Path) -> dict[str, torch.Tensor]:
    trained = Experiment(config, run) if run.exists() else Experiment.create(config, run)
    trained.train(trained.prepare(), ALONE, lambda step: [])
    return read_tensors(checkpoints(run)[-1] / WEIGHTS_FILE)


def test_a_run_continues_a_model(corpus: Path, base: Path, tmp_path: Path) -> None:
    """It logs the risk, and changes the weights a little; another seed would begin elsewhere."""
    slow = {"warmup_steps": 5, "peak_learning_rate": 0.001}
    config = read(corpus, start_from=str(base), schedule=slow).model_copy(update={"seed": 2})
    found = train(config, tmp_path / "run")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    logged = [one for one in map(json.loads, lines) if one["kind"] == "training"]
    assert len(logged) == 2
    assert all(0 < one["risk"] < 1 and 1 <= one["candidates"] <= 3 for one in logged)
    started = read_tensors(base / "model" / WEIGHTS_FILE)
    moved = max(float((found[name] - started[name]).abs().max()) for name in started)
    assert 0 < moved <= 2 * sum(one["learning_rate"] for one in logged)


@pytest.mark.parametrize("allowed", [False, True])
def test_candidates_have_tags_where_outputs_may(
    corpus: Path, tmp_path: Path, allowed: bool
) -> None:
    config = read(corpus, objective={**RISK, "temperature": 2.0, "reference": False})
    values = json.loads(config.model_dump_json())
    values["vocabulary"]["tags"] = ["<x>"]
    values["search"] |= {"allow_tags": allowed}
    made = Experiment(ExperimentConfig.model_validate(values), tmp_path / "run")
    (tmp_path / "run").mkdir()
    prepared = made.prepare()
    (task,) = made.tasks(prepared, ALONE)
    torch.manual_seed(1)
    model = build_model(config.model, prepared.vocabularies)
    tag = prepared.vocabularies.target.tag("<x>")
    written = set[int]()
    for batches in task.stream.window(0, 0):
        for batch in batches:
            candidates = task.stream.completed(batch, model).candidates
            assert candidates is not None
            written |= set(candidates.target_output.unique().tolist())
    assert (tag in written) is allowed


def test_text_with_inline_tags_is_refused(corpus: Path, base: Path) -> None:
    values = json.loads(read(corpus, start_from=str(base)).model_dump_json())
    values["data"]["train"][0]["transforms"] = [{"kind": "inject_tags", "segments": "x.tsv"}]
    with pytest.raises(
        ConfigError, match=r"data\.train\.0: .*: expected_risk compares the text with"
    ):
        parse(ExperimentConfig, values, "test")


def test_its_speed_is_measured_with_candidates(corpus: Path, base: Path) -> None:
    config = read(corpus, start_from=str(base))
    pieces = load_model(base, "cpu").vocabularies
    batch = make_batch([[8, 9, 10], [9]], [[8], [9, 10, 11]])
    assert measure(config.model, config.training, pieces, batch, seed=1).tokens_per_second > 0


def test_what_it_cannot_improve_is_told_at_once(corpus: Path, base: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "run"
    with pytest.raises(ConfigError, match=r"objective: expected_risk improves .*start_from, and"):
        Experiment.create(read(corpus), nowhere)
    only = {"model": str(base), "parts": ["encoder", "embeddings"]}
    with pytest.raises(ConfigError, match="improves a model that translates already"):
        Experiment.create(read(corpus, start_from=only), nowhere)
    lm = {"family": "transformer_lm", "layers": 1, "d_model": 8, "d_ff": 11, "heads": 2}
    with pytest.raises(ConfigError, match=r"expected_risk rates translations, and model\.family"):
        read(corpus, model=lm, start_from=str(base))
    with pytest.raises(ConfigError, match=r"data\.train\.0: dummy_source leaves .* nothing to tr"):
        read(corpus, {"kind": "dummy_source", "cut_off": True}, start_from=str(base))


def test_a_task_may_begin_when_the_model_translates(corpus: Path) -> None:
    """By its weight, which is 0 at first."""
    values = json.loads(read(corpus, objective={"kind": "cross_entropy"}).model_dump_json())
    (part,) = values["data"]["train"]
    values["data"]["train"] = [part, {**part, "task": "risk"}]
    path = corpus / "tasks.yaml"
    for weights, fits in (({1: 0, 2: 1}, True), ({1: 1}, False)):
        values["training"]["tasks"] = {"risk": {"weight": weights, "objective": RISK}}
        path.write_text(to_yaml(values), encoding="utf-8")
        problems = list(nothing_improved(read_experiment(path)))
        assert fits == (not problems)
        assert all("training.tasks.risk.objective: expected_risk" in one for one in problems)
