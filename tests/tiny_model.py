"""The smallest model on disk, for tests that need any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from dragoman.models import ClassifierConfig, ModelConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.families.transformer_lm import TransformerLMConfig
from dragoman.models.layers.low_rank import AdapterConfig, add_adapters
from dragoman.saved.adapter import write_adapter
from dragoman.saved.model import build_model, load_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.weights import weights_digest, weights_of
from dragoman.text.context import ContextConfig
from dragoman.text.examples import Direction
from dragoman.text.inline_tags import InlineTags
from dragoman.text.labels import label_vocabulary
from dragoman.text.markup_spans import MarkupStyle
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

LINES = ["a b c d e", "e d c", "b a"] * 9


def save_tiny_model(
    directory: Path,
    lines: Sequence[str] = LINES,
    *,
    seed: int = 1,
    tags: tuple[str, ...] = (),
    directions: tuple[Direction, ...] = (),
    inline_tags: InlineTags | None = None,
    markup: tuple[MarkupStyle, ...] = (),
    context: ContextConfig | None = None,
    config: ModelConfig = TransformerConfig(  # noqa: B008 - it is frozen
        encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2
    ),
    **search: Any,
) -> Path:
    """An untrained model of letters, a Transformer unless told; what it translates is short."""
    tags = (*tags, *(() if inline_tags is None else inline_tags.symbols()))
    tags = (*tags, *(() if context is None else (context.separator,)))
    vocabularies = train_vocabularies(
        zip(lines, lines, strict=True), VocabularyConfig(size=14 + len(tags), tags=tags), seed=1
    )
    torch.manual_seed(seed)
    model = build_model(config, vocabularies)
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    saved = SavedConfig(
        model=config,
        directions=directions,
        search={"extra_length": 3, **search},
        inline_tags=inline_tags,
        markup=markup,
        context=context,
    )
    save_model(directory, saved, vocabularies, weights)
    return directory


def save_tiny_adapter(path: Path, model: Path, seed: int = 1, size: float = 1.0) -> Path:
    """An adapter of a model on disk, which changes its translations."""
    adapted = load_model(model, "cpu").model
    add_adapters(adapted, AdapterConfig(rank=2), seed)
    torch.manual_seed(seed)
    weights = weights_of(adapted)
    drawn = {
        name: torch.randn_like(tensor) * size if name.endswith(".up") else tensor
        for name, tensor in weights.items()
    }
    write_adapter(path, drawn, weights_digest(model))
    return path


def save_tiny_classifier(
    directory: Path,
    labels: Sequence[str],
    *,
    seed: int = 1,
    sharpness: float = 1.0,
    directions: tuple[Direction, ...] = (),
) -> Path:
    """An untrained classifier of lines of letters, the surer the larger its ``sharpness``."""
    pairs = [(line, line) for line in LINES]
    tags = tuple(dict.fromkeys(tag for one in directions for tag in one.tags))
    config = VocabularyConfig(size=14 + len(tags), tags=tags)
    source = train_vocabularies(pairs, config, seed=1).source
    vocabularies = Vocabularies(source, label_vocabulary(labels))
    classifier = ClassifierConfig(
        backbone=TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
    )
    torch.manual_seed(seed)
    weights = weights_of(build_model(classifier, vocabularies))
    weights["output.weight"] = weights["output.weight"].detach() * sharpness
    search = {"max_source_pieces": 9, "batch_tokens": 20}
    saved = SavedConfig(model=classifier, directions=directions, search=search)
    save_model(directory, saved, vocabularies, weights)
    return directory


TINY_LM = TransformerLMConfig(layers=1, d_model=8, d_ff=8, heads=2)
"""Of a language model as small."""
