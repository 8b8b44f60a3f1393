"""Translation of sentences by the systems of a direction, until each has a translation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, pairwise

from dragoman.text.inline_tags import PlacedTag, numbered, read_tags
from dragoman.text.normalization import normalize
from dragoman.text.sentences import TextSpan
from dragoman.text.terms.copied_text import is_copied, is_intact, protected
from dragoman.text.terms.glossary import Glossary, Match
from dragoman.text.terms.glossary_files import Term
from dragoman.translation.outputs import Translation
from dragoman.translation.pivot import joined
from dragoman.translation.service.direction_table import Leg
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.linking import through, word_links
from dragoman.translation.service.offloading import aside
from dragoman.translation.service.text_jobs import Unit
from dragoman.translation.service.translated_text import Link, MarkPlace, Rendering, TokenScore

_WORDS = re.compile(r"\w.*\w|\w", re.DOTALL)
"""From the first letter or digit to the last."""
_PLACE = re.compile(r"line \d+: ")
"""Beginning of a refusal, which means nothing to the sender of a text."""
_END = "</s>"
"""The end symbol among the pieces of a translation."""


@dataclass(frozen=True)
class UnitOptions:
    """Options of sentences; sentences with the same options are submitted together."""

    nbest: int = 1
    prefix: str = ""
    styles: tuple[str, ...] = ()
    glossary: Glossary | None = None
    links: bool = False
    token_scores: bool = False

    @classmethod
    def of(cls, request: TextRequest, glossary: Glossary | None) -> UnitOptions:
        """The options of a request, whose terms are those of ``glossary``."""
        return cls(
            request.nbest,
            request.prefix,
            request.tags,
            glossary,
            request.links,
            request.token_scores,
        )


class UnitTranslator:
    """Translates sentences in one direction.

    ``legs`` are one system, or two that translate one after the other.  A ``with`` block keeps them
    open.

    Raises:
        RefusedError: ``unsupported``, if token scores are wanted and a system has none.
    """

    def __init__(self, legs: Sequence[Leg], options: UnitOptions) -> None:
        if options.token_scores and not legs[-1].system.loaded.translator.has_token_scores:
            raise RefusedError(
                "unsupported", "what translates here gives no scores of tokens; leave them out"
            )
        self._legs, self._options = legs, options
        self._tags = [leg.system.loaded.tags(leg.pair) for leg in legs[:-1]]
        self._tags.append(legs[-1].system.loaded.tags(legs[-1].pair, options.styles))
        self._open = ExitStack()

    def __enter__(self) -> UnitTranslator:
        for leg in self._legs:
            self._open.enter_context(leg.system)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    async def translate(self, given: Sequence[tuple[str, Unit]]) -> None:
        """Give each sentence its translations; sentences too long for the models are divided.

        Each sentence comes with the whole text that it is a part of.

        Raises:
            RefusedError: ``invalid``, if a sentence cannot be translated however short it is.
            DragomanError: the errors of :meth:`ServedSystem.translate`.
        """
        waiting = list(given)
        translated: list[tuple[Unit, list[Translation]]] = []
        texts: dict[int, str] = {}
        while waiting:
            again: list[tuple[str, Unit]] = []
            searched = await self._searched([unit for _, unit in waiting])
            for (text, unit), found in zip(waiting, searched, strict=True):
                texts[id(unit)] = text
                if found[0].refused is None:
                    translated.append((unit, found))
                    continue
                if self._options.prefix or len(unit.source) < 2:
                    raise RefusedError("invalid", _PLACE.sub("", found[0].refused, count=1))
                for part in unit.divide(text):
                    if part.is_copied:
                        part.renderings = (part.copy(),)
                    else:
                        again.append((text, part))
            waiting = again
        await self._check(translated)
        if broken := [unit for unit, _ in translated if not unit.renderings]:
            await self._mend(broken)
        if self._options.links:
            mended = set(broken)
            # Marks whose places are known need no links; but each text uses a single method.
            needy = {texts[id(unit)] for unit, _ in translated if _needs_links(unit)}
            await self._link(
                [
                    (unit, found[0].pivot or "")
                    for unit, found in translated
                    if unit not in mended and texts[id(unit)] in needy
                ]
            )

    async def _searched(self, units: Sequence[Unit]) -> list[list[Translation]]:
        """Translate by the only system, or by two: the second gets the best result of the first.

        More results of the first gain next to nothing, and take several times as long
        (docs/pivot.md).
        """
        lines, glossary = self._lines(0, units), self._options.glossary
        if len(self._legs) == 1:
            marked = [
                self._marked_line(unit) or line for unit, line in zip(units, lines, strict=True)
            ]
            return await self._finished(marked, glossary)
        pivots = await self._legs[0].system.translate(lines)
        texts = [normalize(found[0].text) for found in pivots]
        lines = self._lines(1, _onward(units, texts))
        groups: Sequence[tuple[Glossary | None, Sequence[int]]] = [(None, range(len(lines)))]
        if glossary is not None:
            groups = carried(glossary, texts, [unit.source for unit in units])
        found: list[list[Translation]] = [[] for _ in lines]
        for terms, places in groups:
            finished = await self._finished([lines[place] for place in places], terms)
            for place, one in zip(places, finished, strict=True):
                found[place] = one
        return [joined(one[:1], [onward]) for one, onward in zip(pivots, found, strict=True)]

    async def _finished(
        self, lines: Sequence[str], glossary: Glossary | None
    ) -> list[list[Translation]]:
        """Translations of lines by the last system."""
        options = self._options
        return await self._legs[-1].system.translate(
            lines,
            nbest=options.nbest,
            prefixes=[options.prefix] * len(lines) if options.prefix else None,
            glossary=glossary,
        )

    def _lines(self, leg: int, units: Sequence[Unit]) -> list[str]:
        """Sentences as the system of a leg reads them, without marks; empty ones stay empty."""
        loaded, tags = self._legs[leg].system.loaded, self._tags[leg]
        return [loaded.line(unit.text, tags, unit.before) if unit.text else "" for unit in units]

    def _marked_line(self, unit: Unit) -> str | None:
        """A sentence with its marks, if the only system supports inline tags."""
        if not unit.marks or unit.is_cut or len(self._legs) > 1 or self._options.prefix:
            return None
        return self._legs[0].system.loaded.marked_line(
            unit.source, [one for _, one in _numbered(unit)], self._tags[0]
        )

    async def _check(self, translated: Sequence[tuple[Unit, Sequence[Translation]]]) -> None:
        """Give each sentence its acceptable translations, if any."""

        def work() -> list[tuple[Rendering, ...]]:
            return [self._renderings(unit, found) for unit, found in translated]

        size = sum(len(unit.text) * len(found) for unit, found in translated)
        for (unit, _), renderings in zip(translated, await aside(size, work), strict=True):
            unit.renderings = renderings

    def _renderings(self, unit: Unit, found: Sequence[Translation]) -> tuple[Rendering, ...]:
        """The translations that have all marks of the sentence; all, if a prefix leaves none."""
        has_tags = self._marked_line(unit) is not None
        renderings = tuple(
            _with_places(unit, one) if has_tags else _rendering(one, one.text) for one in found
        )
        if self._options.token_scores:
            renderings = tuple(
                replace(rendering, token_scores=_token_scores(one))
                for rendering, one in zip(renderings, found, strict=True)
            )
        intact = tuple(one for one in renderings if is_intact(unit.text, one.text))
        # Text around marks cannot be translated so that the whole begins with the prefix.
        return intact or (renderings if self._options.prefix else ())

    async def _mend(self, units: Sequence[Unit]) -> None:
        """Translate the text around marks separately, if no translation has all marks."""
        pieces, wanted = await asyncio.to_thread(_pieces, [unit.text for unit in units])
        given = [(text, Unit.of(text, TextSpan(0, len(text)))) for text in wanted]
        options = replace(self._options, nbest=1, links=False, token_scores=False)
        await UnitTranslator(self._legs, options).translate(given)
        found = {text: [one.renderings[0] for one in unit.undivided()] for text, unit in given}
        for unit, each in zip(units, pieces, strict=True):
            unit.renderings = (_mended(each, found),)

    async def _link(self, units: Sequence[tuple[Unit, str]]) -> None:
        """Find the word links of each sentence's best translation.

        Each sentence comes with its text in the pivot language ("" without a pivot).
        """
        first, last = self._legs[0], self._legs[-1]
        sources = [unit for unit, _ in units]
        targets = [unit.renderings[0].text for unit in sources]
        if first is last:
            found = await self._linked(0, sources, targets)
        else:
            middle = [normalize(pivot) for _, pivot in units]
            found = [
                through(one, two)
                for one, two in zip(
                    await self._linked(0, sources, middle),
                    await self._linked(1, _onward(sources, middle), targets),
                    strict=True,
                )
            ]
        for unit, links in zip(sources, found, strict=True):
            best, *others = unit.renderings
            unit.renderings = (replace(best, links=links), *others)

    async def _linked(
        self, leg: int, units: Sequence[Unit], targets: Sequence[str]
    ) -> list[tuple[Link, ...]]:
        system = self._legs[leg].system
        pairs = [(unit.source, target) for unit, target in zip(units, targets, strict=True)]
        read = self._lines(leg, units)
        return await system.in_turn(word_links, system.loaded.translator, read, pairs)


def _onward(units: Sequence[Unit], texts: Sequence[str]) -> list[Unit]:
    """Sentences as the second system reads them: by their texts in the pivot language."""
    return [
        replace(unit, source=text, text=text, before=())
        for unit, text in zip(units, texts, strict=True)
    ]


def _needs_links(unit: Unit) -> bool:
    """Whether links are wanted themselves, or needed for marks whose places are unknown."""
    if not unit.given_marks:
        return True
    return bool(unit.marks) and (not unit.renderings or unit.renderings[0].places is None)


def _numbered(unit: Unit) -> list[tuple[int, PlacedTag]]:
    """The marks of a sentence as inline tags, each with its index in the request."""
    tags = numbered([one for _, one in unit.marks])
    return [(at, tag) for (at, _), tag in zip(unit.marks, tags, strict=True)]


def _rendering(found: Translation, text: str) -> Rendering:
    """A rendering with the data of a translation, whose text may have lost its symbols."""
    return Rendering(
        text,
        found.score,
        found.confidence,
        missing=found.missing or (),
        invented=found.invented or (),
        faults=found.faults,
    )


def _token_scores(found: Translation) -> tuple[TokenScore, ...]:
    """The pieces of a translation and the end symbol with their log-probabilities."""
    return tuple(map(TokenScore, (*found.pieces, _END), found.token_scores or ()))


def _mended(pieces: Sequence[str], found: Mapping[str, Sequence[Rendering]]) -> Rendering:
    """Join a sentence from its pieces, some of which were translated in several parts."""
    parts = [[Rendering(one)] if one not in found else found[one] for one in pieces]
    whole = list(chain.from_iterable(parts))
    return Rendering(
        "".join(" ".join(one.text for one in part) for part in parts),
        missing=tuple(dict.fromkeys(chain.from_iterable(one.missing for one in whole))),
        invented=tuple(dict.fromkeys(chain.from_iterable(one.invented for one in whole))),
        faults=tuple(dict.fromkeys(chain.from_iterable(one.faults for one in whole))),
    )


def _with_places(unit: Unit, found: Translation) -> Rendering:
    """A translation without its symbols, and the places of the symbols."""
    tags = _numbered(unit)
    copies = {
        tag.number: normalize(unit.source[tag.start : tag.stop])
        for _, tag in tags
        if tag.kind == "copy"
    }
    text, ranges = read_tags(found.text, copies)
    keys = [(at, (tag.kind == "pair", tag.number)) for at, tag in tags]
    places = tuple(MarkPlace(at, *ranges[key]) for at, key in keys if key in ranges)
    complete = places if len(places) == len(tags) else None
    return replace(_rendering(found, text), places=complete)


def _pieces(texts: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """The pieces of each text, cut around its marks, and the pieces to translate."""
    pieces = [list(_around_marks(text)) for text in texts]
    different = dict.fromkeys(chain.from_iterable(pieces))
    return pieces, [one for one in different if not is_copied(one)]


def _around_marks(text: str) -> Iterator[str]:
    """A text cut into its marks, the words between them, and punctuation and white space."""
    end = 0
    for start, stop in [*protected(text), (len(text), len(text))]:
        between = text[end:start]
        found = _WORDS.search(between)
        cuts = (0, *found.span(), len(between)) if found else (0, len(between))
        yield from (between[one:other] for one, other in pairwise(cuts) if one < other)
        yield text[start:stop]
        end = stop


class CarriedGlossary(Glossary):
    """Finds in each text the terms of the source from which the text was translated.

    Such terms must be in a translation through a third language.

    Args:
        glossary: of the language of the sources.
        sources: texts in the third language, normalised, with the source of each.
    """

    def __init__(self, glossary: Glossary, sources: Mapping[str, str]) -> None:
        vars(self).update(vars(glossary))  # building tens of thousands of terms takes seconds
        self._glossary, self._sources = glossary, sources

    def candidates(self, text: str) -> Iterator[Match]:
        """The terms of the source of ``text``, each in a separate place."""
        matches = self._glossary.matches(self._sources.get(normalize(text), ""))
        for place, match in enumerate(matches, len(text)):
            yield Match(match.term, place, place + 1)


def carried(
    glossary: Glossary, texts: Sequence[str], sources: Sequence[str]
) -> list[tuple[CarriedGlossary, list[int]]]:
    """Glossaries for normalised texts in the third language, each with the indices of its texts.

    One glossary is enough unless sources with different terms have the same translation.
    """

    @cache
    def terms(source: str) -> list[Term]:
        return [match.term for match in glossary.matches(source)]

    groups: list[tuple[dict[str, str], list[int]]] = []
    for place, (text, source) in enumerate(zip(texts, sources, strict=True)):
        for known, places in groups:
            other = known.setdefault(text, source)
            if other == source or terms(other) == terms(source):
                places.append(place)
                break
        else:
            groups.append(({text: source}, [place]))
    return [(CarriedGlossary(glossary, known), places) for known, places in groups]
