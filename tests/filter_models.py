"""Tiny models of both directions, and pairs of letters for them."""

from __future__ import annotations

import random
from pathlib import Path

from tiny_model import TINY_LM, save_tiny_model

from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction

FORWARD = Direction(source_language="en", target_language="de", tags=())
REVERSE = Direction(source_language="de", target_language="en", tags=())


def save_models(folder: Path) -> dict[str, Path]:
    """A model of each direction, and two language models."""
    kinds = {
        "forward": save_tiny_model(folder / "forward", directions=(FORWARD,)),
        "reverse": save_tiny_model(folder / "reverse", directions=(REVERSE,), seed=2),
    }
    for seed, name in enumerate(("domain", "general"), 3):
        kinds[name] = save_tiny_model(folder / name, config=TINY_LM, seed=seed)
    return kinds


def letters(count: int = 23) -> list[tuple[str, str]]:
    """Pairs of a few letters, some of them empty."""
    rng = random.Random(count)

    def text() -> str:
        return " ".join(rng.choices("abcde", k=rng.randint(1, 6)))

    pairs = [(text(), text()) for _ in range(count)]
    return [("" if number % 11 == 7 else one, other) for number, (one, other) in enumerate(pairs)]


def write_pairs(folder: Path, pairs: list[tuple[str, str]] | None = None) -> CorpusPart:
    """A table of pairs."""
    path = folder / "pairs.tsv"
    rows = letters() if pairs is None else pairs
    path.write_text(
        "en\tde\n" + "".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8"
    )
    return CorpusPart(path=str(path), source="en", target="de")
