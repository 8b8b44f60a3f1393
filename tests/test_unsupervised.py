"""Translation without parallel text: a whole run, and recipes that cannot teach it."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import call, experiment
from worlds import ALONE

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError
from dragoman.data.vocabularies import counted_pieces
from dragoman.experiment import Experiment
from dragoman.models import RecurrentConfig
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.run.scores_file import read_scores
from dragoman.saved.model import build_model, load_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text import synthetic
from dragoman.text.vocabularies import EOS, PAD
from dragoman.training.checkpoint import checkpoints
from dragoman.translation.translator import Translator

OTHER = {"en": "de", "de": "en"}
BACK = {"kind": "back_translation", "extra_length": 5}
TAG: dict[str, Any] = {"kind": "tag"}
COPY: dict[str, Any] = {"kind": "copy"}
NOISE = {"kind": "noise", "mask": 0.1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty lines of either language, of which none translates another, and some dev text."""
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 80, dev=4, test=3)
    rows = (folder / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for language, column, chosen in (("en", 2, rows[:40]), ("de", 3, rows[40:])):
        lines = [row.split("\t")[column] for row in chosen]
        (folder / f"mono.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def mono(language: str, *transforms: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Text in one language; it is translated back from the other."""
    return {
        "target": f"mono.{language}",
        "source_language": OTHER[language],
        "target_language": language,
        "transforms": list(transforms),
        **values,
    }


def parts() -> list[dict[str, Any]]:
    return [
        *(mono(language, COPY, TAG, NOISE, task="denoising") for language in OTHER),
        *(mono(language, BACK, TAG, task="back_translation") for language in OTHER),
    ]


def trip(language: str) -> dict[str, Any]:
    """Dev text in one language that goes to the other and comes back."""
    return {
        "path": "dev.tsv",
        "target": language,
        "source_language": OTHER[language],
        "target_language": language,
        "transforms": [BACK, TAG],
    }


def configured(folder: Path, train: list[dict[str, Any]], **changes: Any) -> ExperimentConfig:
    values = experiment()
    values["data"]["train"] = train
    values["data"]["dev"] = {
        "en-de": {"path": "dev.tsv", "source": "en", "target": "de", "transforms": [TAG]},
        "back": trip("en"),
    }
    values["data"]["test"] = {}
    values["model"]["language_tags"] = "decoder"
    values["evaluation"] = {"metrics": ["bleu"]}
    values["training"] |= {
        "max_steps": 6,
        "validation_steps": 3,
        "checkpoint_steps": 1,
        "keep_checkpoints": 6,
        "log_steps": 1,
        "best_metric": "round_trip",
        "tasks": {
            "denoising": {"weight": {0: 1, 5: 0.2}},
            "back_translation": {"weight": {1: 0, 2: 1}},
        },
    }
    for section, change in changes.items():
        values[section] |= change
    path = folder / "experiment.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return read_experiment(path)


def trained(config: ExperimentConfig, run: Path) -> Experiment:
    made = Experiment.create(config, run)
    made.train(made.prepare(), ALONE, lambda step: [])
    return made


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run."""
    made = tmp_path_factory.mktemp("runs") / "run"
    trained(configured(corpus, parts()), made)
    return made


def test_a_run_without_pairs_learns_reports_and_translates(run: Path) -> None:
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    first, second = (one for one in records if one["step"] in {1, 2} and one["kind"] == "training")
    assert "loss" in first and "back_translation_loss" not in first, "it weighs nothing yet"
    assert "back_translation_loss" in second
    checked = [one for one in records if one["kind"] == "validation"]
    for one in checked:
        assert one["round_trip"] == one["round_trip/dev_back"]
        assert one["bleu"] == one["bleu/dev_en-de"] and "bleu/dev_back" not in one
        assert one["loss"] == one["loss/dev_en-de"] != one["loss/dev_back"]
    state = json.loads((checkpoints(run)[-1] / "state.json").read_text())
    assert state["best"]["metric"] == "round_trip"
    assert read_scores(run)["dev_back"].keys() == {
        *("source_language", "target_language", "loss", "perplexity", "round_trip")
    }
    text = b"a b c\n"
    german, english = (call("translate", run, "--to", to, stdin=text) for to in ("de", "en"))
    assert german.code == english.code == 0
    assert "<2" not in german.out + english.out
    told = load_model(run)
    assert {one.name for one in told.config.directions} == {"en-de", "de-en", "en-en", "de-de"}


def test_a_killed_run_is_resumed_bit_for_bit(corpus: Path, run: Path, tmp_path: Path) -> None:
    """From a checkpoint in the middle of both tasks."""
    parted = tmp_path / "run"
    trained(configured(corpus, parts(), training={"max_steps": 4}), parted)
    again = Experiment.open(parted)
    again.revise(["training.max_steps=6"])
    again.train(again.prepare(), ALONE, lambda step: [])
    whole, second = (read_tensors(one / "model" / WEIGHTS_FILE) for one in (run, parted))
    assert all(torch.equal(whole[name], tensor) for name, tensor in second.items())


def test_sources_are_what_translate_gives(corpus: Path, tmp_path: Path) -> None:
    made = Experiment.create(configured(corpus, parts()), tmp_path / "run")
    prepared = made.prepare()
    torch.manual_seed(5)
    model = build_model(made.config.model, prepared.vocabularies).double().train()
    denoising, back = made.tasks(prepared, ALONE)
    assert (denoising.name, back.name) == ("denoising", "back_translation")
    numbers = {1: "en", 2: "de"}
    (batch,) = next(back.stream.window(0, 0))
    completed = back.stream.completed(batch, model)
    assert completed.parts is not None
    pieces = prepared.vocabularies.source
    ids = [
        [[i for i in row if i not in {EOS, PAD}] for row in side.tolist()]
        for side in (completed.source, completed.target_output)
    ]
    found: set[str] = set()
    for part, source, target in zip(completed.parts.tolist(), *ids, strict=True):
        language = numbers[part - 1]
        translator = Translator([model], prepared.vocabularies, tags=[f"<2{OTHER[language]}>"])
        (hypotheses,) = translator.translate_nbest(
            [pieces.decode(target)], beam=1, extra_length=5, degenerate="keep"
        )
        head = pieces.encode(f"<2{language}>")
        assert source[: len(head)] == head
        assert pieces.decode(source[len(head) :]) == hypotheses[0].text
        found.add(hypotheses[0].text)
    assert len(found) > 3, "it would be no surprise if all were alike"
    assert model.training


def test_pieces_of_the_other_language_alone_are_not_written(corpus: Path, tmp_path: Path) -> None:
    """Their share is that of the text in each language, in which no sentence translates another."""
    train = parts()
    for part in train[2:]:
        part["transforms"] = [{**BACK, "own_pieces": 0.5}, TAG]
    made = Experiment.create(configured(corpus, train), tmp_path / "run")
    prepared = made.prepare()
    shares = {}
    for language in OTHER:
        lines = (corpus / f"mono.{language}").read_text(encoding="utf-8").splitlines()
        counts = Counter(chain(*prepared.vocabularies.target.encode_batch(lines)))
        shares[language] = {piece: n / counts.total() for piece, n in counts.items()}
    counted, foreign = counted_pieces(prepared.store, prepared.vocabularies), {}
    for number, written in ((2, "de"), (3, "en")):
        here, there = shares[written], shares[OTHER[written]]
        expected = {piece for piece, share in there.items() if here.get(piece, 0) < 0.5 * share}
        assert 3 < len(expected) < len(there)
        foreign[number] = {*counted.foreign(written, 0.5, [OTHER[written]])}
        assert foreign[number] == expected
    torch.manual_seed(5)
    model = build_model(made.config.model, prepared.vocabularies).double().train()
    back = made.tasks(prepared, ALONE)[1]
    (batch,) = next(back.stream.window(0, 0))
    completed = back.stream.completed(batch, model)
    assert completed.parts is not None
    for number, ids in zip(completed.parts.tolist(), completed.source.tolist(), strict=True):
        assert not {*ids} & foreign[number]


WRONG: list[tuple[list[dict[str, Any]], str]] = [
    (
        [mono("en", COPY, TAG, NOISE), mono("en", BACK, TAG)],
        r"data.train.1: back_translation translates from en into de, which no part of data.train",
    ),
    ([mono("en", BACK), mono("de", BACK)], r"data.train.0: nothing shows the model whether de or"),
    (
        [mono("en", BACK, TAG, source_language="en"), mono("de", BACK, TAG)],
        r"data.train.0: back_translation is from one language into another",
    ),
    ([mono("en"), mono("de", BACK, TAG)], r"data.train.0 has no source, which this model reads"),
    ([mono("en", BACK, TAG, NOISE), mono("de", BACK, TAG)], r"noise comes after back_translation"),
    (
        [{"path": "train.tsv", "source": "en", "target": "de", "transforms": [BACK, TAG]}],
        r"transforms: back_translation makes a source, and there is one",
    ),
    (
        [mono("en", BACK, TAG, task="Back!"), mono("de", BACK, TAG)],
        r"data.train.0.task",
    ),
]


@pytest.mark.parametrize(("train", "problem"), WRONG)
def test_what_cannot_be_learned_is_refused(
    corpus: Path, train: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        configured(corpus, train, training={"tasks": {}})


def test_what_is_translated_back_needs_one_vocabulary(corpus: Path, tmp_path: Path) -> None:
    model = {"embeddings": "target", "language_tags": "encoder"}
    apart = {"vocabulary": {"joint": False, "tags": ["<mask>"]}, "model": model}
    with pytest.raises(ConfigError, match=r"needs a vocabulary that both sides share; set vocab"):
        configured(corpus, parts(), **apart)
    pairs = [
        {"path": "train.tsv", "source": one, "target": other, "transforms": [TAG]}
        | {"source_language": one, "target_language": other}
        for one, other in OTHER.items()
    ]
    pairs[1]["transforms"] = [{"kind": "filter", "last_line": 9}, TAG]  # so that the sides differ
    values = {**apart, "training": {"tasks": {}, "best_metric": "bleu"}}
    other = Experiment.create(configured(corpus, pairs, **values), tmp_path / "other")
    other.prepare()
    path = corpus / "experiment.yaml"  # with the vocabularies of that run
    values = json.loads(configured(corpus, parts(), model=model).model_dump_json())
    values["vocabulary"] = {"of": str(tmp_path / "other")}
    path.write_text(to_yaml(values), encoding="utf-8")
    made = Experiment.create(read_experiment(path), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"needs a vocabulary that both sides share"):
        made.tasks(made.prepare(), ALONE)


@pytest.mark.parametrize(
    ("metric", "bounds", "problem"),
    [
        ("bleu", {}, r"best_metric bleu is of pairs, and all dev sets .* set it to round_trip or"),
        ("chrf", {"other": {}}, r"best_metric chrf is of pairs, and all dev sets .* round_trip or"),
        ("bleu", {"one": {"metric": "loss"}}, None),
        ("loss", {}, None),
        ("round_trip", {}, None),
        (
            "round_trip",
            {"one": {"metric": "loss"}},
            r"round_trip needs a set in data.dev without source, .* and without a bound",
        ),
        ("bleu", {"one": {"metric": "bleu"}}, r"bounds.one: the set has back_translation, and no"),
        ("bleu", {"one": {}}, r"bounds.one: the set has back_translation.* set metric: loss"),
    ],
)
def test_a_best_checkpoint_that_no_dev_set_selects_is_refused(
    corpus: Path, metric: str, bounds: dict[str, Any], problem: str | None
) -> None:
    """Said before training instead of at the first validation."""
    pairs = {"path": "dev.tsv", "source": "en", "target": "de", "transforms": [TAG]}
    dev = {"one": trip("en"), "other": pairs if bounds else trip("de")}
    changes: dict[str, Any] = {
        "data": {"train": parts(), "dev": dev},
        "evaluation": {"metrics": ["bleu", "chrf"]},
        "training": {
            "best_metric": metric,
            "bounds": {name: {"may_lose": 1, **bound} for name, bound in bounds.items()},
            "average_checkpoints": 0,
        },
    }
    if problem is None:
        assert configured(corpus, parts(), **changes).training.best_metric == metric
    else:
        with pytest.raises(ConfigError, match=problem):
            configured(corpus, parts(), **changes)


def test_settings_that_fit_no_text_are_refused(corpus: Path) -> None:
    pairs = {"path": "train.tsv", "source": "en", "target": "de", "transforms": [TAG]}
    dev = {**pairs, "path": "dev.tsv"}
    with pytest.raises(ConfigError, match=r"round_trip needs a set in data.dev without source"):
        configured(corpus, parts(), data={"train": parts(), "dev": dev})
    with pytest.raises(ConfigError, match=r"dev.task: other is not read outside of data.train"):
        configured(corpus, parts(), data={"train": parts(), "dev": {**dev, "task": "other"}})
    with pytest.raises(ConfigError, match=r"tasks.denoising: no part of data.train has task: den"):
        configured(corpus, [pairs])
    with pytest.raises(ConfigError, match=r"language_tags: decoder needs vocabulary.joint: true"):
        tags = {"language_tags": "decoder", "embeddings": "target"}
        configured(corpus, parts(), vocabulary={"joint": False}, model=tags)


def test_text_that_is_held_out_is_not_learned(corpus: Path, tmp_path: Path) -> None:
    held_out = [{"target": "mono.en", "transforms": [{"kind": "filter", "last_line": 30}]}]
    train = {"train": parts(), "held_out": held_out}
    made = Experiment.create(configured(corpus, parts(), data=train), tmp_path / "run")
    store = made.prepare().store
    kept = [part.stop - part.start for part in store.parts]
    assert kept[0] == kept[2] <= 10 < kept[1] == kept[3]


HIDING = {"kind": "masked_lm", "mask_symbol": "<hidden>"}


def test_a_task_may_have_an_objective_of_its_own(corpus: Path, tmp_path: Path) -> None:
    tasks = {"denoising": {"objective": HIDING}, "back_translation": {}}
    config = configured(corpus, parts(), training={"tasks": tasks})
    made = Experiment.create(config, tmp_path / "run")
    prepared = made.prepare()
    hidden = prepared.vocabularies.source.tag("<hidden>")
    denoising, back = made.tasks(prepared, ALONE)
    (masked, *_), (whole, *_) = (next(one.stream.window(0, 0)) for one in (denoising, back))
    assert (masked.source == hidden).any()
    assert not (whole.source == hidden).any()


def test_text_that_is_only_read_needs_no_tag_of_its_language() -> None:
    """Beside pairs without tags: nothing is written in the language that is hidden."""
    values = experiment()
    read = {"target": "mono.en", "target_language": "en", "transforms": [COPY], "task": "reading"}
    values["data"]["train"].append(read)
    values["training"]["tasks"] = {"reading": {"objective": HIDING}}
    ExperimentConfig.model_validate(values)
    values["training"]["tasks"] = {"reading": {"weight": 0.5}}
    with pytest.raises(ValueError, match="nothing shows the model which is wanted"):
        ExperimentConfig.model_validate(values)


def test_the_objective_of_a_task_must_fit_the_model(corpus: Path) -> None:
    tasks = {"denoising": {"objective": HIDING}, "back_translation": {}}
    config = configured(corpus, parts(), training={"tasks": tasks})
    wide = config.model_copy(update={"model": RecurrentConfig(d_model=8, bidirectional="all")})
    problems = [one for one in wide.conflicts() if "encoder as wide" in one]
    assert [one.partition(":")[0] for one in problems] == ["training.tasks.denoising.objective"]


@pytest.mark.parametrize(
    ("transforms", "problem"),
    [
        ([{"kind": "dummy_source", "cut_off": True}, TAG], "cut_off leaves"),
        ([BACK, TAG], "back_translation leaves"),
    ],
    ids=["cut off", "translated back"],
)
def test_a_task_that_hides_pieces_needs_sources(
    corpus: Path, transforms: list[dict[str, Any]], problem: str
) -> None:
    text = mono("en", *transforms, task="hiding")
    tasks = {"back_translation": {}, "denoising": {}, "hiding": {"objective": HIDING}}
    with pytest.raises(ConfigError, match=problem) as caught:
        configured(corpus, [*parts(), text], training={"tasks": tasks})
    assert "data.train.4" in str(caught.value)
    assert "training.tasks.hiding.objective" in str(caught.value)
