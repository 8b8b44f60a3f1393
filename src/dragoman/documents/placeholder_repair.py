"""Placeholders in translations of plain text: each exactly as often as the source has it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.marks.marking import placeholders
from dragoman.translation.service.interface import (
    Rendering,
    TranslatedSentence,
    TranslatedText,
)
from dragoman.translation.service.placeholders import PLACEHOLDER


def repaired(translated: TranslatedText) -> TranslatedText:
    """A translation in which placeholders such as ``[X7X]`` are neither lost nor doubled.

    A lost one is put where the words around it are, and of doubled ones the best is kept.
    """
    sentences: list[TranslatedSentence] = []
    parts: list[str] = []
    end = length = 0
    for one in translated.sentences:
        parts.append(translated.text[end : one.target_start])
        end = one.target_start + len(one.renderings[0].text)
        length += len(parts[-1])
        renderings = tuple(_repaired(one.source, rendering) for rendering in one.renderings)
        sentences.append(replace(one, renderings=renderings, target_start=length))
        parts.append(renderings[0].text)
        length += len(parts[-1])
    text = "".join([*parts, translated.text[end:]])
    return replace(translated, text=text, sentences=tuple(sentences))


def _repaired(source: str, rendering: Rendering) -> Rendering:
    wanted = Counter(PLACEHOLDER.findall(source))
    if wanted == Counter(PLACEHOLDER.findall(rendering.text)):
        return rendering
    alone = TranslatedSentence(source, 0, (rendering,))
    translated = TranslatedText(rendering.text, "", "", None, (alone,))
    text = place_marks(MarkedText(source, placeholders(source)), translated, escape=str)
    return replace(rendering, text=text, links=())
