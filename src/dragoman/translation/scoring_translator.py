"""The common interface of translators whose models also read given translations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import get_args

from dragoman.core.errors import ConfigError
from dragoman.core.wording import shown
from dragoman.translation.forced import ForcedDecoder
from dragoman.translation.line_translator import LineTranslator
from dragoman.translation.outputs import Attention, AttentionOf, Scored, Unscored


class ScoringTranslator(LineTranslator):
    """Translates lines, scores given translations, and shows the attention of its models."""

    @abstractmethod
    def _forced(self, wanted: str) -> ForcedDecoder:
        """The decoder that reads given translations.

        Args:
            wanted: the feature that needs it, for the error.

        Raises:
            ConfigError: there is a pivot.
            UsageError: the translator is closed.
        """

    def score(self, sources: Sequence[str] | None, targets: Sequence[str]) -> list[Scored]:
        """Score each target as the translation of its source (forced decoding).

        Models that read context read the sources as :meth:`translate` reads lines, and targets as
        well if they have context.

        Args:
            sources: one per target; None for a language model, which scores targets alone.
            targets: the translations to score.

        Raises:
            ConfigError: sources for a language model, or none for a translation model; or there is
                a pivot.
            UsageError: either is a single string or contains anything but strings, or the
                translator is closed.
            DataError: unequal numbers of lines, a line longer than ``max_source_pieces`` or the
                model's positions, or a line with the tag of a language that the model lacks.
        """
        return self._forced("scores").score(sources, targets)

    def score_fit(
        self, sources: Sequence[str] | None, targets: Sequence[str]
    ) -> list[Scored | Unscored]:
        """Score pairs as :meth:`score` does, but each as a text by itself.

        If a pair cannot be scored, the reason takes the place of its score.

        Args:
            sources: one per target; None for a language model.
            targets: the translations to score.

        Raises:
            ConfigError: as for :meth:`score`.
            DataError: unequal numbers of lines.
            UsageError: as for :meth:`score`.
        """
        return self._forced("scores").score_fit(sources, targets)

    def attention(
        self, source: str, target: str | None = None, *, of: AttentionOf = "source"
    ) -> Attention:
        """The attention of the model to ``source`` while it writes ``target``.

        Args:
            source: a sentence.
            target: its translation; the model's own if not given.
            of: the attention over the source, or self-attention within the source (encoder;
                ``target`` is not read) or within the target (decoder).

        Raises:
            ConfigError: an ensemble, a family without such attention, a pivot, or an unknown name
                in ``of``.
            DataError: an empty source; a source or target that is longer than
                ``max_source_pieces`` or the model's positions.
            UsageError: either is not a string, or the translator is closed.
        """
        forced = self._forced("attention")
        if of not in get_args(AttentionOf):
            raise ConfigError(
                f"attention: {shown(of)} is not looked at; choose one of: "
                f"{', '.join(get_args(AttentionOf))}"
            )
        forced.check_shown(of_source=of == "source")
        ids = forced.source_ids(source)
        if target is None and of != "encoder":
            (target,) = self.translate([source])
        if of == "source" and target is not None:
            return forced.attention(ids, target)
        return forced.self_attention(ids, None if of == "encoder" else target)
