"""Tables of speed: what was measured is printed, whatever was left out."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import bench  # noqa: E402
from contenders import Speed  # noqa: E402
from length import Cost  # noqa: E402
from shared_material import Material  # noqa: E402


def test_peers_alone_have_a_table() -> None:
    """With --only fairseq, after everything was measured, there is nothing to compare with."""
    speeds: dict[str, list[Speed]] = defaultdict(list)
    speeds["fairseq float32"].append(Speed(100.0, 2**30))
    *_, row = bench.training_table("tiny", speeds, {"float32": 10.0})
    assert row.startswith("| fairseq float32 | 100 | nanx | ")
    assert list(speeds) == ["fairseq float32"]


@pytest.fixture
def unmeasured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, Path]]:
    """The folders that a command is given, which then measures nothing."""
    seen: list[tuple[Path, Path]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(bench, "measure_peak", lambda _: {"float32": 10.0})
    monkeypatch.setattr(bench, "prepare", lambda scratch, _: Material(scratch))

    def trainers(material: Material, peers: Path, log: Path) -> list[object]:
        seen.append((material.folder, peers))
        return []

    monkeypatch.setattr(bench, "trainers", trainers)
    return seen


def test_folders_may_be_named_from_here(
    unmeasured: list[tuple[Path, Path]], tmp_path: Path
) -> None:
    """Contenders run elsewhere, so their programs and files need whole paths."""
    (tmp_path / "scratch").mkdir()
    given = ["--scratch", "scratch", "--peers", "peers", "training", "--size", "tiny"]
    found = CliRunner().invoke(bench.bench, given)
    assert found.exit_code == 0, found.output
    assert unmeasured == [(tmp_path / "scratch", tmp_path / "peers")]


@pytest.mark.parametrize(
    "options",
    [
        ["training", "--rounds", "0"],
        ["decoding", "--lines", "64"],
        ["decoding", "--lines", "-1"],
        ["data", "--pairs", "2000"],
    ],
)
def test_what_measures_nothing_is_refused(
    options: list[str], unmeasured: list[tuple[Path, Path]]
) -> None:
    """Start-up is excluded by what 64 lines take, so there must be more of them; and few pairs
    have no thousandth step in the middle of their epoch."""
    found = CliRunner().invoke(bench.bench, options)
    assert found.exit_code == 2
    assert f"Invalid value for '{options[1]}'" in found.output


def test_some_lengths_do_not_replace_the_picture_of_all(
    unmeasured: list[tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "ask", lambda *_: Cost(1.0, 1.0, 1.0)._asdict())
    CliRunner().invoke(bench.bench, ["length", "--pieces", "64"])
    names = ["length.md", "length.svg"]
    assert sorted(path.name for path in bench.RESULTS.iterdir()) == names
    before = (bench.RESULTS / "length.svg").read_bytes()
    CliRunner().invoke(bench.bench, ["length", "--pieces", "64", "--only", "full"])
    assert (bench.RESULTS / "length.svg").read_bytes() == before
    assert sorted(path.name for path in bench.RESULTS.iterdir()) == ["length-some.md", *names]
