"""Several models as one scorer: compatibility checks, ensembles and fusion."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import ConfigError, SavedError
from dragoman.models.interface import TranslationModel
from dragoman.saved.directions import check_same_languages
from dragoman.saved.saved_config import SavedModel
from dragoman.search import Ensemble, EnsembleKind, FusedScorer, ModelScorer, Scorer
from dragoman.text.inline_tags import InlineTags
from dragoman.text.markup_spans import MarkupStyle


def build_scorer(
    models: Sequence[TranslationModel],
    weights: Sequence[float] | None = None,
    kind: EnsembleKind = "linear",
) -> Scorer:
    """One scorer of all models; several form an ensemble.

    Raises:
        ConfigError: no model, a mix of models with and without a source, or invalid weights.
    """
    if not models:
        raise ConfigError("a translator needs at least one model")
    if len({model.reads_source for model in models}) > 1:
        raise ConfigError("a language model and a model with a source cannot form an ensemble")
    scorers = [ModelScorer(model) for model in models]
    return scorers[0] if len(scorers) == 1 else Ensemble(scorers, weights, kind)


def check_together(models: Sequence[SavedModel]) -> None:
    """Check that models can form an ensemble; a single model always can.

    Raises:
        SavedError: their vocabularies differ, or they have no languages in common.
        ConfigError: a model reads another context than the first.
    """
    first, *others = models
    for other in others:
        check_same_vocabularies(first, other)
        check_same_languages(first, other)
        if other.config.context != first.config.context:
            raise ConfigError(
                f"{other.path}: it does not read the context that {first.path} reads; models of "
                "an ensemble must be trained with the same data.context"
            )


def check_same_vocabularies(first: SavedModel, other: SavedModel) -> None:
    """Check that two models of an ensemble read and write the same pieces.

    Raises:
        SavedError: the pieces differ.
    """
    for side, one, another in zip(
        ("source", "target"), first.vocabularies, other.vocabularies, strict=True
    ):
        if one.fingerprint != another.fingerprint:
            raise SavedError(
                f"{other.path}: its {side} vocabulary is not that of {first.path}; models of an "
                "ensemble must be trained with the same vocabulary"
            )


def common_inline_tags(models: Sequence[SavedModel]) -> InlineTags | None:
    """Inline tags that all models of an ensemble have learned; None if a model has none."""
    known = [tags for saved in models if (tags := saved.config.inline_tags) is not None]
    if len(known) < len(models):
        return None
    return InlineTags(
        pairs=min(tags.pairs for tags in known), points=min(tags.points for tags in known)
    )


def common_markup(models: Sequence[SavedModel]) -> tuple[MarkupStyle, ...]:
    """Markup that all models of an ensemble read as inline tags."""
    first, *others = (saved.config.markup for saved in models)
    return tuple(style for style in first if all(style in other for other in others))


def fused_with(
    scorer: Scorer, language_model: SavedModel, weight: float, first: SavedModel
) -> Scorer:
    """Fuse ``scorer`` with a language model, which must fit even if its weight is 0.

    ``first`` is one of the models that translate.

    Raises:
        SavedError: the vocabularies differ.
        ConfigError: ``language_model`` is of another kind, or the others are language models
            themselves.
    """
    _check_fits(language_model, first)
    return FusedScorer(scorer, ModelScorer(language_model.model), weight) if weight else scorer


def _check_fits(language_model: SavedModel, first: SavedModel) -> None:
    """Check that a language model can be fused with the models of a system."""
    path = language_model.path
    if language_model.model.reads_source:
        raise ConfigError(
            f"language_model: {path} is a model that reads a source; give a language model, or add "
            "it to the models of an ensemble"
        )
    if not first.model.reads_source:
        raise ConfigError(
            f"language_model: {first.path} is a language model itself; give both as models of an "
            "ensemble"
        )
    if language_model.vocabularies.target.fingerprint != first.vocabularies.target.fingerprint:
        raise SavedError(
            f"{path}: its vocabulary is not the target vocabulary of {first.path}; train a "
            f"language model with vocabulary: {{of: {first.path}}}"
        )
