"""Lines of several languages, each translated by the system's models for its language."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Unpack

import torch

from dragoman.core.errors import ConfigError
from dragoman.saved.model import config_of
from dragoman.saved.system import TranslationSystem
from dragoman.saved.system_parts import IdentifierConfig
from dragoman.translation.call_options import SystemOptions
from dragoman.translation.classification import Classifier, Identifier, Labeller, LineLabels
from dragoman.translation.dispatch import Dispatcher, translator_apart
from dragoman.translation.line_stream import Line
from dragoman.translation.opening import system_of
from dragoman.translation.translator import Translator

log = logging.getLogger(__name__)


class Router(Dispatcher):
    """A translator for each of some languages, and one for all other lines.

    Args:
        labeller: identifies the language of a line.
        config: thresholds of certainty, and the treatment of uncertain lines.
        routes: translators by language.
        others: for lines in other languages.
    """

    def __init__(
        self,
        labeller: Labeller,
        config: IdentifierConfig,
        routes: dict[str, Translator],
        others: Translator,
    ) -> None:
        self._labeller, self._config = labeller, config
        self._routes, self._others = routes, others
        self._told = False

    @classmethod
    def of(cls, system: TranslationSystem, where: str = "search options") -> Router:
        """Build the router of a description with ``source_language: auto``.

        Raises:
            DragomanError: the errors of :func:`translator_apart` for one of the translators; or
                the language identifier cannot be opened, or supports none of the routes.
        """
        config = system.identifier or IdentifierConfig()
        labeller = _labeller(system, config)
        languages = system.routed()
        if unknown := [one for one in languages if one not in labeller.labels]:
            raise ConfigError(
                f"routes: {unknown[0]} is no language of the identifier; it knows "
                f"{', '.join(labeller.labels)}"
            )
        opened: list[Translator] = []
        try:
            for one in (None, *languages):
                opened.append(translator_apart(system.route(one), where, "source language"))
        except BaseException:
            for translator in opened:
                translator.close()
            raise
        others, *routes = opened
        return cls(labeller, config, dict(zip(languages, routes, strict=True)), others)

    @classmethod
    def load(
        cls,
        *paths: Path | str,
        device: torch.device | str | None = None,
        **options: Unpack[SystemOptions],
    ) -> Router:
        """Open a system by its values, as :meth:`Translator.load` does.

        Args:
            paths: models for lines in languages without a route, or names of installed models;
                several form an ensemble.
            device: such as ``cpu`` or ``cuda:1``; by default a GPU if available.
            options: such as ``routes={"fr": {"models": ["models/fr-en"]}}`` and
                ``identifier={"classifier": "runs/languages"}``.

        Raises:
            DragomanError: see :meth:`of`.
        """
        return cls.of(system_of(paths, device, {"source_language": "auto", **options}))

    def _translators(self) -> Iterator[Translator]:
        yield from (self._others, *self._routes.values())

    def _translator(self, group: str | None) -> AbstractContextManager[Translator]:
        return nullcontext(self._others if group is None else self._routes[group])

    def _sorted(self, lines: Sequence[Line]) -> Iterator[tuple[str | None, Line]]:
        found = self._labeller.stream([line.text for line in lines])
        for line, labels in zip(lines, found, strict=True):
            yield self._language(line, labels), line

    def _language(self, line: Line, found: LineLabels) -> str | None:
        """The route of a line; None for other lines."""
        config = self._config
        letters = sum(map(str.isalpha, line.text))
        if found.best and letters >= config.least_letters:
            label, probability = found.best[0]
            if probability >= config.least_probability:
                return label if label in self._routes else None
        if letters and not self._told:
            self._told = True
            log.warning(
                "line %d: its language is uncertain; such lines are translated as %s",
                line.number + 1,
                config.fallback or "those of languages without a route",
            )
        return config.fallback


def _labeller(system: TranslationSystem, config: IdentifierConfig) -> Labeller:
    """The classifier, or an identifier for the possible languages of lines."""
    if config.classifier is not None:
        return Classifier.load(config.classifier, device=system.device)
    languages = config.languages or dict.fromkeys([*system.routed(), *_source_languages(system)])
    if len(languages) < 2:
        raise ConfigError(
            f"identifier: {', '.join(languages)} is the only language that is known, and every "
            "line would be taken to be in it; name all languages of the lines in "
            "identifier.languages, or use a model that says what it translates from"
        )
    return Identifier(tuple(languages), config.name)


def _source_languages(system: TranslationSystem) -> list[str]:
    """Source languages that the first model was trained with, by name."""
    first = system.route(None).legs()[0].models[0]
    saved = config_of(first)
    trained = [one.source_language for one in saved.directions] or [saved.source_language]
    return [language for language in trained if language != "source"]
