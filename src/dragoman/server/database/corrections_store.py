"""Corrections that wait for a review, and the translation memory of accepted corrections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import islice
from threading import Lock
from time import monotonic
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from dragoman.core.errors import DataError
from dragoman.server.database import StoreLimits
from dragoman.server.database.database_engine import Database
from dragoman.server.database.records import Correction, CorrectionState
from dragoman.server.database.table_store import Shelf, language, now, storable
from dragoman.text.normalization import normalize
from dragoman.translation.service.interface import RefusedError

_AT_ONCE = 500  # values in a query; databases have a maximum
_LATER_SECONDS = 3600
_ADDRESS_CHARACTERS = 100
_KNOWN_SECONDS = 1.0  # until a correction accepted by another process is noticed
_MOST_LOOKED_AT = 1000

_Value = TypeVar("_Value")


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

        If the same correction waits, was rejected, or is in the memory, that one is returned.  The
        address, of a client without a key, is kept until the review.
        """
        limit = self._limits.correction_characters
        correction = Correction(
            source=storable(source, "the source", limit),
            target=storable(target, "the correction", limit),
            source_language=language(source_language),
            target_language=language(target_language),
            digest=_digest(source),
            state="pending",
            created=now(),
            key=key,
            address=None if key is not None else (address or "")[:_ADDRESS_CHARACTERS],
        )
        with self._database.writing("corrections") as session:
            known = _known(session, correction)
            if known is not None:
                return known
            self._check_room(session, correction)
            session.add(correction)
        return correction

    def corrections(
        self,
        state: CorrectionState | None = None,
        source_language: str | None = None,
        target_language: str | None = None,
    ) -> list[Correction]:
        """Corrections, the oldest first.

        None means any.
        """
        wanted = select(Correction).order_by(Correction.id)
        if state is not None:
            wanted = wanted.where(Correction.state == state)
        if source_language is not None:
            wanted = wanted.where(Correction.source_language == language(source_language))
        if target_language is not None:
            wanted = wanted.where(Correction.target_language == language(target_language))
        with self._database.reading() as session:
            return list(session.scalars(wanted))

    def review_correction(self, correction: int, state: CorrectionState) -> Correction:
        """Accept or reject a correction."""
        return self.review_corrections([correction], state)[0]

    def review_corrections(self, chosen: Sequence[int], state: CorrectionState) -> list[Correction]:
        """Accept or reject several corrections, all or none of them.

        Returns:
            The corrections after the review, in the order of ``chosen``.

        Raises:
            DataError: a correction does not exist.
        """
        moment = None if state == "pending" else now()
        changes = {"state": state, "reviewed": moment, "address": None}
        reviewed: dict[int, Correction] = {}
        with self._database.writing("corrections") as session:
            for numbers in _parts(dict.fromkeys(chosen)):
                review = update(Correction).where(Correction.id.in_(numbers)).values(changes)
                changed = session.scalars(review.returning(Correction))
                reviewed.update((correction.id, correction) for correction in changed)
            missing = [str(number) for number in chosen if number not in reviewed]
            if missing:
                raise DataError(
                    f"there is no correction {', '.join(missing[:10])}; nothing was changed; see "
                    "'dragoman corrections list --state all'"
                )
        with self._lock:
            self._reviews, self._accepted = self._reviews + 1, None
        return [reviewed[number] for number in chosen]

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
        known: dict[str, str] = {}
        with self._database.reading() as session:
            for some in _parts(digests.values()):
                # The last accepted come last and replace the others.
                rows = session.execute(
                    select(Correction.digest, Correction.target)
                    .where(
                        Correction.digest.in_(some),
                        Correction.source_language == language(source_language),
                        Correction.target_language == language(target_language),
                        Correction.state == "accepted",
                    )
                    .order_by(Correction.reviewed, Correction.id)
                )
                known.update((digest, target) for digest, target in rows)
        return {sentence: known[digest] for sentence, digest in digests.items() if digest in known}

    def _look_for_directions(self) -> None:
        """Query the directions of accepted corrections, unless they are known."""
        known, reviews, moment = self._accepted, self._reviews, monotonic()
        if known is not None and moment < known.until:
            return
        wanted = (
            select(Correction.source_language, Correction.target_language)
            .where(Correction.state == "accepted")
            .limit(_MOST_LOOKED_AT)
        )
        with self._database.reading() as session:
            pairs = [(source, target) for source, target in session.execute(wanted)]
        is_whole = len(pairs) < _MOST_LOOKED_AT
        directions = frozenset(pairs) if is_whole else None
        with self._lock:
            if reviews == self._reviews:  # otherwise the answer may be older than the last review
                self._accepted = _Accepted(moment + _KNOWN_SECONDS, directions)

    def memory(self) -> list[Correction]:
        """The corrections in the translation memory, the last accepted at the end."""
        wanted = (
            select(Correction)
            .where(Correction.state == "accepted")
            .order_by(Correction.reviewed, Correction.id)
        )
        memory: dict[tuple[str, ...], Correction] = {}
        with self._database.reading() as session:
            for correction in session.scalars(wanted):
                same = (
                    correction.digest,
                    correction.source_language,
                    correction.target_language,
                )
                memory.pop(same, None)
                memory[same] = correction
        return list(memory.values())

    def _check_room(self, session: Session, new: Correction) -> None:
        """Refuse a correction if too many wait.

        Raises:
            RefusedError: ``too_many_requests``.
        """
        client = Correction.key == new.key
        if new.key is None:
            client = Correction.address == new.address
        for limit, whose, of_whom in (
            (self._limits.pending_corrections_per_client, client, "of yours "),
            (self._limits.pending_corrections, Correction.id.is_not(None), ""),
        ):
            if _pending(session, whose) >= limit:
                raise RefusedError(
                    "too_many_requests",
                    f"{limit:,} corrections {of_whom}wait for a review; send this one later",
                    _LATER_SECONDS,
                )


def _pending(session: Session, whose: ColumnElement[bool]) -> int:
    wanted = select(func.count()).where(Correction.state == "pending", whose)
    return session.scalars(wanted).one()


def _known(session: Session, new: Correction) -> Correction | None:
    """The same correction, unless another has replaced it."""
    of_source = session.scalars(
        select(Correction)
        .where(
            Correction.digest == new.digest,
            Correction.source_language == new.source_language,
            Correction.target_language == new.target_language,
        )
        .order_by(Correction.reviewed, Correction.id)
    ).all()
    same = [known for known in of_source if known.target == new.target]
    accepted = [known for known in of_source if known.state == "accepted"]
    waiting = [known for known in same if known.state == "pending"]
    if waiting:
        return waiting[0]
    return next((one for one in same if one.state == "rejected" or one is accepted[-1]), None)


def _digest(sentence: str) -> str:
    # Halves of surrogate pairs, which UTF-8 cannot encode, are removed by normalize.
    return sha256(normalize(sentence).encode()).hexdigest()


def _parts(values: Iterable[_Value]) -> Iterable[list[_Value]]:
    rest = iter(values)
    return iter(lambda: list(islice(rest, _AT_ONCE)), [])
