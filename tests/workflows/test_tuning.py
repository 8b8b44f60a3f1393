"""Settings tried on a dev set: all of them, as translate would, and the best is kept."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import CommandLine, experiment, one_error, write_experiment
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import TINY_LM, save_tiny_model

from dragoman import load
from dragoman.core.errors import ConfigError, DataError, DragomanError
from dragoman.evaluation.metrics import EvaluationConfig, MetricName, score_corpus
from dragoman.models.families.bytenet import ByteNetConfig
from dragoman.saved.model import load_for_search
from dragoman.saved.system import TranslationSystem, read_system
from dragoman.text.context import ContextConfig
from dragoman.translation.translator import Translator
from dragoman.workflows.tuning import DevText, Tuning, grid, read_grid, text_of_files, text_of_run
from dragoman.workflows.tuning.grid import KEYS, combinations
from dragoman.workflows.tuning.trials import edges, table

SOURCE = ["a b c d e", "e d c", "b a", "c c a", "d e a b"]
BEST = 1
"""The weight of the language model with which the references were made."""
CHRF = EvaluationConfig(metrics=("chrf",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a language model of the same vocabulary, and text whose best weight is known."""
    folder = tmp_path_factory.mktemp("tuning")
    save_tiny_model(folder / "model", seed=8)
    save_tiny_model(folder / "other", seed=1)
    save_tiny_model(folder / "lm", seed=8, config=TINY_LM)
    lm = {"path": folder / "lm", "weight": BEST}
    with load(folder / "model", device="cpu", language_model=lm) as translator:
        references = translator.translate(SOURCE)
    assert all(references)
    (folder / "dev.en").write_text("\n".join([*SOURCE, ""]) + "\n", encoding="utf-8")
    (folder / "dev.de").write_text("\n".join([*references, ""]) + "\n", encoding="utf-8")
    return folder


def references_of(folder: Path) -> list[str]:
    return (folder / "dev.de").read_text(encoding="utf-8").splitlines()[:-1]


def tuning(
    folder: Path,
    *tries: str,
    lm: float | None = None,
    evaluation: EvaluationConfig = CHRF,
    **values: Any,
) -> Tuning:
    fused = {} if lm is None else {"language_model": {"path": folder / "lm", "weight": lm}}
    system = TranslationSystem(models=(folder / "model",), device="cpu", **fused, **values)
    text = text_of_files(system, folder / "dev.en", folder / "dev.de")
    return Tuning(system, read_grid(tries, has_language_model=lm is not None), text, evaluation)


