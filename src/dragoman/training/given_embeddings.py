"""Initialising a model's embeddings with vectors from files, such as cross-lingual vectors.

Artetxe et al. 2018 (arXiv:1710.11041) keep such embeddings fixed in the encoder; Lample et al. 2018
(arXiv:1711.00043) continue to train them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import BeforeValidator, Field
from torch import Tensor, nn

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.core.files import content_digest
from dragoman.core.relocation import MODEL_PATH
from dragoman.models.interface import FamilyConfig, Side, TranslationModel
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies import Vocabularies, Vocabulary
from dragoman.text.word_vectors import each_vector, read_header

_KEY = "training.embeddings"
_SIDES: tuple[Side, ...] = ("source", "target")


def _several(value: Any) -> Any:
    """A path alone means one file."""
    return [value] if isinstance(value, str) else value


VectorFiles = Annotated[tuple[str, ...], MODEL_PATH, BeforeValidator(_several)]
"""The path of a file, or a list of them."""


class EmbeddingsConfig(Config):
    """Files of vectors that initialise embeddings, in word2vec's text format.

    `dragoman embed` makes them. Vectors are of the vocabulary's pieces; those of whole words
    initialise the pieces that are a word with the space before it.
    """

    source: VectorFiles = Field((), examples=["mapped/de.vec.gz"])
    """A file, or a list of them, for the embeddings of the source."""
    target: VectorFiles = Field((), examples=["mapped/en.vec.gz"])
    """The same for the target. With a joint vocabulary all files are for both sides; a piece in
    several files gets the mean of its vectors, with more weight for files where it is more
    frequent."""
    fixed: bool = False
    """Do not train the embeddings of these sides, including the random ones of pieces without a
    vector. A matrix that is also the output projection is never fixed."""
    digest: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    """Digest of the files, which the run records when training begins; other vectors are then
    refused. No need to set it."""

    def conflicts(self) -> Iterator[str]:
        """A section without any file."""
        if not self.files:
            yield "name the file of source or of target, or remove the section"

    @property
    def files(self) -> tuple[str, ...]:
        """All files, without repetition."""
        return tuple(dict.fromkeys((*self.source, *self.target)))

    def story(self) -> str:
        """A sentence for the model card, without the paths of this machine."""
        names = " and ".join(Path(name).name for name in self.files)
        digest = f" (digest {self.digest})" if self.digest else ""
        fixed = ", which were kept fixed" if self.fixed else ""
        return f"Embeddings were initialised with {names}{digest}{fixed}."


def unfit_embeddings(config: EmbeddingsConfig, model: FamilyConfig) -> Iterator[str]:
    """Reasons in a model's configuration why it cannot begin with these embeddings."""
    if model.components:
        yield (
            f"{_KEY}: model.family {model.family} is composed of models that have embeddings; "
            "remove it"
        )
    sharing = getattr(model, "embeddings", "separate")
    if config.fixed and (sharing == "shared" or (sharing == "target" and not model.reads_source)):
        yield (
            f"{_KEY}.fixed: with model.embeddings: {sharing} the only matrix is the output "
            "projection, too, which must learn; set model.embeddings: separate, or fixed: false"
        )


def digest_of_embeddings(config: EmbeddingsConfig) -> str:
    """A digest that identifies the vectors that training begins with.

    Raises:
        DataError: a file is missing or cannot be read.
        SavedError: they are not those that training began with.
    """
    digests = []
    for name in config.files:
        try:
            digests.append(content_digest(Path(name)))
        except OSError as error:
            raise DataError(f"{name}: cannot be read: {error.strerror} ({_KEY})") from error
    digest = hashlib.sha256(" ".join(digests).encode()).hexdigest()
    if config.digest not in {None, digest}:
        raise SavedError(
            f"{', '.join(config.files)}: not the vectors with which this run began (see "
            f"{_KEY}.digest); restore them, or begin another run"
        )
    return digest


def check_embeddings(config: EmbeddingsConfig | None, model: FamilyConfig) -> None:
    """Check before the work starts that the files, if any, exist and fit the model."""
    if config is None:
        return
    for name in config.files:
        _, dimension = read_header(name)
        if dimension != model.d_model:
            raise ConfigError(
                f"{_KEY}: {name} has vectors of dimension {dimension}, and model.d_model is "
                f"{model.d_model}; set model.d_model={dimension}, or train them with 'dragoman "
                f"embed train --dimension {model.d_model}'"
            )
    digest_of_embeddings(config)


