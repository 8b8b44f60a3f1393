"""Marian's own program as an engine: texts, and sentences per second of processor time.

It runs in an environment of its own that has ``pymarian``; see ``loops/marian_itself.py``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dragoman.exchange.exporting import export_model
from dragoman.exchange.marian_files import MODEL_FILE
from dragoman.text.vocabularies import EOS

PROGRAM = Path(__file__).parent / "loops" / "marian_itself.py"
PRECISIONS = ("float32", "int8")
_BIAS = "decoder_ff_logit_out_b"


def timed(
    python: Path,
    model: Path,
    text: Sequence[str],
    precision: str,
    rounds: int,
    *,
    endless: bool = False,
    **options: Any,
) -> tuple[list[str], float]:
    """Translate with one thread; the best of the rounds, loading excluded.

    Args:
        python: the interpreter of that environment.
        endless: no output ends before its greatest length, ``max-length-factor`` times the source
            with its end symbol.
        options: of ``marian-decoder``, with underscores for hyphens.
    """
    with TemporaryDirectory() as folder:
        export, source = Path(folder) / "export", Path(folder) / "source"
        export_model(model, "marian", export)
        if endless:
            _never_end(export / MODEL_FILE)
        source.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        given: Mapping[str, Any] = {
            **{"rounds": rounds, "int8": precision == "int8", "cpu-threads": 1, "mini-batch": 64},
            **{name.replace("_", "-"): value for name, value in options.items()},
        }
        command = [str(part) for part in (python, PROGRAM, export, source, json.dumps(given))]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    found = json.loads(done.stdout.splitlines()[-1])
    return found["texts"], len(text) / found["processor"]


def _never_end(npz: Path) -> None:
    with np.load(npz) as archive:
        arrays = dict(archive)
    arrays[_BIAS][0, EOS] = -1e4
    np.savez(npz, **arrays)
