"""Corrections that wait for a review, and the translation memory of accepted corrections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import islice
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, update

from dragoman.core.errors import DataError
from dragoman.server.database.database_engine import Database
from dragoman.server.database.records import Correction, CorrectionState
from dragoman.server.database.store_limits import StoreLimits
from dragoman.server.database.table_store import Shelf, language, now, storable
from dragoman.server.database.tables import corrections
from dragoman.text.normalization import normalize
from dragoman.translation.service.interface import RefusedError

_AT_ONCE = 500  # values in a query; databases have a maximum
_LATER_SECONDS = 3600
_ADDRESS_CHARACTERS = 100
_KNOWN_SECONDS = 1.0  # until a correction accepted by another process is noticed
_MOST_LOOKED_AT = 1000


class _Accepted(NamedTuple):
    """The directions that have accepted corrections."""

    until: float
    """When to query the database again."""
    directions: frozenset[tuple[str, str]] | None
    """None: possibly all."""


class CorrectionShelf(Shelf):
    """Corrections, and the translation memory that they form.

    Two sources are the same if they are equal after normalisation, which every line undergoes
    before translation (:func:`~dragoman.text.normalization.normalize`).  White space and the
    composition of characters do not count; case does.
    """

    def __init__(self, database: Database, limits: StoreLimits) -> None:
        super().__init__(database, limits)
        self._accepted: _Accepted | None = None
        self._reviews = 0
        self._lock = Lock()

    def add_correction(
        self,
        source: str,
        target: str,
        source_language: str,
        target_language: str,
        key: int | None = None,
        *,
        address: str | None = None,
    ) -> Correction:
        """Queue a correction for review.

        If the same correction waits, was rejected, or is in the memory, that one is returned.

        Args:
            source: a text.
            target: its translation.
            source_language: language code.
            target_language: language code.
            key: number of its key.
            address: of a client without a key; kept until the review.

        Raises:
            RefusedError: ``invalid``, if a text is empty; ``too_large``; ``too_many_requests``, if
                too many corrections wait already.
        """
        limit = self._limits.correction_characters
        row = {
            "source": storable(source, "the source", limit),
            "target": storable(target, "the correction", limit),
            "source_language": language(source_language),
            "target_language": language(target_language),
            "digest": _digest(source),
            "state": "pending",
            "created": now(),
            "key_id": key,
            "address": None if key is not None else (address or "")[:_ADDRESS_CHARACTERS],
        }
        with self._database.writing("corrections") as connection:
            known = _known(connection, row)
            if known is None:
                self._check_room(connection, row)
                made = insert(corrections).returning(*corrections.c)
                known = connection.execute(made, row).one()
        return _correction(known)

    def corrections(
        self,
        state: CorrectionState | None = None,
        source_language: str | None = None,
        target_language: str | None = None,
    ) -> list[Correction]:
        """Corrections, the oldest first.

        Args:
            state: None: any.
            source_language: None: any.
            target_language: None: any.
        """
        wanted = select(corrections).order_by(corrections.c.id)
        if state is not None:
            wanted = wanted.where(corrections.c.state == state)
        if source_language is not None:
            wanted = wanted.where(corrections.c.source_language == language(source_language))
        if target_language is not None:
            wanted = wanted.where(corrections.c.target_language == language(target_language))
        with self._database.reading() as connection:
            return [_correction(row) for row in connection.execute(wanted)]

    def review_correction(self, correction: int, state: CorrectionState) -> Correction:
        """Accept or reject a correction.

        Raises:
            DataError: the correction does not exist.
        """
        return self.review_corrections([correction], state)[0]

    def review_corrections(self, chosen: Sequence[int], state: CorrectionState) -> list[Correction]:
        """Accept or reject several corrections, all or none of them.

        Returns:
            The corrections after the review, in the order of ``chosen``.

        Raises:
            DataError: a correction does not exist.
        """
        moment = None if state == "pending" else now()
        found: dict[int, Correction] = {}
        with self._database.writing("corrections") as connection:
            for numbers in _parts(dict.fromkeys(chosen)):
                these = corrections.c.id.in_(numbers)
                connection.execute(
                    update(corrections)
                    .where(these)
                    .values(state=state, reviewed=moment, address=None)
                )
                rows = connection.execute(select(corrections).where(these))
                found.update((row.id, _correction(row)) for row in rows)
            missing = [str(number) for number in chosen if number not in found]
            if missing:
                raise DataError(
                    f"there is no correction {', '.join(missing[:10])}; nothing was changed; see "
                    "'dragoman corrections list --state all'"
                )
        with self._lock:
            self._reviews, self._accepted = self._reviews + 1, None
        return [found[number] for number in chosen]

    def may_remember(self, source_language: str, target_language: str) -> bool:
        """Whether :meth:`remembered` may have translations in a direction; never blocks.

        It may miss a correction that another process has accepted within the last second.
        """
        known = self._accepted
        if known is None or known.directions is None or known.until <= monotonic():
            return True
        return (language(source_language), language(target_language)) in known.directions

    def remembered(
        self, sentences: Iterable[str], source_language: str, target_language: str
    ) -> dict[str, str]:
        """Accepted translations of these sentences; the last accepted of each."""
        self._look_for_directions()
        digests = {sentence: _digest(sentence) for sentence in sentences}
        found: dict[str, str] = {}
        with self._database.reading() as connection:
            for some in _parts(digests.values()):
                # The last accepted come last and replace the others.
                rows = connection.execute(
                    select(corrections.c.digest, corrections.c.target)
                    .where(
                        corrections.c.digest.in_(some),
                        corrections.c.source_language == language(source_language),
                        corrections.c.target_language == language(target_language),
                        corrections.c.state == "accepted",
                    )
                    .order_by(corrections.c.reviewed, corrections.c.id)
                )
                found.update((row.digest, row.target) for row in rows)
        return {sentence: found[digest] for sentence, digest in digests.items() if digest in found}

    def _look_for_directions(self) -> None:
        """Query the directions of accepted corrections, unless they are known."""
        known, reviews, moment = self._accepted, self._reviews, monotonic()
        if known is not None and moment < known.until:
            return
        wanted = (
            select(corrections.c.source_language, corrections.c.target_language)
            .where(corrections.c.state == "accepted")
            .limit(_MOST_LOOKED_AT)
        )
        with self._database.reading() as connection:
            found = [
                (row.source_language, row.target_language) for row in connection.execute(wanted)
            ]
        is_whole = len(found) < _MOST_LOOKED_AT
        directions = frozenset(found) if is_whole else None
        with self._lock:
            if reviews == self._reviews:  # otherwise the answer may be older than the last review
                self._accepted = _Accepted(moment + _KNOWN_SECONDS, directions)

    def memory(self) -> list[Correction]:
        """The corrections in the translation memory, the last accepted at the end."""
        wanted = (
            select(corrections)
            .where(corrections.c.state == "accepted")
            .order_by(corrections.c.reviewed, corrections.c.id)
        )
        found: dict[tuple[str, ...], Correction] = {}
        with self._database.reading() as connection:
            for row in connection.execute(wanted):
                same = (row.digest, row.source_language, row.target_language)
                found.pop(same, None)
                found[same] = _correction(row)
        return list(found.values())

    def _check_room(self, connection: Connection, row: dict[str, Any]) -> None:
        """Refuse a correction if too many wait.

        Raises:
            RefusedError: ``too_many_requests``.
        """
        same = "key_id" if row["key_id"] is not None else "address"
        client = corrections.c[same] == row[same]
        for limit, whose, of_whom in (
            (self._limits.pending_corrections_per_client, client, "of yours "),
            (self._limits.pending_corrections, corrections.c.id.is_not(None), ""),
        ):
            if _pending(connection, whose) >= limit:
                raise RefusedError(
                    "too_many_requests",
                    f"{limit:,} corrections {of_whom}wait for a review; send this one later",
                    _LATER_SECONDS,
                )


def _pending(connection: Connection, whose: ColumnElement[bool]) -> int:
    wanted = select(func.count()).where(corrections.c.state == "pending", whose)
    return connection.execute(wanted).scalar_one()


def _known(connection: Connection, row: dict[str, Any]) -> Row[Any] | None:
    """The same correction, unless another has replaced it."""
    names = ("digest", "source_language", "target_language")
    this = [corrections.c[name] == row[name] for name in names]
    rows = connection.execute(
        select(corrections).where(*this).order_by(corrections.c.reviewed, corrections.c.id)
    ).all()
    same = [one for one in rows if one.target == row["target"]]
    accepted = [one for one in rows if one.state == "accepted"]
    waiting = [one for one in same if one.state == "pending"]
    if waiting:
        return waiting[0]
    return next((one for one in same if one.state == "rejected" or one is accepted[-1]), None)


def _digest(sentence: str) -> str:
    # Halves of surrogate pairs, which UTF-8 cannot encode, are removed by normalize.
    return sha256(normalize(sentence).encode()).hexdigest()


def _parts(values: Iterable[Any]) -> Iterable[list[Any]]:
    rest = iter(values)
    return iter(lambda: list(islice(rest, _AT_ONCE)), [])


def _correction(row: Row[Any]) -> Correction:
    return Correction(
        row.id,
        row.source,
        row.target,
        row.source_language,
        row.target_language,
        row.state,
        row.created,
        row.key_id,
        row.reviewed,
    )
