"""A run from its configuration, on the embedded corpus."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from reversal import Stopper
from worlds import ALONE, together

import dragoman
from dragoman.core.config import to_yaml
from dragoman.core.errors import (
    ConfigError,
    DataError,
    InterruptedRunError,
    SavedError,
    StorageError,
)
from dragoman.experiment import Experiment
from dragoman.models.interface import TranslationModel
from dragoman.recipe import read_experiment
from dragoman.run.prepared_text import prepare_run
from dragoman.run.scores_file import read_share
from dragoman.run.weight_interpolation import Between
from dragoman.saved.model import CONFIDENCE_FILE, CONVERTED_DIRECTORY, SHORTLIST_FILE, load_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors, weights_digest, write_tensors
from dragoman.text import synthetic
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import (
    checkpoints,
    chosen_checkpoints,
    moving_average,
    step_of,
)
from dragoman.training.distributed import World
from dragoman.training.trainer import Trainer
from dragoman.translation.line_translator import LineTranslator
from dragoman.validation import Evaluated, Validation, figures

CPU = World(0, 1, torch.device("cpu"))
LOSSES = {"loss", "perplexity"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 300, dev=6, test=6)
    return folder


def part(name: str) -> dict[str, str]:
    return {"path": f"{name}.tsv", "source": "en", "target": "de"}


def configuration(corpus: Path, **training: Any) -> Path:
    values = {
        "source_language": "en",
        "target_language": "de",
        "data": {"train": [part("train")], "dev": part("dev"), "test": {"unseen": part("test")}},
        "vocabulary": {"size": 200},
        "model": {
            "family": "transformer",
            "encoder_layers": 1,
            "decoder_layers": 1,
            "d_model": 16,
            "d_ff": 16,
            "heads": 2,
        },
        "training": {
            "step_tokens": 500,
            "schedule": {"warmup_steps": 5, "peak_learning_rate": 0.01},
            "max_steps": 8,
            "checkpoint_steps": 2,
            "validation_steps": 4,
            "average_checkpoints": 3,
            "log_steps": 2,
            **training,
        },
        "search": {"beam": 2, "extra_length": 3},
    }
    path = corpus / "experiment.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return path


def begin(corpus: Path, run: Path, **training: Any) -> Experiment:
    return Experiment.create(read_experiment(configuration(corpus, **training)), run)


def train(experiment: Experiment) -> None:
    experiment.train(experiment.prepare(), CPU, lambda step: [])


def test_from_text_to_a_scored_model(corpus: Path, tmp_path: Path) -> None:
    experiment = begin(corpus, tmp_path / "run")
    train(experiment)
    present = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"config.yaml", "vocabulary.model", "data", "checkpoints", "model"} <= present
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert scores["checkpoints"] == ["step-000004", "step-000006", "step-000008"]
    assert scores["unseen"]["bleu"]["signature"].startswith("nrefs:1|case:mixed")
    assert scores["dev"]["perplexity"] > 1
    kinds = [
        json.loads(line)["kind"]
        for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    ]
    assert kinds.count("validation") == 2
    assert kinds.count("training") == 4
    translator = dragoman.load(str(tmp_path / "run"))
    assert translator.search.beam == 2
    assert len(translator.translate(["three o'clock", ""])) == 2
    with pytest.raises(ConfigError, match="dragoman resume"):
        begin(corpus, tmp_path / "run")


@pytest.mark.parametrize("name", ["dev", "unseen", "other"])
def test_no_sentence_of_an_evaluation_set_is_trained_on(
    name: str, corpus: Path, tmp_path: Path
) -> None:
    """One side is enough, and every set counts, however many there are."""
    sets = {"dev": "four cats", "unseen": "five dogs", "other": "six birds"}

    def written(file: str, *lines: str) -> CorpusPart:
        path = tmp_path / f"{file}.tsv"
        path.write_text("".join(f"{line}\n" for line in ("en\tde", *lines)), encoding="utf-8")
        return CorpusPart(path=str(path), source="en", target="de")

    evaluation = {key: written(key, f"{text}\t{text} auf Deutsch") for key, text in sets.items()}
    config = read_experiment(configuration(corpus))
    clean = [f"{pair.source}\t{pair.target}" for pair in read_pairs(config.data.train[0])]
    train = written("train", *clean, f"{sets[name].upper()}\tx", f"y\t{sets[name]} auf Deutsch")
    data = config.data.model_copy(
        update={"train": (train,), "dev": evaluation.pop("dev"), "test": evaluation}
    )
    experiment = Experiment.create(config.model_copy(update={"data": data}), tmp_path / "run")
    dropped = experiment.prepare().report.part(train.name).dropped
    assert dropped["held out"].lines == [len(clean) + 2, len(clean) + 3]


@pytest.mark.parametrize("name", ["dev", "unseen"])
def test_a_line_too_long_to_be_scored_is_told_before_training(
    name: str, corpus: Path, tmp_path: Path
) -> None:
    source, target = tmp_path / "long.en", tmp_path / "long.de"
    source.write_text("one\n\n" + "eleven " * 40 + "\n", encoding="utf-8")
    target.write_text("eins\n\nelf\n", encoding="utf-8")
    where = "data.dev" if name == "dev" else f"data.test.{name}"
    part = f"{where}={{source: {source}, target: {target}}}"
    config = read_experiment(configuration(corpus), [part, "search.max_source_pieces=30"])
    with pytest.raises(DataError, match=r"long.en.* line 3: \d+ pieces are more than"):
        train(Experiment.create(config, tmp_path / "run"))
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_pair_too_long_for_learned_positions_is_told_before_training(
    corpus: Path, tmp_path: Path
) -> None:
    source, target = tmp_path / "long.en", tmp_path / "long.de"
    source.write_text("one\n" + "eleven " * 40 + "\n", encoding="utf-8")
    target.write_text("eins\n" + "elf " * 40 + "\n", encoding="utf-8")
    known = "path: train.tsv, source: en, target: de"
    settings = ["model.positions=learned", "model.max_positions=40"]
    settings.append(f"data.train=[{{{known}}}, {{source: {source}, target: {target}}}]")
    experiment = Experiment.create(read_experiment(configuration(corpus), settings), tmp_path / "r")
    with pytest.raises(DataError, match=r"data.train: a pair has \d+ .* set data.max_pieces: 39,"):
        train(experiment)
    assert not (tmp_path / "r" / "checkpoints").exists()
    shorter = [*settings, "data.max_pieces=39"]
    train(Experiment.create(read_experiment(configuration(corpus), shorter), tmp_path / "shorter"))


def test_what_grows_in_an_epoch_keeps_to_learned_positions(corpus: Path, tmp_path: Path) -> None:
    """Subword sampling and tags behind random transforms make a sentence longer than its text."""
    source, target = tmp_path / "long.en", tmp_path / "long.de"
    source.write_text("eleven " * 20 + "\n", encoding="utf-8")
    target.write_text("elf " * 20 + "\n", encoding="utf-8")
    known = "path: train.tsv, source: en, target: de"
    noise = "{kind: noise, drop: 0.0}, {kind: tag, tags: [<x>]}"
    settings = [
        f"data.train=[{{{known}}}, {{source: {source}, target: {target}, transforms: [{noise}]}}]",
        *("model.positions=learned", "vocabulary.sampling=0.9", "training.max_steps=3"),
    ]
    config = read_experiment(configuration(corpus), settings)
    prepared = prepare_run(config, tmp_path / "prepared")
    longest = max(prepared.store.longest(side) for side in ("source", "target"))
    config = read_experiment(
        configuration(corpus), [*settings, f"model.max_positions={longest + 1}"]
    )
    train(Experiment.create(config, tmp_path / "run"))


FAMILIES = {
    "convs2s": "encoder_layers: 1, decoder_layers: 1, d_model: 8, d_hidden: 8",
    "bytenet": "encoder_layers: 2, decoder_layers: 2, d_model: 16",
    "transformer_lm": "layers: 1, d_model: 16, d_ff: 16, heads: 2, source: causal",
    "recurrent_lm": "layers: 1, d_model: 8, source: reversed",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_trains_and_translates(family: str, corpus: Path, tmp_path: Path) -> None:
    path = configuration(corpus, max_steps=2, validation_steps=2)
    config = read_experiment(path, [f"model={{family: {family}, {FAMILIES[family]}}}"])
    train(Experiment.create(config, tmp_path / "run"))
    translator = dragoman.load(str(tmp_path / "run"))
    assert len(translator.translate(["three o'clock", ""])) == 2
    assert f"family `{family}`" in (tmp_path / "run" / "model" / "README.md").read_text()


LANGUAGE_MODELS = {
    "transformer_lm": "layers: 1, d_model: 16, d_ff: 16, heads: 2",
    "recurrent_lm": "layers: 1, d_model: 8",
}


TARGETS = {
    name: {"path": f"{file}.tsv", "target": "de"}
    for name, file in {"train": "train", "dev": "dev", "unseen": "test"}.items()
}


def language_model(corpus: Path, family: str = "recurrent_lm", **training: Any) -> Path:
    path = configuration(corpus, best_metric="loss", **training)
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    values["data"] = {
        "train": [TARGETS["train"]],
        "dev": TARGETS["dev"],
        "test": {"unseen": TARGETS["unseen"]},
    }
    values["model"] = yaml.safe_load(f"{{family: {family}, {LANGUAGE_MODELS[family]}}}")
    values["evaluation"] = {"metrics": []}
    path.write_text(to_yaml(values), encoding="utf-8")
    return path


@pytest.mark.parametrize("family", LANGUAGE_MODELS)
def test_a_language_model_learns_from_targets_alone(
    family: str, corpus: Path, tmp_path: Path
) -> None:
    path = language_model(corpus, family, max_steps=4, validation_steps=2)
    config = read_experiment(path, ["vocabulary.sampling=0.1"])
    train(Experiment.create(config, tmp_path / "run"))
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert figures(scores["dev"]).keys() == figures(scores["unseen"]).keys() == LOSSES
    translator = dragoman.load(str(tmp_path / "run"))
    targets = [pair.target for pair in read_pairs(config.data.test["unseen"])]
    scored = translator.score(None, targets)
    loss = -sum(line.log_probability for line in scored) / sum(line.tokens for line in scored)
    assert scores["unseen"]["loss"] == pytest.approx(loss)
    with pytest.raises(ConfigError, match="a language model reads no source"):
        translator.score(targets, targets)
    assert "A language model of the family" in (tmp_path / "run/model/README.md").read_text()


def test_a_language_model_continues_lines(corpus: Path, tmp_path: Path) -> None:
    train(Experiment.create(read_experiment(language_model(corpus)), tmp_path))
    translator = dragoman.load(str(tmp_path))
    beginnings = ["drei Uhr", "", "hundert"]
    for options in ({}, {"sampling": {"seed": 3}}, {"beam": 1}):
        found = translator.translate_nbest(beginnings, extra_length=5, **options)
        for beginning, (first, *_) in zip(beginnings, found, strict=True):
            pieces = translator.vocabularies.target.encode(beginning)
            assert first.pieces[: len(pieces)] == translator.vocabularies.target.pieces(pieces)
            assert len(first.pieces) <= len(pieces) + 5
        alone = translator.translate_nbest(beginnings[:1], extra_length=5, **options)
        assert alone[0][0].text == found[0][0].text


def test_a_language_model_and_a_translator_are_no_ensemble(corpus: Path, tmp_path: Path) -> None:
    translating = read_experiment(configuration(corpus, max_steps=1))
    model = read_experiment(language_model(corpus, max_steps=1))
    train(Experiment.create(translating, tmp_path / "a"))
    (tmp_path / "b").mkdir()
    shutil.copy(tmp_path / "a" / "vocabulary.model", tmp_path / "b")
    train(Experiment.create(model, tmp_path / "b"))
    vocabularies = [(tmp_path / run / "vocabulary.model").read_bytes() for run in "ab"]
    assert vocabularies[0] == vocabularies[1]  # one that lies there is used as it is
    with pytest.raises(ConfigError, match="cannot form an ensemble"):
        dragoman.load(str(tmp_path / "a"), str(tmp_path / "b"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["evaluation.metrics=[bleu]"], r"metrics are of translations; set them to \[\]"),
        (["data.dev={source: a, target: b}"], r"data.dev has a source, which a language model"),
        (["data.test.unseen={path: a.po}"], r"data.test.unseen has a source"),
        (["vocabulary.joint=false"], r"vocabulary.joint: false is for two sides"),
        (["data.cleaning.source_scripts=[Latin]"], r"source_scripts are of a source"),
        (["model.source=forward"], r"data.train.0 has no source, which this model reads"),
        (["training.best_metric=bleu"], r"or set training.best_metric: loss"),
    ],
)
def test_what_a_language_model_does_not_read_is_refused(
    corpus: Path, settings: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_experiment(language_model(corpus), settings)
    assert "\n" not in str(caught.value)


def test_without_metrics_nothing_is_translated(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = configuration(corpus, best_metric="loss", max_steps=1)
    monkeypatch.delattr(LineTranslator, "stream_lines")
    train(Experiment.create(read_experiment(path, ["evaluation.metrics=[]"]), tmp_path))
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert figures(scores["dev"]).keys() == LOSSES


def test_opened_again_it_is_the_same(corpus: Path, tmp_path: Path) -> None:
    experiment = begin(corpus, tmp_path / "run")
    assert Experiment.open(tmp_path / "run").config == experiment.config
    with pytest.raises(SavedError, match="no run here"):
        Experiment.open(tmp_path)


def test_a_run_killed_before_its_first_checkpoint_reports_each_step_once(
    corpus: Path, tmp_path: Path
) -> None:
    """Bounds are measured before the first step, and measured again if nothing was saved."""
    experiment = begin(corpus, tmp_path / "run", max_steps=2, average_checkpoints=1)
    metrics = tmp_path / "run" / "metrics.jsonl"
    metrics.write_text('{"kind": "validation", "step": 0, "loss": 5.0}\n')
    train(experiment)
    records = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert records and all(record["step"] > 0 for record in records)


class _Losing:
    """An observer that renames or deletes the run after its first checkpoint."""

    def __init__(self, run: Path, moved: Path | None) -> None:
        self._run, self._moved = run, moved

    def record(self, record: dict[str, Any]) -> None:
        if record["step"] == 4 and self._run.exists():
            if self._moved is None:
                shutil.rmtree(self._run)
            else:
                self._run.rename(self._moved)

    def rewind(self, step: int) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_run_renamed_or_deleted_while_it_trains_ends_at_its_next_checkpoint(
    is_moved: bool, corpus: Path, tmp_path: Path
) -> None:
    run, moved = tmp_path / "run", tmp_path / "moved"
    experiment = begin(corpus, run)
    lose = _Losing(run, moved if is_moved else None)
    with pytest.raises(StorageError, match="run was renamed or deleted while this process"):
        experiment.train(experiment.prepare(), CPU, lambda step: [lose])
    assert not run.exists()
    assert moved.exists() == is_moved
    if is_moved:
        train(Experiment.open(moved))
        train(begin(corpus, tmp_path / "undisturbed"))
        ours, theirs = (
            read_tensors(path / "model" / WEIGHTS_FILE)
            for path in (moved, tmp_path / "undisturbed")
        )
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_finished_run_resumed_ends_with_the_same_model(corpus: Path, tmp_path: Path) -> None:
    experiment = begin(corpus, tmp_path / "run")
    train(experiment)
    model = tmp_path / "run" / "model" / "model.safetensors"
    before = model.read_bytes()
    train(Experiment.open(tmp_path / "run"))
    assert model.read_bytes() == before


def test_what_was_made_for_a_model_outlasts_its_run(corpus: Path, tmp_path: Path) -> None:
    """A calibration and a shortlist, which say themselves what they are for."""
    experiment = begin(corpus, tmp_path / "run")
    train(experiment)
    made = {CONFIDENCE_FILE: b"measured for hours", SHORTLIST_FILE: b"counted"}
    for name, content in made.items():
        (experiment.run / "model" / name).write_bytes(content)
    (experiment.run / "model" / CONVERTED_DIRECTORY).mkdir()  # of the weights, made at once
    train(Experiment.open(experiment.run))
    found = {path.name: path for path in (experiment.run / "model").iterdir()}
    assert {name: found[name].read_bytes() for name in made} == made
    assert CONVERTED_DIRECTORY not in found


def test_a_run_that_was_stopped_ends_with_the_model_of_one_that_was_not(
    corpus: Path, tmp_path: Path
) -> None:
    steps = {"max_steps": 12, "validation_steps": 12, "checkpoint_steps": 4, "log_steps": 1}
    choices = {**steps, "keep_checkpoints": 3}
    whole, parted = (begin(corpus, tmp_path / name, **choices) for name in ("whole", "parted"))
    train(whole)
    with pytest.raises(InterruptedRunError, match="stopped at step 6 "):
        parted.train(parted.prepare(), CPU, lambda step: [Stopper(6)])
    train(Experiment.open(parted.run))
    models = [one.run / "model" / WEIGHTS_FILE for one in (whole, parted)]
    assert models[0].read_bytes() == models[1].read_bytes()
    scores = [(one.run / "scores.json").read_bytes() for one in (whole, parted)]
    assert scores[0] == scores[1]


def test_the_best_checkpoint_instead_of_a_mean(corpus: Path, tmp_path: Path) -> None:
    experiment = begin(corpus, tmp_path / "run", average_checkpoints=0, best_metric="loss")
    train(experiment)
    (chosen,) = chosen_checkpoints(experiment.run, 0)
    progress = json.loads((checkpoints(tmp_path / "run")[-1] / "state.json").read_text())
    assert chosen.name == f"step-{progress['best']['step']:06d}"


def test_the_best_by_another_metric_does_not_become_the_model(corpus: Path, tmp_path: Path) -> None:
    """As after ``resume --set training.best_metric=...``, where nothing was trained since."""
    experiment = begin(corpus, tmp_path / "run", average_checkpoints=0, best_metric="loss")
    train(experiment)
    *_, earlier, newest = checkpoints(experiment.run)
    state = json.loads((newest / "state.json").read_text())
    for metric, chosen in (("loss", earlier), ("bleu", newest)):
        state["best"] |= {"metric": metric, "step": step_of(earlier)}
        (newest / "state.json").write_text(json.dumps(state))
        experiment.finish(experiment.prepare().vocabularies, ALONE)
        scores = json.loads((experiment.run / "scores.json").read_text())
        assert scores["checkpoints"] == [chosen.name]


def test_the_moving_average_is_validated_and_becomes_the_model(
    corpus: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    experiment = begin(corpus, run, ema_decay=0.7, best_metric="loss")
    train(experiment)
    average = moving_average(checkpoints(run)[-1])
    saved = read_tensors(run / "model" / "model.safetensors")
    assert average.keys() <= saved.keys()
    assert all(torch.equal(values, saved[name]) for name, values in average.items())
    last = read_tensors(checkpoints(run)[-1] / "model.safetensors")
    assert not all(torch.equal(values, last[name]) for name, values in average.items())
    scores = json.loads((run / "scores.json").read_text())
    lines = (run / "metrics.jsonl").read_text().splitlines()
    validated = [json.loads(line) for line in lines if '"validation"' in line]
    assert validated[-1]["loss"] == pytest.approx(scores["dev"]["loss"], rel=0.02)


@pytest.mark.parametrize(("averaged", "taken"), [(0, 4), (1, 8), (3, 8)])
def test_the_moving_average_is_the_best_or_the_newest(
    averaged: int, taken: int, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "run"
    choices = {"ema_decay": 0.7, "best_metric": "loss", "average_checkpoints": averaged}
    train(begin(corpus, run, **choices))
    found = checkpoints(run)
    state = found[-1] / "state.json"
    progress = json.loads(state.read_text())
    progress["best"] = {"metric": "loss", "value": 0.01, "step": 4}
    state.write_text(json.dumps(progress))
    caplog.clear()
    train(Experiment.open(run))
    (average,) = (moving_average(path) for path in found if step_of(path) == taken)
    saved = read_tensors(run / "model" / WEIGHTS_FILE)
    assert all(torch.equal(values, saved[name]) for name, values in average.items())
    advice = f"of step 4 0.01; take that one with: dragoman resume {run} --set training.average_"
    assert (advice in caplog.text) == (taken == 8)


def test_a_mean_worse_than_the_best_checkpoint_is_told(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    experiment = begin(corpus, tmp_path / "run", best_metric="loss")
    train(experiment)
    vocabularies = experiment.prepare().vocabularies
    state = checkpoints(tmp_path / "run")[-1] / "state.json"
    for best, warned in ((100.0, False), (0.01, True)):
        progress = json.loads(state.read_text())
        progress["best"] = {"metric": "loss", "value": best, "step": 4}
        state.write_text(json.dumps(progress))
        caplog.clear()
        experiment.finish(vocabularies, CPU)
        assert ("the mean of 3 checkpoints has a dev loss" in caplog.text) == warned
    assert f"dragoman average {tmp_path / 'run' / 'checkpoints' / 'step-000004'}" in caplog.text


def test_the_best_checkpoint_is_not_said_to_be_better_than_itself(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its score differs a little at the end, where it is computed in float32."""
    experiment = begin(
        corpus, tmp_path / "run", max_steps=2, best_metric="loss", average_checkpoints=1
    )
    train(experiment)
    state = checkpoints(tmp_path / "run")[-1] / "state.json"
    progress = json.loads(state.read_text())
    progress["best"] |= {"value": progress["best"]["value"] * 0.9}
    state.write_text(json.dumps(progress))
    caplog.clear()
    experiment.finish(experiment.prepare().vocabularies, CPU)
    assert not caplog.records