@torch.no_grad()
def take_embeddings(
    model: TranslationModel, vocabularies: Vocabularies, config: EmbeddingsConfig
) -> list[str]:
    """Give the embeddings of ``model`` the vectors that :func:`check_embeddings` has checked.

    All rows taken for a matrix are multiplied by one number, so that their mean square equals that
    of the random rows that they replace.  This is the scale that a family expects, whether or not
    it multiplies its embeddings by the root of their width.

    Returns:
        A line for each matrix with the number of pieces that have a vector.

    Raises:
        ConfigError: no piece of a vocabulary has a vector, or vectors have length 0.
    """
    digest_of_embeddings(config)
    lines = []
    for side, weight in _matrices(model):
        if not (files := _files_for(side, vocabularies, config)):
            continue
        vocabulary = getattr(vocabularies, side)
        rows, vectors = _rows(files, vocabulary)
        names = ", ".join(Path(name).name for name in files)
        if not rows:
            raise ConfigError(
                f"{_KEY}: no piece of the {side} vocabulary has a vector in {names}; train vectors "
                "with 'dragoman embed train --vocabulary RUN'"
            )
        given = torch.from_numpy(vectors)
        size = _mean_square(given)
        if not 0 < size < torch.inf:
            raise ConfigError(
                f"{_KEY}: the vectors in {names} are zeros, or too large; make them again"
            )
        weight[rows] = given * (_mean_square(weight[rows]) / size) ** 0.5
        share = f"{len(rows):,} of {len(vocabulary):,} ({len(rows) / len(vocabulary):.0%})"
        lines.append(f"{side} embeddings: {share} pieces have a vector in {names}")
    return lines


def fix_embeddings(
    model: TranslationModel, vocabularies: Vocabularies, config: EmbeddingsConfig
) -> None:
    """Freeze given embeddings, except those that are also the output projection."""
    output = getattr(model, "output", None)
    learned = {id(p) for p in output.parameters()} if isinstance(output, nn.Module) else set()
    for side, weight in _matrices(model):
        if id(weight) not in learned and _files_for(side, vocabularies, config):
            weight.requires_grad_(False)


def _matrices(model: TranslationModel) -> Iterator[tuple[Side, nn.Parameter]]:
    """The embedding matrices without repetition; a matrix of both sides counts as the source's."""
    named = dict(model.named_parameters(remove_duplicate=False))
    seen: set[int] = set()
    for side in _SIDES:
        weight = named.get(f"{side}_embedding.weight")
        if weight is not None and id(weight) not in seen:
            seen.add(id(weight))
            yield side, weight


def _files_for(side: Side, vocabularies: Vocabularies, config: EmbeddingsConfig) -> tuple[str, ...]:
    """The files for a side's embeddings; all files for a joint vocabulary."""
    if vocabularies.joint:
        return config.files
    return config.source if side == "source" else config.target


def _mean_square(values: Tensor) -> Tensor:
    return values.double().square().mean().float()


def _rows(files: Sequence[str], vocabulary: Vocabulary) -> tuple[list[int], np.ndarray]:
    """Ids of the pieces that have a vector, and their vectors ``(ids, dimension)``.

    The files are sorted by frequency but hold no counts, so by Zipf's law a piece at place n has
    the weight 1/n.
    """
    vocabulary.require_space_signs("starting from embeddings of a file")
    pieces = {piece: id_ for id_, piece in enumerate(vocabulary.pieces(range(len(vocabulary))))}
    pieces = {piece: id_ for piece, id_ in pieces.items() if not vocabulary.atoms[id_]}
    sums: dict[int, np.ndarray] = {}
    weights: dict[int, float] = {}
    for name in files:
        for place, id_, vector in _found(name, pieces):
            sums[id_] = sums.get(id_, 0.0) + vector.astype(np.float64) / place
            weights[id_] = weights.get(id_, 0.0) + 1 / place
    ids = sorted(sums)
    return ids, np.array([sums[id_] / weights[id_] for id_ in ids], dtype=np.float32)


def _found(name: str, pieces: dict[str, int]) -> list[tuple[int, int, np.ndarray]]:
    """Rank, id and vector of each piece in a file of pieces, or of each word in a file of words."""
    whole = {piece[1:]: id_ for piece, id_ in pieces.items() if piece.startswith(SPACE_SIGN)}
    read = list(each_vector(name, wanted=pieces.keys() | whole.keys()))
    # No word of a text begins with the sign for a space, since normalisation removes it.
    of_pieces = any(word.startswith(SPACE_SIGN) for _, word, _ in read)
    ids = pieces if of_pieces else whole
    return [(place, ids[word], vector) for place, word, vector in read if word in ids]
