"""Glossaries, each with dictionaries for one or several directions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from dragoman.server.database.records import Entries, KeptDictionary, KeptGlossary
from dragoman.server.database.table_store import (
    Shelf,
    is_identifier,
    language,
    now,
    owned_by,
    storable,
)
from dragoman.text.normalization import normalize
from dragoman.translation.service.interface import RefusedError

Direction = tuple[str, str]
"""Source and target language."""

_NAME_CHARACTERS = 1024


class GlossaryShelf(Shelf):
    """Glossaries.

    A key sees only its own glossaries.  All clients without a key share the glossaries without one.
    """

    def create_glossary(
        self,
        name: str,
        entries: Mapping[Direction, Sequence[tuple[str, str]]],
        key: int | None = None,
    ) -> KeptGlossary:
        """Keep a glossary.

        Raises:
            RefusedError: ``invalid``, if the name, a language or the entries are invalid;
                ``too_large``; ``quota_exceeded``, if the key has too many glossaries.
        """
        glossary = KeptGlossary(
            id=str(uuid.uuid4()),
            name=_stored_name(name),
            created=now(),
            key=key,
            dictionaries=[
                self._dictionary(*direction, kept) for direction, kept in entries.items()
            ],
        )
        directions = {
            (kept.source_language, kept.target_language) for kept in glossary.dictionaries
        }
        if len(directions) < len(glossary.dictionaries):
            raise RefusedError("invalid", "the glossary has two dictionaries for one direction")
        limit = self._limits.glossaries
        with self._database.writing("glossaries") as session:
            owned = select(func.count()).where(owned_by(KeptGlossary.key, key))
            if session.scalars(owned).one() >= limit:
                raise RefusedError(
                    "quota_exceeded", f"there are {limit:,} glossaries already; delete one first"
                )
            session.add(glossary)
        return glossary

    def glossaries(self, key: int | None = None) -> list[KeptGlossary]:
        """The glossaries of a key (None: of all clients without a key), the oldest first."""
        wanted = select(KeptGlossary).where(owned_by(KeptGlossary.key, key))
        with self._database.reading() as session:
            return list(session.scalars(wanted.order_by(KeptGlossary.created, KeptGlossary.id)))

    def glossary(
        self, identifier: str, key: int | None = None, *, with_entries: bool = False
    ) -> KeptGlossary | None:
        """A glossary of a key, or None if it does not exist."""
        with self._database.reading() as session:
            glossary = _glossary(session, identifier, key)
            if glossary is not None and with_entries:
                for dictionary in glossary.dictionaries:
                    session.refresh(dictionary, ["entries"])
        return glossary

    def glossary_entries(
        self, identifier: str, source_language: str, target_language: str, key: int | None = None
    ) -> Entries | None:
        """Entries of one direction of a glossary, as given; None if it does not exist."""
        direction = language(source_language), language(target_language)
        with self._database.reading() as session:
            glossary = _glossary(session, identifier, key)
            if glossary is None or (kept := glossary.dictionary(*direction)) is None:
                return None
            return tuple((source, target) for source, target in kept.entries)

    def rename_glossary(
        self, identifier: str, name: str, key: int | None = None
    ) -> KeptGlossary | None:
        """Rename a glossary of a key; None if it does not exist."""
        named = _stored_name(name)
        with self._database.writing() as session:
            glossary = _glossary(session, identifier, key, alone=True)
            if glossary is not None:
                glossary.name = named
        return glossary

    def put_dictionary(
        self,
        identifier: str,
        source_language: str,
        target_language: str,
        entries: Sequence[tuple[str, str]],
        key: int | None = None,
        *,
        merge: bool = False,
        name: str | None = None,
    ) -> KeptGlossary | None:
        """Replace the entries of one direction of a glossary in place, or add a direction.

        If a part is refused, nothing is changed.  With ``merge``, old entries are kept except those
        whose source, once normalised, has a new entry.

        Returns:
            The changed glossary; None if it does not exist.
        """
        new = self._dictionary(source_language, target_language, entries)
        named = None if name is None else _stored_name(name)
        with self._database.writing() as session:
            glossary = _glossary(session, identifier, key, alone=True)
            if glossary is None:
                return None
            old = glossary.dictionary(source_language, target_language)
            place = len(glossary.dictionaries) if old is None else glossary.dictionaries.index(old)
            if merge and old is not None:
                both = one_of_each([*old.entries, *entries])
                new = self._dictionary(source_language, target_language, both)
            # A new row, as its id is the revision.  The rows after it are also inserted anew, as
            # their ids are the order in a glossary.
            later = [replace(dictionary) for dictionary in glossary.dictionaries[place + 1 :]]
            del glossary.dictionaries[place:]
            session.flush()  # the old rows go first, as no direction may be twice in a glossary
            glossary.dictionaries += [new, *later]
            glossary.name = named or glossary.name
        return glossary

    def delete_dictionary(
        self, identifier: str, source_language: str, target_language: str, key: int | None = None
    ) -> bool:
        """Delete one direction of a glossary of a key; False if it does not exist."""
        direction = language(source_language), language(target_language)
        with self._database.writing() as session:
            glossary = _glossary(session, identifier, key, alone=True)
            if glossary is None or (kept := glossary.dictionary(*direction)) is None:
                return False
            glossary.dictionaries.remove(kept)
        return True

    def delete_glossary(self, identifier: str, key: int | None = None) -> bool:
        """Delete a glossary of a key; False if it does not exist."""
        if not is_identifier(identifier):
            return False
        this = (KeptGlossary.id == identifier) & owned_by(KeptGlossary.key, key)
        with self._database.writing() as session:
            deleted = delete(KeptGlossary).where(this).returning(KeptGlossary.id)
            return session.scalars(deleted).first() is not None

    def _dictionary(
        self, source_language: str, target_language: str, entries: Sequence[tuple[str, str]]
    ) -> KeptDictionary:
        """A dictionary to keep.

        Raises:
            RefusedError: ``invalid`` or ``too_large``.
        """
        limit = self._limits.glossary_characters
        if not entries:
            raise RefusedError("invalid", "the glossary has no entries")
        count = sum(len(source) + len(target) for source, target in entries)
        if count > limit:
            raise RefusedError(
                "too_large", f"the entries have {count:,} characters; the maximum is {limit:,}"
            )
        kept = [
            (
                storable(source, "a term", limit),
                storable(target, "the translation of a term", limit),
            )
            for source, target in entries
        ]
        return KeptDictionary(
            source_language=language(source_language),
            target_language=language(target_language),
            entry_count=len(kept),
            entries=kept,
        )


def _stored_name(name: str) -> str:
    return storable(name, "the name of the glossary", _NAME_CHARACTERS)


def one_of_each(entries: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Entries without contradictions: the last of those with the same source.

    Two sources are the same if they are equal after normalisation, as translators compare them.
    """
    return list({normalize(entry[0]): entry for entry in entries}.values())


def _glossary(
    session: Session, identifier: str, key: int | None, *, alone: bool = False
) -> KeptGlossary | None:
    """A glossary of a key; with ``alone``, other transactions that change it wait for this one."""
    if not is_identifier(identifier):
        return None
    this = (KeptGlossary.id == identifier) & owned_by(KeptGlossary.key, key)
    wanted = select(KeptGlossary).where(this)
    return session.scalars(wanted.with_for_update() if alone else wanted).first()
