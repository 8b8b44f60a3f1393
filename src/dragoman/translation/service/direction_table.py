"""The directions of a service, with the systems that translate in each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from dragoman.core.wording import shown
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import Pairing, RefusedError
from dragoman.translation.service.served_system import ServedSystem

_REMEMBERED = 4096
"""Maximum number of code pairs whose direction is cached."""
_LONGEST_CODE = 35
"""Maximum characters of a language code."""


class Leg(NamedTuple):
    """A step from one language to another."""

    system: ServedSystem
    pair: Pairing


class DirectionTable:
    """All directions, with the systems that translate in each.

    If several systems have a direction, the first is used.  If none has it, the path goes through
    the first pivot that two systems, or one with both directions, connect.
    """

    def __init__(self, systems: Iterable[ServedSystem], pivots: Sequence[str] = ()) -> None:
        self.routes: dict[Pairing, tuple[Leg, ...]] = {}
        """The legs of each direction; never changed."""
        self._meanings: dict[tuple[str, str], Pairing] = {}
        for system in systems:
            for pair in system.loaded.pairs:
                self.routes.setdefault(pair, (Leg(system, pair),))
        direct = dict(self.routes)
        sources, targets = {one.source for one in direct}, {one.target for one in direct}
        for pivot in pivots:
            for middle in fitting(pivot, sources & targets)[:1]:
                for source, target in ((a, b) for a in sources for b in targets if a != b):
                    first = direct.get(Pairing(source, middle))
                    second = direct.get(Pairing(middle, target))
                    if first and second:
                        self.routes.setdefault(Pairing(source, target), (*first, *second))

    def glossaries(self, pair: Pairing) -> Sequence[Glossary]:
        """The glossaries of the system of a direction; none if it takes two systems."""
        legs = self.routes[pair]
        return legs[0].system.loaded.glossaries if len(legs) == 1 else ()

    @cached_property
    def directions(self) -> list[Pairing]:
        """All directions, sorted."""
        return sorted(self.routes)

    @cached_property
    def sources(self) -> list[str]:
        """The languages that can be translated from, sorted."""
        return sorted({one.source for one in self.routes})

    @cached_property
    def targets(self) -> list[str]:
        """The languages that can be translated into, sorted."""
        return sorted({one.target for one in self.routes})

    def sources_into(self, code: str) -> tuple[str, list[str]]:
        """The language that a code means, and the languages that can be translated into it.

        Raises:
            RefusedError: ``unsupported``, if nothing translates into it.
        """
        target, *_ = self._meant(code, self.targets, "into")
        return target, [one for one in self.sources if Pairing(one, target) in self.routes]

    def pair(self, source: str, target: str) -> Pairing:
        """The direction that two codes mean; from a language to itself, nothing is translated.

        Raises:
            RefusedError: ``unsupported``, if there is no such language or direction.
        """
        pair = self._meanings.get((source, target))
        if pair is None:
            pair = self._looked_up(source, target)
            if max(len(source), len(target)) <= _LONGEST_CODE:
                if len(self._meanings) == _REMEMBERED:
                    self._meanings.clear()
                self._meanings[source, target] = pair
        return pair

    def _looked_up(self, source: str, target: str) -> Pairing:
        known = sorted({*self.sources, *self.targets})
        into = self._meant(target, known, "into")
        origins = self._meant(source, known, "from")
        pairs = [Pairing(one, other) for one in origins for other in into]
        if origins[0] == into[0]:
            return pairs[0]
        for pair in pairs:
            if pair in self.routes:
                return pair
        if origins[0] in into:  # "pt" to "pt-BR" where no more than "pt" is known
            return Pairing(origins[0], origins[0])
        others = [one.target for one in self.directions if one.source == origins[0]]
        raise RefusedError(
            "unsupported",
            f"nothing here translates from {origins[0]} into {into[0]}; from {origins[0]}, there "
            f"is {', '.join(others) or 'nothing'}",
        )

    @staticmethod
    def _meant(code: str, known: Sequence[str], way: str) -> list[str]:
        found = fitting(code, known)
        if not found:
            raise RefusedError(
                "unsupported",
                f"nothing here translates {way} {shown(code)}; languages: {', '.join(known)}",
            )
        return found
