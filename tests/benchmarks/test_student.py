"""A student beside its teacher: the same lines, both figures, and what could not be measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tiny_model import LINES, save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.saved.system import TranslationSystem
from dragoman.translation.translator import Translator

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import student  # noqa: E402


@pytest.fixture
def measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[str, list[dict[str, object]]]:
    """What it prints and writes of a tiny student, whom nothing but float32 can express."""
    teacher = save_tiny_model(tmp_path / "teacher", seed=1)
    small = save_tiny_model(tmp_path / "small", seed=2)
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    opened = Translator.of

    def of(system: TranslationSystem) -> Translator:
        if system.engine == "ctranslate2" or system.precision == "int8":
            raise ConfigError("it has no such layer")
        return opened(system)

    monkeypatch.setattr(Translator, "of", of)
    given = ["--teacher", teacher, "--student", small, "--rounds", "1", "--lines", "5"]
    given += ["--source", tmp_path / "lines", "--reference", tmp_path / "lines"]
    arguments = [str(one) for one in (*given, "--json", tmp_path / "speed.json")]
    monkeypatch.setattr(sys, "argv", ["student.py", *arguments])
    student.main()
    rows = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    return capsys.readouterr().out, rows


def test_a_student_is_measured_beside_its_teacher(
    measured: tuple[str, list[dict[str, object]]],
) -> None:
    printed, (teacher, small) = measured
    assert (teacher["system"], teacher["times_teacher"]) == ("teacher, beam 5", 1.0)
    speeds = [row["sentences_per_second"] for row in (teacher, small)]
    assert all(isinstance(speed, float) and speed > 0 for speed in speeds)
    assert {"difference_low", "difference_high"} <= small.keys()
    assert "| small, greedy, pytorch, float32 |" in printed


def test_what_an_engine_cannot_express_is_said(
    measured: tuple[str, list[dict[str, object]]],
) -> None:
    problem = "Not measured: small, greedy, ctranslate2, int8: it has no such layer"
    assert problem in measured[0]
