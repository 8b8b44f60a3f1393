"""A student learns from its teacher's translations, wherever the work was interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_server import v1_server
from command_line import CommandLine, experiment, one_error, part, write_experiment
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, InterruptedRunError, ServiceError
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.evaluation.similarity import Closest, Similarity
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.saved.model import has_model
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.distillation import Distillation, asked_for, check
from dragoman.techniques.teachers.teacher_config import TeacherConfig
from dragoman.text.corpora.corpus import evaluation_examples, kept_pairs, read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import FORMATS, Pair
from dragoman.text.transforms.term_annotating import term_annotation
from dragoman.translation.shards import PAIRS_FILE
from dragoman.translation.synthesis import GivenText, SyntheticCorpus
from dragoman.translation.translator import Translator
from dragoman.workflows.runs import CommandLineHost

Change = Callable[[dict[str, Any]], None]


def student(text: Path, folder: Path, change: Change = lambda values: None) -> Path:
    """A recipe of another family and size than the teacher, on the first lines of its text."""
    values = experiment()
    values["data"]["train"][0]["transforms"] = [{"kind": "filter", "last_line": 40}]
    values["model"] = {"family": "recurrent", "d_model": 10}
    values["vocabulary"] = {"size": 100}
    values["training"] |= {"max_steps": 2, "validation_steps": 2, "checkpoint_steps": 1}
    values["training"]["precision"] = "auto"  # which the run decides
    values["data"] |= {"cleaning": {"max_length_ratio": None}, "test": {}}
    change(values)
    for name in ("train", "dev", "test"):
        if not (folder / f"{name}.tsv").exists():
            (folder / f"{name}.tsv").symlink_to(text / f"{name}.tsv")
    return write_experiment(folder, values)


def stopped(*_: object, **__: object) -> None:
    """In place of training."""
    raise InterruptedRunError("saved")


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything before the student's training, which is stopped."""
    monkeypatch.setattr("dragoman.workflows.runs.CommandLineHost.train", stopped)


def no_report(*_: object) -> None:
    """In place of the report."""


