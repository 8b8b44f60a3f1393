from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from project_trees import catalogue, write_tree

from dragoman.recipe import read_experiment
from dragoman.text.corpora.corpus import read_pairs
from dragoman.workflows.init import measure


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment of steps is enough where the speed does not matter."""
    monkeypatch.setattr(measure, "_SECONDS", 0.01)


@pytest.fixture
def many(text: Path, tmp_path: Path) -> Path:
    """A text in five languages without dev and test sets."""
    return Path(shutil.copy(text / "train.tsv", tmp_path / "many.tsv"))


@pytest.mark.usefixtures("fast")
def test_from_a_text_to_a_run(
    many: Path, dragoman: CommandLine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config, folder = tmp_path / "mine" / "my.yaml", tmp_path / "mine" / "my-text"
    call = ("init", many, "--source", "en", "--target", "ko", "--output", config)
    outcome = dragoman(*call)
    assert outcome.code == 0, outcome.err
    assert "pairs are few" in caplog.text
    assert f"dragoman doctor {config}\n  dragoman train {config}" in outcome.out
    for said in ("ko in Hangul", "en in Latin", "million parameters", "epochs", "minute"):
        assert said in outcome.out
    assert {path.name for path in folder.iterdir()} == {"train.tsv", "dev.tsv", "test.tsv"}

    experiment = read_experiment(config)
    assert (experiment.source_language, experiment.target_language) == ("en", "ko")
    assert not experiment.vocabulary.joint
    sets = [experiment.data.train[0], experiment.data.dev_sets["dev"], experiment.data.test["test"]]
    assert [Path(part.path or "").parent for part in sets] == [folder] * 3
    pairs = [list(read_pairs(part)) for part in sets]
    assert sum(map(len, pairs)) == 300
    sources = [{pair.source for pair in one} for one in pairs]
    assert not (sources[0] & sources[1] or sources[0] & sources[2] or sources[1] & sources[2])

    written = config.read_bytes()
    line = one_error(dragoman(*call), 2)
    assert f"{config}: exists already" in line
    config.unlink()
    assert f"{folder}: exists already" in one_error(dragoman(*call), 2)
    assert not config.exists()
    shutil.rmtree(folder)
    assert dragoman(*call).code == 0
    # Steps follow the speed, which is of the moment; the rest repeats.
    again = read_experiment(config)
    assert (again.vocabulary, again.data, again.evaluation) == (
        experiment.vocabulary,
        experiment.data,
        experiment.evaluation,
    )
    assert written
    prepared = dragoman("prepare", config, "--run", tmp_path / "run")
    assert prepared.code == 0, prepared.err


@pytest.mark.usefixtures("fast")
def test_what_init_writes_needs_no_advice_of_the_doctor(
    text: Path, many: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    config, dev = tmp_path / "my.yaml", tmp_path / "dev.tsv"
    dev.write_text("en\tde\nfive …\tfünf …\n" * 2, encoding="utf-8")
    sides = ("--source", "en", "--target", "de", "--output", config)
    assert dragoman("init", many, "--dev", dev, *sides).code == 0
    assert read_experiment(config).vocabulary.byte_fallback
    written = config.read_text(encoding="utf-8")
    assert "# dev or test has characters that the training text lacks" in written
    found = json.loads(dragoman("doctor", config, "--json").out)["findings"]
    assert not [one for one in found if "byte_fallback" in one["text"]]


@pytest.mark.usefixtures("fast")
def test_sets_that_are_given_are_not_split_off(
    text: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    config = tmp_path / "my.yaml"
    sides = ("--source", "en", "--target", "de", "--output", config, "--json")
    held = ("--dev", text / "dev.tsv", "--test", text / "test.tsv")
    outcome = dragoman("init", text / "train.tsv", *held, *sides)
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert (found["text"], found["model"]) == (None, "tiny")
    assert found["pairs"] == {"read": 300, "train": 300, "left_out": {}, "dev": 20, "test": 20}
    assert [path.name for path in tmp_path.iterdir()] == ["my.yaml"]
    experiment = read_experiment(config)
    assert experiment.data.train[0].path == str(text / "train.tsv")
    assert experiment.vocabulary.joint


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        (["many.tsv"], 2, "it has id, kind, en, de, fr, es, ko"),
        (["none.tsv"], 3, "no such file"),
        (["few.en", "few.de"], 3, "3 of 3 pairs"),
        (["few.en", "more.de"], 3, "lines"),
        (["few.en", "many.tsv"], 2, "many.tsv: a tsv file has both sides"),
    ],
)
def test_errors_leave_nothing_behind(
    files: list[str], code: int, said: str, many: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "few.en").write_text("a\nb\nc\n")
    (tmp_path / "few.de").write_text("d\ne\nf\n")
    (tmp_path / "more.de").write_text("d\ne\nf\ng\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    paths = [tmp_path / name for name in files]
    outcome = dragoman("init", *paths, "--output", tmp_path / "new" / "my.yaml")
    assert said in one_error(outcome, code)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in left if name != "new"] == before
    assert not list((tmp_path / "new").iterdir()) if (tmp_path / "new").exists() else True


def _localised(folder: Path, languages: dict[str, str]) -> Path:
    """A project of 200 strings in each language, told from one another by a word."""
    for language, word in languages.items():
        strings = {f"line {n} of the menu": f"{word} {n} {word.upper()}" for n in range(200)}
        content = catalogue(strings, fuzzy=("line 0 of the menu",))
        write_tree(folder, {f"locale/{language}/LC_MESSAGES/app.po": content})
    return folder


@pytest.mark.usefixtures("fast")
def test_a_project_is_read_where_it_is(dragoman: CommandLine, tmp_path: Path) -> None:
    folder = _localised(tmp_path / "project", {"de": "Zeile"})
    write_tree(folder, {"extra/de.po": catalogue({"line 1 of the menu": "anders"})})
    config = tmp_path / "my.yaml"
    outcome = dragoman("init", folder, "--source", "en", "--target", "de", "--output", config)
    assert outcome.code == 0, outcome.err
    found = "2 files, 200 pairs (1 unreviewed left out)"
    assert (
        f"Found:      en-de, gettext catalogues in {tmp_path.name}/project: {found}" in outcome.out
    )
    assert "Differing:  1 source has several translations" in outcome.out
    assert "'anders' (1, project/extra/de.po)" in outcome.out
    assert {path.name for path in (tmp_path / "my-text").iterdir()} == {"dev.tsv", "test.tsv"}
    assert "path: project" in config.read_text(encoding="utf-8")

    experiment = read_experiment(config)
    (part,) = experiment.data.train
    assert (part.format, part.source, part.target) == ("po-files", "en", "de")
    prepared = dragoman("prepare", config, "--run", tmp_path / "run")
    assert prepared.code == 0, prepared.err
    assert "held out" in prepared.out + prepared.err
    examined = dragoman("doctor", config, "--run", tmp_path / "run")
    assert re.search(r"ok +leakage: +\d+ pairs repeat a dev or test sentence and are", examined.out)
    before = len(list(read_pairs(part)))
    write_tree(folder, {"new/de.po": catalogue({"one more": "noch eins"})})
    assert len(list(read_pairs(part))) == before + 1

    as_json = dragoman(
        *("init", folder, "--source", "en", "--target", "de", "--output", tmp_path / "b.yaml"),
        *("--json", "--unreviewed"),
    )
    values = json.loads(as_json.out)
    assert values["found"][0]["pairs"] == 202
    assert values["contradictions"][0]["source"] == "line 1 of the menu"
    assert read_experiment(tmp_path / "b.yaml").data.train[0].unreviewed


@pytest.mark.usefixtures("fast")
def test_several_languages_share_a_model(dragoman: CommandLine, tmp_path: Path) -> None:
    folder = _localised(tmp_path / "project", {"de": "Zeile", "ko": "줄"})
    few = {f"line {n} of the menu": f"ligne {n}" for n in range(90)}
    write_tree(folder, {"locale/fr/LC_MESSAGES/app.po": catalogue(few)})
    config = tmp_path / "many.yaml"
    outcome = dragoman("init", folder, "--source", "en", "--target", "de,fr,ko", "--output", config)
    assert outcome.code == 0, outcome.err
    experiment = read_experiment(config)
    assert [part.target_language for part in experiment.data.train] == ["de", "fr", "ko"]
    assert list(experiment.data.dev_sets) == ["dev_en-de", "dev_en-fr", "dev_en-ko"]
    assert list(experiment.data.test) == ["en-de", "en-fr", "en-ko"]
    assert experiment.vocabulary.balance == 5
    assert "transforms:\n    - kind: tag\n  - path" in config.read_text(encoding="utf-8")
    sources = {
        name: {pair.source for pair in read_pairs(part)}
        for name, part in experiment.data.test.items()
    }
    assert sources["en-de"] == sources["en-ko"]
    prepared = dragoman("prepare", config, "--run", tmp_path / "run")
    assert prepared.code == 0, prepared.err

    line = one_error(
        dragoman("init", folder, "--source", "en", "--target", "de,fr", "--from", tmp_path), 2
    )
    assert "--target: a model is adapted to one language" in line


def test_languages_that_a_project_lacks(dragoman: CommandLine, tmp_path: Path) -> None:
    folder = _localised(tmp_path / "project", {"de": "Zeile"})
    line = one_error(dragoman("init", folder, "--source", "en", "--target", "fr"), 3)
    assert f"{folder}: no translations from 'en' into 'fr'; languages there: gettext" in line
