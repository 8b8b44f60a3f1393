"""What a shortlist of the vocabulary saves, and what it costs in quality.

    shortlist.py speed                                     fresh weights, several vocabularies
    shortlist.py run RUN --source FILE --reference FILE    a trained run, lists of several sizes

``speed`` translates invented lines of 15 pieces into 15 pieces, each with a list of 800 pieces of
which neighbours share half.  ``run`` builds lists from the training text of the run, translates the
file in turn with each and without any, and prints the medians of sentences per second (loading
excluded), BLEU, the share of lines that are the same, and the share of the references' pieces that
the lists have: what is missing there cannot be written.  Both search in this process, on
``OMP_NUM_THREADS`` threads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from shared_material import SIZES, transformer

from dragoman.core.device import decide_precision, working_precision
from dragoman.evaluation.metrics import EvaluationConfig, score_corpus
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.saved.shortlist import Shortlist, ShortlistOrigin, write_shortlist
from dragoman.search import ModelScorer, SearchConfig
from dragoman.techniques.shortlist_building import build_shortlist, count_links, pairs_of_run
from dragoman.text.lines import read_lines
from dragoman.text.vocabularies import Vocabularies
from dragoman.text.vocabularies.piece_links import PieceTable
from dragoman.translation.engines.engine import SourceBatch, TorchEngine
from dragoman.translation.engines.packing import pack_weights
from dragoman.translation.engines.shortlisting import ShortlistedSearch
from dragoman.translation.translator import Translator

VOCABULARIES = (4000, 8000, 32_000)
LENGTH, BEAM = 15, 4
LIKELIEST = (20, 50, 100, 200)
ROUNDS = 3


def speed(size: str, lines: int, precision: Any) -> Iterator[str]:
    """Rows of Markdown: sentences per second by size of the vocabulary."""
    yield "| model, number type | pieces | on the lists of a batch | sentences/s | with lists | |"
    yield "|---|---:|---:|---:|---:|---:|"
    config = SearchConfig(
        beam=BEAM, minimum_length=LENGTH, maximum_length=LENGTH, degenerate="keep"
    )
    decided = decide_precision(precision, torch.device("cpu"))
    for pieces in VOCABULARIES:
        torch.manual_seed(1)
        model = Transformer(
            TransformerConfig.model_validate(transformer(size)), pieces, pieces
        ).eval()
        model.to(working_precision(decided, torch.device("cpu")))
        pack_weights(model)
        shortlist = invented(pieces)
        scorer = ModelScorer(model)
        sources = torch.randint(4, pieces, (lines, LENGTH - 1)).tolist()
        together = config.tokens_at_once // BEAM // LENGTH
        batches = [
            SourceBatch(list(range(first, first + len(part))), part)
            for first in range(0, lines, together)
            if (part := sources[first : first + together])
        ]
        listed = shortlist.allowed(batches[0].sources, pieces).any(0).sum()
        found = []
        for search in (None, ShortlistedSearch(scorer, shortlist, pieces)):
            engine = TorchEngine(scorer, [model], shortlist=search)
            next(engine.search(batches[:1], config))
            found.append(lines / median(seconds(engine, batches, config) for _ in range(ROUNDS)))
        yield (
            f"| {size}, {decided} | {pieces:,} | {listed:,} | {found[0]:,.1f} | {found[1]:,.1f} "
            f"| {found[1] / found[0]:.2f}x |"
        )


def seconds(engine: TorchEngine, batches: Sequence[SourceBatch], config: SearchConfig) -> float:
    """Of one search of all batches."""
    started = time.perf_counter()
    for _ in engine.search(batches, config):
        pass
    return time.perf_counter() - started


def invented(pieces: int) -> Shortlist:
    """As many pieces as a real list has: a batch of some hundred lines needs some thousand."""
    rng = np.random.default_rng(1)
    usual = rng.choice(np.arange(4, pieces), 400, replace=False)
    rows = [
        np.unique(np.concatenate([rng.choice(usual, 20), rng.integers(4, min(pieces, 3000), 6)]))
        for _ in range(pieces)
    ]
    starts = np.cumsum([0, *map(len, rows)])
    always = np.unique(np.concatenate([np.arange(4), usual[:100]]))
    origin = ShortlistOrigin(
        fingerprints=("", ""), likeliest=26, frequent=100, text="invented", pairs=0
    )
    return Shortlist(PieceTable(starts, np.concatenate(rows)), always, origin)


def quality(run: Path, source: Path, reference: Path, **options: Any) -> Iterator[str]:
    """Rows of Markdown: a run with lists of several sizes."""
    sources, references = list(read_lines(source)), list(read_lines(reference))
    plain = Translator.load(run, device="cpu", **options)
    translators, shares = {"none": plain}, {"none": 1.0}
    vocabularies, _, pairs = pairs_of_run(run, None)
    started = time.perf_counter()
    links = count_links(vocabularies, pairs, text=run.name)
    print(f"{links.pairs:,} pairs aligned in {time.perf_counter() - started:.0f} s\n")
    with TemporaryDirectory() as folder:
        for likeliest in LIKELIEST:
            shortlist = build_shortlist(vocabularies, links, likeliest=likeliest, text=run.name)
            file, name = Path(folder) / "shortlist.safetensors", str(likeliest)
            write_shortlist(file, shortlist)
            translators[name] = Translator.load(run, device="cpu", shortlist=file, **options)
            shares[name] = listed_share(shortlist, vocabularies, sources, references)
    times: dict[str, list[float]] = {name: [] for name in translators}
    found: dict[str, list[str]] = {}
    for _ in range(ROUNDS):
        for name, translator in translators.items():
            started = time.perf_counter()
            found[name] = translator.translate(sources)
            times[name].append(time.perf_counter() - started)
    yield "| likeliest pieces listed | sentences/s | | BLEU | lines the same | of the references |"
    yield "|---|---:|---:|---:|---:|---:|"
    usual = median(times["none"])
    for name, texts in found.items():
        (bleu,) = score_corpus(texts, [references], EvaluationConfig(metrics=("bleu",)))
        mine = median(times[name])
        same = sum(one == other for one, other in zip(texts, found["none"], strict=True))
        yield (
            f"| {name} | {len(sources) / mine:,.1f} | {usual / mine:.2f}x "
            f"| {bleu.value:.2f} | {same / len(sources):.1%} | {shares[name]:.2%} |"
        )


def listed_share(
    shortlist: Shortlist,
    vocabularies: Vocabularies,
    sources: Sequence[str],
    references: Sequence[str],
) -> float:
    """The share of the references' pieces that are on their lines' lists."""
    source = vocabularies.source.encode_batch(sources)
    target = vocabularies.target.encode_batch(references)
    allowed = shortlist.allowed(source, len(vocabularies.target))
    listed = [row[np.asarray(ids, np.int64)] for row, ids in zip(allowed, target, strict=True)]
    return float(np.concatenate(listed).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    fresh = commands.add_parser("speed")
    fresh.add_argument("--size", choices=SIZES, default="tiny")
    fresh.add_argument("--lines", type=int, default=512)
    trained = commands.add_parser("run")
    trained.add_argument("run", type=Path)
    trained.add_argument("--source", type=Path, required=True)
    trained.add_argument("--reference", type=Path, required=True)
    for command in (fresh, trained):
        command.add_argument("--precision", choices=["float32", "bfloat16", "auto"], default="auto")
    given = parser.parse_args()
    rows = (
        speed(given.size, given.lines, given.precision)
        if given.command == "speed"
        else quality(given.run, given.source, given.reference, precision=given.precision)
    )
    for row in rows:
        print(row, flush=True)


if __name__ == "__main__":
    main()