class TestACommand:
    def test_from_an_ensemble_interrupted_twice(
        self,
        dragoman: CommandLine,
        text: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # Drawing reports takes longer than all else here.
        monkeypatch.setattr("dragoman.workflows.reports.run_report.write_report", no_report)
        run = tmp_path / "run"
        teachers = [teacher(tmp_path / f"teacher-{seed}", "de", seed=seed) for seed in (1, 2)]
        options: list[object] = [word for path in teachers for word in ("--teacher", path)]
        options += ["--beam", 1, "--run", run, "--keep-references", 2]
        command: list[object] = ["distill", student(text, tmp_path), *options]

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("dragoman.techniques.distillation.translate_corpus", interrupted)
            message = one_error(dragoman(*command), 130)
            assert "translating" in message
            assert "repeat the command" in message
        with monkeypatch.context() as patch:
            patch.setattr("dragoman.workflows.runs.CommandLineHost.train", stopped)
            assert "repeat the command" in one_error(dragoman(*command), 130)
        outcome = dragoman(*command, "--json")
        assert outcome.code == 0, outcome.err
        found = json.loads(outcome.out)
        (synthetic,) = found["synthetic"]
        assert (found["steps"], synthetic["part"], synthetic["lines"]) == (2, "data.train.0", 39)
        assert found["teachers"] == [str(path) for path in teachers]
        assert len(set(synthetic["origin"]["models"])) == 2
        self.check_what_it_learned_from(run, synthetic, teachers)
        self.check_a_repetition(run, command, dragoman)

    def check_what_it_learned_from(
        self, run: Path, synthetic: dict[str, Any], teachers: list[Path]
    ) -> None:
        first, second = read_experiment(run / "config.yaml").data.train
        assert first.path == synthetic["path"] == str(run / "synthetic/train-0/pairs.jsonl.gz")
        assert (first.weight, first.transforms) == (1, ())
        assert second.weight == 2
        with Translator.load(*teachers, device="cpu") as translator:
            sources = [pair.source for pair in kept_pairs(second)]
            expected = translator.translate(sources, beam=1)
        assert [pair.source for pair in read_pairs(first)] == sources
        assert [pair.target for pair in read_pairs(first)] == expected

    def check_a_repetition(self, run: Path, command: list[object], dragoman: CommandLine) -> None:
        """It translates and trains nothing, and refuses other settings."""
        changed = (run / "model" / "model.safetensors").stat().st_mtime_ns
        again = dragoman(*command)
        assert again.code == 0, again.err
        assert str(run / "model") in again.out
        assert (run / "model" / "model.safetensors").stat().st_mtime_ns == changed
        other = one_error(dragoman(*command, "--set", "seed=2", "--set", "model.d_model=12"), 2)
        assert "begun with other settings (seed, model.d_model)" in other
        assert "other settings (method, search" in one_error(dragoman(*command, "--beam", 2), 2)

    def test_another_run_is_refused_before_anything_is_translated(
        self, dragoman: CommandLine, text: Path, tmp_path: Path
    ) -> None:
        recipe, run = student(text, tmp_path), tmp_path / "run"
        assert dragoman("prepare", recipe, "--run", run).code == 0
        command = ["--teacher", teacher(tmp_path / "one", "de"), "--run", run]
        message = one_error(dragoman("distill", recipe, *command), 2)
        assert f"{run}: was begun with other settings (data.train)" in message
        assert not (run / "synthetic").exists()

    @pytest.mark.usefixtures("stopping")
    def test_into_a_model_composed_of_trained_ones_is_continued(
        self,
        dragoman: CommandLine,
        text: Path,
        tmp_path: Path,
    ) -> None:
        languages = save_tiny_model(tmp_path / "lm", config=TINY_LM)
        translation = {"family": "recurrent", "d_model": 8}
        fusion = {
            "family": "deep_fusion",
            "translation": translation,
            "language_model": str(languages),
            "train": "translation",
        }

        def composed(values: dict[str, Any]) -> None:
            values["model"] = fusion
            del values["vocabulary"]

        recipe, run = student(text, tmp_path, composed), tmp_path / "run"
        one = teacher(tmp_path / "one", "de")
        command: list[object] = ["distill", recipe, "--teacher", one, "--beam", 1, "--run", run]
        for _ in range(2):  # begun, then continued
            assert "repeat the command" in one_error(dragoman(*command), 130)
        other = one_error(dragoman(*command, "--set", "seed=2"), 2)
        assert "begun with other settings (seed)" in other

    @pytest.mark.usefixtures("stopping")
    def test_from_a_description_the_closest_of_several(
        self,
        dragoman: CommandLine,
        text: Path,
        tmp_path: Path,
    ) -> None:
        description = tmp_path / "teacher.yaml"
        values = {
            "models": [str(teacher(tmp_path / "one", "de"))],
            "search": {"beam": 3, "minimum_length": 2},
        }
        description.write_text(yaml.safe_dump(values), encoding="utf-8")
        command = ["--system", description, "--nbest", 2, "--closest", "chrf"]
        run = tmp_path / "run"
        one_error(dragoman("distill", student(text, tmp_path), *command, "--run", run), 130)
        origin = run / "synthetic" / "train-0" / "origin.json"
        found = json.loads(origin.read_text(encoding="utf-8"))
        assert found["method"] == "beam 3, closest of 2 by chrf"
        assert found["search"]["minimum_length"] == 2

    @pytest.mark.usefixtures("stopping")
    def test_the_closest_is_measured_as_the_student_is_scored(
        self,
        dragoman: CommandLine,
        text: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The usual tokenizer takes a Chinese sentence for one word: none would be closer."""

        def in_chinese(values: dict[str, Any]) -> None:
            values["evaluation"] = {"metrics": ["bleu"], "bleu_tokenize": "zh"}

        asked: list[Any] = []

        class Asked(Closest):
            def __init__(self, metric: Similarity, config: EvaluationConfig | None = None) -> None:
                super().__init__(metric, config)
                asked.append(config)

        monkeypatch.setattr("dragoman.translation.synthesis.Closest", Asked)
        command = ["--teacher", teacher(tmp_path / "one", "de"), "--nbest", 2]
        recipe, run = student(text, tmp_path, in_chinese), tmp_path / "run"
        one_error(dragoman("distill", recipe, *command, "--run", run), 130)
        assert [config.bleu_tokenize for config in asked] == ["zh"]
        origin = (run / "synthetic" / "train-0" / "origin.json").read_text(encoding="utf-8")
        assert json.loads(origin)["method"] == "beam 4, closest of 2 by bleu (tokenize zh)"

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            ([], 2, "--teacher MODEL or --system FILE"),
            (["--teacher", "absent"], 4, "absent: no such model or run"),
            (["--teacher", "lm"], 2, "lm: a language model; a teacher is"),
            (["--teacher", "fr"], 2, "data.train.0 needs en-de, and fr was trained for en-fr"),
            (["--teacher", "fr", "--closest", "bleu"], 2, "add --nbest"),
        ],
    )
    def test_what_is_refused(
        self,
        dragoman: CommandLine,
        text: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        code: int,
        message: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        save_tiny_model(Path("lm"), config=TINY_LM)
        teacher(Path("fr"), "fr")
        outcome = dragoman("distill", student(text, tmp_path), *arguments)
        assert message in one_error(outcome, code)
        assert not Path("runs").exists()


def teacher(
    path: Path,
    *languages: str,
    tags: tuple[str, ...] = (),
    seed: int = 1,
    source: str = "en",
) -> Path:
    """An untrained model of ``source`` into ``languages``, with tags of languages if several."""
    save_tiny_model(path, tags=(*tags, *(f"<2{one}>" for one in languages)), seed=seed)
    several = len(languages) > 1
    directions = [
        {
            "source_language": source,
            "target_language": one,
            "tags": [f"<2{one}>"] if several else [],
        }
        for one in languages
    ]
    values = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
    values |= {"source_language": source, "target_language": languages[0], "directions": directions}
    (path / "config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def recipe(*parts: dict[str, Any], **values: Any) -> ExperimentConfig:
    whole = experiment()
    whole["data"]["train"] = list(parts)
    return ExperimentConfig.model_validate({**whole, **values})


class TestATeacher:
    def test_of_several_languages_is_asked_for_the_students(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(teacher(tmp_path / "many", "de", "fr"),))
        (plain,) = recipe(part("train")).train_parts()
        asked = asked_for(system, plain)
        assert (asked.target_language, asked.tags) == ("de", ())
        with Translator.of(asked) as translator:
            assert translator.tags == ("<2de>",)

    def test_of_one_language_needs_no_tag_of_the_student(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(teacher(tmp_path / "one", "de", tags=("<ui>",)),))
        tags = {"tags": ["<ui>"], "transforms": [{"kind": "tag"}]}
        (tagged,) = recipe({**part("train"), **tags}).train_parts()
        asked = asked_for(system, tagged)
        assert asked.tags == ("<ui>",), "what is no language, it must know"
        with Translator.of(asked) as translator:
            assert translator.tags == ("<ui>",)

    def test_through_a_third_language(self, tmp_path: Path) -> None:
        many = teacher(tmp_path / "many", "de", "fr")  # both from English
        config = recipe({**part("train"), "source_language": "en", "target_language": "fr"})
        (english,) = config.train_parts()
        through: dict[str, Any] = {"language": "de", "nbest": 2}
        system = TranslationSystem(models=(many,), source_language="fr", target_language="de")
        assert asked_for(system, english).source_language is None, "the text decides"
        german = TranslationSystem.model_validate(
            {"models": [many], "target_language": "fr", "pivot": through}
        )
        with pytest.raises(ConfigError, match=r"data.train.0 needs de-fr, and .*many was trained"):
            check(config, german)
        onward = teacher(tmp_path / "onward", "fr", source="de")
        two: dict[str, Any] = {"models": [onward], "pivot": {**through, "models": [many]}}
        both = TranslationSystem.model_validate(two)
        check(config, both)
        with Translator.of(asked_for(both, english)) as translator:
            (translation,) = translator.translate_nbest(["a b"])[0]
        assert translation.pivot is not None
        two["pivot"] = {**through, "models": [many], "language": "fr"}
        with pytest.raises(
            ConfigError, match=r"pivot.language fr: en-fr text needs no translation"
        ):
            check(config, TranslationSystem.model_validate(two))

    def test_with_routes_takes_that_of_the_language_of_the_text(self, tmp_path: Path) -> None:
        english = teacher(tmp_path / "english", "de")
        french = teacher(tmp_path / "french", "de", source="fr")
        values = {"models": [french], "source_language": "auto"}
        system = TranslationSystem.model_validate(
            {**values, "routes": {"en": {"models": [english], "search": {"beam": 2}}}}
        )
        config = recipe(part("train"), {**part("train"), "source_language": "fr"})
        check(config, system)
        routed, other = (asked_for(system, one) for one in config.train_parts())
        assert (routed.models, routed.search, routed.routes) == ((english,), {"beam": 2}, {})
        assert (other.models, other.search, other.routes) == ((french,), {}, {})
        nameless = recipe(part("train"), source_language="source")
        with pytest.raises(ConfigError, match=r"data.train.0: .* give the part a source_language"):
            check(nameless, system)

    def test_may_spell_the_languages_otherwise(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(teacher(tmp_path / "m", "deu_Latn", source="eng_Latn"),))
        config = recipe({**part("train"), "transforms": [{"kind": "tag"}]})
        check(config, system)
        asked = asked_for(system, config.train_parts()[0])
        assert (asked.target_language, asked.tags) == ("deu_Latn", ())
        with pytest.raises(ConfigError, match=r"needs en-fr, and .*m was trained for eng_Latn-deu"):
            check(recipe({**part("train"), "target_language": "fr"}), system)

    def test_that_is_told_both_languages_is_told_them(self, tmp_path: Path) -> None:
        """As NLLB is, which has a direction into each language, from any."""
        codes = ("deu_Latn", "eng_Latn")
        path = teacher(tmp_path / "nllb", *codes, source="source")
        values = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
        values["names_source"] = True
        (path / "config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        system = TranslationSystem(models=(path,))
        config = recipe(part("train"))
        check(config, system)
        asked = asked_for(system, config.train_parts()[0])
        assert (asked.source_language, asked.target_language) == ("eng_Latn", "deu_Latn")
        with Translator.of(asked) as translator:
            assert translator.tags == ("<2deu_Latn>", "<2eng_Latn>")
        with pytest.raises(ConfigError, match="does not translate from fr"):
            check(recipe({**part("train"), "target_language": "fr"}), system)

    def test_whose_languages_have_no_names(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(save_tiny_model(tmp_path / "old"),))
        config = recipe(part("train"))
        check(config, system)
        (plain,) = config.train_parts()
        assert asked_for(system, plain) == system


class TestAPart:
    def test_keeps_what_its_translations_need(self) -> None:
        transforms = [
            {"kind": "filter", "first_line": 7},
            {"kind": "tag"},
            {"kind": "noise", "drop": 0.1},
        ]
        given = {**part("train"), "weight": 3, "tags": ["<ui>"], "transforms": transforms}
        (before,) = recipe(given).train_parts()
        made = before.kept_in(Path("made/pairs.jsonl.gz"))
        assert CorpusPart.model_validate(made.model_dump()) == made
        assert made.path == str(Path("made/pairs.jsonl.gz").absolute())
        assert (made.source, made.target, made.weight) == ("source", "target", 3)
        assert [one.kind for one in made.transforms] == ["tag", "noise"]
        assert made.direction == before.direction

    @pytest.mark.usefixtures("stopping")
    @pytest.mark.parametrize("method", ["append", "replace"])
    def test_has_its_terms_annotated_once_and_by_its_translations(
        self,
        dragoman: CommandLine,
        text: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        method: str,
    ) -> None:
        """The teacher reads them as they are; pairs are chosen by their references alone."""
        lines = "house cat\tHaus Katze\nhouse\tBau\nthe house\tdas Haus\n"
        (tmp_path / "train.tsv").write_text(f"en\tde\n{lines}", encoding="utf-8")
        (tmp_path / "terms.tsv").write_text("house\tHaus\n", encoding="utf-8")
        kinds: list[dict[str, Any]] = [{"kind": "with_terms"}, {"kind": "terms", "share": 1.0}]
        kinds[1]["method"] = method
        transforms = [{"glossary": "terms.tsv", **one} for one in kinds]
        read: list[str] = []

        def translated(_: object, given: GivenText, output: Path, **__: object) -> SyntheticCorpus:
            read.extend(line.text for line in given)
            output.mkdir(parents=True)
            with FORMATS["jsonl"].write([output / PAIRS_FILE], ("source", "target")) as add:
                for line, translation in zip(given, ["Haus Katz", "das Heim"], strict=True):
                    add(Pair(line.text, translation, line.number))
            return SyntheticCorpus(output / PAIRS_FILE, 2, 0, 0, {"method": "hand"})

        monkeypatch.setattr("dragoman.techniques.distillation.translate_corpus", translated)
        recipe = student(
            text, tmp_path, lambda values: values["data"]["train"][0].update(transforms=transforms)
        )
        options = ["--teacher", teacher(tmp_path / "one", "de"), "--run", tmp_path / "run"]
        assert "repeat" in one_error(dragoman("distill", recipe, *options), 130)
        assert read == ["house cat", "the house"]
        (made,) = read_experiment(tmp_path / "run" / "config.yaml").data.train
        assert term_annotation(made.transforms) == method
        inside = "house <as> Haus" if method == "append" else "Haus"
        assert [one.source for one in evaluation_examples(made)] == [
            f"<term> {inside} </term> cat",
            "the house",
        ]

    def test_without_sources_stays(self, tmp_path: Path) -> None:
        copied = {"target": "mono.de", "transforms": [{"kind": "copy"}, {"kind": "tag"}]}
        values = {**part("train"), "transforms": [{"kind": "tag"}]}
        dev = {**part("dev"), "transforms": [{"kind": "tag"}]}
        whole = experiment()
        whole["data"] |= {"train": [copied, values], "dev": dev, "test": {}}
        config = ExperimentConfig.model_validate(whole)
        distillation = Distillation(config, TranslationSystem(models=(tmp_path,)), tmp_path)
        first, second = distillation.recipe().data.train
        assert first == config.data.train[0]
        assert second.path == str(tmp_path / "synthetic" / "train-1" / "pairs.jsonl.gz")


class TestAStudent:
    def test_has_weights_that_its_run_can_be_read_with(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(save_tiny_model(tmp_path / "teacher"),))
        config = recipe({**part("train"), "weight": 0.5})
        distillation = Distillation(config, system, tmp_path / "run", references=1e-6)
        with pytest.raises(ConfigError, match=r"data.train.1.weight: .*found 5e-07"):
            distillation.carry_out(CommandLineHost())
        assert not (tmp_path / "run").exists()

    def test_must_translate(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(save_tiny_model(tmp_path / "teacher"),))
        alone = {"path": "train.tsv", "target": "de"}
        whole = experiment()
        whole["data"] = {"train": [alone], "dev": alone}
        whole |= {"model": {"family": "transformer_lm"}, "evaluation": {"metrics": []}}
        with pytest.raises(ConfigError, match="the student is a language model"):
            check(ExperimentConfig.model_validate(whole), system)
        labelled = {"path": "train.tsv", "source": "en", "label": "news"}
        whole["data"] = {"train": [labelled], "dev": labelled}
        whole["model"] = {"family": "classifier", "backbone": {"family": "transformer"}}
        whole["training"] = whole["training"] | {"best_metric": "loss"}
        with pytest.raises(ConfigError, match="the student is a classifier"):
            check(ExperimentConfig.model_validate(whole), system)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"training": {"start_from": "other"}}, "other is another kind of model: .*d_model 8"),
            ({"vocabulary": {"of": "other"}}, "its vocabulary, which is kept, has no tag <ui>"),
        ],
        ids=["start_from", "vocabulary"],
    )
    def test_must_be_able_to_begin_before_a_line_is_translated(
        self, values: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        system = TranslationSystem(models=(save_tiny_model(Path("teacher")),))
        save_tiny_model(Path("other"), seed=2)
        training = experiment()["training"] | values.get("training", {})
        vocabulary = values.get("vocabulary", {})
        tagged = {**part("train"), "tags": ["<ui>"]}
        config = recipe(tagged, training=training, vocabulary=vocabulary)
        with pytest.raises(ConfigError, match=message):
            Distillation(config, system, Path("run")).carry_out(CommandLineHost())
        assert not Path("run", "synthetic").exists()

    def test_cannot_be_a_masked_language_model(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(save_tiny_model(tmp_path / "teacher"),))
        training = experiment()["training"] | {"objective": {"kind": "masked_lm"}}
        config = recipe(part("train"), training=training, evaluation={"metrics": []})
        with pytest.raises(ConfigError, match="masked_lm trains no translator"):
            check(config, system)

    def test_cannot_learn_alignments(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(save_tiny_model(tmp_path / "teacher"),))
        values = experiment()["training"] | {"objective": {"kind": "guided_alignment"}}
        config = recipe({**part("train"), "alignments": "links"}, training=values)
        with pytest.raises(ConfigError, match="guided_alignment needs word alignments"):
            check(config, system)

    def test_needs_sources(self, tmp_path: Path) -> None:
        system = TranslationSystem(models=(save_tiny_model(tmp_path / "teacher"),))
        copied = {"target": "mono.de", "transforms": [{"kind": "copy"}]}
        with pytest.raises(ConfigError, match="no part has sources"):
            check(recipe(copied), system)


class TestATeacherOverHttp:
    def test_a_student_learns_from_a_server_and_resumes(self, text: Path, tmp_path: Path) -> None:
        recipe = read_experiment(student(text, tmp_path))
        host = CommandLineHost()
        with v1_server(tmp_path) as server:

            def distillation(**settings: Any) -> Distillation:
                config = TeacherConfig(url=server.address, check_language=False, **settings)
                return Distillation(recipe, config, tmp_path / "run")

            with pytest.raises(ServiceError, match="max_requests 1 is reached"):
                distillation(max_requests=1).carry_out(host)
            distilled = distillation().carry_out(host)
            asked = [request.text for call in server.service.calls for request in call]
        assert len(asked) == len(set(asked))
        (corpus,) = distilled.corpora.values()
        assert corpus.lines == 39
        learned = list(read_pairs(distilled.experiment.config.data.train[0]))
        assert all(pair.target == f"{pair.source.upper()}de" for pair in learned)
        assert has_model(tmp_path / "run")
        card = (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")
        assert f"translated by {server.address}. Terms of use: not stated" in card

    def test_needs_languages_before_anything_is_asked(self, text: Path, tmp_path: Path) -> None:
        def unnamed(values: dict[str, Any]) -> None:
            values |= {"source_language": "source", "target_language": "target"}

        recipe = read_experiment(student(text, tmp_path, unnamed))
        with pytest.raises(ConfigError, match="set source_language and target_language"):
            check(recipe, TeacherConfig(url="http://localhost:1"))

    def test_on_the_command_line(
        self, dragoman: CommandLine, text: Path, tmp_path: Path, stopping: None
    ) -> None:
        recipe = student(text, tmp_path)
        with v1_server(tmp_path) as server:
            description = tmp_path / "teacher.yaml"
            description.write_text(f"url: {server.address}\ncheck_language: false\n")
            command = ["distill", recipe, "--teacher", description, "--run", tmp_path / "run"]
            message = one_error(dragoman(*command, "--teacher-set", "max_requests=1"), 12)
            assert "max_requests 1 is reached" in message
            assert "repeat the command" in one_error(dragoman(*command), 130)
        assert (tmp_path / "run" / "synthetic" / "train-0" / "report.json").is_file()
        for more, problem in (
            (["--beam", 3], "a server chooses itself how it translates; remove search"),
            (["--teacher", "runs/one"], "a server is a teacher alone"),
            (["--teacher-set", "no_such=1"], "no_such"),
        ):
            assert problem in dragoman(*command, *more).err
        local = ["distill", recipe, "--teacher", "runs/one", "--teacher-set", "model=a"]
        assert "for a --teacher that is a server" in dragoman(*local).err
