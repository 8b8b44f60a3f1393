"""``dragoman compare``: equal budgets, resuming, honest figures."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, Outcome, call, one_error

from dragoman.core.errors import ConfigError, DataError, InterruptedRunError
from dragoman.evaluation.metrics import perplexity
from dragoman.recipe import read_experiment
from dragoman.run.scores_file import read_scores
from dragoman.saved.model import MODEL_DIRECTORY
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.transforms.sources import CopyConfig, SourceByModelConfig
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.distributed import World
from dragoman.translation.outputs import total
from dragoman.translation.translator import Translator
from dragoman.workflows.compare.common_text import read_common_test
from dragoman.workflows.compare.comparison import Contest
from dragoman.workflows.compare.plan import Budget, Planned, plan
from dragoman.workflows.runs import prepare_run

pytestmark = pytest.mark.usefixtures("compared_soon")


@pytest.fixture(scope="module")
def recipes(config: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two families that see the same text."""
    folder = tmp_path_factory.mktemp("recipes")
    wide, recurrent = folder / "wide.yaml", folder / "recurrent.yaml"
    wide.write_text(f"base: {config}\nmodel: {{d_model: 32}}\n", encoding="utf-8")
    recurrent.write_text(
        f"base: {config}\n"
        "model: {family: recurrent, d_model: 16, encoder_layers: 1, decoder_layers: 1}\n",
        encoding="utf-8",
    )
    return [wide, recurrent]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("comparisons") / "all"


FLOPS = 3e8


def planned(recipes: list[Path], output: Path, budget: Budget) -> list[Planned]:
    configs = {recipe.stem: read_experiment(recipe) for recipe in recipes}
    return plan(configs, output, budget, prepare_run)


def test_files_of_somebody_else_are_not_touched(
    recipes: list[Path], dragoman: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "comparison.md").write_text("precious", encoding="utf-8")
    line = one_error(dragoman("compare", *recipes, "--output", tmp_path, "--plan"), 2)
    assert "holds comparison.md and is not a comparison; choose a new or empty directory" in line
    assert [path.name for path in tmp_path.iterdir()] == ["comparison.md"]


def _decides_once(planned: Callable[[], Planned]) -> None:
    """That a recipe is still that of its run once the run has decided what it begins with."""
    begun = planned()
    begun.experiment._decide_start(World.alone())
    assert planned().experiment.config == begun.experiment.config


