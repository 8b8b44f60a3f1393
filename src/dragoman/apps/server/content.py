"""Texts with markup, and files, through a service that knows plain text only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal, TypeVar

from dragoman.core.errors import DataError
from dragoman.documents.character_encoding import decode
from dragoman.documents.html import read_html
from dragoman.documents.mark_placement import place_marks
from dragoman.documents.marked_document import MarkedDocument, MarkupOptions
from dragoman.documents.marked_text import MarkedText
from dragoman.documents.marking import placeholders
from dragoman.documents.placeholder_repair import repaired
from dragoman.documents.xml import read_xml
from dragoman.text.glossary import Glossary, Term
from dragoman.text.sentences import split_text
from dragoman.translation.service.interface import (
    Detection,
    RefusedError,
    TextRequest,
    TranslatedText,
    TranslationService,
)
from dragoman.translation.service.placeholders import PLACEHOLDER

__all__ = [
    "FILE_FORMATS",
    "ContentFormat",
    "MarkupOptions",
    "TranslatedFile",
    "translate_contents",
    "translate_file",
]

ContentFormat = Literal["text", "html", "xml"]
Result = TypeVar("Result")


@dataclass(frozen=True)
class TranslatedFile:
    """A translated file."""

    name: str
    """Suggested: the name that it came with, and the target language."""
    content: bytes
    media_type: str
    source: str
    """Its language, given or detected."""
    characters: int
    """Of the text that was translated."""


FILE_FORMATS = (".txt", ".html", ".htm")
"""Suffixes of the files that can be translated."""

_MEDIA_TYPES = {".txt": "text/plain", ".html": "text/html", ".htm": "text/html"}
_AT_ONCE = 2000
"""Characters that are read without leaving the event loop."""
_JUDGED = 2000
"""Characters of a document by which its language is told."""
_CHUNK = 64
"""Texts of a file that are translated together, and between which progress is told."""
_LONGEST = 24 * 3600.0
"""Seconds: what takes as long as it takes."""
_TRIES = 30
"""How often a part of a file is sent while the queue is full."""


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
    documents = await _aside(
        size, lambda: [_read(request.text, kind, markup) for request in requests]
    )
    detections = await _detections(service, requests, documents)
    asked: list[TextRequest] = []
    for request, document, detection in zip(requests, documents, detections, strict=True):
        asked += _questions(request, document, detection)
    answers = iter(await service.translate(_with_kept(asked, documents), seconds=seconds))
    work = [(one, [next(answers) for _ in _parts_of(one)]) for one in documents]
    texts = await _aside(size, lambda: [_joined(one, found) for one, found in work])
    return [
        TranslatedText(text, found[0].source, found[0].target, detection or found[0].detection, ())
        for text, (_, found), detection in zip(texts, work, detections, strict=True)
    ]


async def translate_file(
    service: TranslationService,
    name: str,
    content: bytes,
    request: TextRequest,
    *,
    seconds: float | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> TranslatedFile:
    """Translate a file of a format in ``FILE_FORMATS``.

    It is written in the encoding that it came in, with its line ends.

    Args:
        service: translates its text.
        name: as the client calls the file; only its suffix counts.
        content: the file.
        request: languages, glossary and the like; its text is not read.
        seconds: for the whole file; None: as long as it takes.
        progress: called with the texts done so far and their total number.

    Raises:
        RefusedError: those of the service; ``invalid``, if the format is unknown, or the file is
            not UTF-8 (or what a byte order mark or a page says) or has no text.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    suffix = path.suffix.lower()
    if suffix not in FILE_FORMATS:
        raise RefusedError(
            "invalid",
            f"files are translated whose name ends in {', '.join(FILE_FORMATS)}, not {path.name!r}",
        )
    is_page = suffix != ".txt"
    try:
        text, encoding = await _aside(len(content), lambda: decode(content, is_page=is_page))
    except DataError as error:
        raise RefusedError("invalid", str(error)) from error
    document = await _aside(len(text), lambda: read_html(text) if is_page else _lines(text))
    if not document.texts:
        raise RefusedError("invalid", "the file has no text to translate")
    (detection,) = await _detections(service, [request], [document])
    asked = _with_kept(_questions(request, document, detection), [document])
    end = time.monotonic() + (_LONGEST if seconds is None else seconds)
    answers: list[TranslatedText] = []
    for start in range(0, len(asked), _CHUNK):
        answers += await _patiently(service, asked[start : start + _CHUNK], end)
        if progress is not None:
            progress(len(answers), len(asked))
    written = await _aside(len(text), lambda: _joined(document, answers, is_markup=is_page))
    return TranslatedFile(
        name=f"{path.stem}.{answers[0].target}{path.suffix}",
        content=encoding.encode(written, is_markup=is_page),
        media_type=_MEDIA_TYPES[suffix],
        source=answers[0].source,
        characters=sum(len(one.text) for one in asked),
    )


