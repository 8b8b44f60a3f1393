"""Weights of another model: which are taken, and what is told of those that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from families import VARIATIONS

from dragoman.core.errors import ConfigError, SavedError
from dragoman.models import (
    ClassifierConfig,
    DeepFusionConfig,
    ModelConfig,
    TransformerConfig,
    TransformerLMConfig,
)
from dragoman.models.interface import Part, TranslationModel
from dragoman.saved.model import build_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.weights import weights_of
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.extension import extend_vocabularies, lineage
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.training.warm_start import (
    StartConfig,
    check_start,
    digest_of,
    parent_vocabularies,
    take_over,
)

SIZES: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 1,
    "d_model": 10,
    "d_ff": 13,
    "heads": 2,
}
CONFIG = TransformerConfig(**SIZES)
SEPARATE = TransformerConfig(**SIZES, embeddings="separate")
INPUTS = TransformerConfig(**SIZES, embeddings="inputs")


@cache
def vocabularies(joint: bool = True, words: str = "one two three four") -> Vocabularies:
    chance = Random(1)
    lines = [" ".join(chance.choices(words.split(), k=4)) for _ in range(60)]
    config = VocabularyConfig(size=22, joint=joint)
    return train_vocabularies([(line, f"{line} one") for line in lines], config, seed=1)


def fresh(config: ModelConfig, pieces: Vocabularies, seed: int = 0) -> TranslationModel:
    torch.manual_seed(seed)
    return build_model(config, pieces)


def saved(
    folder: Path, config: ModelConfig = CONFIG, pieces: Vocabularies | None = None
) -> dict[str, torch.Tensor]:
    """A parent in ``folder``, and its weights."""
    pieces = pieces or vocabularies()
    weights = weights_of(fresh(config, pieces, seed=7))
    save_model(folder, SavedConfig(model=config), pieces, weights)
    return weights


def started(
    config: ModelConfig, start: StartConfig, pieces: Vocabularies | None = None
) -> dict[str, torch.Tensor]:
    pieces = pieces or vocabularies()
    check_start(start, config)
    model = fresh(config, pieces)
    take_over(model, pieces, start)
    return weights_of(model)


FAMILIES = ["transformer, linear attention", "recurrent", "convs2s", "bytenet"]
FAMILIES += ["transformer_lm, source", "recurrent_lm, tied GRU", "deep_fusion"]


@pytest.mark.parametrize("name", FAMILIES)
def test_all_weights_of_any_family(name: str, tmp_path: Path) -> None:
    theirs = saved(tmp_path / "parent", VARIATIONS[name])
    found = started(VARIATIONS[name], StartConfig(model=str(tmp_path / "parent")))
    assert found.keys() == theirs.keys()
    assert all(torch.equal(found[key], theirs[key]) for key in theirs)


@pytest.mark.parametrize(
    "parts", [("encoder",), ("decoder",), ("embeddings",), ("encoder", "embeddings")]
)
def test_only_the_parts_that_are_named(parts: Sequence[Part], tmp_path: Path) -> None:
    theirs = saved(tmp_path, SEPARATE)
    found = started(SEPARATE, StartConfig(model=str(tmp_path), parts=tuple(parts)))
    model = fresh(SEPARATE, vocabularies())
    ours = weights_of(model)
    for name in theirs:
        expected = theirs if model.part_of(name) in parts else ours
        assert torch.equal(found[name], expected[name])
    assert any(not torch.equal(theirs[name], ours[name]) for name in theirs)


def test_embeddings_follow_their_pieces(tmp_path: Path) -> None:
    """One that the parent lacks is the mean of its parts there, or fresh."""
    theirs = saved(tmp_path, SEPARATE)
    pieces = [((f"{word} twofour öne", word), 1.0) for word in ("three", "threes", "fourths")] * 9
    wider = VocabularyConfig(size=34)
    extended = extend_vocabularies(vocabularies(), pieces, wider, seed=1)
    start = StartConfig(model=str(tmp_path), vocabulary="extend")
    found = started(SEPARATE, start, extended)
    ours = weights_of(fresh(SEPARATE, extended))
    origins = lineage(extended.source, vocabularies().source)
    assert {len(parts) for parts in origins} >= {0, 1, 2}
    for name in ("source_embedding.weight", "target_embedding.weight", "output.weight"):
        assert torch.equal(found[name][:22], theirs[name])
        for row, parts in enumerate(origins):
            expected = theirs[name][parts].mean(0) if parts else ours[name][row]
            assert torch.equal(found[name][row], expected)


def test_a_new_vocabulary_takes_the_embeddings_of_common_pieces(tmp_path: Path) -> None:
    theirs = saved(tmp_path)
    other = vocabularies(words="four three seven nine")
    found = started(CONFIG, StartConfig(model=str(tmp_path), vocabulary="new"), other)
    known = {piece: i for i, piece in enumerate(vocabularies().source.pieces(range(22)))}
    common = [(i, known[p]) for i, p in enumerate(other.source.pieces(range(22))) if p in known]
    assert 5 < len(common) < 22
    name = "source_embedding.weight"
    for ours, there in common:
        assert torch.equal(found[name][ours], theirs[name][there])


def test_one_matrix_may_become_three_and_not_the_other_way(tmp_path: Path) -> None:
    theirs = saved(tmp_path / "shared")
    found = started(SEPARATE, StartConfig(model=str(tmp_path / "shared")))
    for name in ("source_embedding.weight", "target_embedding.weight", "output.weight"):
        assert torch.equal(found[name], theirs["source_embedding.weight"])
    saved(tmp_path / "inputs", INPUTS)
    theirs, found = (
        started(config, StartConfig(model=str(tmp_path / "inputs")))
        for config in (INPUTS, SEPARATE)
    )
    for name in ("source_embedding.weight", "output.weight"):
        assert torch.equal(found[name], theirs[name])
    assert torch.equal(found["target_embedding.weight"], theirs["source_embedding.weight"])
    with pytest.raises(ConfigError, match="model: embeddings inputs, here shared; set"):
        started(CONFIG, StartConfig(model=str(tmp_path / "inputs")))
    saved(tmp_path / "separate", SEPARATE)
    with pytest.raises(ConfigError, match="model: embeddings separate, here shared; set"):
        started(CONFIG, StartConfig(model=str(tmp_path / "separate")))


@pytest.mark.parametrize(
    ("changes", "parts", "said"),
    [
        ({"d_model": 12, "heads": 3}, None, r"d_model 10, here 12; heads 2, here 3; set model as"),
        ({"norm": "pre"}, ("encoder",), "norm post, here pre"),
        ({"decoder_layers": 2}, ("decoder",), "decoder_layers 1, here 2"),
        ({"decoder_layers": 2}, ("encoder", "embeddings"), None),
        ({"d_ff": 7}, ("embeddings",), None),
        ({"d_model": 12}, ("embeddings",), "d_model 10, here 12"),
        ({"scale_embeddings": False}, ("embeddings",), "scale_embeddings True, here False"),
        (
            {"normalize_embeddings": True},
            ("embeddings",),
            "normalize_embeddings False, here True",
        ),
        ({"dropout": 0.4, "attention_dropout": 0.2}, None, None),
        ({"window": 3, "global_positions": 1}, None, None),
        ({"sparsity": "strided"}, None, "sparsity none, here strided"),
        ({"embeddings": "target"}, None, None),
        ({"positions": "learned"}, ("embeddings",), "has no source_embedding.positions.table"),
    ],
)
def test_what_does_not_fit_is_named(
    changes: dict[str, Any], parts: tuple[Part, ...] | None, said: str | None, tmp_path: Path
) -> None:
    saved(tmp_path)
    chosen = {} if parts is None else {"parts": parts}
    start = StartConfig.model_validate({"model": str(tmp_path), **chosen})
    config = TransformerConfig(**{**SIZES, **changes})
    if said is None:
        started(config, start)
        return
    with pytest.raises(ConfigError, match=said):
        started(config, start)


def test_settings_of_training_may_also_differ_within_a_composed_model(tmp_path: Path) -> None:
    theirs = VARIATIONS["deep_fusion"]
    assert isinstance(theirs, DeepFusionConfig)
    saved(tmp_path, theirs)
    start = StartConfig(model=str(tmp_path))

    def changed(**values: Any) -> DeepFusionConfig:
        translation = theirs.translation.model_copy(update=values)
        return theirs.model_copy(update={"translation": translation})

    check_start(start, changed(dropout=0.3))
    with pytest.raises(ConfigError, match=r"translation.encoder_layers 2, here 5;"):
        check_start(start, changed(encoder_layers=5))


def test_another_family_is_named_alone(tmp_path: Path) -> None:
    saved(tmp_path)
    with pytest.raises(ConfigError, match="kind of model: family transformer, here recurrent; set"):
        check_start(StartConfig(model=str(tmp_path)), VARIATIONS["recurrent"])


def test_weights_are_those_of_the_digest_and_finite(tmp_path: Path) -> None:
    weights = saved(tmp_path / "parent")
    start = StartConfig(model=str(tmp_path / "parent"))
    pinned = start.model_copy(update={"digest": digest_of(start)})
    started(CONFIG, pinned)
    weights["source_embedding.weight"].data[5, 3] = float("nan")
    save_model(tmp_path / "parent", SavedConfig(model=CONFIG), vocabularies(), weights)
    with pytest.raises(SavedError, match=r"its weights are not those with which this run began"):
        take_over(fresh(CONFIG, vocabularies()), vocabularies(), pinned)
    with pytest.raises(SavedError, match="NaN or infinite"):
        take_over(fresh(CONFIG, vocabularies()), vocabularies(), start)
    with pytest.raises(SavedError, match="no such model or run"):
        check_start(StartConfig(model=str(tmp_path / "nothing")), CONFIG)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"parts": ()}, "at least 1"),
        ({"parts": ("encoder", "encoder")}, "named twice"),
        ({"parts": ("encoder",), "vocabulary": "extend"}, "extend keeps embeddings"),
        ({"digest": "abc"}, "match pattern"),
    ],
)
def test_settings_that_make_no_sense(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        StartConfig.model_validate({"model": "runs/parent", **values})


def test_a_model_card_names_no_folder() -> None:
    start = StartConfig(model="/home/me/runs/parent", parts=("encoder", "embeddings"))
    assert start.story() == "Training began with the encoder and embeddings of parent."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An English-German model whose two vocabularies differ."""
    folder = tmp_path_factory.mktemp("run")
    pieces = vocabularies(joint=False)
    weights = weights_of(fresh(SEPARATE, pieces))
    languages = {"source_language": "en", "target_language": "de"}
    save_model(folder, SavedConfig(model=SEPARATE, **languages), pieces, weights)
    return folder