class TestBudget:
    def test_equal_operations(self, recipes: list[Path], tmp_path: Path) -> None:
        for one in planned(recipes, tmp_path, Budget(flops=FLOPS)):
            steps = one.experiment.config.training.max_steps
            assert steps is not None
            step = one.cost.flops_per_target_token * one.tokens_per_step
            assert abs(steps * step - FLOPS) <= step / 2

    def test_minutes_become_steps_by_a_trial(
        self, recipes: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = iter(range(10_000))
        monkeypatch.setattr(
            "dragoman.workflows.compare.speed.time.perf_counter", lambda: next(clock)
        )
        monkeypatch.setattr("dragoman.workflows.compare.plan.CALIBRATION_SECONDS", 200.0)
        (one,) = planned(recipes[:1], tmp_path, Budget(minutes=3))
        steps = one.experiment.config.training.max_steps
        assert steps == pytest.approx(180, rel=0.05)  # the clock says a second a step

    def test_an_empty_first_epoch_is_refused(
        self, recipes: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dragoman.data.batches.Batches.windows", lambda self, epoch: 0)
        with pytest.raises(ConfigError, match="the first epoch shows no pair; raise the weights"):
            planned(recipes[:1], tmp_path, Budget(flops=FLOPS))

    def test_without_one_a_recipe_has_its_own(self, recipes: list[Path], tmp_path: Path) -> None:
        (one,) = planned(recipes[:1], tmp_path, Budget())
        assert one.experiment.config == read_experiment(recipes[0])

    def test_less_than_a_step_is_told_and_binds_nobody(
        self, recipes: list[Path], tmp_path: Path, dragoman: CommandLine
    ) -> None:
        arguments = ["compare", *recipes, "--output", tmp_path / "x", "--plan"]
        outcome = dragoman(*arguments, "--flops", 10)
        assert "less than one step of training; raise it" in one_error(outcome, 2)
        assert dragoman(*arguments, "--flops", FLOPS).code == 0

    @pytest.mark.parametrize("setting", ["vocabulary.sampling=0.3", "training.device_tokens=100"])
    def test_steps_are_as_large_as_in_training(
        self, setting: str, recipes: list[Path], tmp_path: Path
    ) -> None:
        limits = ["training.max_steps=null", "training.max_epochs=1"]
        config = read_experiment(recipes[0], [setting, *limits])
        (one,) = plan({"a": config}, tmp_path, Budget(), prepare_run)
        one.experiment.train(prepare_run(one.experiment), World.join(), lambda step: [])
        progress = read_progress(checkpoints(tmp_path / "a")[-1])
        assert progress.target_tokens / progress.step == pytest.approx(one.tokens_per_step)

    def test_the_weights_that_a_run_began_with_are_its_recipes(
        self, trained: Path, config: Path, tmp_path: Path
    ) -> None:
        start = {"model": str(trained), "vocabulary": "new"}

        def planned(**more: str) -> Planned:
            found = read_experiment(config, [f"training.start_from={json.dumps(start | more)}"])
            (one,) = plan({"a": found}, tmp_path, Budget(), prepare_run)
            return one

        _decides_once(planned)
        with pytest.raises(ConfigError, match="its recipe changed since it was begun"):
            planned(digest="0" * 64)

    def test_so_is_the_vocabulary_that_it_took(
        self, trained: Path, config: Path, tmp_path: Path
    ) -> None:
        def planned(*more: str) -> Planned:
            settings = [f"vocabulary={{of: {trained}}}", *more]
            (one,) = plan({"a": read_experiment(config, settings)}, tmp_path, Budget(), prepare_run)
            return one

        _decides_once(planned)
        with pytest.raises(ConfigError, match="its recipe changed since it was begun"):
            planned(f"vocabulary.digest={'a' * 64}")

    @pytest.mark.parametrize("budget", [Budget(), Budget(flops=FLOPS)])
    def test_the_precision_that_a_run_decided_is_its_recipes_auto(
        self, budget: Budget, recipes: list[Path], tmp_path: Path
    ) -> None:
        def planned(precision: str) -> Planned:
            config = read_experiment(recipes[0], [f"training.precision={precision}"])
            (one,) = plan({"a": config}, tmp_path, budget, prepare_run)
            return one

        experiment = planned("auto").experiment
        experiment._decide_precision(World.alone())
        decided = experiment.config.training.precision
        assert planned("auto").experiment.config.training.precision == decided != "auto"
        assert planned(decided).experiment.config == experiment.config
        with pytest.raises(ConfigError, match="its recipe changed since it was begun"):
            planned({"float32": "bfloat16", "bfloat16": "float32"}[decided])

    def test_other_limits_do_not_hold(self, recipes: list[Path], tmp_path: Path) -> None:
        config = read_experiment(recipes[0], ["training.max_epochs=1", "training.patience=1"])
        (one,) = plan({"a": config}, tmp_path, Budget(flops=FLOPS), prepare_run)
        training = one.experiment.config.training
        assert (training.max_epochs, training.patience, training.max_minutes) == (None, None, None)


@pytest.fixture(scope="module")
def finished(recipes: list[Path], output: Path) -> Outcome:
    """A whole comparison, one of whose runs was carried out by 'dragoman resume'."""
    arguments = ["compare", *recipes, "--flops", FLOPS, "--output", output]
    begun = call(*arguments, "--plan")
    assert begun.code == 0, begun.err
    assert f"dragoman resume {output / 'recurrent'}" in begun.out
    assert call("resume", output / "recurrent").code == 0
    left = call(*arguments, "--plan")
    assert f"dragoman resume {output / 'wide'}" in left.out
    assert f"dragoman resume {output / 'recurrent'}" not in left.out
    (wide,) = json.loads(call(*arguments, "--plan", "--json").out)["left"]
    assert (wide["name"], wide["run"]) == ("wide", str(output / "wide"))
    assert f"{wide['steps']:,} steps of {wide['target_tokens_per_step']:,.0f} " in left.out
    outcome = call(*arguments, "--ensemble", "wide+recurrent")
    assert "Nothing left to train" in call(*arguments, "--plan").out
    assert outcome.code == 0, outcome.err
    return outcome


class TestComparison:
    def figures(self, output: Path) -> dict[str, dict[str, Any]]:
        rows = json.loads((output / "comparison.json").read_text(encoding="utf-8"))["rows"]
        return {row["name"]: row for row in rows}

    def test_scores_are_those_of_the_models(
        self, finished: Outcome, output: Path, dragoman: CommandLine, text: Path, tmp_path: Path
    ) -> None:
        rows = self.figures(output)
        assert list(rows) == ["wide", "recurrent", "wide+recurrent"]
        lines = (text / "test.tsv").read_text(encoding="utf-8").splitlines()
        head, *pairs = [line.split("\t") for line in lines]
        sources = [pair[head.index("en")] for pair in pairs]
        english, references = tmp_path / "english", tmp_path / "references"
        english.write_text("\n".join(sources) + "\n", encoding="utf-8")
        german = (pair[head.index("de")] for pair in pairs)
        references.write_text("\n".join(german) + "\n", encoding="utf-8")
        for name, members in {"wide": ["wide"], "wide+recurrent": ["wide", "recurrent"]}.items():
            translator = Translator.load(*(output / member for member in members))
            path = output / "translations" / f"{name}.news"
            assert path.read_text(encoding="utf-8").splitlines() == translator.translate(sources)
            outcome = dragoman("evaluate", path, references, "--metric", "chrf", "--json")
            expected = json.loads(outcome.out)["scores"][0]["value"]
            assert rows[name]["scores"][1]["value"] == pytest.approx(expected)
            models = [output / member for member in members]
            scored = json.loads(dragoman("score", *models, english, references, "--json").out)
            assert rows[name]["perplexity"] == pytest.approx(scored["perplexity"])

    def test_cost_is_what_was_learned_from(self, finished: Outcome, output: Path) -> None:
        rows = self.figures(output)
        for name in ("wide", "recurrent"):
            progress = read_progress(checkpoints(output / name)[-1])
            assert rows[name]["target_tokens"] == progress.target_tokens
            assert rows[name]["flops"] == pytest.approx(FLOPS, rel=0.2)  # batches differ in size
        for sum_ in ("flops", "parameters", "target_tokens"):
            assert rows["wide+recurrent"][sum_] == pytest.approx(
                rows["wide"][sum_] + rows["recurrent"][sum_]
            )

    def test_table_and_picture(self, finished: Outcome, output: Path) -> None:
        table = (output / "comparison.md").read_text(encoding="utf-8")
        assert finished.out.startswith(table)
        assert table.count("\n| wide") == 2
        assert "news; 3e+08 training FLOPs each" in table
        assert "<svg" in (output / "comparison.svg").read_text(encoding="utf-8")

    def test_it_says_what_it_does(self, finished: Outcome) -> None:
        said = iter(finished.err.splitlines())
        for stage in (
            "20 sentences of news to be translated by all",
            "wide: preparing its text",
            "recurrent: preparing its text",
            "wide (1 of 2): training",
            "scoring the model on news: 20 sentences",
            "recurrent (2 of 2): already trained",
            "wide: translating news for its scores, then scoring the references",
            "wide+recurrent: translating news for its scores, then scoring the references",
            "scoring: intervals from 1,000 resamples, significance of each difference by paired "
            "approximate randomisation",
            "measuring the machine, and in turns the speed of training and translation",
        ):
            assert f"dragoman: {stage}" in said, stage  # after the one before

    def test_what_is_finished_is_not_trained_again(
        self, finished: Outcome, recipes: list[Path], output: Path, dragoman: CommandLine
    ) -> None:
        models = [output / name / MODEL_DIRECTORY / "model.safetensors" for name in ("wide",)]
        before = [path.stat().st_mtime_ns for path in models]
        outcome = dragoman("compare", *recipes, "--flops", FLOPS, "--output", output, "--json")
        assert outcome.code == 0, outcome.err
        assert "dragoman: wide (1 of 2): already trained\n" in outcome.err
        printed, written = json.loads(outcome.out), output / "comparison.json"
        assert printed == json.loads(written.read_text(encoding="utf-8"))
        assert [path.stat().st_mtime_ns for path in models] == before

    def test_ensembles_are_as_they_are_named(
        self, finished: Outcome, recipes: list[Path], output: Path, dragoman: CommandLine
    ) -> None:
        arguments = ["compare", *recipes, "--flops", FLOPS, "--output", output]
        assert dragoman(*arguments, "--ensemble", "recurrent+wide").code == 0
        assert self.figures(output)["recurrent+wide"]["members"] == ["recurrent", "wide"]

    def test_another_recipe_or_budget_is_refused(
        self, finished: Outcome, recipes: list[Path], output: Path, dragoman: CommandLine
    ) -> None:
        arguments = ["compare", *recipes, "--output", output]
        line = one_error(dragoman(*arguments, "--flops", 2 * FLOPS), 2)
        assert "a comparison with 3e+08 training FLOPs each was begun here" in line
        line = one_error(dragoman(*arguments, "--flops", FLOPS, "--set", "seed=4"), 2)
        assert "its recipe changed since it was begun" in line


def settings(text: Path, *transforms: dict[str, Any], tags: tuple[str, ...] = ()) -> list[str]:
    """All text with these tags, and the test set with these transforms, for ``--set``."""

    def part(name: str, **more: Any) -> dict[str, Any]:
        sides = {"path": str(text / f"{name}.tsv"), "source": "en", "target": "de"}
        return {**sides, "tags": tags, **more}

    values = {
        "train": [part("train")],
        "dev": part("dev"),
        "test": {"news": part("test", transforms=transforms)},
    }
    return [f"data.{name}={json.dumps(value)}" for name, value in values.items()]


class TestTestSets:
    """A recipe's own tags and transforms hold for its own model."""

    def test_each_source_has_the_tags_of_its_recipe(self, recipes: list[Path], text: Path) -> None:
        plain = read_experiment(recipes[0])
        tagged = read_experiment(recipes[0], settings(text, tags=("<ui>",)))
        for configs in ({"a": plain, "b": tagged}, {"b": tagged, "a": plain}):
            test = read_common_test(configs, None)
            assert test.sources["b"] == [f"<ui> {source}" for source in test.sources["a"]]
            assert len(test.sources["a"]) == len(test.references[0]) == 20
            assert test.own_sources == test.sources["a"]
            assert test.languages == ("en", "de")

    @pytest.mark.parametrize(
        "transform",
        [{"kind": "filter", "last_line": 9}, {"kind": "case", "to": "upper", "sides": "target"}],
    )
    def test_the_references_of_all_are_the_same(
        self, transform: dict[str, Any], recipes: list[Path], text: Path
    ) -> None:
        plain = read_experiment(recipes[0])
        other = read_experiment(recipes[0], settings(text, transform))
        for configs in ({"a": plain, "b": other}, {"a": other, "b": plain}):
            with pytest.raises(ConfigError, match=r"b: its transforms leave other .* of news"):
                read_common_test(configs, None)
        test = read_common_test({"a": other, "b": other}, None)
        assert test.sources["a"] == test.sources["b"]

    def test_a_recipe_may_read_the_sources_in_its_own_way(
        self, recipes: list[Path], text: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        upper = {"kind": "case", "to": "upper", "sides": "source"}
        other = read_experiment(recipes[0], settings(text, upper))
        test = read_common_test({"a": read_experiment(recipes[0]), "b": other}, None)
        assert test.sources["b"] == [source.upper() for source in test.sources["a"]]
        assert "b reads other sources of news than the first recipe" in caplog.text

    def test_training_text_is_other_if_its_filters_are(
        self, recipes: list[Path], text: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        plain = read_experiment(recipes[0])
        part = plain.data.train[0].model_dump(exclude={"transforms"})
        for transform, warned in (
            ({"kind": "tag", "tags": ["<ui>"]}, False),
            ({"kind": "filter", "last_line": 9}, True),
        ):
            values = json.dumps([part | {"transforms": [transform]}])
            other = read_experiment(recipes[0], [f"data.train={values}"])
            caplog.clear()
            read_common_test({"a": plain, "b": other}, None)
            assert ("b is trained on other text" in caplog.text) == warned

    def test_models_are_scored_with_their_own_tags(
        self, recipes: list[Path], text: Path, tmp_path: Path
    ) -> None:
        bleu = ["evaluation.metrics=[bleu]"]
        configs = {
            "plain": read_experiment(recipes[0], bleu),
            "ui": read_experiment(recipes[0], [*bleu, *settings(text, tags=("<ui>",))]),
        }
        contest = Contest.begin(configs, tmp_path, Budget(flops=FLOPS / 5))
        rows = {row.name: row for row in contest.carry_out().rows}
        for name, tag in (("plain", ""), ("ui", "<ui> ")):
            translator, test = Translator.load(tmp_path / name), contest.test
            sources = [tag + source for source in contest.test.sources["plain"]]
            expected = perplexity(*total(translator.score(sources, test.references[0])))
            assert rows[name].perplexity == pytest.approx(expected)
            found = (tmp_path / "translations" / f"{name}.news").read_text(encoding="utf-8")
            assert found.splitlines() == translator.translate(sources)

    def test_models_that_write_context_are_scored_without_it(
        self, recipes: list[Path], tmp_path: Path
    ) -> None:
        both = ["data.context={target: true}", "search.allow_tags=true"]
        configs = {
            "alone": read_experiment(recipes[0]),
            "both": read_experiment(recipes[0], both),
        }
        contest = Contest.begin(configs, tmp_path, Budget(flops=FLOPS / 5))
        test = contest.test
        assert test.targets["alone"] == test.references[0]
        assert test.targets["both"][1] == " <sep> ".join(test.references[0][:2])
        for row in contest.carry_out().rows:
            known = read_scores(tmp_path / row.name)["news"]
            assert row.perplexity == pytest.approx(known["perplexity"], rel=1e-4)
            for score, metric in zip(row.scores, ("bleu", "chrf"), strict=True):
                assert score.value == pytest.approx(known[metric]["value"])
        with pytest.raises(ConfigError, match=r"--ensemble alone\+both: its members read news"):
            Contest.begin(configs, tmp_path, Budget(flops=FLOPS), ensembles=[["alone", "both"]])

    def test_trees_are_scored_with_the_tags_of_their_file(
        self, recipes: list[Path], tmp_path: Path
    ) -> None:
        trees = tmp_path / "test.trees"
        trees.write_text("(S (NP (NN dogs)) (VP (VBP bark)) (. .))\n", encoding="utf-8")
        part = {"path": str(trees), "source": "words", "target": "brackets"}
        configs = {"a": read_experiment(recipes[0], [f"data.test={json.dumps({'news': part})}"])}
        test = read_common_test(configs, None)
        assert test.targets["a"] == ["(S (NP XX )NP (VP XX )VP XX )S"]
        assert test.references == [["(S (NP NN )NP (VP VBP )VP . )S"]]

    def test_what_cannot_be_measured_is_refused(self, recipes: list[Path]) -> None:
        """Rather than after all trainings, when speeds are measured."""
        first = read_experiment(recipes[0])
        pairs = first.data.train[0]
        copies = CorpusPart(
            path=pairs.path, target="de", task="copying", transforms=(CopyConfig(),)
        )
        made = CorpusPart(path=pairs.path, target="de", transforms=(SourceByModelConfig(),))
        for part, message in (
            (copies, r"it learns from several tasks \(translation, copying\)"),
            (made, "it makes sources by back_translation while it learns"),
        ):
            data = first.data.model_copy(update={"train": (pairs, part)})
            config = first.model_copy(update={"data": data})
            with pytest.raises(ConfigError, match=f"b: {message}, and compare cannot measure"):
                read_common_test({"a": first, "b": config}, None)

    def test_what_cannot_be_scored_is_refused_before_training(
        self, recipes: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trees = read_experiment(recipes[0], ["evaluation.metrics=[bracketing_f1]"])
        with pytest.raises(DataError, match="references: line 1 is no tree"):
            Contest.begin({"a": trees}, tmp_path, Budget())
        monkeypatch.setenv("SACREBLEU_SEED", "many")
        with pytest.raises(ConfigError, match="SACREBLEU_SEED='many': expected a whole number"):
            Contest.begin({"a": read_experiment(recipes[0])}, tmp_path, Budget())
        assert not list(tmp_path.iterdir())

    def test_members_of_an_ensemble_read_the_same(
        self, recipes: list[Path], text: Path, tmp_path: Path
    ) -> None:
        known = ["vocabulary.tags=[<ui>]"]
        configs = {
            "plain": read_experiment(recipes[0], known),
            "ui": read_experiment(recipes[0], [*known, *settings(text, tags=("<ui>",))]),
        }
        with pytest.raises(ConfigError, match=r"--ensemble plain\+ui: its members read news with"):
            Contest.begin(configs, tmp_path, Budget(flops=FLOPS), ensembles=[["plain", "ui"]])
        assert not list(tmp_path.iterdir())


class TestMistakes:
    def test_recipes_must_have_the_test_set_in_common(
        self, recipes: list[Path], tmp_path: Path, dragoman: CommandLine
    ) -> None:
        other = tmp_path / "other.yaml"
        other.write_text(
            f"base: {recipes[0]}\ndata: {{test: {{news: {{path: x.tsv, source: a, target: b}}}}}}",
            encoding="utf-8",
        )
        output = tmp_path / "output"
        line = one_error(dragoman("compare", recipes[0], other, "--output", output), 2)
        assert "other: its news differs from the first recipe's" in line
        line = one_error(dragoman("compare", recipes[0], "--test-set", "x", "--output", output), 2)
        assert "--test-set x: not among the test and dev sets of the recipe (news, dev)" in line

    @pytest.mark.parametrize(
        ("ensemble", "problem"),
        [
            ("wide+x", "x is not among"),
            ("wide", "two or more members"),
            ("wide+wide+recurrent", "each only once"),
        ],
    )
    def test_ensembles_are_of_the_recipes(
        self,
        ensemble: str,
        problem: str,
        recipes: list[Path],
        tmp_path: Path,
        dragoman: CommandLine,
    ) -> None:
        arguments = ["compare", *recipes, "--ensemble", ensemble, "--output", tmp_path]
        assert problem in one_error(dragoman(*arguments), 2)

    @pytest.mark.parametrize(
        ("setting", "problem"),
        [
            ("evaluation.metrics=[]", "name at least one metric to compare by"),
            ("vocabulary={size: 130}", "have different vocabularies"),
        ],
    )
    def test_what_cannot_be_compared_is_told_before_training(
        self,
        setting: str,
        problem: str,
        recipes: list[Path],
        tmp_path: Path,
        dragoman: CommandLine,
    ) -> None:
        other, key, value = tmp_path / "other.yaml", *setting.partition("=")[::2]
        section, _, name = key.partition(".")
        text = f"{section}: {{{name}: {value}}}" if name else f"{section}: {value}"
        best = "training: {best_metric: loss}"
        other.write_text(f"base: {recipes[0]}\n{best}\n{text}\n", encoding="utf-8")
        arguments = [
            "compare",
            other,
            recipes[1],
            "--ensemble",
            "other+recurrent",
            "--flops",
            FLOPS,
        ]
        line = one_error(dragoman(*arguments, "--output", tmp_path / "output"), 2)
        assert problem in line
        assert not any((tmp_path / "output").rglob("checkpoints"))

    def test_language_models_are_not_compared(
        self, recipes: list[Path], text: Path, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        parts = {
            name: f"{{path: {text}/{name}.tsv, target: de}}" for name in ("train", "dev", "test")
        }
        other = tmp_path / "other.yaml"
        other.write_text(
            f"base: {recipes[0]}\n"
            "data: {train: [%(train)s], dev: %(dev)s, test: {news: %(test)s}}\n"
            % parts
            + "model: {family: transformer_lm, layers: 1, heads: 1}\n"
            "evaluation: {metrics: []}\n",
            encoding="utf-8",
        )
        arguments = ["compare", other, recipes[0], "--output", tmp_path / "output"]
        assert "other: a language model has no translations" in one_error(dragoman(*arguments), 2)

    def test_classifiers_are_not_compared(self, recipes: list[Path]) -> None:
        backbone = {"encoder_layers": 1, "d_model": 16, "d_ff": 32, "heads": 2}
        other = read_experiment(
            recipes[0],
            [
                f"model={json.dumps({'family': 'classifier', 'backbone': backbone})}",
                *("evaluation.metrics=[accuracy]", "training.best_metric=accuracy"),
                *("training.label_smoothing=0", "training.max_steps=1"),
            ],
        )
        with pytest.raises(ConfigError, match="b: a classifier has no translations to compare"):
            read_common_test({"b": other}, None)

    def test_the_same_file_by_another_name_is_the_same(
        self, recipes: list[Path], text: Path, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        other = tmp_path / "other.yaml"
        part = f"{{path: {text}/../{text.name}/test.tsv, source: en, target: de}}"
        other.write_text(
            f"base: {recipes[0]}\ndata: {{test: {{news: {part}}}}}\n", encoding="utf-8"
        )
        arguments = ["compare", recipes[0], other, "--flops", FLOPS, "--plan"]
        assert dragoman(*arguments, "--output", tmp_path / "output").code == 0

    def test_one_process_only(
        self, recipes: list[Path], monkeypatch: pytest.MonkeyPatch, dragoman: CommandLine
    ) -> None:
        monkeypatch.setenv("RANK", "0")
        assert "without torchrun" in one_error(dragoman("compare", *recipes), 2)

    def test_an_interrupted_comparison_ends_as_training_does(
        self,
        recipes: list[Path],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        dragoman: CommandLine,
    ) -> None:
        def stop(*_: object) -> None:
            raise InterruptedRunError("stopped at step 3", signal.SIGTERM)

        monkeypatch.setattr("dragoman.workflows.compare.comparison.train_run", stop)
        arguments = ["compare", *recipes, "--flops", FLOPS, "--output", tmp_path]
        assert "repeat the command to continue" in one_error(dragoman(*arguments), 143)

    def test_names_must_differ(
        self, recipes: list[Path], tmp_path: Path, dragoman: CommandLine
    ) -> None:
        line = one_error(dragoman("compare", recipes[0], recipes[0], "--output", tmp_path), 2)
        assert "two recipes are named wide" in line

    def test_one_budget_only(self, recipes: list[Path], dragoman: CommandLine) -> None:
        outcome = dragoman("compare", recipes[0], "--flops", 1e9, "--minutes", 1)
        assert "exclude each other" in one_error(outcome, 2)
