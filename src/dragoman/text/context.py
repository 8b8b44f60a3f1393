"""Neighbouring sentences as context, by concatenation.

Tiedemann and Scherrer 2017, "Neural machine translation with extended context"
(arXiv:1708.05943), section 3: a model that reads "previous sentence, separator, sentence" and
writes the translation of the last ("2+1"), or of both ("2+2").

A source with context always has the separator, ``<sep> Hello .`` where nothing precedes it.  A line
that has one therefore brings its own context.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.text.examples import Example, Tag
from dragoman.text.vocabularies import Vocabularies, Vocabulary, is_empty

_RANDOM_LINES = 1000  # lines from which a context is drawn


class ContextConfig(Config):
    """Neighbouring sentences that are read with a sentence."""

    sentences: int = Field(1, ge=1, le=100)
    """Maximum number of preceding sentences that are read."""
    target: bool = False
    """Whether the translations of these sentences precede the target ("2+2"): the model then
    translates them again, and only the text after the last separator is the translation of this
    sentence. By default the model reads the context and translates one sentence ("2+1")."""
    separator: Tag = "<sep>"
    """Tag between two sentences."""
    max_pieces: int = Field(128, ge=1)
    """Maximum length of a side with its context, in pieces; the farthest sentences are left out
    until it fits. A sentence that is too long without context follows the rules for any
    sentence."""
    choice: Literal["previous", "random"] = "previous"
    """Sentences that are the context: those directly before this one in its document, or, for
    comparison, random ones of the 1,000 before it, in any document. A random choice depends only on
    the line number."""

    def joined(self, before: Sequence[str], text: str) -> str:
        """A sentence behind its context, each sentence of which is followed by the separator."""
        parts = [word for one in before for word in (one, self.separator)]
        return " ".join([*(parts or [self.separator]), text])

    def around(self, example: Example, before: Sequence[tuple[str, str]]) -> Example:
        """An example with its context in the source, and in the target if the context has targets.

        Args:
            before: sources and targets, the nearest last.
        """
        sources = [source for source, _ in before]
        inside = example._replace(source=self.joined(sources, example.source))
        if not self.target:
            return inside
        return inside._replace(target=self.joined([target for _, target in before], example.target))

    def alone(self, text: str) -> str:
        """A joined sentence without its context."""
        return text.rpartition(self.separator)[2].strip()

    def written_separator(self, vocabulary: Vocabulary) -> int | None:
        """The id of the separator in outputs; None if they have no context."""
        return vocabulary.tag(self.separator) if self.target else None

    def shorter(self, text: str, tags: Sequence[str] = ()) -> str | None:
        """A joined text, behind any of ``tags``, without its farthest sentence; None if alone."""
        head, *rest = text.split(self.separator)
        lead, farthest = self.divided(head, tags)
        if not rest or not (farthest or len(rest) > 1):
            return None
        kept = rest if len(rest) > 1 else ["", *rest]
        return " ".join([*lead, *self.separator.join(kept).split()])

    def divided(self, text: str, tags: Sequence[str]) -> tuple[list[str], str]:
        """The tags in front of a text without the separator, and the text behind them."""
        rest = text.strip()
        lead: list[str] = []
        while rest:
            word, _, later = rest.partition(" ")
            if word not in tags:
                break
            lead.append(word)
            rest = later.lstrip()
        return lead, rest


def behind_context(ids: Sequence[int], separator: int | None) -> list[int]:
    """The ids of a sentence without its context, which ends at the last separator."""
    own = list(ids)
    while separator in own:
        own = own[own.index(separator) + 1 :]
    return own


class ContextWindow:
    """The sentences that precede the next one, as a text is read in order."""

    def __init__(self, config: ContextConfig) -> None:
        self._config = config
        self._is_random = config.choice == "random"
        size = max(_RANDOM_LINES, config.sentences) if self._is_random else config.sentences
        self._texts: deque[tuple[str, str]] = deque(maxlen=size)

    def before(self, number: int) -> tuple[tuple[str, str], ...]:
        """Sources and targets of the context of line ``number``, the nearest last."""
        if not self._is_random:
            return tuple(self._texts)
        size = min(self._config.sentences, len(self._texts))
        return tuple(Random(number).sample(self._texts, size))

    def add(self, source: str, target: str = "") -> None:
        """Appends a sentence."""
        self._texts.append((source, target))

    def end_document(self) -> None:
        """Ends the document, so that the following sentences get new context."""
        if not self._is_random:
            self._texts.clear()


@dataclass(frozen=True)
class ContextFitter:
    """Drops the farthest sentences of a context that is too long."""

    config: ContextConfig
    vocabularies: Vocabularies
    max_pieces: int
    """Maximum pieces of a side, or that of the configuration if it is smaller."""

    def __call__(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        source_ids: Sequence[list[int]],
        target_ids: Sequence[list[int]],
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The ids of sources and targets shortened until they fit or have no context left.

        Args:
            sources: as they are read, tags in front.
            targets: empty strings if there are none.
        """
        texts = zip(sources, targets, strict=True)
        ids = zip(source_ids, target_ids, strict=True)
        fitted = [self._fitted(*pair)[1] for pair in zip(texts, ids, strict=True)]
        return [source for source, _ in fitted], [target for _, target in fitted]

    def text(self, source: str) -> str:
        """A source, with tags in front, shortened until it fits or has no context left."""
        ids = self.vocabularies.source.encode(source)
        return self._fitted((source, ""), (ids, []))[0]

    def _fitted(
        self, texts: tuple[str, str], ids: tuple[list[int], list[int]]
    ) -> tuple[str, tuple[list[int], list[int]]]:
        """The text of the source, and the ids of both."""
        config, limit = self.config, min(self.max_pieces, self.config.max_pieces)
        if max(map(len, ids)) <= limit:
            return texts[0], ids
        vocabulary = self.vocabularies.source
        tags = vocabulary.pieces(vocabulary.tags)
        source, target = texts
        while max(map(len, ids)) > limit:
            shorter = config.shorter(source, tags)
            if shorter is None:
                break
            source = shorter
            if config.target and target:
                target = config.shorter(target) or target
            ids = vocabulary.encode(source), self.vocabularies.target.encode(target)
        return source, ids


class ContextReader:
    """Adds its context to each line of a text that is read in order.

    An empty line separates documents and stays empty.  A line with the separator brings its own
    context and stays unchanged.

    Args:
        tags: those of the vocabulary, which stay in front of their line.
    """

    def __init__(self, config: ContextConfig, tags: Sequence[str]) -> None:
        self._config, self._tags = config, tags
        self._window = ContextWindow(config)

    def end_document(self) -> None:
        """Ends the document, so that the following lines get new context."""
        self._window.end_document()

    def __call__(self, number: int, source: str, target: str = "") -> tuple[str, str]:
        """A line behind its context, and its translation, if the context has translations."""
        config, window = self._config, self._window
        if is_empty(source):
            self.end_document()
            return source, target
        before = window.before(number)
        own = config.alone(target)
        if config.target and config.separator not in target:
            target = config.joined([one for _, one in before], target)
        if config.separator in source:
            window.add(config.alone(source), own)
            return source, target
        lead, rest = config.divided(source, self._tags)
        window.add(rest, own)
        return " ".join([*lead, config.joined([one for one, _ in before], rest)]), target
