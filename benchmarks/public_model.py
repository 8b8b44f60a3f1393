"""Memory and time of a public model's real size: import, trim, translate, adapt.

    public_model.py FOLDER --pairs PAIRS.tsv --from en --to ko

Writes a random model with the sizes of NLLB-200-distilled-600M (NLLB Team 2022), in the files of
Hugging Face, and runs the commands that users would: ``import``, ``import --languages``,
``translate`` and ``adapt --method lora``.  For each it prints the seconds and the peak of resident
memory.  Weights are random, so texts mean nothing; nothing else differs from the real model.
PAIRS.tsv has a header with the two languages.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path

import sentencepiece
import torch
from safetensors.torch import save_file

PIECES, WIDTH, LAYERS, HEADS, INNER = 256_000, 1024, 12, 16, 4096
CODES = ("eng_Latn", "kor_Hang", "deu_Latn", "jpn_Jpan")
_TRAINED = 32_000  # pieces that are trained on the text; all others are words that nobody uses


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--from", dest="source", required=True)
    parser.add_argument("--to", dest="target", required=True)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args(arguments)
    folder, pairs = options.folder, options.pairs.read_text("utf-8").splitlines()[1:]
    original = folder / "nllb"
    if not (original / "config.json").exists():
        make(original, [side for pair in pairs for side in pair.split("\t")[:2]])
    texts = {side: folder / f"text.{side}" for side in (options.source, options.target)}
    for column, path in enumerate(texts.values()):
        path.write_text("".join(f"{pair.split(chr(9))[column]}\n" for pair in pairs), "utf-8")
    lines = folder / "lines.txt"
    lines.write_text("".join(f"{pair.split(chr(9))[0]}\n" for pair in islice(pairs, options.lines)))
    whole, trimmed = folder / "whole", folder / "trimmed"
    languages = ["--from", options.source, "--to", options.target]
    measured("import", ["import", original, "--output", whole])
    measured(
        "import, two languages",
        [
            *("import", original, "--output", trimmed),
            *("--languages", f"{options.source},{options.target}"),
            *(word for path in texts.values() for word in ("--text", path)),
        ],
    )
    for name, model in (("whole", whole), ("trimmed", trimmed)):
        for precision in ("float32", "int8"):
            command = ["translate", model, *languages, "--beam", 1, "--precision", precision]
            measured(f"translate {options.lines} lines, {name}, {precision}", command, lines)
    domain, general = folder / "domain.tsv", folder / "general.tsv"
    head = f"{options.source}\t{options.target}\n"
    for path, some in ((domain, pairs[:1000]), (general, pairs[1000:])):
        path.write_text(head + "".join(f"{pair}\n" for pair in some), "utf-8")
    adapt = ["adapt", trimmed, domain, "--method", "lora", "--run", folder / "adapted"]
    adapt += ["--general", general, "--set", f"training.max_steps={options.steps}"]
    measured(f"adapt {options.steps} steps, trimmed, lora", adapt)


def make(folder: Path, text: list[str]) -> None:
    """The files of a random model."""
    folder.mkdir(parents=True)
    vocabulary = pieces(text)
    (folder / "sentencepiece.bpe.model").write_bytes(vocabulary)
    special = {"additional_special_tokens": list(CODES)}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    rows = PIECES + 1 + len(CODES) + 1
    config = {
        "model_type": "m2m_100", "vocab_size": rows, "d_model": WIDTH,
        "encoder_layers": LAYERS, "decoder_layers": LAYERS,
        "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": INNER, "decoder_ffn_dim": INNER, "activation_function": "relu",
        "scale_embedding": True, "max_length": 200,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    save_file(weights(rows), folder / "model.safetensors")


def pieces(text: list[str]) -> bytes:
    """A sentencepiece model of NLLB's size, some of whose pieces the text uses."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=written, vocab_size=_TRAINED,
        model_type="bpe", hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    spm = import_module("sentencepiece.sentencepiece_model_pb2")
    model = spm.ModelProto.FromString(written.getvalue())
    for number in range(PIECES - len(model.pieces)):
        model.pieces.add(piece=f"▁unused{number}", score=-float(_TRAINED + number))
    model.trainer_spec.vocab_size = len(model.pieces)
    return bytes(model.SerializeToString())


def weights(rows: int) -> dict[str, torch.Tensor]:
    """Random weights under the names of M2M100ForConditionalGeneration."""
    torch.manual_seed(1)

    def matrix(out: int, into: int) -> torch.Tensor:
        return torch.randn(out, into) * into**-0.5

    found = {"model.shared.weight": matrix(rows, WIDTH)}
    for side in ("encoder", "decoder"):
        attentions = ["self_attn"] + (["encoder_attn"] if side == "decoder" else [])
        norms = [f"{name}_layer_norm" for name in (*attentions, "final")]
        for layer in (f"model.{side}.layers.{number}" for number in range(LAYERS)):
            sizes = {
                f"{layer}.{name}.{part}": (WIDTH, WIDTH)
                for name in attentions
                for part in ("q_proj", "k_proj", "v_proj", "out_proj")
            }
            sizes |= {f"{layer}.fc1": (INNER, WIDTH), f"{layer}.fc2": (WIDTH, INNER)}
            for name, (out, into) in sizes.items():
                found[f"{name}.weight"] = matrix(out, into)
                found[f"{name}.bias"] = torch.zeros(out)
            for name in norms:
                found[f"{layer}.{name}.weight"] = torch.ones(WIDTH)
                found[f"{layer}.{name}.bias"] = torch.zeros(WIDTH)
        found[f"model.{side}.layer_norm.weight"] = torch.ones(WIDTH)
        found[f"model.{side}.layer_norm.bias"] = torch.zeros(WIDTH)
    return found


def measured(name: str, command: Sequence[object], stdin: Path | None = None) -> None:
    """Run a command; print its seconds and its peak of memory."""
    begun = time.monotonic()
    with (stdin or Path("/dev/null")).open("rb") as stream, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "dragoman", *map(str, command), "--quiet"],
            stdin=stream, stdout=subprocess.DEVNULL, stderr=errors,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        errors.seek(0)
        if status:
            sys.exit(f"{name}: {errors.read().decode()}")
    seconds = time.monotonic() - begun
    print(f"{name}: {seconds:.1f} s, peak {usage.ru_maxrss / 1e6:.1f} GB", flush=True)


if __name__ == "__main__":
    main()
