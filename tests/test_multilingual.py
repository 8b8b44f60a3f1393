"""Several languages in one model, on the embedded corpus: tags say which one is wanted."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pytest
import torch
from command_line import call
from worlds import ALONE, together

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError, DataError
from dragoman.experiment import Experiment
from dragoman.models.interface import TranslationModel
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.run.scores_file import read_scores
from dragoman.saved.model import PIECES_FILE, build_model, load_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text import synthetic
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.distributed import World
from dragoman.translation.call_options import LineOptions
from dragoman.translation.translator import Translator
from dragoman.workflows.derived_models import average_models
from dragoman.workflows.progress import TrainingProgress
from dragoman.workflows.runs import scores_table

TAGGED = [{"kind": "tag"}]
FOUR = (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 200, dev=5, test=10)
    return folder


def part(name: str, source: str, target: str, **more: Any) -> dict[str, Any]:
    """A direction of one file of the corpus, with its languages named."""
    languages = {"source_language": source, "target_language": target}
    return {"path": f"{name}.tsv", "source": source, "target": target, **languages, **more}


def configuration(
    folder: Path, directions: Sequence[tuple[str, str]], steps: int, *noise: dict[str, Any]
) -> dict[str, Any]:
    def sets(name: str, *more: dict[str, Any]) -> dict[str, Any]:
        transforms = [*TAGGED, *more]
        return {f"{s}-{t}": part(name, s, t, transforms=transforms) for s, t in directions}

    return {
        "data": {
            "train": list(sets("train", *noise).values()),
            "dev": sets("dev"),
            "test": sets("test"),
        },
        "vocabulary": {"size": 300, "balance": 5},
        "model": {
            "encoder_layers": 1,
            "decoder_layers": 1,
            "d_model": 32,
            "d_ff": 64,
            "heads": 2,
            "dropout": 0.0,
        },
        "training": {
            "step_tokens": 800,
            "schedule": {"warmup_steps": 20, "peak_learning_rate": 0.006},
            "max_steps": steps,
            "validation_steps": steps,
            "checkpoint_steps": steps,
            "average_checkpoints": 1,
        },
        "search": {"beam": 1, "extra_length": 10},
    }


def read(folder: Path, values: dict[str, Any]) -> ExperimentConfig:
    path = folder / "many.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return read_experiment(path)


def train(config: ExperimentConfig, run: Path, world: World = ALONE) -> Experiment:
    experiment = Experiment.create(config, run)
    experiment.train(experiment.prepare(), world, lambda step: [])
    return experiment


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model that translates from English and into it."""
    run = tmp_path_factory.mktemp("runs") / "many"
    train(read(corpus, configuration(corpus, FOUR, 110)), run)
    return run


def test_the_model_knows_which_pieces_are_of_which_language(
    trained: Path, corpus: Path, tmp_path: Path
) -> None:
    """So that a direction it was never trained for, German into French, is kept French."""
    known = Vocabularies.load(trained).target
    parts = [row.split("\t")[2:5] for row in (corpus / "train.tsv").read_text().splitlines()[1:]]
    french = {piece for *_, line in parts for piece in known.encode(line)}
    average_models([trained], 1, tmp_path / "averaged")
    (written,) = {
        (folder / PIECES_FILE).read_bytes()
        for folder in (trained, trained / "model", tmp_path / "averaged")
    }
    assert written
    lines = texts(corpus)["de"]
    for model in (trained, tmp_path / "averaged"):
        with Translator.load(model, device="cpu", target_language="fr", own_pieces=0.1) as kept:
            found = kept.translate(lines)
        assert {piece for line in found for piece in known.encode(line)} <= french
        assert any(found)
    text = "".join(f"{line}\n" for line in lines).encode()
    system = tmp_path / "system.yaml"
    given = ("--to", "fr", "--own-pieces", 0.1, "--write-system", system)
    for arguments in ((trained, *given), ("--system", system)):
        assert call("translate", *arguments, stdin=text).out.splitlines() == found


