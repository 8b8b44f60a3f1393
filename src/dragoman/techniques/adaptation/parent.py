"""The model to adapt: its directions, and the general text that its run still has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.config import read_yaml
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.wording import named
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig
from dragoman.saved.directions import (
    NAMELESS,
    direction_by_names,
    own_name,
    target_languages,
)
from dragoman.saved.model import CONFIG_FILE, home_of, model_directory, read_config, vocabularies_of
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.weights import weights_digest
from dragoman.techniques.adaptation.domain_texts import TEXT_DIRECTORY
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.language_codes import is_language_tag, related_languages, spelling
from dragoman.text.vocabularies import Vocabularies

_EVALUATION = ("bleu_tokenize", "lowercase", "chrf_word_order")


@dataclass(frozen=True)
class ParentModel:
    """A translation model to adapt; it is never written to."""

    path: Path
    config: SavedConfig
    run: ExperimentConfig | None
    """The recipe of its run, if the path leads to one."""
    home: Path | None = None
    """The directory of that run."""

    @classmethod
    def open(cls, path: Path) -> ParentModel:
        """Read the configuration of a model or run."""
        directory = model_directory(path)
        home = home_of(directory)
        config = read_config(home / CONFIG_FILE)
        if kind := _other_kind(config):
            raise ConfigError(f"{path}: {kind}; adapt adapts models that translate text")
        if config.context is not None:
            raise ConfigError(
                f"{path}: it reads sentences with those before them, and in-domain pairs are apart "
                "from their documents; train a recipe with training.start_from instead"
            )
        for place in (path, directory.parent, home):
            if (run := _recipe_of(place)) is not None:
                return cls(path, config, run, place)
        return cls(path, config, None)

    @property
    def digest(self) -> str:
        """A digest that identifies its weights."""
        return weights_digest(model_directory(self.path))

    def vocabularies(self) -> Vocabularies:
        """Its vocabularies."""
        return vocabularies_of(self.path)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions in which it was trained."""
        own = Direction(
            source_language=self.config.source_language,
            target_language=self.config.target_language,
        )
        return self.config.directions or (own,)

    def direction_for(self, languages: tuple[str, str], where: str) -> Direction:
        """The direction in which it reads text in these languages, with its tags.

        Args:
            languages: of source and target; names that are not codes may be those of columns, which
                a model of one direction ignores.
            where: the text, for messages.
        """
        if (found := direction_by_names(self.config, *languages)) is not None:
            return found
        if self.config.names_source:
            raise ConfigError(f"{where}: {self._lacking(languages)}")
        known = self.directions
        source, target = map(spelling, languages)  # a server's corrections are of "pt-br"
        for wanted in ((source, target), (NAMELESS[0], target)):  # an unnamed source may be any
            for own in known:
                if (spelling(own.source_language), spelling(own.target_language)) == wanted:
                    return own
        if len({(own.source_language, own.target_language) for own in known}) == 1:
            unnamed = set(NAMELESS) & {known[0].source_language, known[0].target_language}
            if unnamed or not all(map(is_language_tag, languages)):
                return known[0]
        raise ConfigError(
            f"{where}: {'-'.join(languages)}, and {self.path} translates "
            f"{', '.join(dict.fromkeys(own.name for own in known))}; name the sides with --source "
            "and --target, or give a recipe that adds a language"
        )

    def directed(self, part: CorpusPart, languages: tuple[str, str]) -> CorpusPart:
        """A part with the model's names for its languages, and their tags."""
        direction = self.direction_for(languages, part.name)
        return part.model_copy(
            update={
                "source_language": direction.source_language,
                "target_language": direction.target_language,
                "tags": direction.tags,
            }
        )

    def _lacking(self, languages: tuple[str, str]) -> str:
        """Which of two languages a model of many lacks, and which of its own are near."""
        known = target_languages(self.config)
        lacking = [one for one in languages if own_name(self.config, one) not in known]
        told = []
        for language in lacking:
            near = related_languages(language, known)
            told.append(f"no language {language}" + (f" (near it: {named(near)})" if near else ""))
        return (
            f"{self.path} has {' and '.join(told)}; its languages are {named(known)}; name the "
            "sides with --source and --target"
        )

    def nearest_direction(self, wanted: Direction) -> Direction:
        """Its own direction of the same languages and tags, or of the languages, or else its first.

        Args:
            wanted: may have a language or a tag that the model lacks.
        """
        languages = wanted.source_language, wanted.target_language
        if (named := direction_by_names(self.config, *languages)) is not None:
            return named
        same = [own for own in self.directions if own.name == wanted.name]
        tagged = (own for own in same if set(own.tags) == set(wanted.tags))
        return next(tagged, [*same, *self.directions][0])

    def general_parts(self) -> list[CorpusPart]:
        """The parts of its training text whose files still exist."""
        parts = [] if self.run is None else self.run.train_parts()
        return [part for part in map(self._found_again, parts) if _is_usable(part)]

    def general_dev_sets(self) -> dict[str, CorpusPart]:
        """Its dev sets by name, if their files still exist."""
        sets = {} if self.run is None else self.run.dev_sets()
        return {
            name.removeprefix("dev").removeprefix("_"): part
            for name, given in sets.items()
            if _is_usable(part := self._found_again(given))
        }

    def _found_again(self, part: CorpusPart) -> CorpusPart:
        """A part with the copy of its text in the run, if that was moved with the run."""
        if self.home is None or part.path is None or os.path.isfile(part.path):
            return part
        copy = self.home / TEXT_DIRECTORY / Path(part.path).name
        is_copy = Path(part.path).parent.name == TEXT_DIRECTORY and copy.is_file()
        return part.model_copy(update={"path": str(copy.absolute())}) if is_copy else part

    def values(self) -> dict[str, Any]:
        """Its values for a recipe: languages, model, search, scores, subword sampling.

        Cleaning is not among them, as in-domain text may be in a script that the model's text
        lacked.
        """
        values: dict[str, Any] = {
            "source_language": self.config.source_language,
            "target_language": self.config.target_language,
            "model": self.config.model.model_dump(mode="json"),
            "search": dict(self.config.search),
            "evaluation": {"metrics": ["chrf", "bleu"]},
        }
        if self.run is not None:
            scored = self.run.evaluation.model_dump(mode="json")
            values["evaluation"] |= {name: scored[name] for name in _EVALUATION}
            if sampling := self.run.vocabulary.sampling:
                values["vocabulary"] = {"sampling": sampling}
        return values


def _other_kind(config: SavedConfig) -> str | None:
    """The task of a model that does not translate text; None for a translation model."""
    if not config.translates:
        return "a masked language model"
    if config.model.writes_labels:
        return "a classifier"
    if not config.model.reads_source:
        return "a language model"
    if config.search.get("grammar") == "trees":
        return "a parser"
    return None


def _recipe_of(path: Path) -> ExperimentConfig | None:
    """The recipe of the run at ``path``; None without a readable run."""
    try:
        if "data" not in read_yaml(path / CONFIG_FILE):
            return None
        return Experiment.open(path).config
    except (ConfigError, SavedError):
        return None


def _is_usable(part: CorpusPart) -> bool:
    """Whether both sides of a part are real or machine-translated text, which still exists."""
    is_translated = part.has_source and not part.is_labelled and not part.cuts_off_source
    return is_translated and all(path.is_file() for path in part.inputs())
