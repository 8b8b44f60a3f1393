"""Texts and sentences that are whole terms of a glossary, translated by the glossary alone.

A model that must use the translation of a term writes it beside its own translation, as in
"Speichern Sichern" for "Save", since it has learned to end only when all is translated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.translation.service.interface import Link, Rendering
from dragoman.translation.service.text_jobs import TextJob

_END = re.compile(r"[.:;,!?…]*\Z")
"""Punctuation behind a term, which stays: "Save…", "Name:"."""


def answer_terms(job: TextJob, glossaries: Sequence[Glossary]) -> None:
    """Give a text, and its sentences, that are terms the translations of these terms.

    Args:
        job: the text, divided.
        glossaries: of the client, and of the system; the first that has a term decides.
    """
    if not glossaries or job.request.prefix:
        return
    is_divided = len(job.units) > 1 and not any(unit.marks for unit in job.units)
    if is_divided and (whole := _renderings(job.request.text.strip(), glossaries)):
        job.answer_whole(whole[0])  # such as "Dr. No"
    for unit in job.units:
        if not unit.marks and (found := _renderings(unit.source, glossaries)):
            unit.renderings = tuple(found[: job.request.nbest])


def _renderings(text: str, glossaries: Sequence[Glossary]) -> list[Rendering]:
    """The translations of a text that is a term; none for other texts."""
    for end in dict.fromkeys((len(text), _end(text))):
        term = next(filter(None, (one.whole(text[:end]) for one in glossaries)), None)
        if end and term is not None:
            written = [_as_written(one, text[:end], term) for one in term.targets]
            return [
                Rendering(one + text[end:], links=(Link(0, end, 0, len(one)),)) for one in written
            ]
    return []


def _end(text: str) -> int:
    found = _END.search(text)
    return found.start() if found else len(text)


def _as_written(target: str, text: str, term: Term) -> str:
    """A translation of a term in capitals if the text has more capitals than the term."""
    if term.case_sensitive or term.do_not_translate:
        return target
    if len(text) > 1 and text.isupper() and not term.source.isupper():
        return target.upper()
    if text[:1].isupper() and not term.source[:1].isupper():
        return target[:1].upper() + target[1:]
    return target
