"""Texts with marks as requests to a service that knows plain text only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from dragoman.core.errors import DataError
from dragoman.documents.marks.learned_places import tag_spans
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.text.terms.copied_text import is_protected
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.translation.service.interface import TextRequest, TextService
from dragoman.translation.service.offloading import aside
from dragoman.translation.service.translated_text import Detection

_JUDGED = 2000
"""Characters of a document that are enough to detect its language."""


async def detections(
    service: TextService,
    requests: Sequence[TextRequest],
    documents: Sequence[Sequence[MarkedText]],
) -> list[Detection | None]:
    """The language of each document that comes without, by its text as a whole."""
    languages: list[Detection | None] = [None] * len(requests)
    unknown: dict[str, dict[int, str]] = {}
    for at, (request, texts) in enumerate(zip(requests, documents, strict=True)):
        if not request.source and texts:
            text = "\n".join(one.text for one in texts)[:_JUDGED]
            unknown.setdefault(request.target, {})[at] = text
    for target, judged in unknown.items():
        detected = await service.detect_sources(list(judged.values()), target)
        for at, one in zip(judged, detected, strict=True):
            languages[at] = one
    return languages


def questions(
    request: TextRequest, texts: Sequence[MarkedText], detection: Detection | None
) -> list[TextRequest]:
    """The texts of a document as requests of their own, in the language that was detected."""
    source = request.source if detection is None else detection.language
    plain = replace(request, source=source, nbest=1, prefix="", links=False)
    return [
        replace(plain, text=text.text, links=text.needs_links, marks=tag_spans(text))
        for text in texts
    ]


async def with_kept(
    requests: Sequence[TextRequest], texts: Sequence[MarkedText]
) -> list[TextRequest]:
    """The requests with glossaries extended by the parts to copy.

    All share one glossary, so that they can share batches.
    """
    kept = list(dict.fromkeys(name for text in texts for name in text.kept if _is_name(name)))
    if not kept:
        return list(requests)
    extended: dict[int, Glossary | None] = {}
    for request in requests:
        given = request.glossary
        if id(given) not in extended:
            size = 0 if given is None else sum(len(term.source) for term in given.terms)
            work = partial(_extended, given, kept)  # thousands of terms take seconds
            extended[id(given)] = await aside(size, work)
    return [
        replace(request, kept=extended[id(request.glossary)]) if text.kept else request
        for request, text in zip(requests, texts, strict=True)
    ]


def _is_name(text: str) -> bool:
    """Whether a text that is to be copied is no plain word, which has its meaning elsewhere.

    The service itself copies placeholders.
    """
    return not is_protected(text) and not (text.isalpha() and text[1:] == text[1:].lower())


def _extended(given: Glossary | None, kept: Sequence[str]) -> Glossary | None:
    terms = [Term(name, (name,), case_sensitive=True, do_not_translate=True) for name in kept]
    old = () if given is None else given.terms
    try:
        return Glossary([*old, *terms])
    except DataError:  # the glossary translates one of them.  It is found again by its place
        return given
