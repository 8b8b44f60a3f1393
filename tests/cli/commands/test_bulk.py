"""``dragoman bulk`` from the command line, in this process; test_cluster.py has Ray."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from tiny_model import save_tiny_model

from dragoman.cli.bulk_options import WorkMeter
from dragoman.core.processes import InProcessRunner
from dragoman.workflows.progress import INTERVAL_SECONDS

HERE = ("--workers", 0)


def test_prepare_is_what_prepare_does(config: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    assert dragoman("prepare", config, "--run", tmp_path / "alone").code == 0
    options = ("--run", tmp_path / "bulk", *HERE, "--shard-lines", 70)
    outcome = dragoman("bulk", "prepare", config, *options)
    assert outcome.code == 0, outcome.err
    assert "300 pairs read" in outcome.err
    assert f"dragoman train {config} --run {tmp_path / 'bulk'}" in outcome.out
    for file in (tmp_path / "alone").rglob("*"):
        if file.is_file() and file.name not in {".dragoman", "store.json"}:  # which has times
            other = tmp_path / "bulk" / file.relative_to(tmp_path / "alone")
            assert other.read_bytes() == file.read_bytes(), file
    before = (tmp_path / "bulk" / "data" / "store.json").stat().st_ino
    again = dragoman("prepare", config, "--run", tmp_path / "bulk")
    assert again.code == 0
    assert (tmp_path / "bulk" / "data" / "store.json").stat().st_ino == before


def test_clean_and_count(config: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    outcome = dragoman(
        "bulk", "clean", config, "--output", tmp_path / "text", *HERE, "--price-per-hour", 36000,
        "--json",
    )  # fmt: skip
    made = json.loads(outcome.out)
    assert made["output"] == [str(tmp_path / "text" / "part-1.jsonl.zst")]
    (part,) = made["parts"].values()
    assert part["read"] == 300
    assert made["cost"] == pytest.approx(36000 * made["machine_hours"], abs=36000 * 1e-4)
    outcome = dragoman("bulk", "count", config, "--output", tmp_path / "words", *HERE)
    assert outcome.code == 0, outcome.err
    lines = (tmp_path / "words" / "source.tsv").read_text(encoding="utf-8").splitlines()
    counts = [int(line.split("\t")[1]) for line in lines]
    assert counts == sorted(counts, reverse=True)
    outcome = dragoman("bulk", "clean", config, "--output", tmp_path / "words", *HERE)
    assert "holds source.tsv" in one_error(outcome, 2)


def test_translate(dragoman: CommandLine, tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    (tmp_path / "one").write_text("a b\n\nc d\n", encoding="utf-8")
    (tmp_path / "two.gz").write_bytes(gzip.compress(b"e d c\n" + b"a " * 5000 + b"\n"))
    arguments = ("--text", tmp_path / "one", "--text", tmp_path / "two.gz", *HERE)
    options = ("--output", tmp_path / "made", "--known", "target", "--shard-lines", 2)
    outcome = dragoman("bulk", "translate", model, *arguments, *options, "--json")
    assert outcome.code == 0, outcome.err
    made = json.loads(outcome.out)
    assert (made["refused"], made["empty"] + made["lines"]) == (1, 4)
    with gzip.open(made["output"], "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    texts = {1: "a b", 3: "c d", 4: "e d c"}
    assert {row["line"]: row["target"] for row in rows}.items() <= texts.items()
    assert sorted(path.name for path in (tmp_path / "made").iterdir() if path.name[0] != ".") == [
        "origin.json",
        "pairs.jsonl.gz",
    ]
    other = dragoman("bulk", "translate", model, *arguments, *options, "--beam", 3)
    assert "made with other settings" in one_error(other, 2)


class TestBadInput:
    def test_texts(self, config: Path, dragoman: CommandLine, tmp_path: Path) -> None:
        model = save_tiny_model(tmp_path / "model")
        (tmp_path / "text").write_bytes(b"a\n\xff\n")
        arguments = ("--text", tmp_path / "text", "--output", tmp_path / "made", *HERE)
        assert "text:2: not UTF-8" in one_error(dragoman("bulk", "translate", model, *arguments), 3)
        other = ("--set", "data.train=[{source: a, target: b}]", "--output", tmp_path / "made")
        for how in (HERE, ()):  # before a Ray is started
            outcome = dragoman("bulk", "clean", config, *other, *how)
            assert "No such file" in one_error(outcome, 3)

    def test_options(self, config: Path, dragoman: CommandLine, tmp_path: Path) -> None:
        output = ("--output", tmp_path / "made")
        outcome = dragoman("bulk", "clean", config, *output, "--workers", 2, "--cluster", "a:1")
        assert "name one" in one_error(outcome, 2)
        outcome = dragoman("bulk", "clean", config, *output, "--shard-lines", 0)
        assert outcome.code == 2
        outcome = dragoman("bulk", "translate", "--text", config, *output, *HERE)
        assert "name at least one MODEL" in one_error(outcome, 2)
        outcome = dragoman("bulk", "count", config, *output, *HERE, "--vocabulary", tmp_path)
        assert str(tmp_path) in one_error(outcome, 4)
        model = save_tiny_model(tmp_path / "model")
        arguments = ("bulk", "translate", model, "--text", config, *output, *HERE, "--gpus", 1)
        assert "choose by --device" in one_error(dragoman(*arguments), 2)
        assert not (tmp_path / "made").exists()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_directory_that_cannot_be_made(self, config: Path, dragoman: CommandLine) -> None:
        outcome = dragoman("bulk", "clean", config, "--output", "/made", *HERE)
        one_error(outcome, 6)


def test_shards_are_by_default_those_of_the_package() -> None:
    from dragoman.cli.commands import bulk as bulk_commands
    from dragoman.data.bulk.text_plan import SHARD_LINES as PAIRS
    from dragoman.translation.synthesis import SHARD_LINES as LINES

    assert (bulk_commands._SHARD_PAIRS, bulk_commands._SHARD_TRANSLATIONS) == (PAIRS, LINES)


class TestTheMeter:
    def test_adds_up_machines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [1000.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        runner = InProcessRunner()
        monkeypatch.setattr(runner, "machines", 4, raising=False)
        meter = WorkMeter(runner, 2.5)
        with meter.stage("cleaning", "pairs", 300, 100) as count:
            now[0] += 900
            count(150)  # a quarter of what was left
            said = meter._details(50, 200, 0.0)
        assert meter.values() == {"machine_hours": 1.0, "cost": 2.5}
        assert meter.summary() == "1.000 machine hours, cost 2.50"
        assert said == ["1.00 machine hours", "cost 2.50, 10.00 after this stage"]

    def test_says_it_in_the_lines_of_progress(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        now = [0.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        monkeypatch.setattr("dragoman.workflows.progress.monotonic", lambda: now[0])
        with WorkMeter(InProcessRunner(), 1.0).stage("encoding", "pairs", 1000) as count:
            now[0] += 2 * INTERVAL_SECONDS
            count(600)
        (line,) = capsys.readouterr().err.splitlines()
        assert line == (
            "dragoman: encoding: 600 of 1,000 pairs, 0.02 machine hours, cost 0.02, 0.03 after "
            "this stage, 10 pairs/s, 40 seconds left"
        )
