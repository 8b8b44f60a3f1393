"""The base of engines that other packages add."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from dragoman.models.interface import TranslationModel
from dragoman.saved.system import TranslationSystem
from dragoman.text.vocabularies import Vocabularies
from dragoman.translation.engines.engine import Engine


class AddedEngine(Engine):
    """An engine for one model, by an entry point of the group ``dragoman.engines``."""

    @classmethod
    @abstractmethod
    def opened(
        cls,
        path: Path,
        model: TranslationModel,
        vocabularies: Vocabularies,
        system: TranslationSystem,
    ) -> Engine:
        """The engine that searches with a model; it is closed with the translator.

        Args:
            path: the directory of the model.
            model: the same on the CPU in float32, with its adapter merged in, if any.
            vocabularies: of the model.
            system: ``device``, ``precision`` and ``workers``, as the user wants them.

        Raises:
            ConfigError: the engine cannot do what the system describes.
            MissingExtraError: a package that the engine needs is not installed.
        """
