"""Runs on text of one language, and translators that start from them."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import experiment
from torch import Tensor
from worlds import ALONE

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError
from dragoman.data.batches import make_batch
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.run.scores_file import read_scores
from dragoman.saved.model import CARD_FILE, build_model, load_model
from dragoman.saved.saved_config import WITHOUT_TRANSLATION
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text import synthetic
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.training.checkpoint import checkpoints
from dragoman.training.objectives import BUILT_IN, MaskedLM
from dragoman.training.objectives.masked_lm import Masking
from dragoman.translation.translator import Translator
from dragoman.workflows.derived_models import average_models
from dragoman.workflows.rehearsal import measure
from dragoman.workflows.reports.run_report import write_report
from dragoman.workflows.runs import run_values

SIZES: dict[str, Any] = {"d_model": 8, "d_ff": 11, "heads": 2, "norm": "pre"}
TRANSLATOR = {"encoder_layers": 1, "decoder_layers": 2, **SIZES}
MASKED: dict[str, Any] = {"objective": {"kind": "masked_lm"}, "best_metric": "loss"}
COPY = {"kind": "copy"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 80, dev=5, test=3)
    return folder


def read(
    corpus: Path, *transforms: dict[str, Any], model: dict[str, Any] = TRANSLATOR, **training: Any
) -> ExperimentConfig:
    """A run on German, or on pairs if there are no transforms."""
    values = experiment()
    of_text: dict[str, Any] = {"target": "de", "transforms": list(transforms)}
    if not transforms and model is TRANSLATOR:
        of_text = {"source": "en", "target": "de"}
    values["data"] = {
        "train": [{"path": "train.tsv", **of_text}],
        "dev": {"path": "dev.tsv", **of_text},
        "processes": 1,
    }
    values["vocabulary"] = {"size": 120}
    if "family" in model:  # a model that others start from
        values["vocabulary"]["tags"] = ["<mask>"]
    if "start_from" in training:
        del values["vocabulary"]
    values["model"] = model
    values["evaluation"] = {"metrics": []}
    values["training"] |= {"max_steps": 3, "validation_steps": 3, "best_metric": "loss", **training}
    path = corpus / "experiment.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return read_experiment(path)


def train(config: ExperimentConfig, run: Path) -> Experiment:
    trained = Experiment.create(config, run)
    trained.train(trained.prepare(), ALONE, lambda step: [])
    return trained


def weights(run: Path) -> dict[str, Tensor]:
    return read_tensors(run / "model" / WEIGHTS_FILE)


@pytest.fixture(scope="module")
def runs(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, and a masked one that has its decoder."""
    folder = tmp_path_factory.mktemp("runs")
    lm = {"family": "transformer_lm", "layers": 2, **SIZES}
    values = read(corpus, model=lm, max_steps=2)
    train(values, folder / "gpt")
    start = {"model": str(folder / "gpt"), "parts": ["decoder", "embeddings"]}
    bert = train(read(corpus, COPY, **MASKED, start_from=start), folder / "bert")
    write_report(bert)
    return folder


def test_an_encoder_and_a_decoder_come_together(corpus: Path, runs: Path, tmp_path: Path) -> None:
    """The masked model keeps the language model's decoder, and a translator takes all of it."""
    gpt, bert = weights(runs / "gpt"), weights(runs / "bert")
    for layer in (0, 1):
        ours, theirs = f"decoder.{layer}.self_attention.query.weight", f"layers.{layer}.attention"
        assert torch.equal(bert[ours], gpt[f"{theirs}.query.weight"])
    assert torch.equal(bert["decoder_norm.weight"], gpt["norm.weight"])
    name = "source_embedding.weight"
    assert not torch.equal(bert[name], gpt["target_embedding.weight"])
    start = {"model": str(runs / "bert")}
    frozen = {"peak_learning_rate": 1e-12, "warmup_steps": 1}  # where it starts is where it ends
    train(read(corpus, start_from=start, schedule=frozen), tmp_path / "mt")
    found = weights(tmp_path / "mt")
    assert found.keys() == bert.keys()
    assert all(torch.allclose(found[name], bert[name], atol=1e-6) for name in bert)
    assert Translator.load(tmp_path / "mt", device="cpu").translate(["ein"])


def test_its_loss_on_the_dev_set_is_that_of_hidden_pieces(runs: Path) -> None:
    """Of one batch, whose masks are those of any other division of the lines."""
    known = read_scores(runs / "bert")["dev"]
    assert known["perplexity"] == pytest.approx(math.exp(known["loss"]))
    saved = load_model(runs / "bert", "cpu")
    (part,) = Experiment.open(runs / "bert").config.dev_sets().values()
    pieces = saved.vocabularies.source
    lines = pieces.encode_batch([pair.source for pair in evaluation_pairs(part)])
    masked = Masking.of(pieces, "<mask>")(make_batch(lines, lines), 0, 0, 0, 0)
    found = MaskedLM(0.0).backward(saved.model.requires_grad_(False), masked)
    assert known["loss"] == pytest.approx(float(found["nll"] / found["tokens"]), rel=1e-5)


