"""Sources whose terms are annotated with translations, for models that learned to use them.

Dinu et al. 2019, "Training Neural Machine Translation to Apply Terminology Constraints"
(arXiv:1906.01105), section 2: translations are written next to the terms (*append*) or in their
place (*replace*).  Tags of the vocabulary mark them here, in place of the paper's source factors::

    append:   Remove the <term> device <as> Gerät </term> first.
    replace:  Remove the <term> Gerät </term> first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from dragoman.text.normalization import normalize
from dragoman.text.tags import TAG
from dragoman.text.terms.glossary import Glossary, Match

AnnotationMethod = Literal["append", "replace"]
BEGIN, TRANSLATED_AS, END = "<term>", "<as>", "</term>"


def annotation_tags(method: AnnotationMethod) -> tuple[str, ...]:
    """The tags that sources may have inside."""
    return (BEGIN, TRANSLATED_AS, END) if method == "append" else (BEGIN, END)


def annotated(source: str, matches: Iterable[Match], method: AnnotationMethod) -> str:
    """A source with its terms annotated, each with the first of its translations.

    Text within a tag, such as ``ui`` in ``<ui>``, is not a term.

    Args:
        source: a normalised line.
        matches: terms in it, in its order and without overlaps.
    """
    parts, place = [], 0
    tags = [tag.span() for tag in TAG.finditer(source)] if "<" in source else []
    for term, start, end in matches:
        if any(first < start and end < last for first, last in tags):
            continue
        wanted = term.targets[0]
        inside = f"{source[start:end]} {TRANSLATED_AS} {wanted}" if method == "append" else wanted
        parts += [source[place:start], f" {BEGIN} {inside} {END} "]
        place = end
    return normalize("".join([*parts, source[place:]]))


class TermAnnotator:
    """Annotates the terms of a glossary in lines to translate, by the method of the training."""

    def __init__(self, glossary: Glossary, method: AnnotationMethod) -> None:
        self._glossary, self._method = glossary, method

    def __call__(self, line: str) -> str:
        """The line with its terms annotated."""
        return self.counted(line)[0]

    def counted(self, line: str) -> tuple[str, int]:
        """The line with its terms annotated, and their number."""
        text = normalize(line)
        matches = self._glossary.matches(text)
        return annotated(text, matches, self._method), len(matches)
