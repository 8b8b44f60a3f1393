"""Tags reach every layer that reads them; the tag of the language is read by encoder or decoder."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from families import VARIATIONS, build, full, random_ids
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.models import ClassifierConfig, ModelConfig, TransformerConfig
from dragoman.models.deep_fusion import DeepFusionConfig
from dragoman.models.families.transformer import Transformer
from dragoman.models.families.transformer_lm import TransformerLMConfig
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.source_tags import LanguageTags, ReadsTags, SourceTags
from dragoman.saved.model import build_model
from dragoman.search import ModelScorer, SearchConfig, search
from dragoman.text.vocabularies import BOS, EOS, PAD, Vocabularies, VocabularyConfig
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


DE, FR = 4, 5
TOLD = [name for name in VARIATIONS if "is told the language" in name]


def sources(tag: int) -> tuple[Tensor, Tensor]:
    """Three sentences of other pieces behind a tag."""
    words = random_ids(3, 5) % 11 + 8
    source = torch.cat([torch.full((3, 1), tag), words, torch.full((3, 1), EOS)], dim=1)
    return source, full(source)


def logits(model: TranslationModel, tag: int, target: Tensor) -> Tensor:
    memory = model.encode(*sources(tag))
    hidden, _ = model.decode(target, memory, model.start(memory))
    return model.logits(hidden)


def test_a_tag_moves_from_the_source_to_the_begin_of_the_target() -> None:
    tags = LanguageTags(11)
    source = torch.tensor([[DE, 9, EOS, PAD], [9, 10, FR, EOS], [10, 9, 9, EOS]])
    read, mask, begin = tags.split(source, source != PAD)
    assert read.equal(source), "it knows no tag yet"
    tags.know(SourceTags([DE, FR], BOS, dict[str, int]().__getitem__))
    read, mask, begin = tags.split(source, source != PAD)
    assert mask.equal(source != PAD)
    assert read.tolist() == [[BOS, 9, EOS, PAD], [9, 10, BOS, EOS], [10, 9, 9, EOS]]
    assert begin.tolist() == [DE, FR, BOS]
    target = torch.tensor([[BOS, 9]] * 6)  # a beam of two
    assert tags.begun(target, begin)[:, 0].tolist() == [DE, DE, FR, FR, BOS, BOS]
    assert tags.begun(target, begin)[:, 1].tolist() == [9] * 6
    assert tags.begun(torch.tensor([[9], [7], [8]]), begin).tolist() == [[9], [7], [8]]


@pytest.mark.parametrize("name", TOLD)
def test_the_encoder_reads_the_same_and_the_decoder_does_not(name: str) -> None:
    model = build(VARIATIONS[name])
    german, french = (model.encode(*sources(tag)) for tag in (DE, FR))
    assert german.hidden.equal(french.hidden)
    assert model.encoder_states(*sources(DE)).equal(german.hidden)
    target = torch.cat([torch.full((3, 1), BOS), random_ids(3, 4)], dim=1)
    assert (logits(model, DE, target) - logits(model, FR, target)).abs().amin() > 1e-9


@pytest.mark.parametrize("name", TOLD)
def test_search_begins_with_the_language_in_any_beam(name: str) -> None:
    """Sentences with several tags in one batch are what each is alone."""
    model = build(VARIATIONS[name])
    one, mask = sources(DE)
    other, _ = sources(FR)
    both = torch.cat([one, other])
    for beam in (1, 3):
        config = SearchConfig(beam=beam, extra_length=3, early_end="exact")
        found = search(ModelScorer(model), both, full(both), config)
        apart = [
            *search(ModelScorer(model), one, mask, config),
            *search(ModelScorer(model), other, mask, config),
        ]
        assert [hypotheses[0].ids for hypotheses in found] == [hyps[0].ids for hyps in apart]
    assert apart[:3] != apart[3:]


def test_a_tag_behind_the_begin_symbol_is_out_of_the_source() -> None:
    """The model is the same as one that reads the source without the tag, and then the tag."""
    config = VARIATIONS["transformer, the decoder is told the language behind its begin"]
    model = build(config)
    plain_config = config.model_copy(update={"language_tags": "encoder"})
    plain = build(plain_config)
    plain.load_state_dict(model.state_dict())
    source, _ = sources(DE)
    target = torch.cat([torch.full((3, 1), BOS), random_ids(3, 4)], dim=1)
    told = torch.cat([target[:, :1], torch.full((3, 1), DE), target[:, 1:]], dim=1)
    memory = plain.encode(source[:, 1:], full(source[:, 1:]))
    expected, _ = plain.decode(told, memory, plain.start(memory))
    found = logits(model, DE, target)
    torch.testing.assert_close(found, plain.logits(expected)[:, 1:])


def small(**choices: str) -> TransformerConfig:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 8, "heads": 2}
    return TransformerConfig(**sizes, language_tags="decoder", **choices)


def trained(*, joint: bool) -> Vocabularies:
    lines = [("a b c d e", "e d c b f")] * 9
    config = VocabularyConfig(size=17, tags=("<2de>", "<ui>", "<2fr>"), joint=joint)
    return train_vocabularies(lines, config, seed=1)


def test_a_built_model_knows_the_tags_of_languages_alone() -> None:
    vocabularies = trained(joint=True)
    model = build_model(small(), vocabularies)
    (tags,) = (module for module in model.modules() if isinstance(module, LanguageTags))
    known = vocabularies.source.pieces(tags.is_tag.nonzero().flatten().tolist())
    assert sorted(known) == ["<2de>", "<2fr>"]
    assert "language_tags.is_tag" not in model.state_dict(), "models are saved without them"


def test_both_sides_must_have_the_tag() -> None:
    vocabularies = trained(joint=False)
    with pytest.raises(ConfigError, match="language_tags: decoder needs a joint vocabulary"):
        build_model(small(embeddings="target"), vocabularies)
    with pytest.raises(ConfigError, match=r"language_tags: decoder needs one vocabulary, found 11"):
        Transformer(small(embeddings="target"), 11, 13)
