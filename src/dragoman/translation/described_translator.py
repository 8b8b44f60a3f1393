"""Properties of the models behind a translator, and of how they read lines."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from typing_extensions import override

from dragoman.models.interface import TranslationModel
from dragoman.text.context import ContextConfig
from dragoman.text.inline_tags import InlineTags
from dragoman.translation.confidence import ConfidentEngine
from dragoman.translation.direct import DirectTranslation
from dragoman.translation.engines.engine import TorchEngine
from dragoman.translation.line_translator import ScoringTranslator
from dragoman.translation.preparation import LineFormat


class DescribedTranslator(ScoringTranslator):
    """A translator that tells what its models are."""

    _direct: DirectTranslation

    @property
    def models(self) -> list[TranslationModel]:
        """The model, or the models of the ensemble."""
        return self._direct.local.models

    @property
    def reads_source(self) -> bool:
        """Whether this translates; False for a language model, which continues lines."""
        return self.line_format.reads_source

    @property
    def line_format(self) -> LineFormat:
        """How the models read and write lines."""
        return self._direct.line_format

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags in front of each source."""
        return self.line_format.tags

    @property
    @override
    def has_confidence(self) -> bool:
        return isinstance(self._direct.engine, ConfidentEngine)

    @property
    @override
    def has_token_scores(self) -> bool:
        return self._direct.engine.has_token_scores

    @property
    def engine_choice(self) -> str | None:
        """The engine that was chosen automatically, and why; None if no choice was due yet."""
        return self._direct.engine.choice

    @property
    def context(self) -> ContextConfig | None:
        """The preceding lines that the models read with each line."""
        return self.line_format.context

    @property
    def inline_tags(self) -> InlineTags | None:
        """Maximum inline tags in a line; None if the models have learned none."""
        return self.line_format.inline_tags

    @property
    def device(self) -> torch.device:
        """The device of the models."""
        return self._direct.local.device

    @property
    def local_engine(self) -> TorchEngine:
        """An engine with the models in this process, which scores given translations."""
        return self._direct.local

    @property
    def position_limit(self) -> int | None:
        """Maximum positions of a source or target, including the end symbol; None: unlimited."""
        return self.line_format.positions

    def in_context(self, lines: Sequence[str]) -> list[str]:
        """The lines of one text, each with its context, if the models read any.

        The returned lines are translated as they are, regardless of lines translated before them.
        """
        return self.line_format.in_context(lines)