async def _aside(size: int, work: Callable[[], Result]) -> Result:
    """The result of some work, in a thread if it takes long."""
    return await asyncio.to_thread(work) if size > _AT_ONCE else work()


async def _translate_plain(
    service: TranslationService, requests: Sequence[TextRequest], seconds: float | None
) -> list[TranslatedText]:
    found = await service.translate(requests, seconds=seconds)
    return [
        repaired(one) if PLACEHOLDER.search(request.text) else one
        for request, one in zip(requests, found, strict=True)
    ]


async def _patiently(
    service: TranslationService, requests: Sequence[TextRequest], end: float
) -> list[TranslatedText]:
    """The translations of a part of a file, which waits until the queue has room."""
    for _ in range(_TRIES):
        try:
            return await service.translate(requests, seconds=max(0.001, end - time.monotonic()))
        except RefusedError as error:
            patience = error.retry_after or 1.0
            if error.kind != "busy" or time.monotonic() + patience > end:
                raise
            await asyncio.sleep(patience)
    return await service.translate(requests, seconds=max(0.001, end - time.monotonic()))


def _read(text: str, kind: ContentFormat, markup: MarkupOptions | None) -> MarkedDocument:
    if kind == "html":
        return read_html(text, markup)
    try:
        return read_xml(text, markup)
    except DataError as error:
        raise RefusedError("invalid", str(error)) from error


def _lines(text: str) -> MarkedDocument:
    """The lines of a plain text, as texts without marks."""
    parts: list[str | MarkedText] = []
    end = 0
    for one in split_text(text, "", "paragraphs"):
        line = text[one.start : one.end]
        parts.append(text[end : one.start])
        parts.append(MarkedText(line, placeholders(line)) if any(map(str.isalpha, line)) else line)
        end = one.end
    return MarkedDocument([*parts, text[end:]])


def _parts_of(document: MarkedDocument) -> list[MarkedText]:
    """What is sent of a document: of one without text, an empty one that says its languages."""
    return document.texts or [MarkedText("", [])]


async def _detections(
    service: TranslationService,
    requests: Sequence[TextRequest],
    documents: Sequence[MarkedDocument],
) -> list[Detection | None]:
    """The language of each document that comes without, by its text as a whole."""
    found: list[Detection | None] = [None] * len(requests)
    unknown: dict[str, dict[int, str]] = {}
    for at, (request, document) in enumerate(zip(requests, documents, strict=True)):
        if not request.source and document.texts:
            text = "\n".join(one.text for one in document.texts)[:_JUDGED]
            unknown.setdefault(request.target, {})[at] = text
    for target, texts in unknown.items():
        detected = await service.detect_sources(list(texts.values()), target)
        for at, one in zip(texts, detected, strict=True):
            found[at] = one
    return found


def _questions(
    request: TextRequest, document: MarkedDocument, detection: Detection | None
) -> list[TextRequest]:
    source = request.source if detection is None else detection.language
    plain = replace(request, source=source, nbest=1, prefix="", links=False)
    return [replace(plain, text=one.text, links=one.needs_links) for one in _parts_of(document)]


def _with_kept(
    requests: Sequence[TextRequest], documents: Sequence[MarkedDocument]
) -> list[TextRequest]:
    """The requests with what is to be copied in their glossaries.

    All share one glossary, so that they can share batches.
    """
    texts = [text for document in documents for text in _parts_of(document)]
    kept = list(dict.fromkeys(name for text in texts for name in text.kept if _is_name(name)))
    if not kept:
        return list(requests)
    extended: dict[int, Glossary | None] = {}
    for request in requests:
        given = request.glossary
        if id(given) not in extended:
            extended[id(given)] = _extended(given, kept)
    return [
        replace(request, glossary=extended[id(request.glossary)]) if text.kept else request
        for request, text in zip(requests, texts, strict=True)
    ]


def _is_name(text: str) -> bool:
    """Whether a text that is to be copied is no plain word, which has its meaning elsewhere.

    The service itself copies placeholders.
    """
    return not PLACEHOLDER.fullmatch(text) and not (text.isalpha() and text[1:] == text[1:].lower())


def _extended(given: Glossary | None, kept: Sequence[str]) -> Glossary | None:
    terms = [Term(one, (one,), case_sensitive=True, do_not_translate=True) for one in kept]
    old = () if given is None else given.terms
    try:
        return Glossary([*old, *terms])
    except DataError:  # the glossary translates one of them; it is found again by its place
        return given


def _joined(
    document: MarkedDocument, answers: Sequence[TranslatedText], *, is_markup: bool = True
) -> str:
    escape = None if is_markup else str
    return document.joined(
        [
            place_marks(text, answer, escape)
            for text, answer in zip(document.texts, answers, strict=False)
        ]
    )
