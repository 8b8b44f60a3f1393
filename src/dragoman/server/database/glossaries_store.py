"""Glossaries, each with dictionaries for one or several directions."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from dragoman.server.database.records import Entries, KeptDictionary, KeptGlossary
from dragoman.server.database.table_store import (
    Shelf,
    is_identifier,
    language,
    now,
    owned_by,
    storable,
)
from dragoman.server.database.tables import dictionaries, glossaries
from dragoman.text.normalization import normalize
from dragoman.translation.service.interface import RefusedError

Direction = tuple[str, str]
"""Source and target language."""

_NAME_CHARACTERS = 1024
_OUTLINE = [column for column in dictionaries.c if column.name != "entries"]


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

        Args:
            name: its owner's name for it.
            entries: of each direction.
            key: number of its key.

        Raises:
            RefusedError: ``invalid``, if the name, a language or the entries are invalid;
                ``too_large``; ``quota_exceeded``, if the key has too many glossaries.
        """
        identifier = str(uuid.uuid4())
        row = {
            "id": identifier,
            "name": _stored_name(name),
            "created": now(),
            "key_id": key,
        }
        kept = [
            self._dictionary(identifier, direction, given) for direction, given in entries.items()
        ]
        if len({(one["source_language"], one["target_language"]) for one in kept}) < len(kept):
            raise RefusedError("invalid", "the glossary has two dictionaries for one direction")
        limit = self._limits.glossaries
        with self._database.writing("glossaries") as connection:
            owned = select(func.count()).where(owned_by(glossaries.c.key_id, key))
            if connection.execute(owned).scalar_one() >= limit:
                raise RefusedError(
                    "quota_exceeded", f"there are {limit:,} glossaries already; delete one first"
                )
            connection.execute(insert(glossaries), row)
            if kept:
                connection.execute(insert(dictionaries), kept)
            found = _glossary(connection, identifier, key)
        assert found is not None
        return found

    def glossaries(self, key: int | None = None) -> list[KeptGlossary]:
        """The glossaries of a key (None: of all clients without a key), the oldest first."""
        mine = owned_by(glossaries.c.key_id, key)
        with self._database.reading() as connection:
            rows = connection.execute(
                select(glossaries).where(mine).order_by(glossaries.c.created, glossaries.c.id)
            ).all()
            within = dictionaries.c.glossary_id.in_(select(glossaries.c.id).where(mine))
            outlines = connection.execute(select(*_OUTLINE).where(within)).all()
        return [_kept(row, (one for one in outlines if one.glossary_id == row.id)) for row in rows]

    def glossary(self, identifier: str, key: int | None = None) -> KeptGlossary | None:
        """A glossary of a key, or None if it does not exist."""
        if not is_identifier(identifier):
            return None
        with self._database.reading() as connection:
            return _glossary(connection, identifier, key)

    def glossary_entries(
        self, identifier: str, source_language: str, target_language: str, key: int | None = None
    ) -> Entries | None:
        """Entries of one direction of a glossary, as given; None if it does not exist."""
        if not is_identifier(identifier):
            return None
        wanted = (
            select(dictionaries.c.entries)
            .join(glossaries)
            .where(
                glossaries.c.id == identifier,
                owned_by(glossaries.c.key_id, key),
                *_direction(source_language, target_language),
            )
        )
        with self._database.reading() as connection:
            found = connection.execute(wanted).scalar()
        return None if found is None else tuple((one, other) for one, other in json.loads(found))

    def rename_glossary(
        self, identifier: str, name: str, key: int | None = None
    ) -> KeptGlossary | None:
        """Rename a glossary of a key; None if it does not exist.

        Raises:
            RefusedError: ``invalid`` or ``too_large``.
        """
        named = _stored_name(name)
        if not is_identifier(identifier):
            return None
        with self._database.writing() as connection:
            if _glossary(connection, identifier, key) is None:
                return None
            _rename(connection, identifier, named)
            return _glossary(connection, identifier, key)

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

        If a part is refused, nothing is changed.

        Args:
            identifier: of the glossary.
            source_language: language code.
            target_language: language code.
            entries: the new ones.
            key: number of its key.
            merge: keep the old entries except those whose source, once normalised, has a new entry.
            name: the new name; None: as before.

        Returns:
            The changed glossary; None if it does not exist.

        Raises:
            RefusedError: ``invalid`` or ``too_large``.
        """
        direction = (source_language, target_language)
        row = self._dictionary(identifier, direction, entries)
        named = None if name is None else _stored_name(name)
        if not is_identifier(identifier):
            return None
        this = [
            dictionaries.c.glossary_id == identifier,
            *_direction(source_language, target_language),
        ]
        with self._database.writing(f"glossary {identifier}") as connection:
            if _glossary(connection, identifier, key) is None:
                return None
            old = connection.execute(select(dictionaries.c.entries).where(*this)).scalar()
            if merge and old is not None:
                both = [*map(tuple, json.loads(old)), *entries]
                row = self._dictionary(identifier, direction, one_of_each(both))
            # A new row, as its id is the revision.  The rows after it are also inserted anew, as
            # their ids are the order in a glossary.
            later = _rows_behind(connection, this)
            connection.execute(delete(dictionaries).where(*this))
            connection.execute(insert(dictionaries), [row, *later])
            if named is not None:
                _rename(connection, identifier, named)
            return _glossary(connection, identifier, key)

    def delete_dictionary(
        self, identifier: str, source_language: str, target_language: str, key: int | None = None
    ) -> bool:
        """Delete one direction of a glossary of a key; False if it does not exist."""
        if not is_identifier(identifier):
            return False
        mine = select(glossaries.c.id).where(
            glossaries.c.id == identifier, owned_by(glossaries.c.key_id, key)
        )
        with self._database.writing() as connection:
            deleted = connection.execute(
                delete(dictionaries).where(
                    dictionaries.c.glossary_id.in_(mine),
                    *_direction(source_language, target_language),
                )
            )
            return deleted.rowcount > 0

    def delete_glossary(self, identifier: str, key: int | None = None) -> bool:
        """Delete a glossary of a key; False if it does not exist."""
        if not is_identifier(identifier):
            return False
        with self._database.writing() as connection:
            deleted = connection.execute(
                delete(glossaries).where(
                    glossaries.c.id == identifier, owned_by(glossaries.c.key_id, key)
                )
            )
            return deleted.rowcount > 0

    def _dictionary(
        self, identifier: str, direction: Direction, entries: Sequence[tuple[str, str]]
    ) -> dict[str, Any]:
        """The row of a dictionary.

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
        return {
            "glossary_id": identifier,
            "source_language": language(direction[0]),
            "target_language": language(direction[1]),
            "entry_count": len(kept),
            "entries": json.dumps(kept, ensure_ascii=False),
        }