def texts(corpus: Path) -> dict[str, list[str]]:
    """The test set by language."""
    rows = (corpus / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    columns = zip(*(row.split("\t")[2:5] for row in rows), strict=True)
    return dict(zip(("en", "de", "fr"), map(list, columns), strict=True))


def right_tag(run: Path, corpus: Path, source: str, target: str) -> float:
    """Share of the translations that their own tag makes likelier than any other does."""
    translator = Translator.load(run, device="cpu")
    pairs = texts(corpus)
    found = {
        language: translator.score(
            [f"<2{language}> {line}" for line in pairs[source]], pairs[target]
        )
        for language in pairs
    }
    right = [
        all(
            found[target][row].log_probability >= one[row].log_probability for one in found.values()
        )
        for row in range(len(pairs[target]))
    ]
    return sum(right) / len(right)


@pytest.mark.parametrize(("source", "target"), FOUR)
def test_tags_say_which_language_comes_out(
    source: str, target: str, trained: Path, corpus: Path
) -> None:
    """One to many and many to one, by one model that was trained for a few seconds."""
    assert right_tag(trained, corpus, source, target) > 0.6  # chance is a third


def test_a_language_that_is_asked_for_is_its_tag(
    trained: Path, corpus: Path, tmp_path: Path
) -> None:
    lines = texts(corpus)["en"]

    def translated(*options: object, tag: str = "") -> list[str]:
        text = "".join(f"{tag}{line}\n" for line in lines).encode()
        model = [] if "--system" in options else [trained]
        found = call("translate", *model, *options, stdin=text)
        assert found.code == 0, found.err
        return found.out.splitlines()

    german, french = translated("--to", "de"), translated("--to", "fr")
    assert len(german) == len(lines)
    assert german == translated(tag="<2de> ") == translated("--tag", "<2de>")
    assert french != german
    system = tmp_path / "system.yaml"
    assert translated("--to", "de", "--write-system", system) == german
    assert translated("--system", system) == german
    assert translated("--system", system, "--to", "fr") == french
    system.write_text(f"models: [{trained}]\nengine: ctranslate2\nprefix: a\n", encoding="utf-8")
    repaired = ("--engine", "pytorch", "--prefix", "", "--tag", "<2de>")
    assert translated("--system", system, *repaired) == german
    assert Translator.load(trained, device="cpu", target_language="de").translate(lines) == german


def test_a_direction_never_trained_directly_and_through_a_pivot(
    trained: Path, corpus: Path, tmp_path: Path
) -> None:
    """German to French, of which training had neither pair."""
    lines = texts(corpus)["de"]
    text = "".join(f"{line}\n" for line in lines).encode()
    system = tmp_path / "system.yaml"

    def translated(*options: object) -> list[str]:
        model = [] if "--system" in options else [trained]
        found = call("translate", *model, *options, "--beam", 2, stdin=text)
        assert found.code == 0, found.err
        return found.out.splitlines()

    zero_shot = translated("--from", "de", "--to", "fr")
    assert zero_shot == translated("--to", "fr") == translated("--tag", "<2fr>")
    through = ("--from", "de", "--via", "en", "--to", "fr")
    pivot = translated(*through, "--via-nbest", 2, "--write-system", system)
    assert pivot != zero_shot
    assert translated("--system", system) == pivot
    best = (*through, "--via-nbest", 1)
    english = load_model_and_translate(trained, lines, "en", nbest=1)
    assert translated(*best) == load_model_and_translate(trained, english, "fr", beam=2)
    found = call("translate", trained, *through, "--json", stdin=text)
    values = [json.loads(line) for line in found.out.splitlines()]
    assert [one["source"] for one in values] == lines
    assert all(isinstance(one["pivot"], str) for one in values)


def load_model_and_translate(
    run: Path, lines: list[str], language: str, **options: Unpack[LineOptions]
) -> list[str]:
    return Translator.load(run, device="cpu", target_language=language).translate(lines, **options)


def test_scores_come_by_direction(trained: Path) -> None:
    scores = read_scores(trained)
    names = [f"{source}-{target}" for source, target in FOUR]
    assert list(scores) == [*(f"dev_{name}" for name in names), *names]
    for name, report in scores.items():
        direction = report["source_language"], report["target_language"]
        assert direction == tuple(name.removeprefix("dev_").split("-"))
    table = scores_table(scores)
    assert "dev_en-de  en-de  loss  " in table
    (validation,) = (
        record
        for record in map(json.loads, (trained / "metrics.jsonl").read_text().splitlines())
        if record["kind"] == "validation"
    )
    each = [validation[f"loss/dev_{name}"] for name in names]
    assert validation["loss"] == pytest.approx(sum(each) / 4)
    best = read_progress(checkpoints(trained)[-1]).best
    assert best is not None
    assert best.value == validation["bleu"]


def test_a_direction_that_is_never_trained_is_scored(corpus: Path, tmp_path: Path) -> None:
    values = configuration(corpus, [("de", "en"), ("en", "fr")], 2)
    values["data"]["test"]["a-zero-shot-direction"] = part("test", "de", "fr", transforms=TAGGED)
    train(read(corpus, values), tmp_path / "run")
    scores = read_scores(tmp_path / "run")
    report = scores["a-zero-shot-direction"]
    assert (report["source_language"], report["target_language"]) == ("de", "fr")
    assert report["bleu"]["value"] >= 0
    lines = scores_table(scores).splitlines()
    assert len({line.index("loss") for line in lines if "  loss  " in line}) == 1  # a column


def test_progress_tells_each_set(capsys: pytest.CaptureFixture[str]) -> None:
    shown = TrainingProgress(0, None)
    figures = {"loss": 2.0, "bleu": 20.0, "loss/dev_en-de": 1.0, "bleu/dev_en-de": 30.0}
    shown.record({"kind": "validation", "step": 5, **figures})
    shown.close()
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "dragoman: step 5: dev loss 2.000, BLEU 20.00",
        "dragoman: step 5: dev_en-de loss 1.000, BLEU 30.00",
    ]


