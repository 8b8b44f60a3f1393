"""Files through a service that knows plain text only."""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from dragoman.core.errors import DataError
from dragoman.core.wording import shown
from dragoman.documents.document_format import EMPTY
from dragoman.documents.filetypes import (
    DocumentFormat,
    FileLanguages,
    OpenDocument,
    document_format,
)
from dragoman.documents.marks.mark_placement import place_marks, unchanged
from dragoman.documents.marks.marked_requests import detections, questions, with_kept
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.written_check import CHANGED, CheckedFile, checked
from dragoman.text.terms.copied_text import strays
from dragoman.translation.service.interface import RefusedError, TextRequest, TextService
from dragoman.translation.service.offloading import aside
from dragoman.translation.service.translated_text import TranslatedText

_CHUNK, _CHUNK_CHARACTERS = 64, 8192
"""Maximum texts in a batch, and characters if it has several.  Between batches, progress is
reported and other files have their turn."""
_LONGEST = 24 * 3600.0
"""Seconds: what takes as long as it takes."""
_TRIES = 30
"""How often a part of a file is sent while the queue is full."""
_UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""Categories of characters that show nothing."""


@dataclass(frozen=True)
class Flaw:
    """A flaw of the translation of a sentence, which is written all the same."""

    text: str
    """The sentence."""
    missing: tuple[str, ...] = ()
    """The terms and copied strings that its translation should contain and does not."""
    faults: tuple[str, ...] = ()
    """Signs of a degenerate translation: ``repetition``, ``length``."""
    invented: tuple[str, ...] = ()
    """Placeholders, tags and addresses of its translation that the sentence lacks."""


class Untranslated(NamedTuple):
    """A text that stays as it is, although it should have been translated."""

    text: str
    reason: str


class _Refusal(NamedTuple):
    """Stands for the translation of a text that has none."""

    reason: str


_Answer = TranslatedText | _Refusal


class Draft(NamedTuple):
    """A text of a file with its translation, before anyone has reviewed it."""

    answer: TranslatedText | None
    """None: it has no translation."""
    written: str
    """With its marks, as the file has it."""
    reason: str
    """Why the text stays as it is; empty: it does not."""


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
    texts: int = 0
    """How many texts it has."""
    flaws: tuple[Flaw, ...] = ()
    """Sentences whose translations someone should look at, in the order of the file."""
    untranslated: tuple[Untranslated, ...] = ()
    """Texts that stayed as they are, in the order in which they were found."""
    drafts: tuple[Draft, ...] = ()
    """For each text that the file has."""


Untranslatable = Callable[[str, str], object]
"""Told of a text that stays as it is, and why: no system of the service can translate it, its
translation is empty, or it could not be written."""


async def translate_file(
    service: TextService,
    name: str,
    content: bytes,
    request: TextRequest,
    *,
    seconds: float | None = None,
    progress: Callable[[int, int], object] | None = None,
    likely_source: str | None = None,
    untranslatable: Untranslatable | None = None,
    known: bytes | None = None,
) -> TranslatedFile:
    """Translate a file of a format in :func:`dragoman.documents.filetypes.document_formats`.

    All else stays as it is.  A file without text to translate comes back byte for byte.

    Args:
        service: translates its texts.
        name: as the client calls the file.  Only its suffix counts.
        content: the file.
        request: languages, glossary and the like.  Its text is not read.
        seconds: for the whole file; None: as long as it takes.
        progress: called with the texts done so far and their total number, first with none done.
        likely_source: the language to assume if neither the request nor the file says one; None:
            it is detected.
        untranslatable: called for each text that stays as it is.  None: a text that no system of
            the service can translate is an error.
        known: a file with translations of some of its strings, which are taken from there by their
            keys.

    Raises:
        RefusedError: those of the service; ``invalid``, if the format is unknown, the file is
            damaged or hostile, or a text cannot be translated.
        MissingExtraError: a package that the format needs is missing.
    """
    form = _format(name)
    read = partial(form.read, languages=FileLanguages(request.source, request.target))
    document = await _opened(read, content)
    if known is not None:
        translated = partial(form.read, languages=FileLanguages(None, request.target))
        document.keep_translations(await _opened(translated, known))
    source = request.source or document.source_language or likely_source
    request = replace(request, source=source)
    requests, source = await _requests_of(service, request, document)
    end = time.monotonic() + (_LONGEST if seconds is None else seconds)
    answers: list[_Answer] = []
    left: list[Untranslated] = []

    def report(text: str, reason: str) -> None:
        left.append(Untranslated(text, reason))
        if untranslatable is not None:
            untranslatable(text, reason)

    for chunk in _chunks(requests):
        if progress is not None:
            progress(len(answers), len(requests))
        answers += await _translated(service, chunk, end, leaves=untranslatable is not None)
    if progress is not None:
        progress(len(answers), len(requests))
    path = PurePosixPath(name.replace("\\", "/"))
    answers = await aside(len(content), lambda: list(map(_unless_empty, document.texts, answers)))
    again = partial(read_again, form, FileLanguages(request.source, request.target))
    translations = await aside(len(content), lambda: _placed(document, answers))
    gone = [at for at, one in enumerate(answers) if isinstance(one, _Refusal)]
    written = await aside(
        len(content),
        lambda: (
            checked(document, translations, again, gone)
            if translations
            else CheckedFile(content, [])
        ),
    )
    for text, reason in document.refused:
        report(text, reason)
    drafts = _drafts(answers, translations, written.left)
    for marked, draft in zip(document.texts, drafts, strict=True):
        if draft.reason:
            report(marked.text, draft.reason)
    best = next((answer for answer in answers if isinstance(answer, TranslatedText)), None)
    return TranslatedFile(
        name=f"{path.stem}.{best.target if best else request.target}{path.suffix}",
        content=written.content,
        media_type=form.media_type,
        source=best.source if best else source,
        characters=sum(len(one.text) for one in requests),
        texts=len(requests),
        flaws=tuple(_flaws(document.texts, answers)) if answers else (),
        untranslated=tuple(left),
        drafts=tuple(drafts),
    )


def read_again(form: DocumentFormat, languages: FileLanguages, content: bytes) -> OpenDocument:
    """A translated document, which may say now that it is in the target language."""
    try:
        return form.read(content, languages)
    except DataError:
        return form.read(content, FileLanguages(None, languages.target))


def _format(name: str) -> DocumentFormat:
    try:
        return document_format(name)
    except DataError as error:
        raise RefusedError("invalid", str(error)) from error


async def _opened(read: Callable[[bytes], OpenDocument], content: bytes) -> OpenDocument:
    try:
        return await aside(len(content), lambda: read(content))
    except DataError as error:
        raise RefusedError("invalid", str(error)) from error


async def _requests_of(
    service: TextService, request: TextRequest, document: OpenDocument
) -> tuple[list[TextRequest], str]:
    """The texts of a document as requests, and its language."""
    (detection,) = await detections(service, [request], [document.texts])
    requests = await with_kept(questions(request, document.texts, detection), document.texts)
    return requests, requests[0].source or "" if requests else request.source or ""


def _placed(document: OpenDocument, answers: Sequence[_Answer]) -> list[str]:
    """The translations of all texts with their marks."""
    return [
        unchanged(text, document.escape)
        if isinstance(one, _Refusal)
        else place_marks(text, one, document.escape)
        for text, one in zip(document.texts, answers, strict=True)
    ]


def _drafts(
    answers: Sequence[_Answer], translations: Sequence[str], left: Sequence[int]
) -> list[Draft]:
    """Translations, those of the texts in ``left`` with the reason why these stay."""
    reasons = dict.fromkeys(left, CHANGED)
    return [
        Draft(None, written, answer.reason)
        if isinstance(answer, _Refusal)
        else Draft(answer, written, reasons.get(at, ""))
        for at, (answer, written) in enumerate(zip(answers, translations, strict=True))
    ]


def _unless_empty(text: MarkedText, answer: _Answer) -> _Answer:
    """An answer, unless it or the translation of one of its sentences is empty."""
    if isinstance(answer, _Refusal):
        return answer
    if _is_empty(text, answer.text):
        return _Refusal(EMPTY)
    for sentence in answer.sentences:
        if any(map(str.isalpha, sentence.source)) and _is_empty(text, sentence.renderings[0].text):
            return _Refusal(f"the translation of {shown(sentence.source)} is empty")
    return answer


def _is_empty(text: MarkedText, translation: str) -> bool:
    """Whether a translation shows nothing: white space, unseen characters, invented codes."""
    kept = text.kept
    for start, stop in reversed(strays(translation, kept)):
        if translation[start:stop] not in kept and translation[start:stop] not in text.text:
            translation = translation[:start] + translation[stop:]
    return all(unicodedata.category(character) in _UNSEEN for character in translation)


def _chunks(requests: Sequence[TextRequest]) -> Iterator[list[TextRequest]]:
    chunk: list[TextRequest] = []
    size = 0
    for request in requests:
        if chunk and (len(chunk) == _CHUNK or size + len(request.text) > _CHUNK_CHARACTERS):
            yield chunk
            chunk, size = [], 0
        chunk.append(request)
        size += len(request.text)
    if chunk:
        yield chunk


def _flaws(texts: Sequence[MarkedText], answers: Sequence[_Answer]) -> Iterator[Flaw]:
    for text, answer in zip(texts, answers, strict=True):
        if isinstance(answer, _Refusal):
            continue
        kept = set(text.kept)  # is put back where it was, whatever a translation has of it
        for sentence in answer.sentences:
            best = sentence.renderings[0]
            missing = tuple(name for name in best.missing if name not in kept)
            if missing or best.faults or best.invented:
                yield Flaw(sentence.source, missing, best.faults, best.invented)


async def _translated(
    service: TextService,
    requests: Sequence[TextRequest],
    end: float,
    *,
    leaves: bool,
) -> list[_Answer]:
    """The translations of a part of a file, in the time until ``end``.

    If ``leaves``, a text that cannot be translated stays as it is rather than being an error.
    """
    try:
        return [*await _patiently(service, requests, end)]
    except RefusedError as error:
        if error.kind != "invalid" or not leaves:
            raise
        if len(requests) == 1:
            return [_Refusal(str(error))]
    halves = requests[: len(requests) // 2], requests[len(requests) // 2 :]
    return [
        found for half in halves for found in await _translated(service, half, end, leaves=leaves)
    ]


async def _patiently(
    service: TextService, requests: Sequence[TextRequest], end: float
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
