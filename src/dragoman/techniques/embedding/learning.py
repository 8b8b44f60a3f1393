"""Embeddings of the words or pieces of a text, by GenSim, an optional extra imported only here.

Skip-gram with negative sampling (Mikolov et al. 2013, arXiv:1310.4546), with the character n-grams
of fastText (Bojanowski et al. 2017, arXiv:1607.04606) or without.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import DataError, MissingExtraError
from dragoman.techniques.embedding.vectors_origin import Tokens
from dragoman.text.lines import read_lines
from dragoman.text.normalization import normalize
from dragoman.text.tokens import words
from dragoman.text.vocabularies import UNK, Vocabulary
from dragoman.text.word_vectors import WordVectors

_PACKAGE = "gensim"


class LearningConfig(Config):
    """How embeddings are learned; defaults as in fastText's published vectors, where they say."""

    kind: Literal["fasttext", "word2vec"] = "fasttext"
    """With character n-grams, which help rare words, or without."""
    dimension: int = Field(300, ge=2, le=10_000)
    """Length of the vectors."""
    epochs: int = Field(5, ge=1, le=10_000)
    """Passes over the text."""
    window: int = Field(5, ge=1, le=1000)
    """Maximum distance of words that predict one another."""
    minimum_count: int = Field(5, ge=1)
    """Words that occur less often get no vector."""
    sample: float = Field(1e-4, ge=0, le=1)
    """Words more frequent than this are passed over at random, more often the more frequent they
    are; 0 passes over none."""
    negative: int = Field(10, ge=1, le=1000)
    """Random words that each pair is told apart from."""
    buckets: int = Field(200_000, ge=1, le=10_000_000)
    """Vectors that the character n-grams share."""
    seed: int = Field(1, ge=0, lt=2**32)
    """Of initial vectors and samples."""
    workers: int = Field(1, ge=1, le=1024)
    """Threads; with more than one, the result differs from run to run."""


Splitter = Callable[[str], list[str]]
"""Splits a line into tokens."""


def splitter(tokens: Tokens, *, lowercase: bool, vocabulary: Vocabulary | None) -> Splitter:
    """The splitter of lines into tokens.  Only ``pieces`` need a vocabulary."""

    def prepared(line: str) -> str:
        return normalize(line).lower() if lowercase else normalize(line)

    if tokens == "words":
        return lambda line: words(prepared(line))
    if tokens == "spaces":
        return lambda line: prepared(line).split()
    assert vocabulary is not None

    def pieces(line: str) -> list[str]:
        ids = vocabulary.encode(line)
        return vocabulary.pieces(i for i in ids if i != UNK)

    return pieces


def leaving_out(split: Splitter, paths: Iterable[Path]) -> Splitter:
    """``split``, but without tokens for lines that also occur in some files.

    Lines are compared as in ``data.held_out``: white space, case and Unicode composition are
    ignored.
    """
    known = {normalize(line).casefold() for path in paths for line in read_lines(path)}
    return lambda line: [] if normalize(line).casefold() in known else split(line)


class _Text:
    """The tokens of some files, line by line, which can be read repeatedly."""

    def __init__(
        self, paths: Sequence[Path], split: Splitter, progress: Callable[[int], object]
    ) -> None:
        self._paths, self._split, self._progress = paths, split, progress
        self._read = 0
        self.lines = self.tokens = 0
        """Of the first pass."""

    def __iter__(self) -> Iterator[list[str]]:
        first = not self._read
        for path in self._paths:
            for line in read_lines(path):
                self._read += 1
                if self._read % 1000 == 0:
                    self._progress(self._read)
                if tokens := self._split(line):
                    if first:
                        self.lines, self.tokens = self.lines + 1, self.tokens + len(tokens)
                    yield tokens


def learn(
    paths: Sequence[Path],
    split: Splitter,
    config: LearningConfig,
    progress: Callable[[int], object] = lambda lines: None,
) -> tuple[WordVectors, dict[str, int]]:
    """Learn embeddings of the tokens of a text, whose files are read in order in each epoch.

    Returns:
        The vectors, and the number of ``lines`` and ``tokens`` that have any.
    """
    kinds = _gensim()
    text = _Text(paths, split, progress)
    options: dict[str, Any] = {"bucket": config.buckets} if config.kind == "fasttext" else {}
    model = kinds[config.kind](
        vector_size=config.dimension,
        window=config.window,
        min_count=config.minimum_count,
        negative=config.negative,
        sample=config.sample,
        sg=1,
        seed=config.seed,
        workers=config.workers,
        **options,
    )
    # Each token is an item of the dictionary that GenSim sorts by count, and equal counts keep the
    # order of the text.  So nothing depends on Python's hashes, which differ between processes.
    model.build_vocab(text)
    if not len(model.wv):
        names = ", ".join(str(path) for path in paths)
        raise DataError(
            f"{names}: no word occurs {config.minimum_count} times in {text.lines:,} lines; give "
            "more text, or lower --minimum-count"
        )
    model.train(text, total_examples=model.corpus_count, epochs=config.epochs)
    matrix = np.array(model.wv.vectors, dtype=np.float32)
    vectors = WordVectors(tuple(model.wv.index_to_key), matrix)
    return vectors, {"lines": text.lines, "tokens": text.tokens}


def _gensim() -> dict[str, Any]:
    """GenSim's classes by ``kind``."""
    try:
        from gensim.models import FastText, Word2Vec
    except ImportError as error:
        raise MissingExtraError.of(_PACKAGE, f"{_PACKAGE}>=4.4") from error
    logging.getLogger(_PACKAGE).setLevel(logging.ERROR)  # it warns of settings for large texts
    return {"fasttext": FastText, "word2vec": Word2Vec}
