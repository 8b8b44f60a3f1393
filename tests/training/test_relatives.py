"""Starting from a model of another family: the decoder of a Transformer and a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.models import FAMILIES, ModelConfig, TransformerConfig, TransformerLMConfig
from dragoman.models.families.transformer import DecoderLayer, Transformer
from dragoman.models.interface import Part, TranslationModel
from dragoman.saved.model import save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.weights import weights_of
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.training.warm_start import StartConfig, check_start, take_over

SIZES: dict[str, Any] = {"d_model": 10, "d_ff": 13, "heads": 2, "norm": "pre", "dropout": 0.0}
PIECES = 22
DECODER: tuple[Part, ...] = ("decoder", "embeddings")


def translator(**changes: Any) -> TransformerConfig:
    return TransformerConfig(**{"encoder_layers": 1, "decoder_layers": 3, **SIZES, **changes})


def language_model(**changes: Any) -> TransformerLMConfig:
    return TransformerLMConfig(**{"layers": 3, **SIZES, **changes})


@pytest.fixture(scope="module")
def pieces() -> Vocabularies:
    lines = ["one two three", "two four one", "three five", "four four two"]
    return train_vocabularies([(x, x) for x in lines], VocabularyConfig(size=PIECES), seed=1)


def model_of(config: ModelConfig, seed: int) -> TranslationModel:
    """With gains and biases that are not those of a fresh model."""
    torch.manual_seed(seed)
    model = FAMILIES[config.family](config, PIECES, PIECES).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model


def parent_in(folder: Path, config: ModelConfig, pieces: Vocabularies) -> TranslationModel:
    model = model_of(config, seed=1)
    save_model(folder, SavedConfig(model=config), pieces, weights_of(model))
    return model


def started(
    config: ModelConfig, pieces: Vocabularies, folder: Path, parts: tuple[Part, ...] = DECODER
) -> TranslationModel:
    start = StartConfig(model=str(folder), parts=parts)
    check_start(start, config)
    model = model_of(config, seed=2)
    take_over(model, pieces, start)
    return model


def scores(model: TranslationModel) -> Tensor:
    """Of the same targets, ``(2, 5, pieces)``."""
    chance = torch.Generator().manual_seed(3)
    source = torch.randint(4, PIECES, (2, 4), generator=chance)
    target = torch.randint(4, PIECES, (2, 5), generator=chance)
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    hidden, _ = model.decode(target, memory, model.start(memory))
    return model.logits(hidden).detach()


def deaf(model: TranslationModel) -> TranslationModel:
    """The translator with attention over the source that adds nothing."""
    assert isinstance(model, Transformer)
    for layer in model.decoder:
        assert isinstance(layer, DecoderLayer)
        for weight in layer.cross_attention.output.parameters():
            torch.nn.init.zeros_(weight)
    return model


VARIANTS: list[dict[str, Any]] = [
    {},
    {"positions": "learned", "max_positions": 9},
    {"positions": "rotary", "d_k": 6, "activation": "swiglu", "normalization": "rms"},
    {"positions": "relative", "relative_distance": 2},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_translator_that_does_not_look_is_the_language_model(
    variant: dict[str, Any], pieces: Vocabularies, tmp_path: Path
) -> None:
    parent = parent_in(tmp_path, language_model(**variant), pieces)
    model = started(translator(**variant, embeddings="target"), pieces, tmp_path)
    assert not torch.allclose(scores(model), scores(parent), atol=1e-3)
    torch.testing.assert_close(scores(deaf(model)), scores(parent))


@pytest.mark.parametrize("embeddings", ["shared", "target", "separate"])
def test_what_the_parent_lacks_stays_as_it_was(
    embeddings: str, pieces: Vocabularies, tmp_path: Path
) -> None:
    parent = parent_in(tmp_path, language_model(), pieces)
    config = translator(embeddings=embeddings)
    found = weights_of(started(config, pieces, tmp_path))
    fresh = weights_of(model_of(config, seed=2))
    same = {name for name in found if torch.equal(found[name], fresh[name])}
    kept = {name for name in same if name.startswith("decoder.")}
    assert same - kept == {
        *(name for name in fresh if name.startswith("encoder")),
        *(["source_embedding.weight"] if embeddings != "shared" else []),
    }
    assert kept == {
        name
        for name in fresh
        if ".cross_attention." in name or (name.startswith("decoder.") and ".residuals.1." in name)
    }
    theirs = weights_of(parent)["target_embedding.weight"]
    matrices = {name for name in found if "embedding" in name or name.startswith("output")} - same
    assert matrices
    assert all(torch.equal(found[name], theirs) for name in matrices)


def test_a_language_model_starts_from_a_decoder(pieces: Vocabularies, tmp_path: Path) -> None:
    parent = parent_in(tmp_path, translator(), pieces)
    model = started(language_model(), pieces, tmp_path, ("encoder", "decoder", "embeddings"))
    torch.testing.assert_close(scores(model), scores(deaf(parent)))


@pytest.mark.parametrize(
    ("parent", "child", "parts", "said"),
    [
        (
            language_model(d_model=12, d_ff=7),
            translator(),
            DECODER,
            "d_model 12, here 10; d_ff 7, here 13; set model as",
        ),
        (language_model(), translator(decoder_layers=2), DECODER, "decoder_layers 3, here 2"),
        (language_model(norm="post"), translator(), DECODER, "norm post, here pre"),
        (
            language_model(),
            translator(decoder_mixing="ssru"),
            DECODER,
            "decoder_mixing self_attention, here ssru",
        ),
        (
            language_model(embeddings="separate"),
            translator(),
            DECODER,
            "embeddings separate, here shared",
        ),
        (
            language_model(),
            translator(),
            ("encoder", *DECODER),
            r"has no encoder; set parts: \[decoder, embeddings\]",
        ),
        (
            language_model(source="causal"),
            translator(),
            DECODER,
            "family transformer_lm, here transformer",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    parent: ModelConfig,
    child: ModelConfig,
    parts: tuple[Part, ...],
    said: str,
    pieces: Vocabularies,
    tmp_path: Path,
) -> None:
    parent_in(tmp_path, parent, pieces)
    with pytest.raises(ConfigError, match=said):
        check_start(StartConfig(model=str(tmp_path), parts=parts), child)


def test_embeddings_alone_need_no_like_layers(pieces: Vocabularies, tmp_path: Path) -> None:
    parent_in(tmp_path, language_model(), pieces)
    started(translator(decoder_layers=1, d_ff=5), pieces, tmp_path, ("embeddings",))