def test_scoring_at_the_end_is_done_where_training_was(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = begin(corpus, tmp_path / "run")
    train(experiment)
    devices = []

    def evaluate(self: Validation, model: TranslationModel) -> Evaluated:
        devices.append(next(model.parameters()).device.type)
        return Evaluated({"loss": 1.0}, None)

    monkeypatch.setattr(Validation, "evaluate", evaluate)
    elsewhere = World(0, 1, torch.device("meta"))  # a device that every machine has
    experiment.finish(experiment.prepare().vocabularies, elsewhere)
    assert devices == ["meta", "meta"]


def test_weights_between_two_checkpoints_become_the_model_and_say_so(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = begin(corpus, tmp_path / "run")
    train(experiment)
    newest = checkpoints(experiment.run)[-1]
    half = {name: one / 2 for name, one in read_tensors(newest / WEIGHTS_FILE).items()}

    monkeypatch.setattr("dragoman.run.model_choice.step_outside", lambda *_: step_of(newest))
    monkeypatch.setattr(
        "dragoman.run.model_choice.best_between",
        lambda *args: Between(0.5, half, args[-1](half, what="half")),
    )
    experiment.finish(experiment.prepare().vocabularies, ALONE)
    assert read_share(experiment.run) == 0.5
    found = read_tensors(experiment.run / "model" / WEIGHTS_FILE)
    assert all(torch.equal(found[name], half[name]) for name in half)


def test_all_processes_score_the_checkpoints_that_the_leading_one_chose(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine may still see a shared directory as it was before."""
    experiment = begin(corpus, tmp_path / "run")
    train(experiment)
    vocabularies = experiment.prepare().vocabularies
    here = threading.local()
    monkeypatch.setattr(
        "dragoman.run.model_choice.chosen_checkpoints",
        lambda run, count, *metric: chosen_checkpoints(
            run, count if here.rank == 0 else 1, *metric
        ),
    )

    def evaluate(self: Validation, model: TranslationModel) -> Evaluated:
        total = sum(float(weight.detach().double().sum()) for weight in model.parameters())
        return Evaluated({"loss": total}, None)

    monkeypatch.setattr(Validation, "evaluate", evaluate)

    def work(world: World) -> Any:
        here.rank = world.rank
        return experiment.finish(vocabularies, world)

    first, second = (one.result() for one in together(2, work))
    assert first == second


def test_vocabularies_follow_their_settings_until_training(corpus: Path, tmp_path: Path) -> None:
    first = begin(corpus, tmp_path).prepare()
    again = begin(corpus, tmp_path).prepare()
    assert again.vocabularies.source.fingerprint == first.vocabularies.source.fingerprint
    assert again.store.fingerprint == first.store.fingerprint
    smaller = read_experiment(configuration(corpus), ["vocabulary.size=150"])
    changed = Experiment.create(smaller, tmp_path).prepare()
    assert len(changed.vocabularies.source) == 150
    (tmp_path / "vocabulary.json").unlink()  # as if somebody had put the vocabulary there
    kept = begin(corpus, tmp_path).prepare()
    assert len(kept.vocabularies.source) == 150


def test_other_text_of_the_same_size_gives_other_vocabularies(corpus: Path, tmp_path: Path) -> None:
    """Until training; afterwards weights belong to those that there are."""
    text = tmp_path / "train.tsv"
    text.write_bytes((corpus / "train.tsv").read_bytes())
    setting = f"data.train=[{{path: {text}, source: en, target: de}}]"
    config = read_experiment(configuration(corpus, max_steps=1), [setting])
    first = Experiment.create(config, tmp_path / "run").prepare()

    vowels = str.maketrans("aeiou", "eioua")

    def other_vowels() -> None:
        head, body = text.read_text(encoding="utf-8").split("\n", 1)
        text.write_text(f"{head}\n" + body.translate(vowels), encoding="utf-8")

    size = text.stat().st_size
    other_vowels()
    assert text.stat().st_size == size
    second = Experiment.create(config, tmp_path / "run").prepare()
    assert second.vocabularies.source.fingerprint != first.vocabularies.source.fingerprint
    train(Experiment.open(tmp_path / "run"))
    other_vowels()
    third = Experiment.open(tmp_path / "run").prepare()
    assert third.vocabularies.source.fingerprint == second.vocabularies.source.fingerprint
    assert third.store.fingerprint != second.store.fingerprint


def test_subword_sampling_trains(corpus: Path, tmp_path: Path) -> None:
    config = read_experiment(configuration(corpus), ["vocabulary.sampling=0.1"])
    train(Experiment.create(config, tmp_path))
    assert checkpoints(tmp_path)


def test_a_recurrent_model_goes_the_same_way(corpus: Path, tmp_path: Path) -> None:
    """Interrupted or not, from text to a model that opens; in bfloat16, dropout and all."""
    family = "{family: recurrent, encoder_layers: 1, decoder_layers: 1, d_model: 8}"
    settings = [f"model={family}", "training.precision=bfloat16"]
    whole = Experiment.create(read_experiment(configuration(corpus), settings), tmp_path / "whole")
    train(whole)
    halves = read_experiment(configuration(corpus, max_steps=4), settings)
    train(Experiment.create(halves, tmp_path / "halves"))
    resumed = Experiment(whole.config, tmp_path / "halves")
    train(resumed)
    model = load_model(tmp_path / "whole")
    assert model.config.model == whole.config.model
    again = dict(load_model(tmp_path / "halves").model.named_parameters())
    for name, parameter in model.model.named_parameters():
        assert torch.equal(parameter, again[name])


def quick(corpus: Path, run: Path, **training: Any) -> Experiment:
    """Nothing is translated, which takes most of the time."""
    path = configuration(corpus, best_metric="loss", **training)
    return Experiment.create(read_experiment(path, ["evaluation.metrics=[]"]), run)


def model_weights(run: Path) -> dict[str, torch.Tensor]:
    return read_tensors(run / "model" / WEIGHTS_FILE)


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[n], second[n]) for n in first)


def test_extended_equals_as_long_at_once(corpus: Path, tmp_path: Path) -> None:
    """The model of the shorter training stays until that of the longer one takes its place."""
    at_once, extended = tmp_path / "at once", tmp_path / "extended"
    train(quick(corpus, at_once, max_steps=8))
    train(quick(corpus, extended, max_steps=4))
    shorter = model_weights(extended)
    experiment = Experiment.open(extended)
    experiment.revise(["training.max_steps=8"])
    assert Experiment.open(extended).config.training.max_steps == 8
    prepared = experiment.prepare()
    experiment._train(prepared, CPU, lambda step: [])
    assert same(model_weights(extended), shorter)
    experiment.finish(prepared.vocabularies, CPU)
    assert same(model_weights(extended), model_weights(at_once))
    assert not same(model_weights(extended), shorter)
    lines = [
        [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        for run in (at_once, extended)
    ]
    assert [one["step"] for one in lines[0]] == [one["step"] for one in lines[1]]
    assert [one.get("loss") for one in lines[0]] == [one.get("loss") for one in lines[1]]


def test_a_refused_change_leaves_the_run_as_it_is(corpus: Path, tmp_path: Path) -> None:
    experiment = begin(corpus, tmp_path)
    before = (tmp_path / "config.yaml").read_bytes()
    with pytest.raises(ConfigError, match="seed cannot change"):
        experiment.revise(["training.max_steps=9", "seed=3"])
    assert (tmp_path / "config.yaml").read_bytes() == before
    assert experiment.config.training.max_steps == 8


@pytest.fixture(scope="module")
def parent(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that others start from."""
    run = tmp_path_factory.mktemp("parent") / "run"
    train(quick(corpus, run, max_steps=4))
    return run


class TestStart:
    """A run that starts from another."""

    def child(self, corpus: Path, run: Path, parent: Path, **start: Any) -> Experiment:
        start = {"model": str(parent), **start}
        path = configuration(corpus, start_from=start, best_metric="loss")
        values = yaml.safe_load(path.read_text())
        if start.get("vocabulary", "keep") == "keep":
            del values["vocabulary"]
        values["data"]["train"][0]["target"] = values["data"]["dev"]["target"] = "fr"
        del values["data"]["test"]
        values["evaluation"] = {"metrics": []}
        values["training"]["max_steps"] = 3
        path.write_text(to_yaml(values), encoding="utf-8")
        return Experiment.create(read_experiment(path), run)

    def test_training_begins_with_its_weights_and_vocabulary(
        self, corpus: Path, tmp_path: Path, parent: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        began = []
        check = Experiment._check_model

        def look(self: Experiment, resumed: bool) -> None:
            (trainer,) = trainers
            began.append({n: t.clone() for n, t in trainer.sharding.weights().items()})
            check(self, resumed)

        trainers: list[Trainer] = []
        make = Trainer.__init__

        def remember(self: Trainer, *arguments: Any, **more: Any) -> None:
            trainers[:] = [self]
            make(self, *arguments, **more)

        monkeypatch.setattr(Trainer, "__init__", remember)
        monkeypatch.setattr(Experiment, "_check_model", look)
        experiment = self.child(corpus, tmp_path / "run", parent)
        train(experiment)
        assert same(began[0], model_weights(parent))
        fingerprints = [
            Vocabularies.load(run).source.fingerprint for run in (parent, tmp_path / "run")
        ]
        assert fingerprints[0] == fingerprints[1]
        card = (tmp_path / "run" / "model" / "README.md").read_text()
        assert f"of run (weights {weights_digest(parent / 'model')})" in card

    def test_it_is_not_needed_once_there_is_a_checkpoint(
        self, corpus: Path, tmp_path: Path, parent: Path
    ) -> None:
        shutil.copytree(parent, tmp_path / "parent")
        train(self.child(corpus, tmp_path / "whole", tmp_path / "parent"))
        experiment = self.child(corpus, tmp_path / "run", tmp_path / "parent")
        experiment.prepare()
        vocabulary = (tmp_path / "run" / "vocabulary.model").read_bytes()
        experiment._decide_start(CPU)
        digest = experiment.config.training.start_from
        assert digest is not None
        assert digest.digest == weights_digest(parent / "model")
        self.other_weights(tmp_path / "parent")
        again = Experiment.open(tmp_path / "run")
        with pytest.raises(SavedError, match="its weights are not those"):
            train(again)
        shutil.rmtree(tmp_path / "parent")
        with pytest.raises(SavedError, match="no such model"):
            train(again)
        shutil.copytree(parent, tmp_path / "parent")
        again.prepare()
        # As far as the first checkpoint, at step 2; the rest without the parent.
        stop = again.config.training.model_copy(update={"max_steps": 2})
        Experiment(again.config.model_copy(update={"training": stop}), again.run)._train(
            again.prepare(), CPU, lambda step: []
        )
        shutil.rmtree(tmp_path / "parent")
        train(Experiment.open(tmp_path / "run"))
        assert (tmp_path / "run" / "vocabulary.model").read_bytes() == vocabulary
        assert same(model_weights(tmp_path / "run"), model_weights(tmp_path / "whole"))

    def other_weights(self, run: Path) -> None:
        path = run / "model" / WEIGHTS_FILE
        weights = read_tensors(path)
        write_tensors(path, {name: 2 * tensor for name, tensor in weights.items()})

    def test_all_processes_start_alike(
        self, corpus: Path, tmp_path: Path, parent: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        experiment = self.child(corpus, tmp_path, parent)
        prepared = experiment.prepare()
        found: dict[int, dict[str, torch.Tensor]] = {}

        def made(self: Trainer, model: TranslationModel, *rest: Any, **more: Any) -> None:
            rank = more["world"].rank
            found[rank] = {n: p.detach().clone() for n, p in model.named_parameters()}
            raise InterruptedRunError("seen enough")

        monkeypatch.setattr(Trainer, "__init__", made)

        def work(world: World) -> None:
            one = Experiment(experiment.config, tmp_path)
            one._decide_start(world)
            one._train(prepared, world, lambda step: [])

        for future in together(2, work):
            assert isinstance(future.exception(), InterruptedRunError)
        assert same(found[0], found[1])
        assert same(found[0], model_weights(parent))

    def test_another_kind_of_model_is_told_before_anything_is_made(
        self, corpus: Path, tmp_path: Path, parent: Path
    ) -> None:
        path = configuration(corpus, start_from=str(parent))
        settings = ["vocabulary={}", "model.d_model=32"]
        with pytest.raises(ConfigError, match="d_model 16, here 32"):
            Experiment.create(read_experiment(path, settings), tmp_path / "run")
        assert not (tmp_path / "run" / "config.yaml").exists()

    @pytest.mark.parametrize("vocabulary", ["extend", "new"])
    def test_with_another_vocabulary(
        self, vocabulary: str, corpus: Path, tmp_path: Path, parent: Path
    ) -> None:
        experiment = self.child(
            corpus, tmp_path / "run", parent / "checkpoints" / "step-000004", vocabulary=vocabulary
        )
        larger = experiment.config.vocabulary.model_copy(update={"size": 230})
        experiment.config = experiment.config.model_copy(update={"vocabulary": larger})
        train(experiment)
        pieces, old = (
            Vocabularies.load(run).source.pieces(range(200)) for run in (tmp_path / "run", parent)
        )
        assert len(Vocabularies.load(tmp_path / "run").source) == 230
        assert (pieces == old) == (vocabulary == "extend")
