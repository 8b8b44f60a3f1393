"""Texts with markup, through a service that knows plain text only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dragoman.core.errors import DataError
from dragoman.documents.html import read_html
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_document import MarkedDocument, MarkupOptions
from dragoman.documents.marks.marked_requests import detections, questions, texts_or_none, with_kept
from dragoman.documents.placeholder_repair import repaired
from dragoman.documents.xml import read_xml
from dragoman.translation.service.aside import aside
from dragoman.translation.service.interface import (
    RefusedError,
    TextRequest,
    TranslatedText,
    TranslationService,
)
from dragoman.translation.service.placeholders import PLACEHOLDER

__all__ = [
    "ContentFormat",
    "MarkupOptions",
    "translate_contents",
]

ContentFormat = Literal["text", "html", "xml"]


async def translate_contents(
    service: TranslationService,
    requests: Sequence[TextRequest],
    kind: ContentFormat = "text",
    markup: MarkupOptions | None = None,
    *,
    seconds: float | None = None,
) -> list[TranslatedText]:
    """Translate texts whose markup, if they have any, is kept in place and well-formed.

    Args:
        service: translates what is between the tags.
        requests: the texts; ``prefix``, ``nbest`` and ``links`` are for plain text.
        kind: the format of all of them.
        markup: how it is read.
        seconds: as in ``service.translate``.

    Returns:
        Of texts with markup, ``sentences`` is empty.

    Raises:
        RefusedError: those of the service; ``invalid``, if XML is not well-formed.
    """
    if kind == "text":
        return await _translate_plain(service, requests, seconds)
    size = sum(len(request.text) for request in requests)
    documents = await aside(
        size, lambda: [_read(request.text, kind, markup) for request in requests]
    )
    languages = await detections(service, requests, [one.texts for one in documents])
    parts = [texts_or_none(one.texts) for one in documents]
    asked: list[TextRequest] = []
    for request, texts, detection in zip(requests, parts, languages, strict=True):
        asked += questions(request, texts, detection)
    asked = await with_kept(asked, [text for texts in parts for text in texts])
    answers = iter(await service.translate(asked, seconds=seconds))
    work = [
        (one, [next(answers) for _ in texts]) for one, texts in zip(documents, parts, strict=True)
    ]
    written = await aside(size, lambda: [_joined(one, found) for one, found in work])
    return [
        TranslatedText(text, found[0].source, found[0].target, detection or found[0].detection, ())
        for text, (_, found), detection in zip(written, work, languages, strict=True)
    ]


async def _translate_plain(
    service: TranslationService, requests: Sequence[TextRequest], seconds: float | None
) -> list[TranslatedText]:
    found = await service.translate(requests, seconds=seconds)
    size = sum(len(request.text) * request.nbest for request in requests)
    return await aside(
        size,
        lambda: [
            repaired(one) if PLACEHOLDER.search(request.text) else one
            for request, one in zip(requests, found, strict=True)
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
    found = [
        place_marks(text, answer) for text, answer in zip(document.texts, answers, strict=False)
    ]
    return document.joined(found)
