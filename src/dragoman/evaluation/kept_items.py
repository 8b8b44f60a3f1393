"""Metrics of what a translation owes its source: terms of a glossary, placeholders, numbers.

They read sources instead of references: these go where sacrebleu's interface has references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import regex

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

_PLACEHOLDER = regex.compile(
    r"\{\{.*?\}\}|\$?\{[^{}]*\}"  # {{ name }}, {name}, ${name}
    r"|%\([^()\s]+\)[#0\- +]*\d*(?:\.\d+)?[a-zA-Z]"  # %(name)s
    r"|%(?:\d+\$)?[#0\-+]*\d*(?:\.\d+)?[hlLqjzt]*[diouxXeEfFgGcsSpan@](?!\p{L})"  # %s, %1$d, %.2f
    r"|%[1-9]\d?(?![\d%])"  # %1
    r"|%[A-Z][A-Z_0-9]+%?"  # %PRODUCTNAME
    r"|\$[A-Za-z_]\w*|\$\([^()\s]*\)"  # $name
    r"|</?[a-zA-Z][^<>]*>"  # <b>
    r"|&(?:[a-zA-Z]+|#\d+);"  # &amp;
)
_NUMBER = regex.compile(r"(?<![\p{L}\p{N}_])\d+(?:[.,:]\d+)*(?![\p{L}\p{N}_])")
_SEPARATORS = regex.compile(r"[.,]")


def placeholders(text: str) -> Counter[str]:
    """The placeholders of a line of software: ``{name}``, ``%s``, ``$name``, ``<b>``, ``&amp;``."""
    return Counter(_PLACEHOLDER.findall(text))


def numbers(text: str) -> Counter[str]:
    """The numbers of a line, outside of placeholders and of names; ``1,000`` is ``1.000``."""
    rest = _PLACEHOLDER.sub(" ", text)
    return Counter(_SEPARATORS.sub(".", number) for number in _NUMBER.findall(rest))


FINDERS = {"placeholders": placeholders, "numbers": numbers}
"""What finds the items of a line, by the name of their metric."""


def kept(find: Callable[[str], Counter[str]], source: str, translation: str) -> tuple[int, int]:
    """How many items of ``source`` are in ``translation`` as often, and how many it has."""
    wanted, there = find(source), find(translation)
    return sum((wanted & there).values()), sum(wanted.values())


def kept_items_metric(
    name: str,
    count: Callable[[str, str], tuple[int, int]],
    details: dict[str, str],
) -> Metric:
    """The percentage of what sources hold that is in their translations.

    It has sacrebleu's interface, with sources in the place of references.

    Args:
        name: of the score.
        count: of a source and its translation: how many items are kept, of how many.
        details: what must be equal for two scores to be comparable, for the signature.
    """
    from sacrebleu.metrics.base import Metric, Score, Signature

    class KeptSignature(Signature):
        """What must be equal for two rates to be comparable."""

        def __init__(self, args: dict[str, Any]) -> None:
            super().__init__(args)
            self.info["nrefs"] = None  # it reads none
            for key, value in details.items():
                self.update(key, value)

    class KeptItems(Metric):
        """Counts items that are kept, and all."""

        _SIGNATURE_TYPE = KeptSignature

        def _preprocess_segment(self, sent: str) -> str:
            return sent

        def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
            return {"source": refs[0]}

        def _compute_segment_statistics(
            self, hypothesis: str, ref_kwargs: dict[str, Any]
        ) -> list[int]:
            return list(count(ref_kwargs["source"], hypothesis))

        def _compute_score_from_stats(self, stats: Sequence[int]) -> Score:
            found, wanted = map(int, stats)
            return Score(name, 100 * found / wanted if wanted else 100.0)

        def _aggregate_and_compute(self, stats: list[list[int]]) -> Score:
            return self._compute_score_from_stats(
                [sum(column) for column in zip(*stats, strict=True)]
            )

    return KeptItems()  # type: ignore[no-untyped-call]  # sacrebleu's constructor
