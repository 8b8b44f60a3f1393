"""What is done about strings of programs, short lines and several kinds of text, and why.

A technique is switched on where it gave more than it cost in the runs of ten minutes in
docs/results/init.md, "What init chooses among".  The comments of a configuration tell what was
counted and measured, so that a text that differs can be treated otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.workflows.text_features import TextFeatures

_FEW = 0.005  # share of the lines below which a text hardly has any


@dataclass(frozen=True)
class MeasuredEffect:
    """What a technique changed on one text in ten minutes: the difference in chrF or BLEU."""

    text: str
    difference: float
    p: float | None = None
    metric: str = "chrF"

    def __str__(self) -> str:
        by_chance = "" if self.p is None else f" (p {self.p:g})"
        return f"{self.difference:+.2f} {self.metric} on {self.text}{by_chance}"

    @property
    def is_gain(self) -> bool:
        """Whether it is better than chance gives."""
        return self.difference > 0 and (self.p is None or self.p < _CHANCE)


_CHANCE = 0.05
LEARNED_TAGS = (
    MeasuredEffect("strings of four products", 2.00, 0.07),
    MeasuredEffect("strings of a user interface", -1.03, 0.11),
)
EXAMPLES_OF_SHORT_LINES = (MeasuredEffect("strings of four products", -1.68, 0.18),)
DOMAIN_TAGS = (
    MeasuredEffect("a user interface", 0.97, 0.02, "BLEU"),
    MeasuredEffect("an office suite", -0.50, 0.04, "BLEU"),
    MeasuredEffect("a game", -0.25, 0.14, "BLEU"),
)


def pays(measured: Sequence[MeasuredEffect]) -> bool:
    """Whether a technique gained on every text where it was measured."""
    return bool(measured) and all(one.is_gain for one in measured)


def notes_on_text(features: TextFeatures, parts: Sequence[CorpusPart]) -> list[str]:
    """What was counted, and for each technique that it suggests, why it is on or off."""
    found = [_on_strings(features), _on_short_lines(features), _on_kinds(parts)]
    return [one for one in found if one]


def _on_strings(features: TextFeatures) -> str:
    if not features.strings:
        return ""
    counted = f"Of {features.pairs:,} sources, {features.counted}"
    if not features.sides_agree:
        counted += (
            f"; {features.differing:,} pairs differ, which teaches a model to lose them (first: "
            f"{features.first_differing}): dragoman check lists all"
        )
    return f"{counted}. Translating keeps them by default (--protect). {_because('markup_tags')}"


def _on_short_lines(features: TextFeatures) -> str:
    few = [kind for kind, count in features.lines.items() if count < _FEW * features.pairs]
    if not features.pairs or not few:
        return ""
    return f"Sources: {features.lines_counted}. {_because('case')}"


def _on_kinds(parts: Sequence[CorpusPart]) -> str:
    kinds = {(one.path, one.source) for one in parts}
    if len(kinds) < 2:
        return ""
    return f"{len(kinds)} parts. {_because('tag')}"


_TECHNIQUES = {
    "markup_tags": ("learning them as symbols", LEARNED_TAGS, "docs/markup.md"),
    "case": (
        "examples of capitals and codes (case, pass_through)",
        EXAMPLES_OF_SHORT_LINES,
        "docs/short-input.md",
    ),
    "tag": ("a domain tag for each", DOMAIN_TAGS, "docs/domain-tags.md"),
}


def _because(kind: str) -> str:
    name, measured, page = _TECHNIQUES[kind]
    figures = ", ".join(map(str, measured))
    state = "is on" if pays(measured) else "is off"
    return f"{name[0].upper()}{name[1:]} {state}: {figures} in runs of ten minutes ({page})"
