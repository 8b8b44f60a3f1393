"""A recipe for the opposite direction, which trains the reverse model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.evaluation.tokenizers import best_tokenizer
from dragoman.recipe import ExperimentConfig
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.scripts import script_shares
from dragoman.text.terms.glossary_files import is_tbx
from dragoman.text.transforms.tagging import reversed_tags

INSTEAD = "name a run, a model or a recipe of the opposite direction with --reverse"


def direction_of(config: ExperimentConfig) -> Direction:
    """The one direction in which a recipe translates, without tags.

    Parts without a source, such as copied text, do not count.
    """
    if not config.model.reads_source or config.model.writes_labels:
        kind = "classifier" if config.model.reads_source else "language model"
        raise ConfigError(
            f"a {kind} has no opposite direction; give the recipe of a translation model"
        )
    if not config.training.objective.translates:
        raise ConfigError(
            f"training.objective: {config.training.objective.kind} trains no translator; give the "
            "recipe of a translation model"
        )
    directions = [part.direction for part in real_parts(config)]
    pairs = dict.fromkeys((one.source_language, one.target_language) for one in directions)
    if not pairs:
        raise ConfigError("data.train: no part has a source; back-translation needs real pairs")
    if len(pairs) > 1:
        names = ", ".join(map("-".join, pairs))
        raise ConfigError(
            f"data.train: the recipe has several directions: {names}; back-translate one of them, "
            "with a recipe that has only its parts (a model of several may be its --reverse)"
        )
    ((source, target),) = pairs
    if source == target:
        raise ConfigError(
            f"source_language and target_language are both {source}; back-translation needs two"
        )
    return Direction(source_language=source, target_language=target)


def real_parts(config: ExperimentConfig) -> list[CorpusPart]:
    """The training parts that have both sides, with their languages."""
    return [part for part in config.train_parts() if part.has_source]


def reversed_recipe(config: ExperimentConfig) -> ExperimentConfig:
    """The same recipe with the sides of all text exchanged.

    Parts without a source are left out: with their sides exchanged they would have no target.
    """
    if config.training.start_from is not None:
        raise ConfigError(
            "training.start_from: its model translates in the direction of the recipe, so the "
            f"opposite one cannot start from it; {INSTEAD}"
        )
    if config.model.components:
        raise ConfigError(
            f"model.family: {config.model.family} is composed of models of the recipe's own "
            f"direction; {INSTEAD}"
        )
    _check_text(config)
    values = json.loads(config.model_dump_json())
    data = values["data"]
    data["train"] = [_plain(reversed_part(part)) for part in real_parts(config)]
    data["dev"] = _reversed_sets(config.data.dev, config)
    data["test"] = _reversed_sets(config.data.test, config)
    data["held_out"] = [_plain(part) for part in _reversed_held_out(config)]
    _exchange(data["cleaning"], "source_scripts", "target_scripts")
    _exchange(values, "source_language", "target_language")
    values["vocabulary"] |= _reversed_kinds(config)
    values["vocabulary"]["tags"] = _reversed_vocabulary_tags(config)
    values["vocabulary"]["digest"] = None  # of a taken vocabulary; its sides may be exchanged
    if (given := values["training"]["embeddings"]) is not None:
        _exchange(given, "source", "target")
        given["digest"] = None  # it depends on the order of the files
    # The settings of validation and, by default, of translation.
    # Output lengths are those of the other language, which the run measures.
    values["search"].update({"sampling": None, "mbr": None, "length_ratio": None})
    values["evaluation"] |= {"bleu_tokenize": _tokenizer(config), **_terms(config)}
    return parse(ExperimentConfig, values, f"the recipe turned round ({INSTEAD})")


def _exchange(section: dict[str, Any], one: str, other: str) -> None:
    section[one], section[other] = section[other], section[one]


def _reversed_kinds(config: ExperimentConfig) -> dict[str, str | None]:
    """The kinds of the vocabularies of both sides, exchanged."""
    vocabulary = config.vocabulary
    if vocabulary.target_kind is None:
        return {}
    if vocabulary.target_kind == "word":
        raise ConfigError(
            "vocabulary.target_kind: word is of targets alone, and cannot be turned round; "
            f"{INSTEAD}"
        )
    return {"kind": vocabulary.target_kind, "target_kind": vocabulary.kind}


def _check_text(config: ExperimentConfig) -> None:
    """Check that the sides of all text can be exchanged."""
    held_out = [("data.held_out", part) for part in config.data.held_out]
    for name, part in [*config.parts(), *held_out]:
        if part.alignments is not None:
            raise ConfigError(
                f"{name}.alignments link source to target words and are not turned round; {INSTEAD}"
            )
        if part.path is not None and part.file_format.sides is None and part.has_source:
            raise ConfigError(
                f"{name}: the sides of {part.file_format.name} files cannot be exchanged; convert "
                f"it to TSV with 'dragoman convert', or {INSTEAD}"
            )


def reversed_part(part: CorpusPart) -> CorpusPart:
    """A part with its sides, languages and language tags exchanged."""
    direction = Direction(
        source_language=part.source_language or "source",
        target_language=part.target_language or "target",
    )
    turned = (transform.reversed(direction) for transform in part.transforms)
    return part.model_copy(
        update={
            "source": part.target,
            "target": part.source,
            "source_language": part.target_language,
            "target_language": part.source_language,
            "tags": reversed_tags(part.tags, direction),
            "transforms": tuple(one for one in turned if one is not None),
        }
    )


def _reversed_sets(
    sets: CorpusPart | dict[str, CorpusPart], config: ExperimentConfig
) -> dict[str, Any]:
    if isinstance(sets, CorpusPart):
        resolved = sets.resolved(config.source_language, config.target_language)
        return _plain(reversed_part(resolved))
    return {name: _reversed_sets(part, config) for name, part in sets.items()}


def _reversed_held_out(config: ExperimentConfig) -> Iterator[CorpusPart]:
    """Text that is never trained on: held-out targets become held-out sources."""
    for part in config.data.held_out:
        if part.has_source:
            yield reversed_part(part.resolved(config.source_language, config.target_language))
        else:  # no part has only a source, so its lines are held out of both sides
            filters = tuple(change for change in part.transforms if change.kind == "filter")
            yield part.model_copy(update={"source": part.target, "transforms": filters})


def _plain(part: CorpusPart) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(part.model_dump_json())
    return values


def _reversed_vocabulary_tags(config: ExperimentConfig) -> tuple[str, ...]:
    direction = direction_of(config)
    return tuple(dict.fromkeys(reversed_tags(config.vocabulary.tags, direction)))


def _tokenizer(config: ExperimentConfig) -> str:
    """The tokenizer of BLEU that suits the new target; tokenised text stays so."""
    if config.evaluation.bleu_tokenize == "none" or "bleu" not in config.evaluation.metrics:
        return config.evaluation.bleu_tokenize
    characters: Counter[str] = Counter()
    for part in config.dev_sets().values():
        for pair in read_pairs(part):
            characters.update(pair.source)
    return best_tokenizer(script_shares(characters))


def _terms(config: ExperimentConfig) -> dict[str, Any]:
    """The glossary and the metrics; a table has the terms of one language, TBX those of both."""
    glossary, metrics = config.evaluation.glossary, config.evaluation.metrics
    if glossary is not None and not is_tbx(Path(glossary)):
        glossary, metrics = None, tuple(name for name in metrics if name != "terms")
    return {"glossary": glossary, "metrics": metrics}
