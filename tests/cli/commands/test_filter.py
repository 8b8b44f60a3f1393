"""``dragoman filter`` as a user types it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from filter_models import letters, save_models, write_pairs


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture
def pair_table(tmp_path: Path) -> Path:
    return Path(write_pairs(tmp_path).path or "")


def scored(path: Path) -> list[dict[str, object]]:
    with gzip.open(path / "pairs.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def test_the_best_pairs_are_written(
    models: dict[str, Path], pair_table: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    output = tmp_path / "kept.tsv"
    command = ["filter", models["forward"], pair_table, "--reverse", models["reverse"]]
    outcome = dragoman(*command, "--keep", "0.5", "--output", output, "--device", "cpu")
    assert outcome.code == 0, outcome.err
    rows = scored(tmp_path / "kept.tsv.scores")
    assert len(rows) == len(letters())
    best = sorted(rows, key=lambda row: -float(str(row["score"])))[:11]
    lines = sorted(int(str(row["line"])) for row in best)
    given = [f"{one}\t{other}" for one, other in letters()]
    expected = ["en\tde", *(given[line - 2] for line in lines)]
    assert output.read_text(encoding="utf-8").splitlines() == expected
    said = outcome.out.splitlines()
    assert said[0] == "11 of 23 pairs are kept (47.8%)"
    assert said[1].split() == ["10", "dropped,", "low", "score"]
    assert said[2].split() == ["2", "dropped,", "empty"]
    assert "kept, next to the threshold:" in said
    assert "target tokens/s" in outcome.err
    # Another threshold scores nothing again.
    again = dragoman(*command, "--above", "0.01", "--output", output, "--json", "--device", "cpu")
    found = json.loads(again.out)
    assert found["tokens_per_second"] is None
    kept = [row for row in rows if float(str(row["score"])) > 0.01]
    assert (found["read"], found["kept"]) == (23, len(kept))
    assert 0 < len(kept) < 21
    assert found["output"] == [str(output)]
    assert len(output.read_text(encoding="utf-8").splitlines()) == len(kept) + 1


def test_two_plain_files_in_and_out(
    models: dict[str, Path], tmp_path: Path, dragoman: CommandLine
) -> None:
    pairs = [(one or "e", other) for one, other in letters()]
    files = [tmp_path / "web.en", tmp_path / "web.de"]
    for side, path in enumerate(files):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    outputs = [tmp_path / "kept.en.gz", tmp_path / "kept.de.gz"]
    options = ["--keep", "1", "--scores", tmp_path / "scores", "--quiet", "--device", "cpu"]
    command = ["filter", models["forward"], *files, "--reverse", models["reverse"]]
    outcome = dragoman(*command, *options, "--output", outputs[0], "--output", outputs[1])
    assert (outcome.code, outcome.err) == (0, "")
    found = [gzip.decompress(path.read_bytes()).decode().splitlines() for path in outputs]
    assert list(zip(*found, strict=True)) == pairs
    assert len(scored(tmp_path / "scores")) == 23
    # Only a report.
    outcome = dragoman(*command, *options)
    assert outcome.out.startswith("23 of 23 pairs")
    # By the models alone.
    options[options.index(tmp_path / "scores")] = tmp_path / "alone"
    assert dragoman(*command, *options, "--no-lengths").code == 0
    with_lengths, alone = scored(tmp_path / "scores"), scored(tmp_path / "alone")
    assert all("excess_length" in row for row in with_lengths)
    assert not any("excess_length" in row for row in alone)
    assert [row["forward"] for row in with_lengths] == [row["forward"] for row in alone]


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        (["--keep", "0.5"], 2, "--output FILE for the kept pairs, or --scores"),
        (["--output", "OUT"], 2, "either --keep SHARE or --above SCORE"),
        (["--keep", "0.5", "--above", "0.5", "--output", "OUT"], 2, "either --keep"),
        (["--keep", "0", "--output", "OUT"], 2, "--keep"),
        (["--keep", "0.5", "--output", "PAIRS"], 2, "an input, which would be overwritten"),
        (["--keep", "0.5", "--output", "OUT", "--output", "OUT"], 2, "or two plain files"),
        (["--keep", "0.5", "--output", "kept.xyz"], 2, "does not tell its format"),
        (["--keep", "0.5", "--output", "OUT", "--source", "fr", "--target", "de"], 3, "'fr'"),
        (["--keep", "0.5", "--output", "OUT", "--source", "de", "--target", "en"], 2, "de-en"),
        (["--keep", "0.5", "--output", "OUT", "--domain-lm", "X"], 2, "name both"),
        (["--above", "0.999", "--output", "OUT"], 3, "no pair scores above 0.999"),
        (["--keep", "1", "--output", "OUT", "--scores", "OUT"], 2, "in the directory of the sc"),
        (["--keep", "1", "--output", "IN", "--scores", "SCORES"], 2, "in the directory of the sc"),
    ],
)
def test_what_is_refused(
    models: dict[str, Path],
    pair_table: Path,
    tmp_path: Path,
    dragoman: CommandLine,
    *,
    changed: list[str],
    code: int,
    message: str,
) -> None:
    places = {"OUT": str(tmp_path / "kept.tsv"), "PAIRS": str(pair_table)}
    places |= {"SCORES": str(tmp_path), "IN": str(tmp_path / "x" / ".." / "pairs.jsonl.gz")}
    given = [places.get(word, word) for word in changed]
    command = ["filter", models["forward"], pair_table, "--reverse", models["reverse"]]
    line = one_error(dragoman(*command, *given, "--device", "cpu"), code)
    assert message in line
    assert not (tmp_path / "kept.tsv").exists()
    assert pair_table.read_text(encoding="utf-8").startswith("en\tde\n")


def test_unequal_files(models: dict[str, Path], tmp_path: Path, dragoman: CommandLine) -> None:
    files = [tmp_path / "web.en", tmp_path / "web.de"]
    for count, path in enumerate(files, 1):
        path.write_text("a b\n" * count, encoding="utf-8")
    command = ["filter", models["forward"], *files, "--reverse", models["reverse"]]
    line = one_error(dragoman(*command, "--keep", "0.5", "--scores", tmp_path / "scores"), 3)
    assert "1 lines" in line
    assert "web.de has 2" in line


def test_score_has_the_old_spelling(
    models: dict[str, Path], pair_table: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    given = [models["forward"], pair_table, "--reverse", models["reverse"], "--keep", "0.5"]
    given += ["--scores", tmp_path / "scores", "--device", "cpu", "--quiet"]
    assert dragoman("score", "--filter", *given) == dragoman("filter", *given)
    for option, value in (("--keep", "0.5"), ("--from", "en"), ("--reverse", models["reverse"])):
        line = one_error(dragoman("score", models["forward"], pair_table, option, value), 2)
        assert f"{option} needs --filter" in line
    assert "--keep" not in dragoman("score", "--help").out
    refused = one_error(dragoman("score", "--filter", models["forward"], pair_table), 2)
    assert refused.endswith("see 'dragoman filter --help'")


def test_models_come_before_the_pairs(pair_table: Path, dragoman: CommandLine) -> None:
    assert "name a MODEL" in one_error(dragoman("filter", pair_table, "--keep", "0.5"), 2)
