"""Glossaries that clients keep on a server, as a translator reads them."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence

from dragoman.core.errors import DataError
from dragoman.text.normalization import normalize
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.text.word_edges import fold
from dragoman.translation.service.interface import RefusedError


def glossary_of(entries: Iterable[tuple[str, str | Sequence[str]]]) -> Glossary:
    """A glossary of terms, each with its translation, or several of which any will do.

    Case counts for terms that differ in it alone, such as "Polish" and "polish".

    Raises:
        RefusedError: ``invalid``, if a side is empty, or two terms contradict each other.
    """
    pairs = list(entries)
    spellings = Counter(fold(normalize(source)) for source, _ in pairs)
    try:
        return Glossary(
            (
                Term(
                    source,
                    (target,) if isinstance(target, str) else tuple(target),
                    case_sensitive=spellings[fold(normalize(source))] > 1,
                    line=number,
                )
                for number, (source, target) in enumerate(pairs, 1)
            ),
            unit="entry",
        )
    except DataError as error:
        raise RefusedError("invalid", str(error)) from None


class ReadGlossaries:
    """Glossaries by whatever tells them apart, so that large ones are not read each time.

    Args:
        most: how many are held.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, Glossary] = OrderedDict()
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}  # of those that are being read

    def get(self, identity: Hashable, entries: Callable[[], Sequence[tuple[str, str]]]) -> Glossary:
        """A glossary; its entries are asked for if it is not held.

        Threads may call this at the same time: one reads what the others wait for, since reading
        tens of thousands of terms takes seconds of the processor.

        Raises:
            RefusedError: as :func:`glossary_of` does.
        """
        with self._lock:
            if (found := self._known(identity)) is not None:
                return found
            turn = self._turns.setdefault(identity, threading.Lock())
        with turn:
            with self._lock:  # whoever had the turn before may have read it
                if (found := self._known(identity)) is not None:
                    return found
            try:
                found = glossary_of(entries())
                with self._lock:
                    self._held[identity] = found
                    while len(self._held) > self._most:
                        self._held.popitem(last=False)
            finally:
                with self._lock:
                    self._turns.pop(identity, None)
        return found

    def _known(self, identity: Hashable) -> Glossary | None:
        """A glossary that is held, and is now the last to be given up."""
        if identity in self._held:
            self._held.move_to_end(identity)
        return self._held.get(identity)
