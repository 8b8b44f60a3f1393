"""Guided alignment in whole runs: from text and a file of links to a head that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reversal import Reversal, tiny_config, tiny_model, translation
from worlds import ALONE

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError, DataError
from dragoman.data.batches import Batch
from dragoman.experiment import Experiment
from dragoman.models.interface import TranslationModel
from dragoman.recipe import read_experiment
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.training.checkpoint import checkpoints
from dragoman.training.objectives import CrossEntropy, GuidedAlignment
from dragoman.training.objectives.r_drop import RDropConfig
from dragoman.training.tasks import Objective
from dragoman.training.trainer import Trainer


class AlignedReversal(Reversal):
    """Each piece is linked to the one that it is a copy of."""

    def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
        for batch in super().all_batches(epoch, window, start):
            lengths = batch.source_mask.sum(1) - 1
            target = torch.arange(batch.target_output.shape[1])[None, :, None]
            source = torch.arange(batch.source.shape[1])
            linked = (target + source == lengths[:, None, None] - 1) & (source >= 0)
            yield replace(batch, alignments=linked)


def agreement(model: TranslationModel) -> float:
    """Of linked target pieces, how many the first head of the first layer finds the source of."""
    batch = next(AlignedReversal().all_batches(epoch=77))
    assert batch.alignments is not None
    with torch.no_grad():
        memory = model.eval().encode(batch.source, batch.source_mask)
        _, looks = model.decode_attending(batch.target_input, memory, 0)
    found = batch.alignments.gather(-1, looks[:, 0, 0].argmax(-1, keepdim=True)).squeeze(-1)
    return float(found[batch.alignments.any(-1)].float().mean())


def test_the_guided_head_finds_what_it_is_shown(tmp_path: Path) -> None:
    found = {}
    objectives: dict[str, Objective] = {
        "plain": CrossEntropy(0.1),
        "guided": GuidedAlignment(0.1, weight=1.0, layer=0),
    }
    for name, objective in objectives.items():
        model = tiny_model(dropout=0.0)
        trainer = Trainer(
            model,
            [translation(AlignedReversal(), objective)],
            lambda model: {"loss": 1.0},
            tiny_config(max_steps=90, validation_steps=100, checkpoint_steps=100),
            tmp_path / name,
            seed=5,
            d_model=16,
            world=ALONE,
        )
        trainer.train()
        found[name] = agreement(model)
    assert found["guided"] > 0.7, found
    assert found["plain"] < 0.5, found


WORDS = {"ein": "one", "haus": "house", "hund": "dog", "katze": "cat", "läuft": "runs"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences and, in reverse, their words in another language."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(1)
    sentences = [rng.choice(list(WORDS), rng.integers(1, 6)) for _ in range(150)]
    for name, lines in (("train", sentences[:120]), ("dev", sentences[120:])):
        pairs = [(" ".join(one), " ".join(WORDS[word] for word in one[::-1])) for one in lines]
        rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / f"{name}.tsv").write_text(f"de\ten\n{rows}", encoding="utf-8")
    links = (
        " ".join(f"{i}-{len(one) - 1 - i}" for i in range(len(one))) for one in sentences[:120]
    )
    (folder / "train.align").write_text("\n".join(links) + "\n")
    return folder


def configured(corpus: Path, *settings: str, **changes: Any) -> Experiment:
    part = {"source": "de", "target": "en"}
    values = {
        "data": {
            "train": [{"path": "train.tsv", "alignments": "train.align", **part}],
            "dev": {"path": "dev.tsv", **part},
            "cleaning": {"keep_held_out": True},
        },
        "vocabulary": {"size": 40, "sampling": 0.2},
        "model": {"encoder_layers": 1, "decoder_layers": 2, "d_model": 8, "d_ff": 8, "heads": 2},
        "training": {
            "objective": {"kind": "guided_alignment", "weight": 0.5},
            "step_tokens": 200,
            "schedule": {"warmup_steps": 5, "peak_learning_rate": 0.01},
            "max_steps": 6,
            "validation_steps": 6,
            "checkpoint_steps": 3,
            "best_metric": "loss",
            "precision": "float32",
            "log_steps": 3,
        },
        "evaluation": {"metrics": []},
        **changes,
    }
    path = corpus / "guided.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return Experiment(read_experiment(path, settings), corpus)


def train(experiment: Experiment, run: Path) -> dict[str, torch.Tensor]:
    experiment = Experiment(experiment.config, run)
    experiment.train(experiment.prepare(), ALONE, lambda step: [])
    return read_tensors(checkpoints(run)[-1] / WEIGHTS_FILE)


def test_a_run_learns_from_the_file_and_goes_on_bit_for_bit(corpus: Path, tmp_path: Path) -> None:
    """With subword sampling, and told in the log; a run that is stopped in between is the same."""
    whole = train(configured(corpus), tmp_path / "whole")
    lines = (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()
    logged = [one for one in map(json.loads, lines) if one["kind"] == "training"]
    assert all(one["alignment"] > 0 for one in logged)
    assert all(one["loss"] > one["nll"] for one in logged)
    run = tmp_path / "parted"
    train(configured(corpus, "training.max_steps=3"), run)
    parted = train(configured(corpus), run)
    assert all(torch.equal(values, parted[name]) for name, values in whole.items())
    prepared = Experiment(configured(corpus).config, run).prepared()  # as a second process does
    assert prepared.alignments is not None
    assert len(prepared.alignments) == len(prepared.store)
    plain = "training.objective={kind: cross_entropy}"
    settings = (plain, "data.train=[{path: train.tsv, source: de, target: en}]")
    other = train(configured(corpus, *settings), tmp_path / "plain")
    assert not (tmp_path / "plain" / "alignments").exists()
    assert any(not torch.equal(values, other[name]) for name, values in whole.items())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.objective={kind: cross_entropy}", r"data\.train\.0\.alignments are read in tr"),
        ("data.train=[{path: train.tsv, source: de, target: en}]", "needs word alignments; name"),
        ("data.dev.alignments=train.align", r"data\.dev\.alignments are read in training"),
        (
            "training.objective.layer=3",
            "layer 3: this model has 2 layers with attention over the source",
        ),
        (
            "model={family: bytenet, d_model: 8}",
            "guided_alignment needs attention over the source, which this model lacks",
        ),
        ("data.train=[{target: t, alignments: train.align}]", "there is no source; leave them out"),
    ],
)
def test_what_does_not_go_together_is_told_at_once(
    setting: str, message: str, corpus: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        configured(corpus, setting)


def test_an_objective_replaces_that_of_the_base_as_a_whole(corpus: Path) -> None:
    configured(corpus)
    child = corpus / "child.yaml"
    child.write_text(
        "base: guided.yaml\n"
        "data: {train: [{path: train.tsv, source: de, target: en}]}\n"
        "training: {objective: {kind: r_drop, alpha: 2}}\n",
        encoding="utf-8",
    )
    assert read_experiment(child).training.objective == RDropConfig(alpha=2.0)


def test_a_missing_file_of_links_is_told(corpus: Path, tmp_path: Path) -> None:
    part = "[{path: train.tsv, source: de, target: en, alignments: other.align}]"
    experiment = configured(corpus, f"data.train={part}")
    with pytest.raises(DataError, match=r"other\.align: No such file or directory; check the pa"):
        Experiment(experiment.config, tmp_path / "run").prepare()
