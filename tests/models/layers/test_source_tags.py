"""Tags reach every layer that reads them, in composed models as well."""

from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.models import ClassifierConfig, ModelConfig, TransformerConfig
from dragoman.models.deep_fusion import DeepFusionConfig
from dragoman.models.families.transformer_lm import TransformerLMConfig
from dragoman.models.layers.source_tags import ReadsTags
from dragoman.saved.model import build_model
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

SIZES: dict[str, Any] = {"d_model": 8, "d_ff": 8, "heads": 2}
TRANSFORMER = TransformerConfig(
    **SIZES,
    encoder_layers=1,
    decoder_layers=1,
    window=3,
    global_tags=("<ui>",),
    language_tags="decoder",
)
LANGUAGE_MODEL = TransformerLMConfig(**SIZES, layers=1)


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    config = VocabularyConfig(size=17, tags=("<2de>", "<ui>", "<2fr>"))
    return train_vocabularies([("a b c d e", "e d c b f")] * 9, config, seed=1)


@pytest.mark.parametrize(
    "config",
    [
        TRANSFORMER,
        ClassifierConfig(backbone=TRANSFORMER),
        DeepFusionConfig(translation=TRANSFORMER, language_model=LANGUAGE_MODEL),
    ],
)
def test_a_built_model_knows_all_that_it_reads(
    config: ModelConfig, vocabularies: Vocabularies
) -> None:
    model = build_model(config, vocabularies)
    known: dict[str, Tensor] = dict(model.named_buffers())
    (ids,) = (known[name] for name in known if name.endswith("global_tokens.ids"))
    assert ids.tolist() == [vocabularies.source.tag("<ui>")]
    (told,) = (known[name] for name in known if name.endswith("language_tags.is_tag"))
    assert told.nonzero().flatten().tolist() == sorted(vocabularies.source.language_tags)
    assert len([one for one in model.modules() if isinstance(one, ReadsTags)]) == 2


def test_a_tag_that_the_vocabulary_lacks_is_named(vocabularies: Vocabularies) -> None:
    config = TransformerConfig(**SIZES, encoder_layers=1, window=3, global_tags=("<sep>",))
    with pytest.raises(ConfigError, match="the vocabulary has no tag '<sep>'"):
        build_model(config, vocabularies)
