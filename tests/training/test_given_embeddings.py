"""Embeddings that begin with vectors from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from tiny_model import LINES, TINY_LM

from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.models import FAMILIES, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.recipe.reading import relocated
from dragoman.saved.model import build_model
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.text.word_vectors import WordVectors, write_vectors
from dragoman.training.given_embeddings import (
    EmbeddingsConfig,
    check_embeddings,
    digest_of_embeddings,
    fix_embeddings,
    take_embeddings,
    unfit_embeddings,
)
from dragoman.training.settings import TrainingConfig

WIDTH = 8
TINY = TransformerConfig(
    encoder_layers=1, decoder_layers=1, d_model=WIDTH, d_ff=8, heads=2, embeddings="separate"
)


def vocabularies(*, joint: bool) -> Vocabularies:
    pairs = [(line, line.upper()) for line in LINES]
    config = VocabularyConfig(size=25 if joint else 15, joint=joint)
    return train_vocabularies(pairs, config, seed=1)


def vectors(path: Path, words: list[str], seed: int = 1, width: int = WIDTH) -> np.ndarray:
    """Write random vectors of some words, and return them as they are read."""
    matrix = np.random.default_rng(seed).normal(size=(len(words), width)).astype(np.float32) * 5
    write_vectors(path, WordVectors(tuple(words), matrix))
    return matrix


def model(pieces: Vocabularies, config: Any = TINY, seed: int = 3) -> TranslationModel:
    torch.manual_seed(seed)
    return build_model(config, pieces)


def rows(pieces: Vocabularies, side: str, words: list[str]) -> list[int]:
    known = getattr(pieces, side)
    ids = {piece: n for n, piece in enumerate(known.pieces(range(len(known))))}
    return [ids[word] for word in words]


def mean_square(values: torch.Tensor) -> float:
    return float(values.detach().double().square().mean())


def test_each_side_gets_its_file_and_other_rows_stay(tmp_path: Path) -> None:
    pieces = vocabularies(joint=False)
    source = vectors(tmp_path / "s.vec", ["▁a", "▁b", "none", "▁c"])
    target = vectors(tmp_path / "t.vec.gz", ["▁C", "▁E"], seed=2)
    config = EmbeddingsConfig(source=str(tmp_path / "s.vec"), target=[str(tmp_path / "t.vec.gz")])
    fresh, taken = model(pieces), model(pieces)
    told = take_embeddings(taken, pieces, config)
    assert told[0].startswith(f"source embeddings: 3 of {len(pieces.source)} (")
    assert told[1].endswith("pieces have a vector in t.vec.gz")
    for side, words, given in (
        ("source", ["▁a", "▁b", "▁c"], source[[0, 1, 3]]),
        ("target", ["▁C", "▁E"], target),
    ):
        name = f"{side}_embedding.weight"
        before, after = fresh.get_parameter(name), taken.get_parameter(name)
        ids = rows(pieces, side, words)
        found = after[ids] / torch.from_numpy(given)
        torch.testing.assert_close(found, found.mean().expand_as(found), rtol=1e-4, atol=0)
        # The scale is the one that the family has drawn.
        assert mean_square(after[ids]) == pytest.approx(mean_square(before[ids]), rel=1e-5)
        others = [n for n in range(len(before)) if n not in ids]
        assert torch.equal(after[others], before[others])
    untouched = {n for n, _ in fresh.named_parameters() if "_embedding.weight" not in n}
    for name in untouched:
        assert torch.equal(taken.get_parameter(name), fresh.get_parameter(name))


def test_all_files_are_for_a_joint_vocabulary(tmp_path: Path) -> None:
    """A piece of two files gets their mean by Zipf's law: 1/1 at the first place, 1/3 at the
    third.
    """
    pieces = vocabularies(joint=True)
    one = vectors(tmp_path / "s.vec", ["▁a", "▁b"])
    other = vectors(tmp_path / "t.vec", ["▁E", "▁C", "▁a"], seed=2)
    config = EmbeddingsConfig(source=str(tmp_path / "s.vec"), target=str(tmp_path / "t.vec"))
    shared = model(pieces, TINY.model_copy(update={"embeddings": "shared"}))
    separate = model(pieces)
    assert len(take_embeddings(shared, pieces, config)) == 1
    assert len(take_embeddings(separate, pieces, config)) == 2
    ids = rows(pieces, "source", ["▁a", "▁b", "▁E", "▁C"])
    mean = (one[0] * 1 + other[2] / 3) / (1 + 1 / 3)
    expected = torch.from_numpy(np.stack([mean, one[1], other[0], other[1]]))
    for name, found in (*shared.named_parameters(), *separate.named_parameters()):
        if name.endswith("_embedding.weight"):
            scale = (mean_square(found[ids]) / mean_square(expected)) ** 0.5
            torch.testing.assert_close(found[ids], expected * scale, rtol=1e-3, atol=1e-5)
    assert shared.get_parameter("output.weight") is shared.get_parameter("source_embedding.weight")


def test_words_are_for_the_pieces_with_a_space(tmp_path: Path) -> None:
    pieces = vocabularies(joint=True)
    given = vectors(tmp_path / "words.vec", ["c", "a"])
    taken = model(pieces)
    take_embeddings(taken, pieces, EmbeddingsConfig(source=str(tmp_path / "words.vec")))
    weight, ids = taken.get_parameter("source_embedding.weight"), rows(pieces, "source", ["▁c"])
    expected = torch.from_numpy(given[:1])
    torch.testing.assert_close(
        torch.nn.functional.cosine_similarity(weight[ids], expected), torch.ones(1)
    )
    assert torch.equal(
        weight[rows(pieces, "source", ["▁b"])],
        model(pieces).get_parameter("source_embedding.weight")[rows(pieces, "source", ["▁b"])],
    )


SMALL: dict[str, dict[str, Any]] = {
    "transformer": {"encoder_layers": 1, "decoder_layers": 1, "d_ff": 8, "heads": 2},
    "recurrent": {"encoder_layers": 1, "decoder_layers": 1},
    "convs2s": {"encoder_layers": 1, "decoder_layers": 1, "d_hidden": 8},
    "bytenet": {"encoder_layers": 1, "decoder_layers": 1},
}


@pytest.mark.parametrize("family", SMALL)
def test_every_family_can_begin_with_them_and_keep_them(tmp_path: Path, family: str) -> None:
    pieces = vocabularies(joint=True)
    vectors(tmp_path / "s.vec", ["▁a", "▁b"])
    config = FAMILIES.find(family).model_validate({"d_model": WIDTH, **SMALL[family]})
    if "embeddings" in type(config).model_fields:
        config = config.model_copy(update={"embeddings": "separate"})
    own = model(pieces, config)
    given = EmbeddingsConfig(source=str(tmp_path / "s.vec"))
    assert len(take_embeddings(own, pieces, given)) == 2
    fix_embeddings(own, pieces, given)
    fixed = {name for name, weight in own.named_parameters() if not weight.requires_grad}
    assert fixed == {"source_embedding.weight", "target_embedding.weight"}


@pytest.mark.parametrize(("joint", "sharing"), [(True, "target"), (False, "separate")])
def test_neither_the_output_projection_nor_what_was_not_given_is_fixed(
    joint: bool, sharing: str
) -> None:
    pieces = vocabularies(joint=joint)
    own = model(pieces, TINY.model_copy(update={"embeddings": sharing}))
    fix_embeddings(own, pieces, EmbeddingsConfig(source="s.vec"))
    fixed = {name for name, weight in own.named_parameters() if not weight.requires_grad}
    assert fixed == {"source_embedding.weight"}


def test_what_does_not_fit(tmp_path: Path) -> None:
    pieces, path = vocabularies(joint=True), tmp_path / "s.vec"
    config = EmbeddingsConfig(source=str(path))
    with pytest.raises(DataError, match=r"s.vec: no such file"):
        check_embeddings(config, TINY)
    with pytest.raises(DataError, match=r"s.vec: cannot be read: .* \(training.embeddings\)"):
        digest_of_embeddings(config)
    vectors(path, ["x"], width=5)
    with pytest.raises(ConfigError, match=r"dimension 5, and model.d_model is 8; set .*d_model=5"):
        check_embeddings(config, TINY)
    vectors(path, ["x"])
    check_embeddings(config, TINY)
    with pytest.raises(ConfigError, match=r"no piece of the source vocabulary has a vector in s"):
        take_embeddings(model(pieces), pieces, config)
    for size in (0.0, 3e38):
        write_vectors(path, WordVectors(("▁a",), np.full((1, WIDTH), size, dtype=np.float32)))
        with pytest.raises(ConfigError, match=r"the vectors in s.vec are zeros, or too large; mak"):
            take_embeddings(model(pieces), pieces, config)
    vectors(path, ["x"])
    digest = digest_of_embeddings(config)
    begun = config.model_copy(update={"digest": digest})
    check_embeddings(begun, TINY)
    vectors(path, ["x"], seed=2)
    with pytest.raises(SavedError, match=r"not the vectors with which this run began"):
        check_embeddings(begun, TINY)
    check_embeddings(None, TINY)


def test_what_a_configuration_may_not_say() -> None:
    fixed = EmbeddingsConfig(source="s.vec", fixed=True)
    shared = TINY.model_copy(update={"embeddings": "shared"})
    (problem,) = unfit_embeddings(fixed, shared)
    assert problem.startswith("training.embeddings.fixed: with model.embeddings: shared")
    assert not list(unfit_embeddings(fixed, TINY))
    assert not list(unfit_embeddings(EmbeddingsConfig(source="s.vec"), shared))
    assert list(unfit_embeddings(fixed, TINY_LM.model_copy(update={"embeddings": "target"})))
    with pytest.raises(ValidationError, match="name the file of source or of target"):
        EmbeddingsConfig()
    with pytest.raises(ValidationError, match="both give embeddings"):
        TrainingConfig.model_validate({"start_from": "m", "embeddings": {"source": "s.vec"}})
    parts = {"start_from": {"model": "m", "parts": ["encoder"], "vocabulary": "new"}}
    TrainingConfig.model_validate({**parts, "embeddings": {"source": "s.vec"}})


def test_paths_become_absolute_and_the_card_names_files(tmp_path: Path) -> None:
    values = {"training": {"embeddings": {"source": "a.vec", "target": ["b.vec", 7]}}}
    moved = relocated(values, tmp_path)["training"]["embeddings"]
    assert moved == {"source": str(tmp_path / "a.vec"), "target": [str(tmp_path / "b.vec"), 7]}
    config = EmbeddingsConfig(source="x/a.vec", target="x/a.vec", fixed=True)
    assert config.story() == "Embeddings were initialised with a.vec, which were kept fixed."