def test_each_setting_gives_what_translate_gives(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With models that are loaded once, and every line counted."""
    loaded: list[Path] = []

    def counted(path: Path, *rest: Any) -> Any:
        loaded.append(path)
        return load_for_search(path, *rest)

    monkeypatch.setattr("dragoman.translation.opening.load_for_search", counted)
    tries = "language_model.weight=0,3", "search.beam=1,4"
    tuned = tuning(folder, *tries, lm=0.4, search={"length_penalty": 1.0})
    seen: list[int] = []
    found = tuned.carry_out(seen.append)
    assert loaded == [folder / "model", folder / "lm"]
    assert seen == sorted(seen)
    assert seen[-1] == tuned.lines == 5 * len(SOURCE)
    assert found.trials[0].values == {"language_model.weight": 0.4, "search.beam": 4}
    assert len({tuple(trial.values.values()) for trial in found.trials}) == 5
    for trial in found.trials:
        lm = {"path": folder / "lm", "weight": trial.values["language_model.weight"]}
        beam = trial.values["search.beam"]
        with load(folder / "model", device="cpu", language_model=lm) as translator:
            expected = translator.translate(SOURCE, beam=beam, length_penalty=1.0)
        assert trial.translations == expected
        (score,) = score_corpus(expected, [references_of(folder)], CHRF)
        assert trial.score == score
    assert found.best.score.value == max(trial.score.value for trial in found.trials)
    assert len({tuple(trial.translations) for trial in found.trials}) > 2
    with load(folder / "model", **options_of(found.system)) as translator:
        assert translator.translate(SOURCE) == found.best.translations


def options_of(system: TranslationSystem) -> dict[str, Any]:
    return {name: value for name, value in system.plain().items() if name != "models"}


@settings(max_examples=20, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(KEYS), st.lists(st.integers(0, 5), min_size=1, max_size=3), max_size=3
    )
)
def test_a_grid_is_every_combination_once(given_values: dict[str, list[int]]) -> None:
    texts = [f"{key}={','.join(map(str, values))}" for key, values in given_values.items()]
    read = read_grid(texts, has_language_model=True)
    if not texts:
        assert list(read) == ["language_model.weight"]
        assert list(read_grid((), has_language_model=False)) == ["search.length_penalty"]
        return
    assert {key: set(values) for key, values in read.items()} == {
        key: set(values) for key, values in given_values.items()
    }
    present = {key: values[0] for key, values in read.items()}
    every = combinations(read, present)
    assert every[0] == present
    assert len({tuple(values.values()) for values in every}) == len(every)
    size = 1
    for values in read.values():
        size *= len(values)
    assert len(every) == size
    assert len(combinations(read, dict.fromkeys(read, 9))) == size + 1


@pytest.mark.parametrize(("metric", "perfect"), [("chrf", 100.0), ("ter", 0.0)])
def test_the_best_is_the_setting_that_made_the_references(
    metric: MetricName, perfect: float, folder: Path
) -> None:
    """Whether higher is better or lower."""
    tries = "language_model.weight=0.5,1,3,20"
    evaluation = EvaluationConfig(metrics=(metric, "bleu"))
    found = tuning(folder, tries, lm=0.0, evaluation=evaluation).carry_out()
    assert found.best.values == {"language_model.weight": BEST}
    assert found.best.score.value == pytest.approx(perfect)
    assert found.trials[0].score.value != pytest.approx(perfect)
    assert found.comparison is not None
    assert found.comparison.metric == found.best.score.name
    assert found.comparison.difference == pytest.approx(perfect - found.trials[0].score.value)
    assert found.system.language_model is not None
    assert found.system.language_model.weight == BEST


@pytest.mark.parametrize(
    ("tried", "best", "note"),
    [
        ((0.0, 0.2, 0.5), 0.5, "search.length_penalty=0.5 is the largest that was tried"),
        ((0.1, 0.2, 0.5), 0.1, "search.length_penalty=0.1 is the smallest that was tried"),
        ((0.0, 0.2, 0.5), 0.2, None),
        ((0.0, 0.2, 0.5), 0.0, None),  # there is nothing below
        ((0.2, 0.5), 0.5, None),
        ((None, 0.2, 0.5), 0.5, None),
        ((False, True, 2), 2, None),
    ],
)
def test_a_best_value_at_an_edge_is_told(
    tried: tuple[object, ...], best: object, note: str | None, folder: Path
) -> None:
    found = tuning(folder, "search.length_penalty=0.6").carry_out()
    trials = [
        replace(found.trials[0], values={"search.length_penalty": value, "search.beam": 4})
        for value in tried
    ]
    (chosen,) = (one for one in trials if one.values["search.length_penalty"] is best)
    told = list(edges(replace(found, trials=trials, best=chosen)))
    assert len(told) == (note is not None)
    assert note is None or told[0].startswith(note)
    assert table(replace(found, trials=trials, best=chosen)).endswith("\n".join(told))


def test_a_tie_keeps_the_settings_as_they_are(folder: Path) -> None:
    found = tuning(folder, "search.max_source_pieces=500,600", lm=0.0).carry_out()
    assert len(found.trials) == 3
    assert found.best is found.trials[0]
    assert found.comparison is None
    assert found.system.language_model is None, "a weight of 0 needs no language model"
    assert found.system.models == (folder / "model",)


@pytest.mark.parametrize(
    ("tries", "lm", "message"),
    [
        (["search.beem=4"], None, r"--try search.beem: not a setting to tune; choose from"),
        (["search.nbest=4"], None, r"search.nbest: not a setting to tune"),
        (["search.beam="], None, r"search.beam=: expected KEY=VALUE,VALUE, such as"),
        (["search.beam"], None, r"expected KEY=VALUE,VALUE"),
        (["search.beam=4,,5"], None, r"expected KEY=VALUE,VALUE"),
        (["search.beam={"], None, r"not valid YAML"),
        (["search.beam=4", "search.beam=5"], None, r"search.beam: given twice; separate"),
        (["search.beam=4,many"], None, r"--try: search: beam: .*valid integer.*'many'"),
        (["search.beam=0"], None, r"--try: search: beam: .*greater than or equal to 1"),
        (["language_model.weight=1"], None, r"needs a language model; name one with --lm"),
        (["language_model.weight=0,-1"], 0.0, r"language_model.weight: .*greater than or equal"),
    ],
)
def test_what_cannot_be_tried_is_told_before_anything_is_translated(
    tries: list[str], lm: float | None, message: str, folder: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        tuning(folder, *tries, lm=lm)


@pytest.mark.parametrize(
    ("tries", "search", "error", "message"),
    [
        ("search.coverage_penalty=0,0.5", {}, ConfigError, "ByteNet has no attention over the"),
        (
            "search.max_source_pieces=9,5",
            {},
            DataError,
            "line 1: 6 pieces are more than search.max",
        ),
        (
            "search.maximum_length=null,3",
            {"maximum_length": 2},
            ConfigError,
            "maximum_length=null: this would leave the present 2 as it is; name a value",
        ),
    ],
)
def test_what_the_models_cannot_do_is_told_before_any_trial(
    tries: str,
    search: dict[str, Any],
    error: type[DragomanError],
    message: str,
    folder: Path,
    tmp_path: Path,
) -> None:
    bytenet = ByteNetConfig(d_model=8, encoder_layers=1, decoder_layers=1)
    model = save_tiny_model(tmp_path / "model", config=bytenet, **search)
    system = TranslationSystem(models=(model,), device="cpu")
    text = text_of_files(system, folder / "dev.en", folder / "dev.de")
    with pytest.raises(error, match=message):
        Tuning(system, read_grid([tries], has_language_model=False), text, CHRF)


def test_no_value_is_a_value_where_the_model_has_none(folder: Path) -> None:
    found = tuning(folder, "search.maximum_length=null,3")
    assert found.settings == [{"search.maximum_length": None}, {"search.maximum_length": 3}]


def test_a_weight_may_be_quoted(folder: Path) -> None:
    trials = tuning(folder, "language_model.weight='1'", lm=0.0).carry_out().trials
    assert trials[1].translations == references_of(folder)


def test_lines_of_two_files_have_the_context_that_translate_gives_them(tmp_path: Path) -> None:
    """Documents end at empty lines, and a pair without reference is in its document, too."""
    source = ["<2de> a b", "<2de> e", "", "<2de> c d", "<2de> e a"]
    for name, lines in (("en", source), ("de", ["a b", "", "", "c d", "e a"])):
        (tmp_path / f"dev.{name}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = save_tiny_model(tmp_path / "model", tags=("<2de>",), context=ContextConfig())
    system = TranslationSystem(models=(model,), device="cpu")
    text = text_of_files(system, tmp_path / "dev.en", tmp_path / "dev.de")
    assert text.sources == ["<2de> <sep> a b", "<2de> <sep> c d", "<2de> c d <sep> e a"]
    assert text.own_sources == text.references == ["a b", "c d", "e a"]
    with load(model, device="cpu") as translator:
        every = translator.in_context(source)
    assert text.sources == [every[line] for line in (0, 3, 4)]


def test_too_many_settings(folder: Path) -> None:
    beams = ",".join(map(str, range(1, 102)))
    with pytest.raises(ConfigError, match=r"these are 202 combinations, .* at most 200"):
        tuning(folder, f"search.beam={beams}", "search.length_penalty=0,1")
    assert len(tuning(folder, f"search.beam={beams}").settings) <= grid.MAX_SETTINGS


def test_models_that_translate_nothing_or_sample(folder: Path) -> None:
    system = TranslationSystem(models=(folder / "lm",), device="cpu")
    text = text_of_files(system, folder / "dev.en", folder / "dev.de")
    lengths = read_grid((), has_language_model=False)
    with pytest.raises(ConfigError, match="a language model translates nothing"):
        Tuning(system, lengths, text, CHRF)
    with pytest.raises(ConfigError, match="it samples, and tuning is for search"):
        tuning(folder, search={"sampling": {}})


class TestCommand:
    """On the command line."""

    def test_the_best_is_written_and_used(
        self, folder: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        output = tmp_path / "new" / "tuned.yaml"
        files = folder / "dev.en", folder / "dev.de"
        arguments = ["tune", folder / "model", *files, "--metric", "chrf", "--output", output]
        tries = ["--lm", folder / "lm", "--try", "language_model.weight=1,20"]
        outcome = dragoman(*arguments, *tries, "--device", "cpu")
        assert outcome.code == 0, outcome.err
        assert f"Use it: dragoman translate --system {output}" in outcome.out
        assert "language_model.weight" in outcome.out
        assert f"Best: language_model.weight={BEST}: +" in outcome.out
        assert "confirm it on a test set" in outcome.out
        rows = [line.split() for line in outcome.out.splitlines()[3:6]]
        assert [float(row[0]) for row in rows] == [0, 1, 20]
        assert [row[-3:] for row in rows[:2]] == [["as", "it", "is"], [*rows[1][-3:-1], "best"]]
        found = json.loads(dragoman(*arguments, *tries, "--device", "cpu", "--json").out)
        assert found["lines"] == len(SOURCE)
        assert [trial["values"]["language_model.weight"] for trial in found["trials"]] == [0, 1, 20]
        values = [trial["score"]["value"] for trial in found["trials"]]
        assert found["best"] == {"language_model.weight": BEST}
        assert found["trials"][1]["score"]["confidence"]["mean"] == pytest.approx(100)
        assert found["comparison"]["difference"] == pytest.approx(values[1] - values[0])
        assert found["output"] == str(output)
        assert read_system(output).plain()["language_model"]["weight"] == BEST
        stdin = ("\n".join(SOURCE) + "\n").encode()
        translated = dragoman("translate", "--system", output, stdin=stdin)
        assert translated.out.splitlines() == references_of(folder)

    def test_a_run_has_its_own_dev_set_and_keeps_its_test_set(
        self, trained: Path, text: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        outcome = dragoman("tune", trained, "--try", "search.beam=1", "--json")
        found = json.loads(outcome.out)
        assert found["text"] == f"dev of {trained}"
        assert found["lines"] == 20
        assert found["output"] is None
        scores = json.loads((trained / "scores.json").read_text(encoding="utf-8"))
        assert found["trials"][0]["values"] == {"search.beam": 2}
        assert found["trials"][0]["score"]["value"] == pytest.approx(scores["dev"]["bleu"]["value"])
        checkpoint = max((trained / "checkpoints").iterdir())
        again = json.loads(dragoman("tune", checkpoint, "--try", "search.beam=1", "--json").out)
        assert again["text"] == f"dev of {checkpoint}"
        (tmp_path / "other.de").write_text("x\n", encoding="utf-8")
        refused = dragoman("tune", trained, text / "test.tsv", tmp_path / "other.de")
        assert "this is the test set news" in one_error(refused, 2)
        assert "chosen on it" in refused.err
        missing = dragoman("tune", trained / "model", "--try", "search.beam=1")
        assert "not a run, so it has no dev set" in one_error(missing, 2)

    def test_the_wrong_language_is_another_than_that_of_the_text(
        self, trained: Path, text: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        rows = [line.split("\t") for line in (text / "dev.tsv").read_text("utf-8").splitlines()]
        files = tmp_path / "dev.en", tmp_path / "dev.de"
        for file in files:
            column = rows[0].index(file.suffix[1:])
            file.write_text("".join(f"{row[column]}\n" for row in rows[1:]), encoding="utf-8")
        wanted = ("--try", "search.beam=1", "--metric", "wrong_language", "--json")
        for named in ([trained], [trained, *files], [trained / "model", *files]):
            outcome = dragoman("tune", *named, *wanted)
            assert outcome.code == 0, outcome.err
            signature = json.loads(outcome.out)["trials"][0]["score"]["signature"]
            assert "language:de" in signature
            assert ("among:de+en" in signature) == (trained in named)

    def test_a_metric_that_cannot_be_computed_is_told_before_anything_is_translated(
        self, folder: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Translator, "translate", None)
        files = folder / "dev.en", folder / "dev.de"
        for metric, what in (("wrong_language", "does not know it"), ("terms", "glossary")):
            outcome = dragoman("tune", folder / "model", *files, "--metric", metric)
            assert what in one_error(outcome, 2)
        outcome = dragoman("tune", folder / "model", *files, "--metric", "bracketing_f1")
        assert "bracketing_f1: references: line 1 is no tree" in one_error(outcome, 3)
        with monkeypatch.context() as patch:
            patch.setenv("SACREBLEU_SEED", "many")
            outcome = dragoman("tune", folder / "model", *files)
            assert "SACREBLEU_SEED='many': expected a whole number" in one_error(outcome, 2)
        options = ("--metric", "chrf", "--tokenize", "char")
        outcome = dragoman("tune", folder / "model", *files, *options)
        assert "--tokenize is read by --metric bleu" in one_error(outcome, 2)

    def test_a_glossary_in_tbx_has_the_languages_of_the_model(
        self, trained: Path, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        words = {"en": "seven", "de": "sieben"}
        terms = "".join(
            f'<langSec xml:lang="{language}"><termSec><term>{word}</term></termSec></langSec>'
            for language, word in words.items()
        )
        path = tmp_path / "terms.tbx"
        path.write_text(f"<tbx><conceptEntry>{terms}</conceptEntry></tbx>")
        run = tmp_path / "run"
        shutil.copytree(trained, run)
        config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        config["evaluation"] = {**config.get("evaluation", {}), "glossary": str(path)}
        config["evaluation"]["metrics"] = [*config["evaluation"].get("metrics", ["bleu"]), "terms"]
        (run / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        for name, line in (("text.en", "seven euros"), ("text.de", "sieben Euro")):
            (tmp_path / name).write_text(f"{line}\n", encoding="utf-8")
        files = tmp_path / "text.en", tmp_path / "text.de"
        for named in ([run], [run, *files]):
            tune = ("tune", *named, "--try", "search.beam=1", "--metric", "terms", "--json")
            outcome = dragoman(*tune)
            assert outcome.code == 0, outcome.err
            assert json.loads(outcome.out)["trials"][0]["score"]["name"] == "terms"

    def test_among_several_dev_sets_one_is_chosen(
        self, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        """By name, or by the language that the system asks for, whose tag it puts in front."""
        tags = "<2de>", "<2fr>"
        save_tiny_model(tmp_path / "run" / "model", seed=8, tags=tags)

        def part(target: str) -> dict[str, Any]:
            rows = ["en\t" + target, "a b c\tb b d", "d e\tc a"]
            path = tmp_path / f"{target}.tsv"
            path.write_text("\n".join(rows) + "\n", encoding="utf-8")
            sides = {"path": str(path), "source": "en", "target": target}
            languages = {"source_language": "en", "target_language": target}
            return {**sides, **languages, "transforms": [{"kind": "tag"}]}

        values = experiment()
        parts = part("de"), part("fr")
        values["data"] = {
            "train": list(parts),
            "dev": dict(zip(("one", "two"), parts, strict=True)),
        }
        write_experiment(tmp_path, values).rename(tmp_path / "run" / "config.yaml")
        tune = ["tune", tmp_path / "run", "--try", "search.beam=1", "--json"]
        refused = one_error(dragoman(*tune), 2)
        assert "its dev sets are dev_one, dev_two; choose one of them with --dev-set" in refused
        assert "its dev sets are" in one_error(dragoman(*tune, "--dev-set", "three"), 2)
        by_name = json.loads(dragoman(*tune, "--dev-set", "two").out)
        assert by_name["text"] == f"dev_two of {tmp_path / 'run'}"
        by_language = json.loads(dragoman(*tune, "--to", "fr").out)
        assert by_language["text"] == by_name["text"]
        scores = [trial["score"]["value"] for trial in by_name["trials"]]
        assert [trial["score"]["value"] for trial in by_language["trials"]] == scores
        assert by_language["system"]["target_language"] == "fr"
        text = text_of_run(TranslationSystem(models=(tmp_path / "run",)), "dev_two")
        assert text.sources == ["<2fr> a b c", "<2fr> d e"]
        assert (text.own_sources, text.languages) == (["a b c", "d e"], ("en", "fr"))
        system = TranslationSystem(models=(tmp_path / "run",), target_language="fr")
        assert text_of_run(system).sources == ["a b c", "d e"]
        pivot = {"language": "en", "models": (tmp_path / "run",)}
        through = TranslationSystem.model_validate({**system.plain(), "pivot": pivot})
        with pytest.raises(ConfigError, match="dev_two is in the pivot language en; name a SOURCE"):
            text_of_run(through)

    def test_wrong_arguments(self, folder: Path, dragoman: CommandLine, tmp_path: Path) -> None:
        model, files = folder / "model", [folder / "dev.en", folder / "dev.de"]
        recipe = write_experiment(tmp_path)
        for arguments, code, message in (
            ([model, files[0]], 2, "name both SOURCE and REFERENCE, or neither"),
            ([files[0], model, files[1]], 2, "after the MODELs name both SOURCE and REFERENCE"),
            ([folder / "nothing", *files], 3, "no such model, run or file"),
            ([model, *files, "--dev-set", "dev"], 2, "--dev-set names a dev set of the run"),
            ([model, *files, "--output", files[1]], 2, "this is an input, which would be"),
            ([model, *files, "--output", tmp_path], 2, "this is a directory; name a file"),
            ([model, *files, "--output", recipe], 2, "describes no translation system, and would"),
            (
                [model, *files, "--output", files[0] / "tuned.yaml"],
                6,
                "a file is where a directory",
            ),
            (files, 2, "name at least one MODEL or --system FILE"),
            (
                [model, *files, "--lm", folder / "lm", "--try", "search.beam=2"],
                2,
                "--lm: it takes no part in any setting; give its weight with --lm-weight",
            ),
        ):
            outcome = dragoman("tune", *arguments)
            assert message in one_error(outcome, code)
            assert "settings" not in outcome.err, "before anything is translated"
        assert files[1].read_text(encoding="utf-8").splitlines() == [*references_of(folder), ""]


def test_an_ensemble_may_be_log_linear(folder: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    system = tmp_path / "system.yaml"
    both = folder / "model", folder / "other"
    stdin = ("\n".join(SOURCE) + "\n").encode()
    options = "--ensemble", "log-linear", "--scores", "--write-system", system
    found = dragoman("translate", *both, *options, stdin=stdin)
    assert found.code == 0, found.err
    assert read_system(system).ensemble == "log-linear"
    with load(*both, ensemble="log-linear") as translator:
        expected = [best.score for best, *_ in translator.translate_nbest(SOURCE)]
    scores = [float(line.split("\t")[0]) for line in found.out.splitlines()]
    assert scores == pytest.approx(expected, abs=1e-4)
    alone = dragoman("translate", both[0], "--ensemble", "log-linear", stdin=stdin)
    assert "ensemble" in one_error(alone, 2)


def test_what_cannot_share_open_models_is_built_for_each_weight(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker processes, here without the processes."""
    tries = "language_model.weight=1"
    expected = tuning(folder, tries, lm=0.0).carry_out()
    build, built = Translator.of, list[TranslationSystem]()

    def alone(system: TranslationSystem, where: str) -> Translator:
        built.append(system)
        return build(system.model_copy(update={"workers": None}), where)

    monkeypatch.setattr(Translator, "of", alone)
    found = tuning(folder, tries, lm=0.0, workers=2).carry_out()
    assert [one.language_model and one.language_model.weight for one in built] == [None, None, 1]
    assert all(one.workers == 2 for one in built)
    assert [trial.translations for trial in found.trials] == [
        trial.translations for trial in expected.trials
    ]
    assert found.system.workers == 2


def test_trees_are_scored_with_the_tags_of_their_file(folder: Path, tmp_path: Path) -> None:
    """As by the run itself: without them, punctuation would count."""
    (tmp_path / "dev.trees").write_text("(S (NP (NN dogs)) (VP (VBP bark)) (. .))\n")
    save_tiny_model(tmp_path / "run" / "model", seed=8)
    values = experiment()
    part = {"path": str(tmp_path / "dev.trees"), "source": "words", "target": "brackets"}
    values["data"] = {"train": [part], "dev": part}
    write_experiment(tmp_path, values).rename(tmp_path / "run" / "config.yaml")
    text = text_of_run(TranslationSystem(models=(tmp_path / "run",)))
    assert text.references == ["(S (NP XX )NP (VP XX )VP XX )S"]
    assert text.scored == [["(S (NP NN )NP (VP VBP )VP . )S"]]
    system = TranslationSystem(models=(folder / "model",), device="cpu")
    lines = text_of_files(system, folder / "dev.en", folder / "dev.de")
    grid = read_grid(["search.beam=1,2"], has_language_model=False)
    other = replace(lines, scored=[SOURCE])
    for trial in Tuning(system, grid, other, CHRF).carry_out().trials:
        assert [trial.score] == score_corpus(trial.translations, [SOURCE], CHRF)


def test_a_dev_set_without_sources_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dev.de").write_text("a b\n", encoding="utf-8")
    save_tiny_model(tmp_path / "run" / "model")
    values = experiment()
    ways = [("en", "de"), ("de", "en")]
    pairs, made = str(tmp_path / "pairs.tsv"), {"kind": "back_translation"}
    tag: dict[str, Any] = {"kind": "tag"}
    directions = [{"source_language": one, "target_language": other} for one, other in ways]
    values["data"]["train"] = [
        {"path": pairs, "source": one, "target": other, "transforms": [tag], **direction}
        for (one, other), direction in zip(ways, directions, strict=True)
    ]
    values["data"]["dev"] = {
        "target": str(tmp_path / "dev.de"),
        "transforms": [made, tag],
        **directions[0],
    }
    del values["data"]["test"]
    values["training"]["best_metric"] = "round_trip"
    write_experiment(tmp_path, values).rename(tmp_path / "run" / "config.yaml")
    with pytest.raises(ConfigError, match="its dev set dev has no sources to translate; name"):
        text_of_run(TranslationSystem(models=(tmp_path / "run",)))


def test_prefix_and_tags_are_the_systems(folder: Path, tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "model", seed=5, tags=("<2de>", "<2fr>"))
    options: dict[str, Any] = {"target_language": "fr", "prefix": "d"}
    text = DevText("lines", SOURCE, SOURCE, [SOURCE], SOURCE, ("en", "de"))
    grid = read_grid(["search.beam=2"], has_language_model=False)
    for language in ("de", "fr"):
        options["target_language"] = language
        system = TranslationSystem(models=(tmp_path / "model",), device="cpu", **options)
        found = Tuning(system, grid, text, CHRF).carry_out()
        with load(tmp_path / "model", device="cpu", **options) as translator:
            assert found.trials[1].translations == translator.translate(SOURCE, beam=2)
    with load(tmp_path / "model", device="cpu") as translator:
        assert found.trials[1].translations != translator.translate(SOURCE, beam=2, prefix="d")
        assert found.trials[1].translations != translator.translate(
            [f"<2fr> {line}" for line in SOURCE], beam=2
        )
