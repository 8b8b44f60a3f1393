"""Runs that take the vocabulary of another, or are composed of trained models."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError, SavedError
from dragoman.experiment import Experiment
from dragoman.models import DeepFusionConfig, TransformerConfig
from dragoman.models.registry import NamedModelConfig
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.run.parents import completed, parent_of
from dragoman.saved.model import load_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors, weights_digest
from dragoman.text import synthetic
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import MOMENTS_FILE, checkpoints
from dragoman.training.distributed import World
from dragoman.translation.translator import Translator
from dragoman.workflows.doctor.examination import examine

CPU = World(0, 1, torch.device("cpu"))
Read = Callable[..., ExperimentConfig]
TINY = {"family": "recurrent", "encoder_layers": 1, "decoder_layers": 1, "d_model": 8}
RUNS = ("mt", "lm", "other", "nowhere")
TINY_LM = {"family": "recurrent_lm", "layers": 1, "d_model": 6}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 120, dev=4, test=4)
    return folder


@pytest.fixture(scope="module")
def read(corpus: Path) -> Read:
    """Read a configuration of the corpus, whose sections are those given."""

    def make(
        sides: tuple[str, ...] = ("en", "de"),
        settings: tuple[str, ...] = (),
        languages: bool = True,
        steps: int = 2,
        **sections: Any,
    ) -> ExperimentConfig:
        named = dict(zip(("source", "target")[-len(sides) :], sides, strict=True))
        parts = [{"path": str(corpus / f"{name}.tsv"), **named} for name in ("train", "dev")]
        values = {
            "data": {"train": parts[:1], "dev": parts[1], "processes": 1},
            "model": TINY if len(sides) > 1 else TINY_LM,
            "training": {
                "step_tokens": 300,
                "schedule": {"warmup_steps": 2, "peak_learning_rate": 0.01},
                "max_steps": steps,
                "checkpoint_steps": 1,
                "validation_steps": steps,
                "average_checkpoints": 1,
                "best_metric": "loss",
            },
            "search": {"beam": 1},
            "evaluation": {"metrics": []},
            **({f"{side}_language": name for side, name in named.items()} if languages else {}),
            **sections,
        }
        path = corpus / "experiment.yaml"
        path.write_text(to_yaml(values), encoding="utf-8")
        return read_experiment(path, list(settings))

    return make


def train(config: ExperimentConfig, run: Path) -> Experiment:
    experiment = Experiment.create(config, run)
    experiment.train(experiment.prepare(), CPU, lambda step: [])
    return experiment


@pytest.fixture(scope="module")
def runs(read: Read, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translation model, a language model with its vocabulary, and one with another."""
    folder = tmp_path_factory.mktemp("runs")
    train(read(vocabulary={"size": 130, "joint": False}), folder / "mt")
    train(read(("de",), vocabulary={"of": str(folder / "mt")}), folder / "lm")
    train(read(("de",), vocabulary={"size": 90}), folder / "other")
    return folder


@pytest.fixture
def own_runs(runs: Path, tmp_path: Path) -> Path:
    """A copy of them, to be changed."""
    shutil.copytree(runs, tmp_path / "own")
    return tmp_path / "own"


def fingerprints(run: Path) -> tuple[str, str]:
    return Vocabularies.load(run).fingerprints


def model_weights(run: Path) -> dict[str, Tensor]:
    return read_tensors(run / "model" / WEIGHTS_FILE)


