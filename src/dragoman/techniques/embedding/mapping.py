"""Maps the vectors of two files into one space, and writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.errors import ConfigError, DataError
from dragoman.techniques.embedding.nearest_vectors import unit
from dragoman.techniques.embedding.self_learning import (
    Mapped,
    Seed,
    SelfLearningConfig,
    WordPairs,
    map_once,
    normalised,
    pairs_from_dictionary,
    pairs_from_nothing,
    pairs_from_words,
    self_learn,
)
from dragoman.techniques.embedding.vectors_origin import (
    InputDigest,
    check_place,
    origin_file,
    read_origin,
    write_with_origin,
)
from dragoman.techniques.embedding.word_translation import check_dimensions
from dragoman.text.terms.bilingual_dictionary import read_dictionary
from dragoman.text.word_vectors import Matrix, WordVectors, read_vectors

_LEAST_SPREAD = 1e-5
"""Minimum spread of a dimension of unit vectors; smaller values are rounding errors."""


@dataclass(frozen=True)
class Mapping:
    """A mapping to learn, and the output files."""

    source: Path
    target: Path
    output: Path
    """Directory of the two files, which keep their names."""
    seed: Seed | None
    """The kind of the first dictionary; None for ``dictionary``."""
    dictionary: Path | None
    learning: SelfLearningConfig | None
    """Settings of self-learning; None to use the dictionary unchanged."""
    maximum: int | None = None
    """Maximum vectors to read from each file, the most frequent ones."""

    @property
    def outputs(self) -> tuple[Path, Path]:
        """The files to write."""
        return self.output / self.source.name, self.output / self.target.name

    def check(self) -> None:
        """Refuse results that would replace their inputs or one another, before the work starts."""
        if self.source.name == self.target.name:
            raise ConfigError(
                f"{self.source} and {self.target} have the same name, which they keep in "
                f"{self.output}; rename one of them"
            )
        read = [self.source, self.target, *filter(None, [self.dictionary])]
        written = [*self.outputs, *map(origin_file, self.outputs)]
        for path in read:
            if path.resolve() in {output.resolve() for output in written}:
                raise ConfigError(
                    f"--output {self.output} would replace {path}; choose another directory"
                )
        if len({*written}) < len(written):  # x and x.json
            raise ConfigError(
                f"{self.source} and {self.target}: what says how the one was made would be "
                "written to the other; rename one of them"
            )

    def carry_out(self, progress: Callable[[int], object]) -> dict[str, Any]:
        """Learn the mapping and write both files; returns figures for ``--json``."""
        self.check()
        paths = (self.source, self.target)
        origins = [read_origin(path) for path in paths]
        if origins[0].tokens != origins[1].tokens:
            raise DataError(
                f"{self.source} has vectors of {origins[0].tokens}, {self.target} of "
                f"{origins[1].tokens}; train both alike"
            )
        source, target = (read_vectors(path, maximum=self.maximum) for path in paths)
        check_dimensions(source, target)
        for path, vectors in zip(paths, (source, target), strict=True):
            _check_differ(path, vectors)
        x, z = normalised(source.matrix), normalised(target.matrix)
        first = self._first(source, target, x, z)
        for output in self.outputs:  # learning may take hours
            check_place(output)
        if self.learning is None:
            mapped = map_once(x, z, first)
        else:
            mapped = self_learn(x, z, first, self.learning, progress)
        figures = self._figures(first, mapped)
        inputs = tuple(InputDigest.of(path) for path in paths)
        for vectors, matrix, origin, output in zip(
            (source, target), (mapped.source, mapped.target), origins, self.outputs, strict=True
        ):
            settings = {**origin.settings, "map": figures}
            described = {"inputs": (*origin.inputs, *inputs), "settings": settings}
            mapped_vectors = vectors.with_matrix(matrix)
            write_with_origin(output, mapped_vectors, origin.model_copy(update=described))
        return {"output": [str(output) for output in self.outputs], **figures}

    def _first(self, source: WordVectors, target: WordVectors, x: Matrix, z: Matrix) -> WordPairs:
        if self.dictionary is not None:
            entries = read_dictionary(self.dictionary, source.words)
            return pairs_from_dictionary(entries, source, target, str(self.dictionary))
        assert self.seed is not None
        if self.seed == "nothing":
            return pairs_from_nothing(x, z)
        return pairs_from_words(self.seed, source, target)

    def _figures(self, first: WordPairs, mapped: Mapped) -> dict[str, Any]:
        return {
            "seed": self.seed if self.dictionary is None else self.dictionary.name,
            "seed_pairs": len(first.source),
            "learning": None if self.learning is None else self.learning.model_dump(),
            "iterations": mapped.iterations,
            "similarity": None if self.learning is None else mapped.similarity,
            "pairs": len(mapped.pairs.source),
        }


def _check_differ(path: Path, vectors: WordVectors) -> None:
    """Check that vectors differ; they are centred and scaled, which needs a spread."""
    spread = np.ptp(unit(vectors.matrix), axis=0)
    if spread.max(initial=0.0) < _LEAST_SPREAD:
        raise DataError(
            f"{path}: all its vectors point the same way, which says nothing about its words; "
            "train them on more text (dragoman embed train)"
        )
