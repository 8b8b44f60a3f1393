"""Synthetic pairs as a further part of a recipe's training text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.core.errors import ConfigError
from dragoman.recipe import ExperimentConfig, with_train_parts
from dragoman.run.parents import check_parents, completed
from dragoman.techniques.backtranslation.backtranslation_config import BackTranslationConfig
from dragoman.techniques.backtranslation.reversal import direction_of, real_parts
from dragoman.text.corpora.cleaning import CleaningReport, clean, clean_part
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.tags import missing_tags
from dragoman.text.transforms import Transform

_COUNTED_AT_ONCE = 1000


def with_synthetic(
    recipe: ExperimentConfig, pairs: Path, settings: BackTranslationConfig
) -> ExperimentConfig:
    """The recipe with synthetic pairs added to its own; everything else stays unchanged.

    Synthetic pairs get the settings that all real parts share, such as the target-language tag.
    """
    direction, real = direction_of(recipe), real_parts(recipe)
    synthetic = CorpusPart(
        path=str(pairs.absolute()),
        source="source",
        target="target",
        source_language=direction.source_language,
        target_language=direction.target_language,
        task=shared_task(real),
        tags=shared_tags(real),
        transforms=(*shared_case(real), *settings.transforms()),
    )
    train = (
        part.model_copy(update={"weight": part.weight * settings.upsample})
        if part.has_source
        else part
        for part in recipe.data.train
    )
    return with_train_parts(recipe, (*train, synthetic), "the recipe with synthetic pairs")


def check_begins(recipe: ExperimentConfig) -> None:
    """Check that training can begin with the models that a recipe names, if any."""
    parent = check_parents(completed(recipe))
    if parent is None or parent.extended:
        return
    source = parent.vocabularies.source
    used = (tag for part in recipe.train_parts() for tag in part.symbols())
    if lacking := missing_tags(used, source.pieces(source.tags)):
        raise ConfigError(
            f"{parent.where}: its vocabulary, which is kept, has no tag {', '.join(lacking)}; "
            "train it with vocabulary.tags, or leave out --tag and noise"
        )


def shared_task(parts: Sequence[CorpusPart]) -> str:
    """The training task of all parts, so that synthetic and real text are mixed as configured."""
    first, *others = dict.fromkeys(part.task for part in parts)
    if others:
        raise ConfigError(
            f"data.train: pairs have the tasks {', '.join((first, *others))}, and synthetic pairs "
            "can be of one; give all pairs one task, or train with the synthetic text by hand"
        )
    return first


def shared_tags(parts: Sequence[CorpusPart]) -> tuple[str, ...]:
    """The tags that the sources of all parts always have."""
    first, *others = [part.direction.tags for part in parts]
    return tuple(tag for tag in first if all(tag in tags for tags in others))


def shared_case(parts: Sequence[CorpusPart]) -> tuple[Transform, ...]:
    """The changes of case that all parts always make."""
    first, *others = [part.transforms for part in parts]
    certain = (change for change in first if change.kind == "case" and not change.is_random)
    return tuple(change for change in certain if all(change in kept for kept in others))


def cleaned(
    pairs: Iterable[Pair],
    recipe: ExperimentConfig,
    report: CleaningReport,
    *,
    name: str,
    has_source: bool = True,
) -> Iterator[Pair]:
    """Pairs that pass the recipe's cleaning, but duplicates and held-out text are always dropped.

    A recipe may keep a published training set unchanged; synthetic text is not part of that set.
    """
    strict = {"keep_held_out": False, "drop_duplicates": True}
    config = recipe.data.cleaning.model_copy(update=strict)
    keys = recipe.held_out(recipe.data.never_trained_on)
    return clean(pairs, config, report, part=name, has_source=has_source, held_out=keys)


def count_real_pairs(
    recipe: ExperimentConfig, progress: Callable[[int], object] = lambda count: None
) -> int:
    """The number of real pairs that the recipe trains on, regardless of weights."""
    keys, pairs = recipe.held_out(recipe.data.never_trained_on), 0
    for part in real_parts(recipe):
        for _ in clean_part(part, recipe.data.cleaning, CleaningReport(), held_out=keys):
            pairs += 1
            if pairs % _COUNTED_AT_ONCE == 0:
                progress(pairs)
    return pairs
