"""Runs that start from a model and keep most of it: low-rank adapters, and consolidation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import experiment
from torch import Tensor
from worlds import ALONE

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError, SavedError
from dragoman.experiment import Experiment
from dragoman.models import TransformerLMConfig
from dragoman.models.layers.low_rank import is_factor
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.saved.adapter import ADAPTER_FILE, read_adapter
from dragoman.saved.model import has_model, load_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text import synthetic
from dragoman.training.checkpoint import checkpoints
from dragoman.training.consolidation import CONSOLIDATION_FILE

SIZES: dict[str, Any] = {"d_model": 8, "d_ff": 11, "heads": 2, "norm": "pre"}
MODEL = {"encoder_layers": 1, "decoder_layers": 1, **SIZES}
PART = {"source": "en", "target": "de"}
GENERAL = {"path": "dev.tsv", **PART}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 60, dev=5, test=3)
    return folder


def read(corpus: Path, model: dict[str, Any] = MODEL, **training: Any) -> ExperimentConfig:
    values = experiment()
    values["data"] = {
        "train": [{"path": "train.tsv", **PART}],
        "dev": {"path": "dev.tsv", **PART},
        "processes": 1,
    }
    values["vocabulary"] = {"size": 120}
    if "start_from" in training:
        del values["vocabulary"]
    values["model"] = model
    values["evaluation"] = {"metrics": []}
    values["training"] |= {
        **{"max_steps": 4, "validation_steps": 4, "checkpoint_steps": 2, "best_metric": "loss"},
        **{"average_checkpoints": 2, "precision": "float32", **training},
    }
    path = corpus / "experiment.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return read_experiment(path)


def train(config: ExperimentConfig, run: Path) -> Path:
    trained = Experiment.create(config, run)
    trained.train(trained.prepare(), ALONE, lambda step: [])
    return run


@pytest.fixture(scope="module")
def parent(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(read(corpus), tmp_path_factory.mktemp("runs") / "parent")


def weights(run: Path) -> dict[str, Tensor]:
    return read_tensors(run / "model" / WEIGHTS_FILE)


def interrupted(config: ExperimentConfig, run: Path) -> Path:
    """A run that was stopped after two steps, and resumed."""
    begun = Experiment.create(
        config.model_copy(update={"training": config.training.model_copy(update={"max_steps": 2})}),
        run,
    )
    begun.train(begun.prepare(), ALONE, lambda step: [])
    again = Experiment.open(run)
    again.revise([f"training.max_steps={config.training.max_steps}"])
    again.train(again.prepare(), ALONE, lambda step: [])
    return run


@pytest.mark.parametrize(
    "training",
    [{}, {"precision": "bfloat16", "ema_decay": 0.9}],
    ids=["float32", "bfloat16 with a moving average"],
)
def test_an_adapter_is_learned_and_its_run_has_a_whole_model(
    training: dict[str, Any], corpus: Path, parent: Path, tmp_path: Path
) -> None:
    adapter = {"rank": 2, "layers": "attention"}
    config = read(corpus, start_from=str(parent), adapter=adapter, **training)
    run = train(config, tmp_path / "run")
    before, after = weights(parent), weights(run)
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {name for name in before if "attention" in name}
    found = read_adapter(run)
    assert set(found.factors) == {
        f"{name.removesuffix('.weight')}.low_rank.{part}"
        for name in changed
        for part in ("down", "up", "factor")
    }
    onto = found.onto(before, parent / "model")
    assert all(torch.equal(onto[name], after[name]) for name in after)
    moments = read_tensors(checkpoints(run)[-1] / "optimizer.safetensors")
    assert all(is_factor(name) for name in moments if name != "step")
    checkpoint = load_model(checkpoints(run)[-1], "cpu")  # merged, too
    assert {name for name, _ in checkpoint.model.named_parameters()} == before.keys()


def test_a_resumed_adapter_is_the_same(corpus: Path, parent: Path, tmp_path: Path) -> None:
    config = read(corpus, start_from=str(parent), adapter={"rank": 1})
    whole = train(config, tmp_path / "whole")
    parted = interrupted(config, tmp_path / "parted")
    first, second = (read_tensors(run / ADAPTER_FILE) for run in (whole, parted))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_run_without_its_adapter_is_not_finished(
    corpus: Path, parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may end while it is written; what resumes the run then makes it."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.run.finishing.write_adapter", killed)
        with pytest.raises(KeyboardInterrupt):
            train(read(corpus, start_from=str(parent), adapter={"rank": 1}), run)
    assert not has_model(run)
    again = Experiment.open(run)
    again.train(again.prepare(), ALONE, lambda step: [])
    assert has_model(run)
    assert read_adapter(run).factors


def held(weight: float, pairs: int = 4) -> dict[str, Any]:
    return {"weight": weight, "pairs": pairs, "text": GENERAL}


def test_consolidation_holds_weights_where_they_began(
    corpus: Path, parent: Path, tmp_path: Path
) -> None:
    """The more the larger its weight; not at all by weight 0, bit for bit."""

    def trained(name: str, **training: Any) -> dict[str, Tensor]:
        return weights(train(read(corpus, start_from=str(parent), **training), tmp_path / name))

    plain, none = trained("plain"), trained("none", consolidation=held(0.0))
    assert all(torch.equal(plain[name], none[name]) for name in plain)
    assert not (tmp_path / "none" / CONSOLIDATION_FILE).exists()
    some, much = trained("some", consolidation=held(1.0)), trained("much", consolidation=held(1e4))
    begun = weights(parent)
    fisher = read_tensors(tmp_path / "much" / CONSOLIDATION_FILE)

    def moved(found: dict[str, Tensor]) -> float:
        """How far, as the penalty measures it."""
        squares = ((found[name] - begun[name]).square() for name in begun)
        return sum(
            float((fisher[f"fisher.{name}"] * one).sum())
            for name, one in zip(begun, squares, strict=True)
        )

    assert 0 < moved(much) < moved(some) < moved(plain)
    records = [
        json.loads(line) for line in (tmp_path / "much" / "metrics.jsonl").read_text().splitlines()
    ]
    penalties = [one["penalty"] for one in records if one["kind"] == "training"]
    assert len(penalties) > 1
    assert penalties[-1] > 0


def test_consolidation_is_measured_on_all_of_several_parts(
    corpus: Path, parent: Path, tmp_path: Path
) -> None:
    """Of which one alone, as a list or not, is the same."""
    text = [GENERAL, {"path": "test.tsv", **PART}]

    def fisher(name: str, text: object) -> dict[str, Tensor]:
        values = {**held(1.0, pairs=100), "text": text}
        config = read(corpus, start_from=str(parent), consolidation=values, max_steps=1)
        return read_tensors(train(config, tmp_path / name) / CONSOLIDATION_FILE)

    one, alone, other, both = (
        fisher(str(number), found)
        for number, found in enumerate([text[0], text[:1], text[1], text])
    )
    for name in both:
        assert torch.equal(one[name], alone[name])
        if name.startswith("fisher."):  # a mean over 5 and 3 pairs
            torch.testing.assert_close(both[name], (5 * one[name] + 3 * other[name]) / 8)


def test_consolidation_leaves_out_what_the_model_has_no_positions_for(
    corpus: Path, tmp_path: Path
) -> None:
    """The end symbol needs one as well."""
    rows = [(f"{'one ' * n}", "eins") for n in range(1, 60)]
    text = {"path": str(tmp_path / "long.tsv"), **PART}
    lines = "".join(f"{source}\t{target}\n" for source, target in rows)
    (tmp_path / "long.tsv").write_text(f"en\tde\n{lines}", encoding="utf-8")
    model = {**MODEL, "positions": "learned", "max_positions": 60}
    steps = {"max_steps": 1, "validation_steps": 1}
    begun = train(read(corpus, model, **steps), tmp_path / "begun")
    held_text = {**held(1.0, pairs=100), "text": text}
    config = read(corpus, model, start_from=str(begun), consolidation=held_text, **steps)
    experiment, told = Experiment.create(config, tmp_path / "run"), list[str]()
    prepared = experiment.prepare()
    experiment.train(prepared, ALONE, lambda step: [], told.append)
    lengths = map(len, prepared.vocabularies.source.encode_batch([source for source, _ in rows]))
    fitting = sum(length < 60 for length in lengths)
    assert 0 < fitting < len(rows)
    assert any(f"measuring what {fitting} pairs of" in line for line in told)


def test_a_part_of_several_is_named_where_it_is_wrong(corpus: Path) -> None:
    text = [GENERAL, {**GENERAL, "source": None}]
    consolidation = {**held(1.0), "text": text}
    with pytest.raises(ConfigError, match=r"consolidation\.text\.1 has no source"):
        read(corpus, start_from="x", consolidation=consolidation)
    with pytest.raises(ConfigError, match=r"consolidation\.text"):
        read(corpus, start_from="x", consolidation={**consolidation, "text": []})


def test_a_resumed_consolidation_is_the_same_and_needs_its_file(
    corpus: Path, parent: Path, tmp_path: Path
) -> None:
    config = read(corpus, start_from=str(parent), consolidation=held(10.0))
    whole = train(config, tmp_path / "whole")
    parted = interrupted(config, tmp_path / "parted")
    first, second = weights(whole), weights(parted)
    assert all(torch.equal(first[name], second[name]) for name in first)
    (parted / CONSOLIDATION_FILE).unlink()
    again = Experiment.open(parted)
    with pytest.raises(SavedError, match=r"consolidation\.safetensors"):
        again.train(again.prepare(), ALONE, lambda step: [])


def general(vocabulary: str = "keep", **changed: Any) -> dict[str, Any]:
    """Settings of training that hold weights for general text of another kind."""
    start = {"model": "x", "vocabulary": vocabulary}
    return {"start_from": start, "consolidation": {**held(1.0), "text": {**GENERAL, **changed}}}


@pytest.mark.parametrize(
    ("training", "said"),
    [
        ({"adapter": {}}, "adapter is of a trained model; name it in start_from"),
        ({"consolidation": held(1.0)}, "consolidation is of a trained model; name it in start"),
        ({"adapter": {}, "start_from": {"model": "x", "parts": ["encoder"]}}, "remove start_from"),
        (
            {"adapter": {}, "start_from": {"model": "x", "vocabulary": "extend"}},
            "vocabulary: extend gives it pieces that it cannot learn",
        ),
        ({"adapter": {"rank": 0}, "start_from": "x"}, "training.adapter.rank"),
        ({"adapter": {}, "start_from": "x", "consolidation": held(1.0)}, "remove one of the two"),
        ({"start_from": "x", "consolidation": {"weight": 1.0}}, "training.consolidation.text"),
        (general(source=None), r"consolidation\.text has no source, which this model reads"),
        (
            general(target=None, label="x"),
            r"consolidation\.text\.label is for model\.family: class",
        ),
        (general("new", tags=["<ui>"]), r"consolidation\.text: no part .* has the tag <ui>; tags"),
        (general("new", target_language="DE"), r"consolidation\.text\.target_language is DE, but"),
    ],
)
def test_what_contradicts_itself_is_refused(
    training: dict[str, Any], said: str, corpus: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        read(corpus, **training)


def test_an_adapter_needs_a_model_of_the_same_family(
    corpus: Path, parent: Path, tmp_path: Path
) -> None:
    lm = TransformerLMConfig(layers=1, **SIZES)
    config = read(corpus, start_from=str(parent), adapter={}).model_copy(update={"model": lm})
    with pytest.raises(ConfigError, match="is a transformer, and an adapter is of the same family"):
        Experiment.create(config, tmp_path / "run")


def test_general_text_with_a_tag_that_the_vocabulary_lacks_is_refused_before_training(
    corpus: Path, parent: Path, tmp_path: Path
) -> None:
    text = {**GENERAL, "tags": ["<ui>"]}
    config = read(corpus, start_from=str(parent), consolidation={**held(1.0), "text": text})
    with pytest.raises(ConfigError, match=r"no tag <ui>; .* from training\.consolidation\.text"):
        Experiment.create(config, tmp_path / "run").prepare()


def test_general_text_without_pairs_is_refused(corpus: Path, parent: Path, tmp_path: Path) -> None:
    (corpus / "empty.tsv").write_text("en\tde\n\t\n")
    text = {**held(1.0), "text": {"path": "empty.tsv", **PART}}
    config = read(corpus, start_from=str(parent), consolidation=text)
    with pytest.raises(Exception, match="no pair") as told:
        train(config, tmp_path / "run")
    assert "training.consolidation" in str(told.value)
