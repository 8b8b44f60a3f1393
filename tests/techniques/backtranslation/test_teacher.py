"""``dragoman backtranslate --teacher``: a server translates in place of a reverse model."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_server import ApiServer, v1_server
from command_line import CommandLine, one_error

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.recipe import read_experiment
from dragoman.saved.model import has_model
from dragoman.techniques.backtranslation.backtranslation_config import BackTranslationConfig
from dragoman.techniques.backtranslation.rounds import filter_pairs

QUICK = ["--set", "evaluation.metrics=[chrf]", "--set", "training.max_steps=2"]
BOUND = "max_requests=1"


@pytest.fixture
def mono(tmp_path: Path) -> Path:
    path = tmp_path / "mono.de"
    lines = (f"hier steht Satz {number}" for number in range(1, 31))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def command(server: str, config: Path, mono: Path) -> list[object]:
    text = ["--monolingual", mono, "--ratio", 0.08, "--choice", "first"]
    teacher = ["--teacher", server, "--teacher-set", "check_language=false"]
    teacher += ["--teacher-set", "terms_of_use=May be used to train models."]
    run = ["--run", mono.with_name("work")]
    return ["backtranslate", config, *text, *run, *QUICK, *teacher]


def asked_of(server: ApiServer) -> list[str]:
    return [request.text for call in server.service.calls for request in call]


def test_goes_on_with_a_higher_bound_and_asks_for_no_line_twice(
    config: Path, mono: Path, dragoman: CommandLine
) -> None:
    """The bound is raised in the directory alone, whose settings name the teacher."""
    directory = mono.with_name("work")
    with v1_server(mono.parent) as server:
        stopped = dragoman(*command(server.address, config, mono), "--teacher-set", BOUND)
        assert "bound max_requests 1 is reached" in one_error(stopped, 12)
        assert not (directory / "round-1" / "forward").exists()
        assert "max_requests 1" in one_error(dragoman("backtranslate", directory), 12)
        finished = dragoman("backtranslate", directory, "--teacher-set", "max_requests=9", "--json")
        assert finished.code == 0, finished.err
        asked = asked_of(server)
        again = dragoman("backtranslate", directory, "--json")
        assert asked_of(server) == asked
    found = json.loads(finished.out)
    assert json.loads(again.out) == found
    assert found["settings"]["teacher"]["max_requests"] == 9
    (one,) = found["rounds"]
    assert one["reverse"] is None
    assert sorted(asked) == sorted(set(asked))
    card = (directory / "model" / "README.md").read_text(encoding="utf-8")
    assert f"{server.address}. Terms of use: May be used to train models." in card
    check_what_it_learned_from(directory, mono.read_text(encoding="utf-8").splitlines(), asked)


def check_what_it_learned_from(directory: Path, lines: list[str], asked: list[str]) -> None:
    """The first lines, whose sources are the server's; no reverse model or recipe was made."""
    synthetic = directory / "round-1" / "synthetic"
    with gzip.open(synthetic / "pairs.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(row) for row in stream]
    assert [row["target"] for row in rows] == lines[: len(rows)]
    assert {row["target"] for row in rows} == set(asked)
    assert 20 < len(rows) < 30
    assert all(row["source"] == f"{row['target'].upper()}en" for row in rows)
    assert all(row["method"] == "dragoman API" and "score" not in row for row in rows)
    report = json.loads((synthetic / "report.json").read_text(encoding="utf-8"))
    assert report["teacher"]["source_language"] == "de"
    assert report["lines"]["translated"] == len(rows)
    forward = read_experiment(directory / "round-1" / "forward" / "config.yaml")
    assert forward.data.train[1].path == str(synthetic / "pairs.jsonl.gz")
    assert has_model(directory / "round-1" / "forward")
    assert not (directory / "round-1" / "reverse").exists()
    assert not (directory / "reverse-recipe.yaml").exists()


def test_other_settings_of_the_teacher_are_refused(
    config: Path, mono: Path, dragoman: CommandLine
) -> None:
    directory = mono.with_name("work")
    with v1_server(mono.parent) as server:
        words = command(server.address, config, mono)
        assert dragoman(*words, "--teacher-set", BOUND).code == 12
        refused = dragoman(*words, "--teacher-set", "max_length_ratio=9")
        assert "began with teacher.max_length_ratio 4.0, not 9.0" in one_error(refused, 2)
        free = ("--teacher-set", "timeout=1", "--teacher-set", "concurrency=1")
        assert dragoman(*words, *free, "--teacher-set", BOUND).code == 12
        again = dragoman("backtranslate", directory, "--teacher-set", "no_such=1")
        assert "no_such" in one_error(again, 2)
        asked = len(server.service.calls)
        assert "--workers" in one_error(dragoman("backtranslate", directory, "--workers", 2), 2)
        assert len(server.service.calls) == asked
    settings = yaml.safe_load((directory / "backtranslation.yaml").read_text(encoding="utf-8"))
    assert (settings["teacher"]["timeout"], settings["teacher"]["concurrency"]) == (1.0, 1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--method", "greedy"], "method: greedy is not read with a teacher; remove it"),
        (["--beam", 5], "beam: 5 is not read with a teacher; remove it"),
        (["--method", "top-k", "--top-k", 5], "top_k: 5 is not read with a teacher; remove it"),
        (["--drop-worst", 0.1], "drop_worst: 0.1 is not read with a teacher; remove it"),
        (["--rounds", 2], "rounds: a teacher translates in one round"),
        (["--reverse", "."], "leave out teacher or reverse"),
        (["--teacher", "runs/one"], "neither an address nor a YAML file"),
        (["--teacher-set", "max_cost=1"], "max_cost: needs a price"),
    ],
)
def test_what_a_teacher_does_not_read_is_refused(
    options: list[object], problem: str, config: Path, mono: Path, dragoman: CommandLine
) -> None:
    refused = dragoman(*command("http://localhost:1", config, mono), *options)
    assert problem in refused.err
    assert refused.code == 2
    assert not mono.with_name("work").joinpath("backtranslation.yaml").exists()


