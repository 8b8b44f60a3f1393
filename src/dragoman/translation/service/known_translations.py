"""Known translations, used instead of new ones: translation memory, and terms of glossaries.

A text or sentence that is a whole term of a glossary is translated by the glossary alone.
A model that must use the translation of a term writes it beside its own translation, as in
"Speichern Sichern" for "Save", since it has learned to end only when all is translated.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.translation.service.interface import Pairing
from dragoman.translation.service.text_jobs import TextJob
from dragoman.translation.service.translated_text import Link, Rendering

Remember = Callable[[Sequence[str], str, str], Mapping[str, str]]
"""Takes texts, their language and the target language; returns the known translations."""
_AT_ONCE = 8
"""Maximum simultaneous look-ups."""
_END = re.compile(r"[.:;,!?…]*\Z")
"""Punctuation behind a term, which stays: "Save…", "Name:"."""


def answer_terms(job: TextJob, glossaries: Sequence[Glossary]) -> None:
    """Give a text, and its sentences, that are terms the translations of these terms.

    The glossaries are those of the client and of the system: the first that has a term decides.
    """
    if not glossaries or job.request.prefix:
        return
    is_divided = len(job.units) > 1 and not any(unit.marks for unit in job.units)
    if is_divided and (whole := _renderings(job.request.text.strip(), glossaries)):
        job.answer_whole(whole[0])  # such as "Dr. No"
    for unit in job.units:
        if not unit.marks and (renderings := _renderings(unit.source, glossaries)):
            unit.renderings = tuple(renderings[: job.request.nbest])


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


class TranslationMemory:
    """Looks up known translations, in separate threads.

    A database that hangs then delays only its own requests, and not other work beside the event
    loop, such as language detection.  ``remember`` may block, ``may_remember`` may not.
    """

    def __init__(self, remember: Remember, may_remember: Callable[[str, str], bool]) -> None:
        self._remember, self._may_remember = remember, may_remember
        self._threads = ThreadPoolExecutor(_AT_ONCE, "remembering")

    def close(self) -> None:
        """Accept no further look-ups; look-ups that hang are abandoned."""
        self._threads.shutdown(wait=False)

    async def answer(self, jobs: Sequence[TextJob]) -> None:
        """Give texts and sentences their known translations."""
        by_pair: dict[Pairing, list[TextJob]] = {}
        for job in jobs:
            request = job.request
            if request.memory and not request.prefix and job.pair.source != job.pair.target:
                by_pair.setdefault(job.pair, []).append(job)
        for pair, mine in by_pair.items():
            if self._may_remember(*pair):
                await self._answer(pair, mine)

    async def _answer(self, pair: Pairing, jobs: Sequence[TextJob]) -> None:
        wholes = [job.request.text.strip() for job in jobs]
        texts = [*wholes, *(unit.source for job in jobs for unit in job.units)]
        wanted = [text for text in dict.fromkeys(texts) if text]
        loop = asyncio.get_running_loop()
        known = await loop.run_in_executor(self._threads, self._remember, wanted, *pair)
        for job, whole in zip(jobs, wholes, strict=True):
            if whole in known:
                job.answer_whole(Rendering(known[whole], from_memory=True))
                continue
            for unit in job.units:
                if unit.source in known:
                    unit.renderings = (Rendering(known[unit.source], from_memory=True),)
