"""The engines side by side: every row is measured, and lines that differ are counted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from ending_model import sentences, write_model

from dragoman.translation.engines import automatic, verdicts
from dragoman.translation.engines.verdicts import EngineTrial

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import engines  # noqa: E402
import marian_program  # noqa: E402


def test_a_run_is_translated_by_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = vars(verdicts)
    monkeypatch.setitem(namespace, "write_json", namespace["write_json"])  # put back at the end
    monkeypatch.setattr(EngineTrial, "is_won", EngineTrial.is_won)
    for name, value in (("FEW", 1), ("ENOUGH", 1), ("COMPARED", 1)):
        monkeypatch.setattr(automatic, name, value)
    monkeypatch.setattr(verdicts, "LEAST_GAIN", 0.0)
    run, text = write_model(tmp_path / "run"), sentences(20)
    own, auto, *named = engines.same_text(run, text, 1, text)
    assert not list(run.rglob(verdicts.TRIALS_FILE))
    assert own.startswith("| pytorch | float32 | ")
    assert auto.startswith("| auto | float32 | ")
    assert " | 0 | 0 | " in auto
    assert auto.split(" | ")[-1] == own.split(" | ")[-1]  # BLEU
    assert [row.split(" | ")[:2] for row in named] == [
        [f"| {engine}", precision] for engine, precision in engines.ENGINES[1:]
    ]


def test_engines_are_timed_with_fresh_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PIECES", 60)
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 8, "heads": 2}
    monkeypatch.setattr(engines, "transformer", lambda _: sizes)
    monkeypatch.setattr(engines, "ENGINES", (("pytorch", "float32"), ("ctranslate2", "float32")))
    monkeypatch.setattr(engines, "LENGTH", 6)
    asked: list[list[str]] = []

    def timed(_: Path, __: Path, text: list[str], *___: object, **____: object) -> Any:
        asked.append(text)
        return text, 3.0

    monkeypatch.setattr(marian_program, "timed", timed)
    rows = engines.speed("small", sentences(80), 3, 1, ["float32"], Path("python"))
    first, second, *marians, conversion = rows
    assert [row.split(" | ")[1:4] for row in marians] == [
        ["marian", "float32", "3.0"],
        ["marian", "int8", "3.0"],
    ]
    assert [len(text) for text in asked] == [3, 3]
    assert first.startswith("| small | pytorch | float32 | ")
    assert first.endswith(" | 1.00x |")
    assert second.startswith("| small | ctranslate2 | float32 | ")
    assert conversion.startswith("| small | conversion | | ")