def test_settings_of_a_teacher_need_one(config: Path, mono: Path, dragoman: CommandLine) -> None:
    words = ["backtranslate", config, "--monolingual", mono, "--run", mono.with_name("work")]
    line = one_error(dragoman(*words, "--teacher-set", BOUND), 2)
    assert "there is no teacher; name it with --teacher" in line


def test_languages_are_needed_before_anything_is_asked(
    config: Path, mono: Path, dragoman: CommandLine
) -> None:
    unnamed = ["--set", "source_language=source", "--set", "target_language=target"]
    words = command("http://localhost:1", config, mono)
    line = one_error(dragoman(*words, *unnamed), 2)
    assert "set source_language and target_language" in line


def test_paths_are_kept_so_that_it_resumes_from_elsewhere(
    config: Path, mono: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mono.parent)
    Path("terms.tsv").write_text("Satz\tsentence\n", encoding="utf-8")
    with v1_server(mono.parent) as server:
        words = command(server.address, config, mono)
        more = ["--teacher-set", "glossary=terms.tsv", "--teacher-set", BOUND]
        assert dragoman(*words, *more).code == 12
        monkeypatch.chdir("/")
        assert dragoman("backtranslate", mono.with_name("work")).code == 12
    file = mono.with_name("work") / "backtranslation.yaml"
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert settings["teacher"]["glossary"] == str(mono.with_name("terms.tsv"))


def test_of_pairs_without_scores_the_first_are_kept(config: Path, tmp_path: Path) -> None:
    corpus, output = tmp_path / "translated.jsonl.gz", tmp_path / "pairs.jsonl.gz"
    with gzip.open(corpus, "wt", encoding="utf-8") as stream:
        for number in range(5):
            row = {"source": f"number {number}", "target": f"Nummer {number}"}
            stream.write(json.dumps(row) + "\n")
    report = filter_pairs(corpus, read_experiment(config), output, drop_worst=0, limit=3)
    assert (report.kept, report.dropped) == (3, {"beyond the ratio": 2})
    with gzip.open(output, "rt", encoding="utf-8") as stream:
        assert [json.loads(row)["target"] for row in stream] == ["Nummer 0", "Nummer 1", "Nummer 2"]


def test_a_teacher_may_be_in_the_settings_only_with_what_it_reads() -> None:
    values: dict[str, Any] = {"monolingual": "/mono.de", "teacher": {"url": "http://a/v1"}}
    assert parse(BackTranslationConfig, values, "settings").teacher is not None
    with pytest.raises(ConfigError, match="drop_worst"):
        parse(BackTranslationConfig, {**values, "drop_worst": 0.5}, "settings")
