"""The text for trying settings: two files, or the dev set of a run; never a test set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.config import parse, read_yaml
from dragoman.core.errors import ConfigError, DataError
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.recipe import ExperimentConfig
from dragoman.saved.directions import target_languages
from dragoman.saved.model import CONFIG_FILE, config_of, home_of, model_directory, vocabularies_of
from dragoman.saved.system import TranslationSystem
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.corpus import (
    evaluation_examples,
    own_source,
    read_pairs,
    reference_sets,
)
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.translation.preparation import LineFormat


@dataclass(frozen=True)
class DevText:
    """Lines and their references."""

    name: str
    """Its name in tables."""
    sources: Sequence[str]
    references: Sequence[str]
    scored: Sequence[Sequence[str]]
    """The references as metrics read them, usually one of each line.  Trees have their tags, which
    mark punctuation."""
    own_sources: Sequence[str]
    """The sources without tags and context."""
    languages: tuple[str, str]
    """Languages of sources and references, as a glossary names them."""
    language: str | None = None
    """Language of the references, if known."""


def evaluation_of(system: TranslationSystem, text: DevText) -> EvaluationConfig:
    """Evaluation settings of the first model's run, or the default if it has no run.

    The metric wrong_language checks for the language of the text, among those of the run.
    """
    run, language = _run_of(system.models[0]), text.language
    if run is None:
        return EvaluationConfig(language=language)
    return run.evaluation if language is None else run.evaluation_in(language)


def text_of_files(
    system: TranslationSystem, source: Path, reference: Path, *, is_test: bool = False
) -> DevText:
    """Two files, line by line; pairs with an empty side are left out.

    Sources have the context that the models read.

    Args:
        is_test: whether nothing is chosen on the files, so that they may be a test set.
    """
    for model in () if is_test else system.models:
        _refuse_test_set(model, (source, reference))
    part = CorpusPart(source=str(source), target=str(reference))
    examples = list(evaluation_examples(part))
    if not examples:
        raise DataError(f"{source}, {reference}: no pair with both sides filled")
    sources = [example.source for example in examples]
    references = [example.target for example in examples]
    own = sources
    if (context := config_of(system.models[0]).context) is not None:
        given = _in_context(part, context, system.models[0])
        sources = [given[example.line] for example in examples]
        own = [context.alone(source) for source in sources]
    languages = _languages(system)
    language = _target_language(system)
    return DevText(part.name, sources, references, [references], own, languages, language)


def _in_context(part: CorpusPart, context: ContextConfig, model: Path) -> dict[int, str]:
    """The sources of two files, each with its context, by their lines.

    Pairs that are left out belong to it: documents end at empty lines.
    """
    pairs = list(read_pairs(part))
    line_format = LineFormat(vocabularies_of(model), context=context)
    texts = line_format.in_context([pair.source for pair in pairs])
    return {pair.line: text for pair, text in zip(pairs, texts, strict=True)}


def text_of_run(system: TranslationSystem, chosen: str | None = None) -> DevText:
    """The dev set of the run that the first model is from.

    Its lines have the tags of their direction, unless the system puts tags in front of them.

    Args:
        system: the system to tune; its target language, if any, selects among several dev sets.
        chosen: the name of a dev set, such as ``dev_en-de``; by default, the only one.

    Raises:
        ConfigError: the model is not from a run; or the run has several fitting dev sets, none,
            one without sources, or one with sources in the language that the system translates
            through.
        DataError: the text is missing or has changed.
    """
    model = system.models[0]
    run = _run_of(model)
    if run is None:
        raise ConfigError(
            f"{model}: not a run, so it has no dev set; name a SOURCE and a REFERENCE file"
        )
    sets = run.dev_sets()
    wanted = system.target_language
    if chosen is not None:
        fitting = [name for name in sets if name in {chosen, f"dev_{chosen}"}]
    else:
        fitting = [
            name
            for name, part in sets.items()
            if wanted is None or len(sets) == 1 or part.direction.target_language == wanted
        ]
    if len(fitting) != 1:
        raise ConfigError(
            f"{model}: its dev sets are {', '.join(sets)}; choose one of them with --dev-set"
        )
    (name,) = fitting
    if sets[name].back_translation is not None:
        raise ConfigError(
            f"{model}: its dev set {name} has no sources to translate; name a SOURCE and a "
            "REFERENCE file"
        )
    if system.pivot is not None and sets[name].direction.source_language == system.pivot.language:
        raise ConfigError(
            f"{model}: its dev set {name} is in the pivot language {system.pivot.language}; name a "
            "SOURCE and a REFERENCE file in the languages of both ends"
        )
    tagged = wanted is None and not system.tags
    part = sets[name].with_single_targets()
    examples = list(evaluation_examples(part))
    if not examples:
        raise DataError(f"{part.name}: no pair with both sides filled")
    sources = [example.tagged_source if tagged else example.source for example in examples]
    references = [example.target for example in examples]
    scored = reference_sets(part, list(evaluation_examples(part.scored())))
    own = [own_source(example, part) for example in examples]
    languages = part.direction.source_language, part.direction.target_language
    return DevText(f"{name} of {model}", sources, references, scored, own, languages, languages[1])


def _languages(system: TranslationSystem) -> tuple[str, str]:
    """The source and target language of a system: its own settings, or else its model's."""
    config = config_of(system.models[0])
    source = system.source_language or config.source_language
    return source, _target_language(system) or config.target_language


def _target_language(system: TranslationSystem) -> str | None:
    """The language that a system translates into; None if there are several."""
    if system.target_language is not None:
        return system.target_language
    first, *others = target_languages(config_of(system.models[0]))
    return None if others else first


def _run_of(model: Path) -> ExperimentConfig | None:
    """The configuration of the run at ``model``, or of the run of a checkpoint."""
    for folder in (model, home_of(model_directory(model))):
        path = folder / CONFIG_FILE
        if path.is_file() and "data" in (values := read_yaml(path)):
            return parse(ExperimentConfig, values, path)
    return None


def _refuse_test_set(model: Path, files: Sequence[Path]) -> None:
    run = _run_of(model)
    if run is None:
        return
    for name, part in run.test_sets().items():
        for file in part.files():
            if any(_is_same(file, given) for given in files):
                raise ConfigError(
                    f"{file}: this is the test set {name} of {model}; settings that are chosen on "
                    "it would make its scores worthless: name another text"
                )


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and os.path.samefile(one, other)
