"""Texts with markup or placeholders, through a service of plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from dragoman.core.errors import DataError
from dragoman.documents.html import read_html
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_document import MarkedDocument, MarkupOptions
from dragoman.documents.marks.marked_requests import detections, questions, with_kept
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.marks.marking import placeholders
from dragoman.documents.xml import read_xml
from dragoman.text.terms.copied_text import PLACEHOLDER
from dragoman.translation.service.interface import RefusedError, TextRequest, TextService
from dragoman.translation.service.offloading import aside
from dragoman.translation.service.translated_text import (
    Rendering,
    TranslatedSentence,
    TranslatedText,
)

__all__ = [
    "ContentFormat",
    "MarkupOptions",
    "translate_contents",
]

ContentFormat = Literal["text", "html", "xml"]


async def translate_contents(
    service: TextService,
    requests: Sequence[TextRequest],
    kind: ContentFormat = "text",
    markup: MarkupOptions | None = None,
    *,
    seconds: float | None = None,
) -> list[TranslatedText]:
    """Translate texts.  Their markup is kept in place and well-formed.

    Args:
        service: translates the text between tags.
        requests: the texts; ``prefix``, ``nbest`` and ``links`` are for plain text.
        kind: the format of all of them.
        markup: how it is read.
        seconds: as in ``service.translate``.

    Returns:
        ``sentences`` is empty for texts with markup.

    Raises:
        RefusedError: ``invalid``, if XML is not well-formed; and those of the service.
    """
    if kind == "text":
        return await _translate_plain(service, requests, seconds)
    size = sum(len(request.text) for request in requests)
    documents = await aside(
        size, lambda: [_read(request.text, kind, markup) for request in requests]
    )
    languages = await detections(service, requests, [one.texts for one in documents])
    parts = [document.texts or [MarkedText("", [])] for document in documents]
    sentences: list[TextRequest] = []
    for request, texts, detection in zip(requests, parts, languages, strict=True):
        sentences += questions(request, texts, detection)
    sentences = await with_kept(sentences, [text for texts in parts for text in texts])
    answers = iter(await service.translate(sentences, seconds=seconds))
    work = [
        (one, [next(answers) for _ in texts]) for one, texts in zip(documents, parts, strict=True)
    ]
    written = await aside(size, lambda: [_joined(one, found) for one, found in work])
    return [
        TranslatedText(text, found[0].source, found[0].target, detection or found[0].detection, ())
        for text, (_, found), detection in zip(written, work, languages, strict=True)
    ]


async def _translate_plain(
    service: TextService, requests: Sequence[TextRequest], seconds: float | None
) -> list[TranslatedText]:
    translated = await service.translate(requests, seconds=seconds)
    size = sum(len(request.text) * request.nbest for request in requests)
    return await aside(
        size,
        lambda: [
            repaired(one) if PLACEHOLDER.search(request.text) else one
            for request, one in zip(requests, translated, strict=True)
        ],
    )


def _read(text: str, kind: ContentFormat, markup: MarkupOptions | None) -> MarkedDocument:
    if kind == "html":
        return read_html(text, markup)
    try:
        return read_xml(text, markup)
    except DataError as error:
        raise RefusedError("invalid", str(error)) from error


def _joined(document: MarkedDocument, answers: Sequence[TranslatedText]) -> str:
    written = [
        place_marks(text, answer) for text, answer in zip(document.texts, answers, strict=False)
    ]
    return document.joined(written)


def repaired(translated: TranslatedText) -> TranslatedText:
    """A translation in which placeholders such as ``[X7X]`` are neither lost nor doubled.

    A lost one is put where the words around it are, and of doubled ones the best is kept.
    """
    sentences: list[TranslatedSentence] = []
    parts: list[str] = []
    end = length = 0
    for sentence in translated.sentences:
        parts.append(translated.text[end : sentence.target_start])
        end = sentence.target_start + len(sentence.renderings[0].text)
        length += len(parts[-1])
        renderings = tuple(
            _repaired(sentence.source, rendering) for rendering in sentence.renderings
        )
        sentences.append(replace(sentence, renderings=renderings, target_start=length))
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
