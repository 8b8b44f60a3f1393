"""Makes ``sockeye/*``: tiny models of Sockeye 3.1.34, their logits and greedy translations.

Run in an environment with Sockeye 3.1.34 (``pip install --no-deps``), sentencepiece and PyTorch:
``python make_sockeye.py``.  Only the files that importing reads are kept.  Models are trained for
some steps on a few pairs of invented text, so that translations are not all alike.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import invented

HERE = Path(__file__).resolve().parent
MODELS = {
    "pre": "--shared-vocab --weight-tying-type src_trg_softmax",
    "post": "--transformer-preprocess= --transformer-postprocess=drn "
    "--transformer-activation-type gelu --transformer-positional-embedding-type learned "
    "--weight-tying-type trg_softmax --pad-vocab-to-multiple-of 4",
    "ssru": "--decoder ssru_transformer --transformer-activation-type swish1 "
    "--weight-tying-type none",
}
COMMON = (
    "-s train.src -t train.tgt -vs train.src -vt train.tgt -o model --use-cpu "
    "--num-layers 2:1 --transformer-model-size 12 --transformer-attention-heads 2 "
    "--transformer-feed-forward-num-hidden 14 --batch-type sentence --batch-size 8 "
    "--max-seq-len 30 --optimizer adam --initial-learning-rate 0.01 --learning-rate-warmup 1 "
    "--label-smoothing 0 --transformer-dropout-attention 0 --transformer-dropout-act 0 "
    "--transformer-dropout-prepost 0 --embed-dropout 0 --max-updates 300 "
    "--checkpoint-interval 300 --decode-and-evaluate 0 --seed 3 --num-words 100 "
    "--word-min-count 1 --learning-rate-scheduler-type none"
)
KEPT = ("params.best", "config", "version", "vocab.src.0.json", "vocab.trg.0.json")


def train(options: str) -> None:
    """Write the folder ``model``."""
    from sockeye.train import main

    sys.argv = ["sockeye-train", *COMMON.split(), *options.split()]
    main()


def translate(lines: list[str]) -> list[str]:
    """Greedy translations, as pieces, through the library's own program."""
    from sockeye.translate import main

    Path("in.txt").write_text("\n".join(lines) + "\n")
    sys.argv = [
        "sockeye-translate",
        "--models",
        "model",
        "--input",
        "in.txt",
        "--output",
        "out.txt",
        "--beam-size",
        "1",
        "--use-cpu",
        "--max-output-length",
        "24",
    ]
    main()
    return Path("out.txt").read_text().splitlines()


def logits(pairs: list[tuple[list[str], list[str]]]) -> tuple[list[Any], list[str]]:
    """Of every position of each target, begun with the start symbol; and the target pieces."""
    import torch
    from sockeye.model import load_model

    model, sources, targets = load_model("model", dtype="float32")
    model.eval()
    found = []
    for source, target in pairs:
        ids = [sources[0].get(piece, 1) for piece in [*source, "</s>"]]
        read = [targets[0].get(piece, 1) for piece in ["<s>", *target]]
        with torch.no_grad():
            scores = model(
                torch.tensor([ids]).unsqueeze(-1),
                torch.tensor([[len(ids), 0]]),
                torch.tensor([read]).unsqueeze(-1),
                torch.tensor([len(read)]),
            )["logits"][0]
        found.append([[round(x, 6) for x in row] for row in scores.tolist()])
    return found, sorted(targets[0], key=targets[0].__getitem__)


def main() -> None:
    """Write one folder for each model."""
    import sentencepiece

    for name, options in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            os.chdir(work)
            invented.write_pairs(work)
            splitter = sentencepiece.SentencePieceProcessor(
                model_file=str(work / "sentencepiece.model")
            )
            train(options)
            sources = [splitter.encode(line, out_type=str) for line in invented.QUESTIONS]
            greedy = translate([" ".join(source) for source in sources])
            targets = [splitter.encode(line, out_type=str) for line in invented.TARGET]
            pairs = list(zip(sources, targets, strict=False))[:2]
            output = HERE / "sockeye" / name
            shutil.rmtree(output, ignore_errors=True)
            output.mkdir(parents=True)
            for file in KEPT:
                shutil.copy(work / "model" / file, output)
            shutil.copy(work / "sentencepiece.model", output)
            scores, target_pieces = logits(pairs)
            expected = {
                "sources": list(invented.QUESTIONS),
                "greedy": [splitter.decode(line.split()) for line in greedy],
                "pairs": pairs,
                "logits": scores,
                "target_pieces": target_pieces,
                "pad": "<pad>",
            }
            (output / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
