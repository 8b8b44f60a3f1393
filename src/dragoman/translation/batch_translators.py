"""Interfaces that a batcher needs of a translator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Unpack, runtime_checkable

from dragoman.core import tracing
from dragoman.search import SearchConfig
from dragoman.translation.call_options import LineOptions, SearchOptions
from dragoman.translation.outputs import Translation
from dragoman.translation.terms import UseOfTerms


class Translates(Protocol):
    """Methods that a batcher needs of a :class:`~dragoman.translation.translator.Translator`."""

    def configure(self, **options: Unpack[SearchOptions]) -> SearchConfig:
        """The search settings of a call with these options."""

    def translate_nbest(
        self, lines: Iterable[str], **options: Unpack[LineOptions]
    ) -> list[list[Translation]]:
        """The best translations of each line; lines that cannot be translated are refused."""


@runtime_checkable
class ReadsContext(Protocol):
    """Gives lines their context, if the models read lines with the lines before them."""

    def in_context(self, lines: Sequence[str]) -> list[str]:
        """The lines of one text, each with its context."""


TranslateLines = Callable[..., list[list[Translation]]]
"""A function with the arguments and results of :meth:`Translates.translate_nbest`."""


@runtime_checkable
class SearchesTwice(Protocol):
    """Can leave out second searches, which a few lines need and which take far longer."""

    def first_searches(self, config: SearchConfig) -> TranslateLines | None:
        """A function that gives no translations for a line that a second search is due for.

        It may be called in any thread, beside other calls.  None if there is none for ``config``,
        or not yet.
        """


def translate_batch(
    translate: TranslateLines, lines: list[str], options: dict[str, Any], trace: Any
) -> list[list[Translation]]:
    """Call a translator for lines of several requests, traced.

    Raises:
        RuntimeError: in place of StopIteration.
    """
    try:
        # Lines of several requests are no evidence about a glossary.
        with tracing.search_span(trace, len(lines)), UseOfTerms().counts():
            return translate(lines, **options)
    except StopIteration as error:  # no future can hold it: its caller would wait for ever
        raise RuntimeError("the translator raised StopIteration") from error
