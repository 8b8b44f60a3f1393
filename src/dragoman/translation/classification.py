"""Text in, labels out: classifiers that label lines, with probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from typing_extensions import override

from dragoman.core.arguments import check_lines, check_path
from dragoman.core.config import parse
from dragoman.core.device import find_device
from dragoman.core.errors import ConfigError, DataError
from dragoman.data.batch import pad_sources
from dragoman.evaluation.identifiers import PY3LANGID
from dragoman.evaluation.languages import identified
from dragoman.models.interface import TranslationModel
from dragoman.saved.installed_models import found_model
from dragoman.saved.model import load_for_search
from dragoman.search import SearchConfig
from dragoman.text.labels import labels_of
from dragoman.text.tags import tagged
from dragoman.text.vocabularies import BOS, EOS, Vocabularies
from dragoman.translation.combining import build_scorer, check_same_vocabularies
from dragoman.translation.engines.engine import TorchEngine, evaluating
from dragoman.translation.line_stream import buffered, group_by_length


class Labelled(NamedTuple):
    """A label with its probability."""

    label: str
    probability: float
    """Between 0 and 1; the probabilities of all labels of a line sum to 1."""


@dataclass(frozen=True)
class LineLabels:
    """The labels of a line."""

    text: str
    """The line."""
    best: list[Labelled]
    """The likeliest label first; none for an empty or refused line."""
    refused: str | None = None
    """Why the line has no label: its number, how much too long it is, and what to do."""


class Labeller(ABC):
    """A classifier of lines of text."""

    labels: list[str]
    """All possible labels."""
    _buffer_lines = 1

    def stream(
        self,
        texts: Iterable[str],
        nbest: int = 1,
        *,
        buffer_lines: int | None = None,
        progress: Callable[[int], object] = lambda count: None,
    ) -> Iterator[LineLabels]:
        """The likeliest labels of each text, in order, as texts come.

        Args:
            texts: lines of text.
            nbest: maximum number of labels.
            buffer_lines: lines to read ahead, so that those of similar length share a batch; by
                default as saved with the model.
            progress: called with the number of lines labelled so far.

        Raises:
            UsageError: a text is not a string.
        """
        if nbest < 1:
            raise ConfigError(f"nbest: at least 1 label, not {nbest}")
        done = 0
        for buffer in buffered(check_lines(texts), buffer_lines or self._buffer_lines):
            yield from self._labelled(buffer, done, nbest)
            done += len(buffer)
            progress(done)

    @abstractmethod
    def _labelled(self, texts: list[str], before: int, nbest: int) -> list[LineLabels]:
        """The labels of some lines; ``before`` is the number of lines before them."""


class Identifier(Labeller):
    """An identifier of languages in place of a classifier.

    Args:
        languages: languages to choose from, by the names to return; by default all that the
            identifier knows.
        by: name of the identifier.

    Raises:
        ConfigError: it does not support a language, or cannot tell two of them apart.
        MissingExtraError: it is not installed.
    """

    def __init__(self, languages: Sequence[str] = (), by: str = PY3LANGID) -> None:
        self._among, self._by = tuple(languages), by
        self.labels = sorted(name for name, _ in identified("", self._among, by))

    @override
    def _labelled(self, texts: list[str], before: int, nbest: int) -> list[LineLabels]:
        each = [
            identified(text, self._among, self._by)[:nbest] if text.strip() else []
            for text in texts
        ]
        best = [[Labelled(*label) for label in labels] for labels in each]
        return list(map(LineLabels, texts, best))


class Classifier(Labeller):
    """Models that label lines of text.

    Args:
        models: classifiers; several form an ensemble by the mean of their probabilities.
        vocabularies: of all models.
        search: limits the length of lines, the size of batches and the lines read ahead.
        tags: put in front of each line, such as ``<cls>``.

    Models in training may be given: they are in evaluation mode only while in use.
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],
        vocabularies: Vocabularies,
        search: SearchConfig | None = None,
        tags: Sequence[str] = (),
    ) -> None:
        self.labels = labels_of(vocabularies.target)
        """All possible labels."""
        self._engine = TorchEngine(build_scorer(models), models)
        self._vocabulary = vocabularies.source
        self._tags = self._vocabulary.encode(tagged(tags, ""))
        self._search = (search or SearchConfig()).sized_for(self._engine.device)
        self._buffer_lines = self._search.buffer_lines

    @classmethod
    def load(cls, *paths: Path | str, device: torch.device | str | None = None) -> Classifier:
        """Open a classifier; several make an ensemble.

        Args:
            paths: directories of models, runs or checkpoints, or names of installed models.
            device: such as ``cpu`` or ``cuda:1``; by default a GPU if available.

        Raises:
            SavedError: a model is missing or damaged, or the vocabularies differ.
            ConfigError: no path, a model that does not classify, or a device that does not exist.
            UsageError: a path or device of the wrong type.
        """
        if not paths:
            raise ConfigError("name at least one classifier to load")
        where = find_device(device)
        first, *others = saved = [
            load_for_search(found_model(check_path(p)), where, "float32") for p in paths
        ]
        for one in saved:
            if not one.config.model.writes_labels:
                raise ConfigError(
                    f"{one.path}: no classifier but a model of the family "
                    f"{one.config.model.family}; train one with model.family: classifier"
                )
        for other in others:
            check_same_vocabularies(first, other)
        search = parse(SearchConfig, first.search, f"{first.path}: search")
        # Tags that all training parts had in common: a line does not name its part.
        trained = [one.tags for one in first.config.directions]
        tags = [tag for tag in (trained or [()])[0] if all(tag in other for other in trained)]
        return cls([one.model for one in saved], first.vocabularies, search, tags)

    def classify(self, texts: Iterable[str]) -> list[Labelled | None]:
        """The likeliest label of each text; None for an empty text.

        Raises:
            DataError: a text is too long.
            UsageError: a text is not a string.
        """
        lines = list(self.stream(texts))
        if refused := next((line.refused for line in lines if line.refused is not None), None):
            raise DataError(refused)
        return [line.best[0] if line.best else None for line in lines]

    @override
    def _labelled(self, texts: list[str], before: int, nbest: int) -> list[LineLabels]:
        limit = self._engine.scorer.position_limit
        found = [LineLabels(text, []) for text in texts]
        encoded = self._vocabulary.encode_batch(texts)
        sources = [self._tags + source if source else [] for source in encoded]
        wanted = []
        for place, source in enumerate(sources):
            if not source:
                continue
            if reason := self._search.refusal(len(source), limit):
                found[place] = LineLabels(texts[place], [], f"line {before + place + 1}: {reason}")
            else:
                wanted.append(place)

        def length(place: int) -> int:
            return len(sources[place]) + 1

        for group in group_by_length(wanted, length, self._search.tokens_at_once):
            most = self._likeliest([sources[place] for place in group], nbest)
            for place, best in zip(group, most, strict=True):
                found[place] = LineLabels(texts[place], best)
        return found

    @torch.inference_mode()
    def _likeliest(self, sources: Sequence[list[int]], nbest: int) -> list[list[Labelled]]:
        """The labels of a batch: the first position's probabilities, special symbols left out."""
        scorer, device = self._engine.scorer, self._engine.device
        source, mask = (tensor.to(device) for tensor in pad_sources(sources))
        with evaluating(self._engine.models):
            memory = scorer.encode(source, mask)
            begin = source.new_full((len(source), 1), BOS)
            scores, _ = scorer.step(begin, memory, scorer.start(memory))  # (batch, 1, vocabulary)
        probabilities = scores[:, 0, EOS + 1 :].double().softmax(-1)  # (batch, labels)
        values, places = probabilities.topk(min(nbest, len(self.labels)))
        return [
            [Labelled(self.labels[place], value) for place, value in zip(*row, strict=True)]
            for row in zip(places.tolist(), values.tolist(), strict=True)
        ]
