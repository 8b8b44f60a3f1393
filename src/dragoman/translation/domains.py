"""Lines of several domains: one model in memory, which gets the adapter of each line's domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Unpack

import torch
from torch import Tensor

from dragoman.models.interface import TranslationModel
from dragoman.models.layers.low_rank import merged
from dragoman.saved.adapter import Adapter, read_adapter
from dragoman.saved.model import model_directory, vocabularies_of
from dragoman.saved.system import TranslationSystem
from dragoman.saved.weights import WEIGHTS_FILE, read_weights
from dragoman.text.tags import TAG
from dragoman.translation.call_options import SystemOptions
from dragoman.translation.dispatch import Dispatcher, translator_apart
from dragoman.translation.engines.packing import put_weight
from dragoman.translation.line_stream import Line
from dragoman.translation.opening import system_of
from dragoman.translation.translator import Translator


class ExchangedWeights:
    """Puts one of several adapters into a model in memory, in place of another.

    The matrices that they change are kept in float32 beside the model, so that each is merged
    exactly as at loading, and nothing accumulates.

    Args:
        model: in memory, with the weights of ``directory``.
        directory: of the model.
        adapters: by domain.
        usual: the adapter of lines without a domain; by default none.

    Raises:
        SavedError: an adapter is of another model.
    """

    def __init__(
        self,
        model: TranslationModel,
        directory: Path,
        adapters: dict[str, Adapter],
        usual: Adapter | None = None,
    ) -> None:
        self._adapters: dict[str | None, Adapter] = dict(adapters.items())
        if usual is not None:
            self._adapters[None] = usual
        self._model = model
        weights = merged(read_weights(directory / WEIGHTS_FILE))
        changed: set[str] = set()
        for adapter in self._adapters.values():
            adapter.onto(weights, directory)  # checks that it fits
            changed |= adapter.matrices
        self._own = {name: weights[name] for name in sorted(changed)}
        self._present: str | None = None

    @torch.no_grad()
    def put(self, domain: str | None) -> None:
        """Switch the model to a domain; None for lines without a domain."""
        if domain == self._present:
            return
        weights: dict[str, Tensor] = self._own
        if domain in self._adapters:
            weights = merged({**self._own, **self._adapters[domain].factors})
        for name in self._own:
            put_weight(self._model, name, weights[name])
        self._present = domain


class DomainRouter(Dispatcher):
    """A translator whose model has the adapter of each line's domain.

    A line that begins with the tag of a domain, such as ``<ui>``, is of that domain; other tags
    of the model may come before it.  The model reads the tag if it was trained with it.  Other
    lines are of the domain ``usual``, if it is given.
    """

    def __init__(
        self,
        translator: Translator,
        weights: ExchangedWeights,
        domains: Iterable[str],
        usual: str | None = None,
    ) -> None:
        self._others, self._weights, self._usual = translator, weights, usual
        self._domains = frozenset(domains)
        self._lock = Lock()  # there is one model, and another thread may need another adapter
        # Lines that name a domain do not get the tag of the usual domain.
        self._own = translator.tagged([tag for tag in translator.tags if tag != f"<{usual}>"])

    @classmethod
    def of(cls, system: TranslationSystem, where: str = "search options") -> DomainRouter:
        """Build the router of a description with ``adapters``.

        If a tag of the system is that of a domain, lines without a domain get this domain; the last
        such tag counts.

        Raises:
            DragomanError: the errors of :func:`translator_apart`, or for an adapter those of
                :func:`~dragoman.saved.adapter.read_adapter`.
        """
        (path,) = system.models
        adapters = {domain: read_adapter(file) for domain, file in system.adapters.items()}
        usual = None if system.adapter is None else read_adapter(system.adapter)
        known = vocabularies_of(path).source
        named = [tag for tag in system.tags if tag[1:-1] in adapters]
        read = {tag for tag in named[-1:] if tag in known.pieces(known.tags)}
        tags = tuple(tag for tag in system.tags if tag not in named or tag in read)
        # A converted model would keep its weights.
        alone = system.model_copy(update={"adapters": {}, "tags": tags, "engine": "pytorch"})
        translator = translator_apart(alone, where, "adapter")
        try:
            weights = ExchangedWeights(translator.models[0], model_directory(path), adapters, usual)
        except BaseException:
            translator.close()
            raise
        return cls(translator, weights, adapters, named[-1][1:-1] if named else None)

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        device: torch.device | str | None = None,
        **options: Unpack[SystemOptions],
    ) -> DomainRouter:
        """Open a system by its values, as :meth:`Translator.load` does.

        Args:
            path: of the model, or the name of an installed model.
            device: such as ``cpu`` or ``cuda:1``; by default a GPU if available.
            options: such as ``adapters={"ui": "runs/ui"}``.

        Raises:
            DragomanError: see :meth:`of`.
        """
        return cls.of(system_of([path], device, options))

    def _translators(self) -> Iterator[Translator]:
        yield from (self._others, self._own)

    @contextmanager
    def _translator(self, group: str | None) -> Iterator[Translator]:
        with self._lock:
            self._weights.put(self._usual if group is None else group)
            yield self._others if group is None else self._own

    def _sorted(self, lines: Sequence[Line]) -> Iterator[tuple[str | None, Line]]:
        source = self._others.vocabularies.source
        known = frozenset(source.pieces(source.tags))
        for line in lines:
            domain, text = split_domain(line.text, self._domains, known)
            yield domain, replace(line, text=text)


def split_domain(
    text: str, domains: frozenset[str], known: frozenset[str]
) -> tuple[str | None, str]:
    """The domain that a line names by a tag in front, and the line as the model reads it.

    The line is such as ``<ui> Save as``, or ``<2de> <ui> Save as``.  The tag of the domain stays in
    it if it is among the tags ``known`` to the model.
    """
    start = len(text) - len(text.lstrip(" "))
    while match := TAG.match(text, start):
        tag, end = match.group(), match.end()
        following = end + len(text[end:]) - len(text[end:].lstrip(" "))
        if tag[1:-1] in domains:
            return tag[1:-1], text if tag in known else text[:start] + text[following:]
        if tag not in known:
            break
        start = following
    return None, text
