"""The command that cuts short segments out of training text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.text.segments import SegmentTable

PAIRS = [
    ("Restart the access point", "Den Zugangspunkt neu starten"),
    ("The access point is offline", "Der Zugangspunkt ist offline"),
    ("Remove the device now", "Das Gerät jetzt entfernen"),
    ("The device is offline", "Das Gerät ist offline"),
]
CONFIG = """
data:
  train: [{parts}]
  dev: {{path: dev.tsv, source: en, target: de, source_language: en, target_language: de}}
"""
PART = "{path: train.tsv, source: en, target: de, source_language: en, target_language: de%s}"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    lines = ["en\tde", *(f"{one} {n}\t{two} {n}" for n in range(9) for one, two in PAIRS)]
    (tmp_path / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("en\tde\nOne line\tEine Zeile\n", encoding="utf-8")
    path = tmp_path / "my.yaml"
    path.write_text(CONFIG.format(parts=PART % ""), encoding="utf-8")
    return path


def test_segments_are_written_that_a_transform_reads(
    config: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    output = tmp_path / "new" / "segments.tsv"
    outcome = dragoman("segments", config, "--output", output, "--json")
    found = json.loads(outcome.out)
    assert found["pairs"] == 36 and found["pairs_left_out"] == 0 and outcome.code == 0
    lines = output.read_text("utf-8").splitlines()
    assert lines[0] == "source\ttarget" and len(lines) == found["segments"] + 1
    assert {"device\tGerät", "access point\tZugangspunkt", "offline\toffline"} <= set(lines)
    assert f"{found['segments']} segments from 36 pairs: {output}" in outcome.err
    within = SegmentTable.read(output).within("My device", "Mein Gerät")
    assert within == [("device", "Gerät")]
    single = dragoman("segments", config, "--output", output, "--maximum-words", 1)
    assert single.code == 0 and single.out == ""
    assert " " not in "".join(line.split("\t")[0] for line in output.read_text("utf-8").split("\n"))


def test_a_dash_is_standard_output_which_has_no_room_for_counts(
    config: Path, tmp_path: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = dragoman("segments", config, "--output", "-")
    assert printed.out.startswith("source\ttarget\n") and not Path("-").exists()
    assert dragoman("segments", config).out == printed.out
    refused = one_error(dragoman("segments", config, "--json"), 2)
    assert "name a file for them by --output" in refused


def test_no_input_is_overwritten(config: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == 3
    for path in before:
        refused = one_error(dragoman("segments", config, "--output", path), 2)
        assert f"--output {path}: this is an input" in refused
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_filters_of_the_parts_count(config: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    part = PART % ", transforms: [{kind: filter, last_line: 5}]"
    config.write_text(CONFIG.format(parts=part), encoding="utf-8")
    outcome = dragoman("segments", config, "--output", tmp_path / "s.tsv", "--minimum-count", 1)
    assert "segments from 4 pairs" in outcome.err
    rare = dragoman("segments", config, "--output", tmp_path / "t.tsv", "--minimum-count", 5)
    assert "no segment occurs 5 times in 4 pairs; lower --minimum-count" in one_error(rare, 3)
    assert not (tmp_path / "t.tsv").exists()


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (
            f"{PART % ''}, {{path: train.tsv, source: de, target: en, source_language: de, "
            "target_language: en}",
            "segments are of one direction, and data.train has en-de, de-en",
        ),
        (
            "{target: train.tsv, target_language: de, source_language: de, "
            "transforms: [{kind: copy}]}",
            "data.train has no pairs",
        ),
        (PART.replace("train.tsv", "none.tsv") % "", "none.tsv"),
    ],
)
def test_text_without_pairs_of_one_direction_is_refused(
    config: Path, tmp_path: Path, dragoman: CommandLine, parts: str, problem: str
) -> None:
    config.write_text(CONFIG.format(parts=parts), encoding="utf-8")
    outcome = dragoman("segments", config, "--output", tmp_path / "s.tsv")
    assert outcome.code in {2, 3} and problem in one_error(outcome, outcome.code)
    assert not (tmp_path / "s.tsv").exists()


def test_a_run_in_place_of_its_configuration(
    config: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    (tmp_path / "run").mkdir()
    outcome = dragoman("segments", tmp_path / "run", "--output", tmp_path / "s.tsv")
    said = f"{tmp_path / 'run'}: this is a directory; name a configuration file"
    assert one_error(outcome, 2).endswith(said)
    config.rename(tmp_path / "run" / "config.yaml")
    outcome = dragoman("segments", tmp_path / "run", "--output", tmp_path / "s.tsv")
    assert one_error(outcome, 2).endswith(f"{said}, such as {tmp_path / 'run' / 'config.yaml'}")
