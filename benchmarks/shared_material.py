"""What all contenders train on and translate: one text, one vocabulary, one set of batches."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import chain, cycle
from pathlib import Path

from dragoman.core.config import to_yaml
from dragoman.core.files import atomic_write

SIDES = ("en", "de")
BATCH_TOKENS = 4096
VOCABULARY = 8000

SIZES = {
    "tiny": {"layers": 4, "d_model": 128, "d_ff": 256, "heads": 4, "dropout": 0.3},
    "base": {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "dropout": 0.1},
}


@dataclass(frozen=True)
class Material:
    """Files of the benchmark, all below one folder."""

    folder: Path

    def pieces(self, part: str, side: str) -> Path:
        """Text split into pieces with spaces between, as the peers read it."""
        return self.folder / f"{part}.pieces.{side}"

    def text(self, part: str, side: str) -> Path:
        """Plain text."""
        return self.folder / f"{part}.{side}"

    @property
    def dictionary(self) -> Path:
        """Pieces and their counts, separated by a space."""
        return self.folder / "dictionary.txt"

    @property
    def batches(self) -> Path:
        """Padded ids of Dragoman's own batches, for the plain loops."""
        return self.folder / "batches.safetensors"

    def numbered(self, count: int) -> Path:
        """``count`` pairs: the training text repeated, with a number on each line.

        Returns:
            The files' common path, without ``.en`` and ``.de``.
        """
        path = self.folder / f"pairs.{count}"
        for side in SIDES:
            file = path.with_name(f"{path.name}.{side}")
            lines = cycle(self.text("train", side).read_text(encoding="utf-8").splitlines())
            if not file.exists():
                with atomic_write(file) as stream:
                    numbered = zip(range(count), lines, strict=False)
                    stream.writelines(f"{line} {number}\n" for number, line in numbered)
        return path

    def config(self, size: str) -> Path:
        """Dragoman's configuration."""
        return self.folder / f"{size}.yaml"


def prepare(folder: Path, multi30k: Path) -> Material:
    """Write everything that does not exist yet."""
    material = Material(folder)
    if material.batches.exists():
        return material
    if not multi30k.is_dir():
        sys.exit(f"{multi30k}: no such folder; get it with 'dragoman corpora get multi30k'")
    folder.mkdir(parents=True, exist_ok=True)
    for part, name in (("train", "train"), ("dev", "val"), ("test", "test_2016_flickr")):
        for side in SIDES:
            text = gzip.decompress((multi30k / f"{name}.{side}.gz").read_bytes())
            material.text(part, side).write_bytes(text)
    for size in SIZES:
        material.config(size).write_text(to_yaml(_experiment(material, size)), encoding="utf-8")
    run = folder / "prepared"
    dragoman("prepare", material.config("tiny"), "--run", run)
    _write_pieces(material, run)
    _write_batches(material, run)
    return material


def transformer(size: str) -> dict[str, float]:
    """Sizes by their keys in Dragoman's configuration."""
    shape = dict(SIZES[size])
    layers = shape.pop("layers")
    return {"encoder_layers": layers, "decoder_layers": layers, **shape}


def dragoman(*arguments: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as users do."""
    command = [sys.executable, "-m", "dragoman", *map(str, arguments)]
    return subprocess.run(command, check=True, **options)  # type: ignore[call-overload]


def _experiment(material: Material, size: str) -> dict[str, object]:
    def part(name: str) -> dict[str, str]:
        source, target = (str(material.text(name, side)) for side in SIDES)
        return {"source": source, "target": target}

    return {
        "source_language": "en",
        "target_language": "de",
        "data": {"train": [part("train")], "dev": part("dev")},
        "vocabulary": {"size": VOCABULARY},
        "model": {"family": "transformer", **transformer(size)},
        "training": {
            "step_tokens": BATCH_TOKENS,
            "log_steps": 5,
            "validation_steps": 1_000_000,
            "checkpoint_steps": 1_000_000,
            "average_checkpoints": 1,
        },
    }


def _write_pieces(material: Material, run: Path) -> None:
    from collections import Counter

    from dragoman.text.vocabularies import Vocabularies

    vocabulary = Vocabularies.load(run).source
    counts: Counter[str] = Counter()
    for part in ("train", "dev", "test"):
        for side in SIDES:
            lines = material.text(part, side).read_text(encoding="utf-8").splitlines()
            split = [vocabulary.pieces(ids) for ids in vocabulary.encode_batch(lines)]
            if part == "train":
                counts.update(piece for line in split for piece in line)
            text = "".join(" ".join(line) + "\n" for line in split)
            material.pieces(part, side).write_text(text, encoding="utf-8")
    rows = "".join(f"{piece} {count}\n" for piece, count in counts.most_common())
    material.dictionary.write_text(rows, encoding="utf-8")


def _write_batches(material: Material, run: Path, count: int = 60) -> None:
    import torch

    from dragoman.data.batches import Batches
    from dragoman.experiment import Experiment
    from dragoman.saved.weights import write_tensors

    prepared = Experiment.open(run).prepare()
    epoch = chain.from_iterable(Batches(prepared.store, BATCH_TOKENS, seed=1).epoch(0))
    tensors: dict[str, torch.Tensor] = {}
    for number, batch in zip(range(count), epoch, strict=False):
        tensors[f"{number}.source"] = batch.source
        tensors[f"{number}.target_input"] = batch.target_input
        tensors[f"{number}.target_output"] = batch.target_output
    size = len(prepared.vocabularies.target)
    write_tensors(material.batches, tensors, {"vocabulary": json.dumps(size)})
