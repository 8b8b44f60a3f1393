from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

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
