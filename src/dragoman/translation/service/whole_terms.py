"""Texts and sentences that are terms of a glossary: their translations are those of the terms.

A model that must use the translation of a term writes it beside its own, as in "Speichern Sichern"
for "Save", since it has learned that an output ends only when it has said everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dragoman.text.glossary import Glossary, Term
from dragoman.translation.service.interface import Link, Rendering
from dragoman.translation.service.text_jobs import TextJob

_END = re.compile(r"[.:;,!?…]*\Z")
"""Punctuation behind a term, which stays: "Save…", "Name:"."""


def answer_terms(jobs: Iterable[TextJob]) -> None:
    """Give texts, and sentences of texts, that are terms of their glossaries the translations."""
    for job in jobs:
        request = job.request
        glossary = request.glossary
        if glossary is None or request.prefix or job.pair.source == job.pair.target:
            continue
        inner_marks = any(unit.marks for unit in job.units)
        whole = () if inner_marks else _renderings(request.text.strip(), glossary)
        if whole and len(job.units) > 1:  # such as "Dr. No"
            job.answer_whole(whole[0])
        for unit in job.units:
            if not unit.marks and (found := _renderings(unit.source, glossary)):
                unit.renderings = tuple(found[: request.nbest])


def _renderings(text: str, glossary: Glossary) -> list[Rendering]:
    """The translations of a text that is a term; none if it is not."""
    for end in dict.fromkeys((len(text), _end(text))):
        if end and (term := glossary.whole(text[:end])) is not None:
            return [
                Rendering(written, links=(Link(0, end, 0, len(written) - (len(text) - end)),))
                for written in (
                    _as_written(one, text[:end], term) + text[end:] for one in term.targets
                )
            ]
    return []


def _end(text: str) -> int:
    found = _END.search(text)
    return found.start() if found else len(text)


def _as_written(target: str, text: str, term: Term) -> str:
    """A translation of a term in capitals if the text has more of them than the term."""
    if term.case_sensitive or term.do_not_translate:
        return target
    if len(text) > 1 and text.isupper() and not term.source.isupper():
        return target.upper()
    if text[:1].isupper() and not term.source[:1].isupper():
        return target[:1].upper() + target[1:]
    return target
