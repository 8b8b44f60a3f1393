"""Building the shortlist of a vocabulary from aligned text.

L'Hostis, Grangier and Auli 2016 ("Vocabulary Selection Strategies for Neural Machine Translation",
arXiv:1610.00072) compare selection strategies.  This is theirs by word alignments, with the most
frequent pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import in_shell
from dragoman.experiment import Experiment
from dragoman.run.run_directory import is_run
from dragoman.saved.model import config_of, vocabularies_of
from dragoman.saved.shortlist import Shortlist, ShortlistOrigin
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK, Vocabularies
from dragoman.text.vocabularies.piece_links import PieceLinks, PieceTable

LIKELIEST, FREQUENT = 50, 1000
"""Marian has 100 of either.  But the lists of a batch share their frequent pieces, which cost
little and give more (docs/results/translation-speed.md)."""
_TOGETHER = 1000
"""Pairs between two calls of ``progress``."""

IdPair = tuple[Sequence[int], Sequence[int]]


def pairs_of_run(run: Path, limit: int | None) -> tuple[Vocabularies, int, Iterator[IdPair]]:
    """The prepared training text of a run, which is read from the disk row by row.

    A limit takes pairs at even distances.

    Returns:
        Vocabularies, the number of pairs, and their ids.
    """
    if not is_run(run):
        raise ConfigError(
            f"{run}: not a run, so its training text is not known; name the text behind the model: "
            f"dragoman shortlist {in_shell(run)} FILES"
        )
    prepared = Experiment.open(run).prepare()
    store = prepared.store
    count = len(store) if limit is None else min(limit, len(store))
    rows = (number * len(store) // count for number in range(count))
    pairs = ((store.source(row).tolist(), store.target(row).tolist()) for row in rows)
    return prepared.vocabularies, count, pairs


def pairs_of_files(
    model: Path, part: CorpusPart, limit: int | None
) -> tuple[Vocabularies, Iterator[IdPair]]:
    """The pairs of files, or only the first ones, split by the vocabularies of a model."""
    vocabularies = vocabularies_of(model)

    def encoded() -> Iterator[IdPair]:
        pairs = islice(iter(read_pairs(part)), limit)
        while chunk := list(islice(pairs, _TOGETHER)):
            sources = vocabularies.source.encode_batch([pair.source for pair in chunk])
            targets = vocabularies.target.encode_batch([pair.target for pair in chunk])
            yield from zip(sources, targets, strict=True)

    return vocabularies, encoded()


def check_translation_model(model: Path) -> None:
    """Check that a model reads sources, whose pieces a shortlist needs."""
    config = config_of(model).model
    if not config.reads_source or config.writes_labels:
        raise ConfigError(f"{model}: not a translation model, so it has no use for a shortlist")


def count_links(
    vocabularies: Vocabularies,
    pairs: Iterable[IdPair],
    *,
    text: str,
    progress: Callable[[int], object] = lambda done: None,
) -> PieceLinks:
    """Align pairs of ids, which are read once, and count which pieces translate each other."""
    links = PieceLinks(*map(len, vocabularies))
    links.add(_counted(pairs, progress))
    if not links.pairs:
        raise DataError(f"{text}: no pairs with two sides, so there is nothing to learn from")
    return links


def build_shortlist(
    vocabularies: Vocabularies,
    links: PieceLinks,
    *,
    likeliest: int = LIKELIEST,
    frequent: int = FREQUENT,
    text: str,
) -> Shortlist:
    """The target pieces linked most often with each source piece.

    In addition, a piece in both vocabularies may be copied, and symbols, tags and single bytes
    are always allowed.

    Args:
        vocabularies: those of ``links``.
        links: of the training text.
        likeliest: target pieces for each source piece.
        frequent: most frequent target pieces, for all sentences.
        text: name of the training text.
    """
    target = vocabularies.target
    pieces = target.pieces(range(len(target)))
    spelled = [number for number, piece in enumerate(pieces) if _is_byte(piece)]
    symbols = [PAD, UNK, BOS, EOS, *target.tags, *spelled]
    always = np.unique(np.concatenate([symbols, links.frequent(frequent)]).astype(np.int64))
    origin = ShortlistOrigin(
        fingerprints=vocabularies.fingerprints,
        likeliest=likeliest,
        frequent=frequent,
        text=text,
        pairs=links.pairs,
    )
    table = with_copies(links.likeliest(likeliest), vocabularies)
    return Shortlist(table, always, origin)


def with_copies(table: PieceTable, vocabularies: Vocabularies) -> PieceTable:
    """The table with each source piece added to its own list if the target vocabulary has it."""
    source, target = vocabularies
    known = {piece: number for number, piece in enumerate(target.pieces(range(len(target))))}
    lists = []
    for number, piece in enumerate(source.pieces(range(len(source)))):
        likeliest, same = table.of(number), known.get(piece)
        if same is not None and same not in likeliest:
            likeliest = np.append(likeliest, same)
        lists.append(likeliest)
    starts = np.cumsum([0, *map(len, lists)])
    return PieceTable(starts, np.concatenate(lists).astype(np.int64))


def _is_byte(piece: str) -> bool:
    """Whether a piece stands for one byte, such as ``<0x0A>``."""
    return len(piece) == len("<0x00>") and piece.startswith("<0x") and piece.endswith(">")


def _counted(pairs: Iterable[IdPair], progress: Callable[[int], object]) -> Iterator[IdPair]:
    for done, pair in enumerate(pairs, 1):
        yield pair
        if done % _TOGETHER == 0:
            progress(done)