def test_a_resumed_run_sees_the_same_masks(corpus: Path, tmp_path: Path) -> None:
    config = read(corpus, COPY, **MASKED, max_steps=4, checkpoint_steps=2, keep_checkpoints=9)
    train(config, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "resumed")
    for later in checkpoints(tmp_path / "resumed")[1:]:
        shutil.rmtree(later)
    shutil.rmtree(tmp_path / "resumed" / "model")
    resumed = Experiment.open(tmp_path / "resumed")
    resumed.train(resumed.prepare(), ALONE, lambda step: [])
    whole, found = weights(tmp_path / "whole"), weights(tmp_path / "resumed")
    assert all(torch.equal(whole[name], found[name]) for name in whole)


def test_its_speed_is_measured_on_masked_text(corpus: Path, runs: Path) -> None:
    """Also where a source has other lengths than its target, which is not read."""
    config = read(corpus, COPY, **MASKED)
    pieces = load_model(runs / "bert", "cpu").vocabularies
    batch = make_batch([list(range(8, 14)), [9]], [[8], [9, 10, 11]])
    found = measure(config.model, config.training, pieces, batch, seed=1)
    assert found.tokens_per_second > 0


def test_a_masked_model_says_what_it_is_for(runs: Path) -> None:
    use = "training.start_from: {model: MODEL, parts: [encoder, embeddings]}"
    card = (runs / "bert" / "model" / CARD_FILE).read_text(encoding="utf-8")
    assert use in card
    assert card.startswith("# de\n")
    assert "A masked language model" in card
    assert use.replace("MODEL", str(runs / "bert")) in (runs / "bert/report.html").read_text(
        "utf-8"
    )
    assert run_values(Experiment.open(runs / "bert"), None)["scores"]["dev"]["loss"] > 0
    with pytest.raises(ConfigError, match="a masked language model, whose decoder was never"):
        Translator.load(runs / "bert", device="cpu")


def test_a_checkpoint_of_a_masked_model_is_one_too(runs: Path, tmp_path: Path) -> None:
    newest = checkpoints(runs / "bert")[-1]
    with pytest.raises(ConfigError, match="a masked language model, whose decoder was never"):
        Translator.load(newest, device="cpu")
    average_models([newest], 1, tmp_path / "mean")
    assert not load_model(tmp_path / "mean", "cpu").config.translates
    assert "A masked language model" in (tmp_path / "mean" / CARD_FILE).read_text("utf-8")
    assert load_model(checkpoints(runs / "gpt")[-1], "cpu").config.translates


def test_the_objectives_that_train_no_translator_are_known_by_their_names() -> None:
    ours = BUILT_IN.values()
    found = {one.model_fields["kind"].default for one in ours if not one.translates}
    assert found == WITHOUT_TRANSLATION


@pytest.mark.parametrize("kind", ["mask_spans", "mask_fragment"])
def test_masked_text_trains_encoder_and_decoder(corpus: Path, tmp_path: Path, kind: str) -> None:
    hide = {"kind": kind, "masked": 0.4}
    run = train(read(corpus, COPY, hide), tmp_path / kind)
    assert [d.source_language for d in run.config.directions()] == ["de"]
    torch.manual_seed(run.config.seed)
    fresh = build_model(run.config.model, run.prepare().vocabularies).state_dict()
    trained = weights(tmp_path / kind)
    assert {name for name in trained if torch.equal(trained[name], fresh[name])} == set()
    for part in ("encoder.0.", "decoder.0.self_attention.", "decoder.1.cross_attention."):
        assert any(name.startswith(part) for name in trained)
    found = Translator.load(tmp_path / kind, device="cpu").translate(["<mask> zwei"])
    assert len(found) == 1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"evaluation": {"metrics": ["bleu"]}},
            r"evaluation.metrics are of translations.*set them",
        ),
        ({"vocabulary": {"joint": False}}, r"shared needs vocabulary.joint"),
        ({"model": {"family": "transformer_lm", "source": "full"}}, "has none of its own"),
        (
            {"model": {"family": "recurrent", "bidirectional": "all", "d_model": 8}},
            "16 is not d_model 8",
        ),
        ({"training": {"objective": {"kind": "masked_lm", "masked": 2}}}, "masked.*less than"),
    ],
)
def test_what_does_not_go_together_is_refused(
    corpus: Path, changes: dict[str, Any], problem: str
) -> None:
    values = read(corpus, COPY, **MASKED).model_dump(mode="json")
    for section, said in changes.items():
        values[section] = said if section == "model" else {**values[section], **said}
    path = corpus / "other.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    with pytest.raises(ConfigError, match=problem):
        read_experiment(path)


def test_text_without_source_leaves_it_nothing_to_learn(corpus: Path) -> None:
    with pytest.raises(ConfigError, match=r"cut_off leaves .* masked_lm nothing"):
        read(corpus, {"kind": "dummy_source", "cut_off": True}, **MASKED)


def test_two_vocabularies_are_refused(corpus: Path, tmp_path: Path) -> None:
    model = {**TRANSLATOR, "embeddings": "target"}
    values = read(corpus, COPY, model=model, **MASKED).model_dump(mode="json")
    values["vocabulary"] |= {"joint": False, "size": 90}
    values["data"]["train"][0] |= {"source": "en", "transforms": []}  # or both are the same
    path = corpus / "two.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    with pytest.raises(ConfigError, match="needs a joint vocabulary"):
        train(read_experiment(path), tmp_path / "two")
