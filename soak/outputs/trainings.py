"""Of each training: its log with all digits, and a digest of every tensor that it has written."""

from __future__ import annotations

import hashlib
from pathlib import Path

from safetensors import deserialize

from soak.outputs.workplace import Workplace

_TEXTS = ("config.yaml", "scores.json", "adaptation.json", "README.md")


def record(place: Workplace) -> None:
    """Average the last checkpoints of the plain run, adapt it, and record all runs."""
    place.need("average runs/plain --last 2 --output runs/averaged")
    place.need(
        "adapt runs/plain test.tsv --source en --target de --general train.tsv "
        "--general-dev dev.tsv --run runs/adapted --set training.max_steps=6 --quiet"
    )
    for run in sorted((place.folder / "runs").iterdir()):
        for path in sorted(path for path in run.rglob("*") if path.is_file()):
            name = f"trainings/{path.relative_to(place.folder / 'runs')}"
            if path.suffix == ".safetensors":
                place.keep(f"{name}.txt", digests(path))
            elif path.suffix == ".jsonl" or path.name in _TEXTS:
                place.keep(name, path.read_text("utf-8"))
            elif path.suffix in (".model", ".ids", ".offsets"):
                place.keep(f"{name}.txt", f"{_digest(path.read_bytes())}\n")


def digests(path: Path) -> str:
    """A line for each tensor of a file: name, type, shape, and the beginning of its SHA-256."""
    tensors = sorted(deserialize(path.read_bytes()))
    return "".join(
        f"{name} {tensor['dtype']} {tensor['shape']} {_digest(bytes(tensor['data']))}\n"
        for name, tensor in tensors
    )


def _digest(content: bytes) -> str:
    # Half of it, lest it be masked.
    return hashlib.sha256(content).hexdigest()[:32]
