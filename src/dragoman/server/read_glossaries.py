"""Clients' kept glossaries, in the translators' form."""

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
    """A glossary of terms, each with a translation or several alternatives.

    Case counts for terms that differ only in case, such as "Polish" and "polish".

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
    """A cache of glossaries, so that large ones are not read for each request.

    Args:
        most: maximum number of glossaries.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, Glossary] = OrderedDict()
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}  # of glossaries being read

    def get(self, identity: Hashable, entries: Callable[[], Sequence[tuple[str, str]]]) -> Glossary:
        """The glossary of an identity; ``entries`` is called if it is not in the cache.

        If several threads need the same glossary, one reads it while the others wait, as reading
        tens of thousands of terms takes seconds of processor time.
        """
        with self._lock:
            if (found := self._known(identity)) is not None:
                return found
            turn = self._turns.setdefault(identity, threading.Lock())
        with turn:
            with self._lock:  # another thread may have read it meanwhile
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
        """A cached glossary, marked as the most recently used."""
        if identity in self._held:
            self._held.move_to_end(identity)
        return self._held.get(identity)