def test_a_model_knows_its_directions(trained: Path) -> None:
    config = load_model(trained, "cpu").config
    assert [(one.name, one.tags) for one in config.directions] == [
        (f"{source}-{target}", (f"<2{target}>",)) for source, target in FOUR
    ]
    card = (trained / "model/README.md").read_text(encoding="utf-8")
    assert card.startswith("# en, de, fr to de, fr, en\n")
    assert "dragoman translate MODEL --to de < input.txt" in card
    (checkpoint,) = checkpoints(trained)
    assert load_model(checkpoint, "cpu").config.directions == config.directions


def test_a_language_or_tag_that_the_model_lacks(trained: Path) -> None:
    found = call("translate", trained, "--to", "ko", stdin=b"one\n")
    assert found.code == 2
    assert "does not translate into ko; languages there: de, fr, en" in found.err
    found = call("translate", trained, "--to", "de", "--tag", "<ui>", stdin=b"one\n")
    assert found.code == 2
    assert "has no tag <ui>; tags there: <2de>, <2fr>, <2en>" in found.err


def test_a_line_with_a_language_that_the_model_lacks(
    trained: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = b"<2de> one\n<2ko> one\n<2DE> one\n <2de> <2fr> one\n<b> one\n"
    found = call("translate", trained, stdin=lines)
    assert found.code == 3
    assert "2 lines cannot be translated and are left empty; the first is line 2" in found.err
    assert "line 2: the model has no tag <2ko>; tags there: <2de>, <2fr>, <2en>; " in caplog.text
    assert "line 3: the model has no tag <2DE>; " in caplog.text
    assert "; did you mean '<2de>'?" in caplog.text
    one, ko, capital, both, markup = found.out.split("\n")[:-1]
    assert (ko, capital) == ("", "")
    assert one
    assert both
    assert markup  # which is text
    with pytest.raises(DataError, match="line 1: the model has no tag <2ko>"):
        Translator.load(trained, device="cpu").translate(["<2ko> one"])


def test_lines_to_score_are_checked_for_their_languages_too(
    trained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    source.write_text("<2de> one\n<2ko> two\n", encoding="utf-8")
    target.write_text("eins\nzwei\n", encoding="utf-8")
    found = call("score", trained, source, target)
    assert found.code == 3
    assert "line 2: the model has no tag <2ko>; tags there: <2de>, <2fr>, <2en>" in found.err
    assert not caplog.text
    source.write_text("<2de> one\ntwo\n", encoding="utf-8")
    assert call("score", trained, source, target).code == 0
    assert "line 2: nothing says which language is wanted" in caplog.text


def test_a_line_that_names_no_language_is_told_once(
    trained: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert call("translate", trained, stdin=b"<2de> one\n\ntwo\nthree\n").code == 0
    told = (
        "line 3: nothing says which language is wanted, and the model knows 3; name one with --to"
    )
    assert caplog.text.count("nothing says which") == caplog.text.count(told) == 1
    assert "such as <2de>" in caplog.text
    caplog.clear()
    for options in (("--to", "de"), ("--tag", "<2fr>")):
        call("translate", trained, *options, stdin=b"one\n")
    assert not caplog.text


def test_a_tag_costs_no_empty_line_and_is_not_in_the_source(trained: Path) -> None:
    found = call("translate", trained, "--to", "de", "--json", stdin=b"\none\n")
    empty, one = map(json.loads, found.out.splitlines())
    assert (empty["source"], empty["translation"]) == ("", "")
    assert one["source"] == "one"


@pytest.mark.parametrize("size", [1, 2])
def test_resumed_in_the_middle_of_an_epoch_equals_uninterrupted(
    corpus: Path, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise, weights by temperature, and one process or two."""
    all_here, lock = threading.Barrier(size, timeout=60), threading.Lock()

    def built(*arguments: Any) -> TranslationModel:
        all_here.wait()  # threads share the generator that initial weights are drawn from
        with lock:
            torch.manual_seed(1)
            return build_model(*arguments)

    monkeypatch.setattr("dragoman.experiment.build_model", built)
    values = configuration(corpus, [("en", "de"), ("en", "fr")], 5, {"kind": "noise"})
    values["data"]["train"][1]["transforms"].insert(0, {"kind": "filter", "last_line": 50})
    values["data"] |= {"sampling_temperature": 5, "test": {}}
    values["vocabulary"]["sampling"] = 0.1
    values["evaluation"] = {"metrics": []}
    values["training"] |= {"best_metric": "loss", "checkpoint_steps": 3}

    def run(name: str, steps: int) -> dict[str, torch.Tensor]:
        experiment = Experiment.create(read(corpus, values), tmp_path / name)
        prepared = experiment.prepare()
        for limit in sorted({steps, 5}):
            limited = experiment.config.training.model_copy(update={"max_steps": limit})
            config = experiment.config.model_copy(update={"training": limited})
            half = Experiment(config, tmp_path / name)
            work = partial(half._train, prepared, observe=lambda step: [])
            assert [one.result() for one in together(size, work)] == [None] * size
        return read_tensors(tmp_path / name / "checkpoints/step-000005" / WEIGHTS_FILE)

    whole, halves = run("whole", 5), run("halves", 3)
    assert whole.keys() == halves.keys()
    assert all(torch.equal(whole[name], halves[name]) for name in whole)


class TestConfiguration:
    def problem(self, folder: Path, values: dict[str, Any]) -> str:
        with pytest.raises(ConfigError) as found:
            read(folder, values)
        return str(found.value)

    @pytest.fixture
    def values(self, tmp_path: Path) -> dict[str, Any]:
        return configuration(tmp_path, [("en", "de"), ("en", "fr")], 7)

    def test_the_vocabulary_gets_the_tags_that_are_used(
        self, tmp_path: Path, values: dict[str, Any]
    ) -> None:
        values["vocabulary"]["tags"] = ["<2fr>", "<x>"]
        values["data"]["train"][0]["tags"] = ["<ui>"]
        config = read(tmp_path, values)
        assert config.full_vocabulary().tags == ("<2fr>", "<x>", "<ui>", "<2de>")
        assert config.vocabulary.tags == ("<2fr>", "<x>")

    def test_a_target_language_that_nothing_tells(
        self, tmp_path: Path, values: dict[str, Any]
    ) -> None:
        for part in values["data"]["train"]:
            part["transforms"] = []
        assert "en is translated into de and fr, and nothing shows" in self.problem(
            tmp_path, values
        )

    def test_a_tag_that_nothing_teaches(self, tmp_path: Path, values: dict[str, Any]) -> None:
        values["data"]["test"]["en-de"]["tags"] = ["<ui>"]
        assert "data.test.en-de: no part of data.train has the tag <ui>" in self.problem(
            tmp_path, values
        )

    def test_a_set_without_the_tag_of_its_target(
        self, tmp_path: Path, values: dict[str, Any]
    ) -> None:
        del values["data"]["dev"]["en-de"]["transforms"]
        values["data"]["test"]["en-fr"]["transforms"] = [{"kind": "tag", "tags": ["<2de>"]}]
        found = self.problem(tmp_path, values)
        assert "data.dev.en-de: nothing shows the model that de is wanted; sources " in found
        assert "data.test.en-fr: nothing shows the model that fr is wanted; sources " in found
        assert "of such text in data.train have <2fr>; do the same here" in found
        assert "data.dev.en-fr" not in found

    def test_a_set_in_a_language_that_nothing_teaches(
        self, tmp_path: Path, values: dict[str, Any]
    ) -> None:
        for language in ("it", None):
            values["data"]["dev"]["en-de"] |= {"target_language": language, "transforms": []}
            told = f"data.dev.en-de: target_language is {language or 'target'}, and the languages "
            assert f"{told}of data.train are de, fr; choose one" in self.problem(tmp_path, values)

    def test_a_tag_with_another_spelling(self, tmp_path: Path, values: dict[str, Any]) -> None:
        values["data"]["train"][0]["tags"] = ["<dialogue>"]
        values["data"]["test"]["en-de"]["tags"] = ["<dialog>"]
        assert "has the tag <dialog>; tags there: <2de>, <2fr>, <dialogue>; did you mean '" in (
            self.problem(tmp_path, values)
        )

    def test_a_language_under_two_names(self, tmp_path: Path, values: dict[str, Any]) -> None:
        values["data"]["dev"]["en-de"]["target_language"] = "DE"
        values["data"]["train"][1]["source_language"] = "En"
        found = self.problem(tmp_path, values)
        for said in (
            "data.train.1.source_language is En, but data.train.0.source_language is en",
            "data.dev.en-de.target_language is DE, but data.train.0.target_language is de",
        ):
            assert f"{said}; write one of them alike" in found
        assert "2 problems" in found  # and nothing that follows from them

    @pytest.mark.parametrize("name", ["dev", "test"])
    def test_a_direction_that_is_never_trained(self, tmp_path: Path, name: str) -> None:
        """Zero-shot: its target language is learnt from other sources."""
        values = configuration(tmp_path, [("de", "en"), ("en", "fr")], 7)
        values["data"][name]["de-fr"] = part(name, "de", "fr", transforms=TAGGED)
        config = read(tmp_path, values)
        assert "de-fr" not in {one.name for one in config.directions()}
        values["data"][name]["de-fr"]["transforms"] = []
        assert f"data.{name}.de-fr: nothing shows the model that fr is wanted" in self.problem(
            tmp_path, values
        )

    def test_one_target_needs_no_tag(self, tmp_path: Path) -> None:
        """Nor the same name everywhere."""
        values = configuration(tmp_path, [("en", "de")], 7)
        values["data"]["dev"]["en-de"] |= {"target_language": "deu", "transforms": []}
        read(tmp_path, values)

    def test_sets_of_what_another_model_has_learnt(
        self, tmp_path: Path, values: dict[str, Any]
    ) -> None:
        """A language or a tag that only it may know; all others are checked as always."""
        del values["vocabulary"]
        values["training"]["start_from"] = "parent"
        values["data"]["dev"]["en-de"] |= {"target_language": "it"}
        values["data"]["dev"]["en-fr"] |= {"transforms": [{"kind": "tag", "tags": ["<to-fr>"]}]}
        read(tmp_path, values)
        del values["data"]["dev"]["en-fr"]["transforms"]
        assert "data.dev.en-fr: nothing shows" in self.problem(tmp_path, values)

    def test_a_set_that_changes(self, tmp_path: Path, values: dict[str, Any]) -> None:
        values["data"]["dev"]["en-fr"]["transforms"] = [{"kind": "noise"}]
        assert "data.dev.en-fr: noise draws in each epoch" in self.problem(tmp_path, values)

    def test_a_language_without_a_name(self, tmp_path: Path, values: dict[str, Any]) -> None:
        del values["data"]["train"][0]["target_language"]
        assert "data.train.0: the tag of the target language needs its name" in self.problem(
            tmp_path, values
        )

    @pytest.mark.parametrize("language", ["de DE", "<de>", "de\u2581DE", "de\u0308"])
    def test_a_language_that_cannot_be_a_tag(
        self, tmp_path: Path, values: dict[str, Any], language: str
    ) -> None:
        values["data"]["train"][0]["target_language"] = language
        values["data"]["dev"]["en-de"]["target_language"] = language
        found = self.problem(tmp_path, values)
        for key in ("data.train.0", "data.dev.en-de"):
            assert f"{key}: target_language becomes a tag here, which {language!r} cannot" in found

    def test_the_language_of_the_run_becomes_a_tag(
        self, tmp_path: Path, values: dict[str, Any]
    ) -> None:
        values["target_language"] = "de DE"
        read(tmp_path, values)
        del values["data"]["train"][0]["target_language"]
        assert "data.train.0: target_language becomes a tag" in self.problem(tmp_path, values)

    def test_a_language_that_becomes_no_tag_may_have_any_name(
        self, tmp_path: Path, values: dict[str, Any]
    ) -> None:
        for one in (*values["data"]["train"], *values["data"]["dev"].values()):
            one["source_language"] = "British English"
        read(tmp_path, values)

    def test_names_that_scores_share(self, tmp_path: Path, values: dict[str, Any]) -> None:
        values["data"]["test"]["dev_en-de"] = values["data"]["test"]["en-de"]
        assert "dev_en-de is the name of the scores of data.dev" in self.problem(tmp_path, values)

    def test_mistakes_are_named_where_they_are(
        self, tmp_path: Path, values: dict[str, Any]
    ) -> None:
        values["data"]["dev"]["en-de"]["taget"] = "de"
        assert "unknown key 'data.dev.en-de.taget'; did you mean 'target'?" in self.problem(
            tmp_path, values
        )
        values["data"]["dev"] = "dev.tsv"
        assert "data.dev: Input should be a section of keys" in self.problem(tmp_path, values)

    def test_one_dev_set_is_written_as_it_was(self, tmp_path: Path, values: dict[str, Any]) -> None:
        values["data"]["dev"] = values["data"]["dev"]["en-de"]
        config = read(tmp_path, values)
        assert list(config.dev_sets()) == ["dev"]
        again = json.loads(config.model_dump_json())
        assert read(tmp_path, again) == config


def test_filters_that_leave_nothing(corpus: Path, tmp_path: Path) -> None:
    values = configuration(corpus, [("en", "de")], 2)
    values["data"]["train"][0]["transforms"] += [{"kind": "filter", "first_line": 1000}]
    experiment = Experiment.create(read(corpus, values), tmp_path / "run")
    with pytest.raises(DataError, match="200 of 200 dropped: filtered"):
        experiment.prepare()


def test_a_vocabulary_without_the_tag(corpus: Path, tmp_path: Path, trained: Path) -> None:
    """Somebody put it into the run."""
    values = configuration(corpus, [("en", "es")], 2)
    values["vocabulary"] = {"size": 300}
    (tmp_path / "run").mkdir()
    shutil.copy(trained / "vocabulary.model", tmp_path / "run")
    experiment = Experiment.create(read(corpus, values), tmp_path / "run")
    with pytest.raises(ConfigError, match="has no tag <2es>; tags there: <2de>, <2fr>, <2en>"):
        experiment.prepare()


def test_a_set_with_a_tag_that_a_kept_vocabulary_lacks(
    corpus: Path, tmp_path: Path, trained: Path
) -> None:
    values = configuration(corpus, [("en", "de")], 2)
    values["data"]["test"]["en-de"]["tags"] = ["<nowhere>"]
    values["training"]["start_from"] = str(trained)
    del values["vocabulary"]
    experiment = Experiment.create(read(corpus, values), tmp_path / "run")
    said = "has no tag <nowhere>; .* or remove it from data.test.en-de"
    with pytest.raises(ConfigError, match=said):
        experiment.prepare()


def test_text_of_the_other_direction_is_held_out_too(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("en\tde\none\teins\ntwo\tzwei\n", encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("en\tde\ndrei\ttwo\n", encoding="utf-8")
    values = configuration(tmp_path, [("en", "de"), ("de", "en")], 2)
    values["data"]["dev"] = part("dev", "en", "de", transforms=TAGGED)
    values["data"]["test"] = {}
    values["vocabulary"] = {"size": 24}
    prepared = Experiment.create(read(tmp_path, values), tmp_path / "run").prepare()
    assert [part.stop - part.start for part in prepared.store.parts] == [1, 1]
    assert prepared.report.dropped("held out") == 2


def test_one_file_may_be_split_by_lines(tmp_path: Path) -> None:
    rows = [f"{word}\t{word.upper()}" for word in ("one", "two", "three", "one", "four")]
    (tmp_path / "all.tsv").write_text("\n".join(["en\tde", *rows]) + "\n", encoding="utf-8")

    def lines(**bounds: int) -> dict[str, Any]:
        return part("all", "en", "de", transforms=[{"kind": "filter", **bounds}])

    values = configuration(tmp_path, [], 2)
    values["data"] = {"train": [lines(last_line=4)], "dev": lines(first_line=5)}
    values["vocabulary"] = {"size": 20}
    prepared = Experiment.create(read(tmp_path, values), tmp_path / "run").prepare()
    assert prepared.store.manifest.pairs == 2
    assert prepared.report.dropped("held out") == 1  # "one", which is also a line of dev
    assert prepared.report.dropped("filtered") == 2
