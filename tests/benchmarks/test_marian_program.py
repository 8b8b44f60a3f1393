"""What Marian's program is asked for, by a stand-in for its Python package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ending_model import sentences, write_model

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import marian_program  # noqa: E402

STAND_IN = """
import numpy as np
from pathlib import Path

class Translator:
    def __init__(self, line):
        self.line = line
        folder = Path(line.split("--config ")[1].split(" ")[0]).parent
        self.bias = np.load(folder / "model.npz")["decoder_ff_logit_out_b"][0, 3]

    def translate(self, lines):
        return [f"{text}|{self.line}|{self.bias:g}" for text in lines]

def main(arguments):
    print("converted", arguments)
    Path(arguments[arguments.index("-t") + 1]).write_bytes(b"")
"""


def test_it_translates_an_export_with_the_given_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_pymarian.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    model = write_model(tmp_path / "model", timescales="tensor2tensor", begin="zeros")
    text = sentences(5)
    found, rate = marian_program.timed(Path(sys.executable), model, text, "float32", 1)
    assert rate > 0
    assert [one.split("|")[0] for one in found] == text
    line = found[0].split("|")[1]
    assert "model.npz --cpu-threads 1 --mini-batch 64 --quiet" in line
    found, _ = marian_program.timed(
        Path(sys.executable), model, text, "int8", 1, endless=True, max_length_factor=1
    )
    _, line, bias = found[-1].split("|")
    assert "model.int8.bin --cpu-threads 1 --mini-batch 64 --max-length-factor 1" in line
    assert float(bias) == -1e4