class TestVocabulary:
    """``vocabulary.of``."""

    def test_a_language_model_takes_the_target_side(self, runs: Path) -> None:
        _, target = fingerprints(runs / "mt")
        assert fingerprints(runs / "lm") == (target, target)
        system = Translator.load(runs / "mt", device="cpu")
        assert system.vocabularies.target.fingerprint == target

    @pytest.mark.parametrize(
        ("sides", "languages", "expected"),
        [
            (("en", "de"), True, (0, 1)),
            (("de", "en"), True, (1, 0)),
            (("de", "en"), False, (0, 1)),
            (("de",), False, (1, 1)),
            (("en",), True, (0, 0)),
        ],
    )
    def test_each_language_keeps_its_own(
        self,
        sides: tuple[str, ...],
        languages: bool,
        expected: tuple[int, int],
        read: Read,
        runs: Path,
    ) -> None:
        """A language without a name is not recognised, and sides are kept."""
        config = read(sides, languages=languages, vocabulary={"of": str(runs / "mt")})
        parent = parent_of(config)
        assert parent is not None
        theirs = fingerprints(runs / "mt")
        first, second = (theirs[side] for side in expected)
        assert parent.vocabularies.fingerprints == (first, second)

    def test_a_changed_one_is_noticed_when_the_run_is_repeated(
        self, read: Read, own_runs: Path, tmp_path: Path
    ) -> None:
        config = read(("de",), vocabulary={"of": str(own_runs / "mt")})
        experiment = train(config, tmp_path / "run")
        begun = Experiment.open(tmp_path / "run").config
        assert begun.vocabulary.digest == Vocabularies.load(tmp_path / "run").digest
        Vocabularies.load(own_runs / "other").save(own_runs / "mt")
        with pytest.raises(SavedError, match=r"mt: its vocabulary is not .* vocabulary\.digest"):
            Experiment.create(begun, tmp_path / "again")
        longer = ["training.max_steps=3"]  # which needs the other run no more
        experiment.revise(longer)
        experiment.train(experiment.prepare(), CPU, lambda step: [])

    def test_a_classifier_that_was_killed_before_its_first_checkpoint_begins_again(
        self, read: Read, runs: Path, corpus: Path, tmp_path: Path
    ) -> None:
        """Its vocabularies are not those of the other run: the target's are labels."""
        part = {"path": str(corpus / "train.tsv"), "source": "en", "label": "english"}
        german = {**part, "source": "de", "label": "german"}
        dev = {**part, "path": str(corpus / "dev.tsv")}
        experiment = train(
            read(
                data={"train": [part, german], "dev": dev, "processes": 1},
                model={"family": "classifier", "backbone": {"d_model": 8, "d_ff": 8, "heads": 2}},
                vocabulary={"of": str(runs / "mt")},
            ),
            tmp_path / "run",
        )
        for made in ("checkpoints", "model"):
            shutil.rmtree(tmp_path / "run" / made)
        digest = experiment.config.vocabulary.digest
        assert digest == Vocabularies.load(runs / "mt").digest
        assert digest != Vocabularies.load(tmp_path / "run").digest
        begun = Experiment.open(tmp_path / "run")
        begun.train(begun.prepare(), CPU, lambda step: [])
        assert checkpoints(tmp_path / "run")

    def test_a_run_that_is_not_trained_yet_has_one(
        self, read: Read, runs: Path, tmp_path: Path
    ) -> None:
        Experiment.create(read(vocabulary={"size": 110}), tmp_path / "first").prepare()
        config = read(("de",), vocabulary={"of": str(tmp_path / "first")})
        Experiment.create(config, tmp_path / "second").prepare()
        assert fingerprints(tmp_path / "first") == fingerprints(tmp_path / "second")

    @pytest.mark.parametrize(
        ("sections", "said"),
        [
            ({"vocabulary": {"of": "mt", "size": 50}}, r"vocabulary: size: 50 is not read with"),
            ({"vocabulary": {"digest": "0" * 64}}, r"digest: 0+ is not read without of"),
            ({"vocabulary": {"of": "nowhere"}}, "nowhere: no such model or run"),
            (
                {"vocabulary": {"of": "mt"}, "training": {"start_from": "mt"}},
                r"vocabulary\.of: .*mt is not read with training\.start_from\.vocabulary: keep",
            ),
            (
                {"vocabulary": {"of": "mt"}, "model": {**TINY, "embeddings": "shared"}},
                r"shared needs a joint vocabulary, and .*mt \(vocabulary\.of\) has one for each",
            ),
        ],
    )
    def test_what_contradicts_it(
        self, sections: dict[str, Any], said: str, read: Read, runs: Path, tmp_path: Path
    ) -> None:
        for section in sections.values():
            for key in {"of", "start_from"} & section.keys():
                section[key] = str(runs / section[key])
        with pytest.raises((ConfigError, SavedError), match=said):
            Experiment.create(read(**sections), tmp_path / "run")

    def test_a_tag_that_it_lacks_or_another_one_in_the_run(
        self, read: Read, runs: Path, tmp_path: Path
    ) -> None:
        config = read(("de",), vocabulary={"of": str(runs / "mt")}, settings=())
        part = config.data.train[0].model_copy(update={"tags": ("<ui>",)})
        data = config.data.model_copy(update={"train": (part,)})
        tagged = Experiment.create(config.model_copy(update={"data": data}), tmp_path / "tagged")
        with pytest.raises(ConfigError, match=r"no tag <ui>; .* Remove vocabulary\.of, so that"):
            tagged.prepare()
        experiment = Experiment.create(config, tmp_path / "run")
        Vocabularies.load(runs / "other").save(tmp_path / "run")
        with pytest.raises(ConfigError, match=r"is not that of .*mt, which vocabulary\.of names"):
            experiment.prepare()

    def test_a_base_that_trains_one_is_overruled(
        self, read: Read, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its path is relative to the file, or of ``--set`` to the current directory."""
        read(vocabulary={"size": 130, "sampling": 0.1})
        path = tmp_path / "child.yaml"
        path.write_text(f"base: {corpus / 'experiment.yaml'}\nvocabulary: {{of: mt}}\n")
        vocabulary = read_experiment(path).vocabulary
        assert (vocabulary.of, vocabulary.size) == (str(tmp_path / "mt"), 32000)
        assert vocabulary.sampling == 0.1
        monkeypatch.chdir(corpus)
        set_one = read_experiment(path, ["vocabulary.of=other"]).vocabulary
        assert set_one.of == str(corpus / "other")
        trained = read_experiment(path, ["vocabulary.of=null"]).vocabulary
        assert (trained.of, trained.size) == (None, 130)

    def test_a_language_model_of_another_is_told_the_remedy(self, runs: Path) -> None:
        with pytest.raises(SavedError, match=r"language model with vocabulary: \{of: .*mt/model\}"):
            Translator.load(runs / "mt", language_model={"path": runs / "other"}, device="cpu")


def fused(runs: Path, **changes: Any) -> dict[str, Any]:
    """The sections of a fused model of the runs."""
    named = {"translation": str(runs / "mt"), "language_model": str(runs / "lm")}
    return {"model": {"family": "deep_fusion", **named, **changes}}


@pytest.fixture(scope="module")
def run(read: Read, runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("fused") / "run"
    train(read(**fused(runs), steps=4), run)
    return run


class TestComposed:
    """A model composed of trained ones, which the recipe names by their paths."""

    def test_a_recipe_can_be_read_before_they_are_trained(
        self, read: Read, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        model = {"family": "deep_fusion", "translation": "mt", "language_model": "sub/lm"}
        config = read(model=model, settings=("model.translation=here",))
        assert isinstance(config.model, DeepFusionConfig)
        assert config.model.translation == NamedModelConfig(path=str(tmp_path / "here"))
        assert config.model.language_model == NamedModelConfig(path=str(corpus / "sub" / "lm"))
        assert config.vocabulary.of == str(tmp_path / "here")
        with pytest.raises(SavedError, match="here: no such model or run"):
            completed(config)

    def test_their_configurations_take_the_place_of_their_paths(
        self, read: Read, runs: Path
    ) -> None:
        config = completed(read(**fused(runs)))
        assert isinstance(config.model, DeepFusionConfig)
        assert config.model.translation == load_model(runs / "mt", "cpu").config.model
        assert config.model.d_model == TINY["d_model"]
        taken = {name: one.model for name, one in config.training.components.items()}
        assert taken == {"translation": str(runs / "mt"), "language_model": str(runs / "lm")}
        assert completed(config) is config

    def test_the_vocabulary_is_theirs_unless_another_is_named(self, read: Read, runs: Path) -> None:
        scratch = {"family": "transformer", "d_model": 8, "heads": 2, "embeddings": "target"}
        learns = fused(runs, translation=scratch, train="translation")
        assert read(**learns).vocabulary.of == str(runs / "lm")
        unsaid = read(**learns, vocabulary={"of": None})
        assert completed(unsaid).vocabulary.of == str(runs / "lm")
        named = read(**learns, vocabulary={"of": str(runs / "mt")})
        assert named.vocabulary.of == str(runs / "mt")
        assert isinstance(named.model, DeepFusionConfig)
        assert isinstance(named.model.translation, TransformerConfig)

    def test_what_is_frozen_is_that_of_the_other_models(self, runs: Path, run: Path) -> None:
        found = model_weights(run)
        for name, other in (("translation", "mt"), ("language_model", "lm")):
            own = model_weights(runs / other)
            changed = {key for key in own if not torch.equal(own[key], found[f"{name}.{key}"])}
            assert changed == ({"output.weight"} if name == "translation" else set())
        assert found["fusion.output.weight"].any()

    def test_the_run_says_where_they_came_from(self, runs: Path, run: Path) -> None:
        components = Experiment.open(run).config.training.components
        for name, other in (("translation", "mt"), ("language_model", "lm")):
            assert components[name].digest == weights_digest(runs / other / "model")
        card = (run / "model" / "README.md").read_text(encoding="utf-8")
        assert f"the language model lm (weights {weights_digest(runs / 'lm' / 'model')})" in card
        assert str(runs) not in (run / "model" / "config.yaml").read_text(encoding="utf-8")

    def test_it_translates(self, run: Path) -> None:
        translator = Translator.load(run, device="cpu")
        (line,) = translator.translate(["one"])
        assert line
        (again,) = Translator.load(run, run, device="cpu", search={"beam": 1}).translate(["one"])
        assert line == again
        assert translator.attention("one", "eins").weights.numel()

    def test_the_language_model_takes_part_in_translation(self, run: Path) -> None:
        translator = Translator.load(run, device="cpu")
        (before,) = translator.score(["one"], ["eins"])
        (fused,) = translator.models
        changed = [
            weights.mul_(2)
            for name, weights in fused.state_dict().items()
            if name.startswith("language_model.")
        ]
        assert changed
        (after,) = translator.score(["one"], ["eins"])
        assert before.log_probability != after.log_probability

    def test_resumed_equals_uninterrupted_without_the_other_models(
        self, read: Read, own_runs: Path, tmp_path: Path
    ) -> None:
        """Also with a moving average, of which frozen weights are no part."""
        sections = fused(own_runs, dropout=0.3)
        settings = ("training.ema_decay=0.9", "training.optimizer.weight_decay=0.1")
        whole, parted = tmp_path / "whole", tmp_path / "parted"
        train(read(**sections, settings=settings, steps=4), whole)
        experiment = Experiment.create(read(**sections, settings=settings, steps=4), parted)
        stop = experiment.config.training.model_copy(update={"max_steps": 2})
        first = Experiment(experiment.config.model_copy(update={"training": stop}), parted)
        first._train(first.prepare(), CPU, lambda step: [])
        shutil.rmtree(own_runs)
        resumed = Experiment.open(parted)
        resumed.train(resumed.prepare(), CPU, lambda step: [])
        expected, found = model_weights(whole), model_weights(parted)
        assert expected.keys() == found.keys()
        assert all(torch.equal(found[name], expected[name]) for name in expected)
        moments = read_tensors(checkpoints(parted)[-1] / MOMENTS_FILE)
        assert not any("language_model." in name for name in moments)

    def test_other_weights_are_noticed(self, read: Read, own_runs: Path, tmp_path: Path) -> None:
        train(read(**fused(own_runs)), tmp_path / "run")
        begun = Experiment.open(tmp_path / "run").config
        Experiment.create(begun, tmp_path / "same")
        train(read(("de",), vocabulary={"of": str(own_runs / "mt")}, steps=3), own_runs / "newer")
        shutil.rmtree(own_runs / "lm")
        shutil.move(own_runs / "newer", own_runs / "lm")
        with pytest.raises(SavedError, match=r"lm: its weights .*components.language_model.digest"):
            Experiment.create(begun, tmp_path / "again")

    @pytest.mark.parametrize(
        ("changes", "more", "said"),
        [
            ({"language_model": "other"}, {}, r"other: its vocabulary is not the target vocabular"),
            ({"language_model": "mt"}, {}, r"language_model: a model that reads a source"),
            ({"translation": "lm"}, {}, r"translation: a model that reads no source"),
            (
                {"language_model": TINY_LM},
                {},
                r"language_model does not learn, so it needs trained",
            ),
            ({"translation": TINY}, {}, r"model\.translation does not learn, so it needs"),
            ({"language_model": "nowhere"}, {}, r"nowhere: no such model or run"),
            (
                {"language_model": 3},
                {},
                r"model\.language_model: Input should be a section of keys",
            ),
            ({"translation": {"d_modle": 3}}, {}, r"unknown key 'model\.translation\.d_modle'"),
            ({}, {"vocabulary": {"size": 300}}, r"vocabulary: size: 300 is not read with"),
            (
                {"translation": TINY, "train": "translation", "language_model": TINY_LM},
                {"training": {"components": {"language_model": {"model": "lm"}}}},
                r"vocabulary\.of: a model composed of trained ones has their vocabulary",
            ),
            (
                {},
                {"training": {"components": {"teacher": {"model": "mt"}}}},
                r"training\.components: teacher is no component of model\.family: deep_fusion",
            ),
            (
                {},
                {"training": {"start_from": "x", "components": {"translation": {"model": "mt"}}}},
                r"start_from takes all weights, those of components, too",
            ),
            (
                {},
                {"training": {"objective": {"kind": "guided_alignment"}}},
                r"attention that learns, and here translation and language_model do not",
            ),
        ],
    )
    def test_what_does_not_fit_is_told(
        self,
        changes: dict[str, Any],
        more: dict[str, Any],
        said: str,
        read: Read,
        runs: Path,
        tmp_path: Path,
    ) -> None:
        changes = {
            key: str(runs / value) if value in RUNS else value for key, value in changes.items()
        }
        with pytest.raises((ConfigError, SavedError), match=said):
            Experiment.create(read(**fused(runs, **changes), **more), tmp_path / "run")
        assert not (tmp_path / "run" / "config.yaml").exists()

    def test_doctor_looks_at_them(self, read: Read, runs: Path, tmp_path: Path) -> None:
        for other, said in (("other", "its vocabulary is not"), ("nowhere", "no such model")):
            config = read(**fused(runs, language_model=str(runs / other)))
            errors = [one.text for one in examine(config, tmp_path) if one.level == "error"]
            assert any(said in text for text in errors)

    def test_a_fused_model_may_be_started_from(
        self, read: Read, runs: Path, run: Path, tmp_path: Path
    ) -> None:
        """As any model: all its weights, those of its components, too."""
        start = read(**fused(runs), settings=())
        model = completed(start).model.model_dump(mode="json")
        path = tmp_path / "child.yaml"
        path.write_text(
            to_yaml(
                {
                    "data": start.data.model_dump(mode="json"),
                    "model": model,
                    "training": {"start_from": str(run), "max_steps": 1},
                }
            ),
            encoding="utf-8",
        )
        Experiment.create(read_experiment(path), tmp_path / "run").prepare()
        assert fingerprints(tmp_path / "run") == fingerprints(run)


def test_a_language_model_may_have_several_languages(read: Read, tmp_path: Path) -> None:
    """Nothing tells it which one is wanted: it reads on."""
    config = read(("de",))
    parts = [
        config.data.train[0].model_copy(update={"target": name, "target_language": name})
        for name in ("de", "en")
    ]
    values = config.model_dump(mode="json")
    values["data"]["train"] = [part.model_dump(mode="json") for part in parts]
    both = ExperimentConfig.model_validate(values)
    assert {one.target_language for one in both.directions()} == {"de", "en"}


class TestEmbeddings:
    """Runs that begin with vectors from a file."""

    @pytest.fixture
    def file(self, runs: Path, tmp_path: Path) -> Path:
        """Vectors of the pieces of the runs' source."""
        source = Vocabularies.load(runs / "mt").source
        pieces = [piece for piece in source.pieces(range(len(source))) if "<" not in piece]
        lines = [f"{piece} {' '.join(['0.5', str(n % 7)] * 4)}\n" for n, piece in enumerate(pieces)]
        path = tmp_path / "pieces.vec"
        path.write_text(f"{len(lines)} 8\n{''.join(lines)}", encoding="utf-8")
        return path

    def sections(self, runs: Path, file: Path) -> dict[str, Any]:
        return {"vocabulary": {"of": str(runs / "mt")}, "settings": (
            f"training.embeddings.source={file}", "training.embeddings.fixed=true",
            "training.optimizer.weight_decay=0.1", "training.ema_decay=0.9",
        )}  # fmt: skip

    def test_resumed_equals_uninterrupted_without_the_file(
        self, read: Read, runs: Path, file: Path, tmp_path: Path
    ) -> None:
        config = read(**self.sections(runs, file), steps=4)
        whole, parted = tmp_path / "whole", tmp_path / "parted"
        told: list[str] = []
        experiment = Experiment.create(config, whole)
        experiment.train(experiment.prepare(), CPU, lambda step: [], told.append)
        assert [one for one in told if one.startswith("source embeddings: ")]
        experiment = Experiment.create(config, parted)
        stop = config.training.model_copy(update={"max_steps": 2})
        first = Experiment(config.model_copy(update={"training": stop}), parted)
        first._train(first.prepare(), CPU, lambda step: [])
        file.unlink()
        resumed = Experiment.open(parted)
        resumed.train(resumed.prepare(), CPU, lambda step: [])
        expected, found = model_weights(whole), model_weights(parted)
        assert expected.keys() == found.keys()
        assert all(torch.equal(found[name], expected[name]) for name in expected)
        begun = read_tensors(checkpoints(parted)[0] / WEIGHTS_FILE)
        name = "source_embedding.weight"
        assert torch.equal(begun[name], found[name])  # it was fixed
        assert len(begun[name][9].unique()) == 2  # as in the file
        other = "target_embedding.weight"
        assert not torch.equal(begun[other], found[other])
        assert name not in read_tensors(checkpoints(parted)[-1] / MOMENTS_FILE)
        card = (whole / "model" / "README.md").read_text(encoding="utf-8")
        assert "Embeddings were initialised with pieces.vec (digest " in card

    def test_other_vectors_are_noticed(
        self, read: Read, runs: Path, file: Path, tmp_path: Path
    ) -> None:
        train(read(**self.sections(runs, file), steps=1), tmp_path / "run")
        begun = Experiment.open(tmp_path / "run").config
        Experiment.create(begun, tmp_path / "same")
        file.write_text("1 8\n▁x" + " 1" * 8, encoding="utf-8")
        with pytest.raises(SavedError, match=r"pieces.vec: not the vectors with which this run"):
            Experiment.create(begun, tmp_path / "again")
        file.write_text("1 2\n▁x 1 2", encoding="utf-8")
        with pytest.raises(ConfigError, match=r"dimension 2, and model.d_model is 8"):
            Experiment.create(read(**self.sections(runs, file)), tmp_path / "wide")