class TestVocabularyOfAnotherRun:
    @pytest.mark.parametrize(
        ("config", "languages", "sides"),
        [
            (SEPARATE, ("en", "de"), "st"),
            (SEPARATE, ("de", "en"), "ts"),  # a reverse model
            (TransformerLMConfig(d_model=8), ("source", "de"), "tt"),
            (TransformerLMConfig(d_model=8), ("source", "en"), "ss"),
        ],
    )
    def test_each_language_keeps_its_own(
        self, run: Path, config: ModelConfig, languages: tuple[str, str], sides: str
    ) -> None:
        pieces = vocabularies(joint=False)
        own = {"s": pieces.source.fingerprint, "t": pieces.target.fingerprint}
        assert own["s"] != own["t"]
        parent = parent_vocabularies(None, VocabularyConfig(of=str(run)), config, languages)
        assert parent is not None and not parent.extended
        found = parent.vocabularies
        assert [found.source.fingerprint, found.target.fingerprint] == [own[one] for one in sides]

    def test_what_does_not_fit(self, run: Path) -> None:
        assert parent_vocabularies(None, VocabularyConfig(), CONFIG, ("en", "de")) is None
        with pytest.raises(ConfigError, match=r"needs a joint vocabulary.*embeddings: target"):
            parent_vocabularies(None, VocabularyConfig(of=str(run)), CONFIG, ("en", "de"))
        changed = VocabularyConfig(of=str(run), digest="0" * 64)
        with pytest.raises(SavedError, match=r"not the one with which this run began"):
            parent_vocabularies(None, changed, SEPARATE, ("en", "de"))

    def test_a_start_with_its_vocabulary_comes_first(self, run: Path) -> None:
        for choice, extended in (("keep", False), ("extend", True)):
            start = StartConfig(model=str(run), vocabulary=choice)
            parent = parent_vocabularies(start, VocabularyConfig(), SEPARATE, ("en", "de"))
            assert parent is not None
            assert (parent.extended, parent.where) == (extended, str(run))


def test_a_component_is_named_where_it_belongs(tmp_path: Path) -> None:
    saved(tmp_path / "parent")
    start = StartConfig(model=str(tmp_path / "parent"))
    with pytest.raises(ConfigError, match=r"here classifier; name it in model\.backbone instead"):
        check_start(start, ClassifierConfig(backbone=CONFIG))


def test_pre_training_need_not_say_who_is_told_the_language(tmp_path: Path) -> None:
    saved(tmp_path / "parent")
    start = StartConfig(model=str(tmp_path / "parent"))
    check_start(start, TransformerConfig(**SIZES, language_tags="decoder"))
