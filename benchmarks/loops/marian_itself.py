"""Marian's own program, on a model that ``dragoman export --to marian`` wrote.

    marian_itself.py EXPORT SOURCE '{"rounds": 2, "int8": true, "beam-size": 4, ...}'

It runs where ``pymarian`` is installed.  ``int8`` converts the weights for intgemm first; other
keys are options of marian-decoder.  The last line that it prints is JSON: the texts, and the least
seconds of processor time of the rounds, loading excluded.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import _pymarian


def main() -> None:
    export, source, given = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    rounds, int8 = given.pop("rounds"), given.pop("int8")
    weights = export / "model.npz"
    if int8:
        weights = export / "model.int8.bin"
        convert = ["convert", "-f", str(export / "model.npz"), "-t", str(weights)]
        _pymarian.main([*convert, "--gemm-type", "intgemm8"])
    options: dict[str, Any] = {"config": export / "decoder.yml", "models": weights, **given}
    line = " ".join(f"--{name} {value}" for name, value in options.items())
    translator = _pymarian.Translator(f"{line} --quiet --quiet-translation")
    lines = source.read_text("utf-8").splitlines()
    translator.translate(lines[:4])
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        texts = translator.translate(lines)
        seconds.append(time.process_time() - started)
    print(json.dumps({"texts": texts, "processor": min(seconds)}))


if __name__ == "__main__":
    main()
