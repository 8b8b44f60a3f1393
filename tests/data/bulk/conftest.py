"""A small corpus with everything that cleaning finds, in several formats."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from dragoman.core.zstandard import zstd
from dragoman.text.corpora.corpus_part import CorpusPart

WORDS = ("ein", "das", "haus", "baum", "hund", "katze", "läuft", "schläft", "gern", "heute", "nie")


def messy_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Pairs of which many occur again, near and far, and some are unfit."""
    rng = random.Random(seed)

    def sentence() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 8)))

    pairs = [(sentence(), sentence()) for _ in range(count)]
    for place in range(0, count, 5):
        pairs[place] = pairs[rng.randrange(count)]
    for place, pair in (
        (3, ("", "leer")),
        (7, ("das haus " * 300, "zu lang")),
        (11, ("ein hund\x07 läuft heute", "a dog")),
        (13, ("ein hund schläft heute", "ein hund schläft heute")),
        (17, ("x", "ein sehr viel längerer satz " * 4)),
        (19, ("heute " * 40, "heute " * 41)),
    ):
        pairs[place] = pair
    return pairs


def _text(pairs: list[tuple[str, str]], side: int) -> bytes:
    return "".join(f"{pair[side]}\n" for pair in pairs).encode()


@pytest.fixture(scope="session")
def messy_parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[CorpusPart, ...]:
    """Three parts: plain files compressed in two ways, JSON lines, and one for a language model."""
    folder = tmp_path_factory.mktemp("messy")
    one, two = messy_pairs(211, 1), messy_pairs(97, 2)
    two[20:40] = one[20:40]  # duplicates across parts, which are none within each
    (folder / "one.en.gz").write_bytes(gzip.compress(_text(one, 0)))
    (folder / "one.de.zst").write_bytes(zstd.compress(_text(one, 1)))
    rows = [json.dumps({"en": source, "de": target}) for source, target in two]
    (folder / "two.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "mono.de").write_bytes(_text(messy_pairs(50, 3), 1))
    return (
        CorpusPart(source=str(folder / "one.en.gz"), target=str(folder / "one.de.zst")),
        CorpusPart(
            path=str(folder / "two.jsonl"), source="en", target="de", weight=2.0, tags=("<two>",)
        ),
        CorpusPart(target=str(folder / "mono.de")),
    )