def _stored_name(name: str) -> str:
    return storable(name, "the name of the glossary", _NAME_CHARACTERS)


def _rename(connection: Connection, identifier: str, name: str) -> None:
    this = glossaries.c.id == identifier
    connection.execute(update(glossaries).where(this).values(name=name))


def one_of_each(entries: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Entries without contradictions: the last of those with the same source.

    Two sources are the same if they are equal after normalisation, as translators compare them.
    """
    return list({normalize(entry[0]): entry for entry in entries}.values())


def _direction(source_language: str, target_language: str) -> list[Any]:
    return [
        dictionaries.c.source_language == language(source_language),
        dictionaries.c.target_language == language(target_language),
    ]


def _rows_behind(connection: Connection, this: Sequence[Any]) -> list[dict[str, Any]]:
    """Remove and return the dictionaries after one in its glossary; none if it does not exist."""
    found = connection.execute(
        select(dictionaries.c.id, dictionaries.c.glossary_id).where(*this)
    ).first()
    if found is None:
        return []
    behind = (dictionaries.c.glossary_id == found.glossary_id, dictionaries.c.id > found.id)
    columns = [column for column in dictionaries.c if column.name != "id"]
    rows = connection.execute(select(*columns).where(*behind).order_by(dictionaries.c.id)).all()
    connection.execute(delete(dictionaries).where(*behind))
    return [dict(row._mapping) for row in rows]


def _glossary(connection: Connection, identifier: str, key: int | None) -> KeptGlossary | None:
    row = connection.execute(
        select(glossaries).where(glossaries.c.id == identifier, owned_by(glossaries.c.key_id, key))
    ).first()
    if row is None:
        return None
    within = dictionaries.c.glossary_id == identifier
    return _kept(row, connection.execute(select(*_OUTLINE).where(within)))


def _kept(row: Row[Any], outlines: Iterable[Row[Any]]) -> KeptGlossary:
    found = (
        KeptDictionary(one.source_language, one.target_language, one.entry_count, one.id)
        for one in outlines
    )
    ordered = sorted(found, key=lambda one: one.revision)
    return KeptGlossary(row.id, row.name, tuple(ordered), row.created, row.key_id)
