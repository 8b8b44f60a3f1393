"""Keys of clients, and their usage."""

from __future__ import annotations

import hmac
import secrets
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from dragoman.core.errors import ConfigError, DataError
from dragoman.server.database.records import ApiKey, Usage
from dragoman.server.database.table_store import Shelf, now
from dragoman.server.database.tables import api_keys, usage
from dragoman.text.normalization import normalize

_SECRET_BYTES = 32
_PREFIX = len("dg_") + 6  # visible characters: 36 bits of 256
_NAME_CHARACTERS = 200
_NOBODY = 0


def add_usage(
    connection: Connection,
    key: int | None,
    characters: int,
    now: datetime | None = None,
    *,
    limit: int | None = None,
    requests: int = 1,
) -> bool:
    """:meth:`UsageShelf.charge` as a part of a transaction."""
    dialect: Any = sqlite if connection.dialect.name == "sqlite" else postgresql
    row = {"month": _month(now), "owner": key or _NOBODY, "characters": characters}
    added = dialect.insert(usage).values(requests=requests, **row)
    total = usage.c.characters + added.excluded.characters
    added = added.on_conflict_do_update(
        index_elements=["month", "owner"],
        set_={"characters": total, "requests": usage.c.requests + requests},
        where=None if limit is None else total <= limit,
    )
    return connection.execute(added.returning(usage.c.owner)).first() is not None


class KeyShelf(Shelf):
    """Keys.

    A secret has 256 random bits, too many for a search with any hash, so plain SHA-256 is enough.
    A slow hash, as for passwords that people choose, would cost its time with every request.
    """

    def create_key(
        self,
        name: str,
        *,
        requests_per_minute: int | None = None,
        characters_per_month: int | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key, and return it with its secret, which is not stored.

        Args:
            name: of its owner; unique among the keys that are not revoked.
            requests_per_minute: maximum; None: the server's limit.
            characters_per_month: maximum per calendar month; None: the server's limit.

        Raises:
            ConfigError: the name is empty, too long or taken.
        """
        name = normalize(name)
        if not name or len(name) > _NAME_CHARACTERS:
            raise ConfigError(f"a key needs a name of 1 to {_NAME_CHARACTERS} characters")
        secret = "dg_" + secrets.token_urlsafe(_SECRET_BYTES)
        row = {
            "name": name,
            "prefix": secret[:_PREFIX],
            "digest": _digest(secret),
            "created": now(),
            "requests_per_minute": requests_per_minute,
            "characters_per_month": characters_per_month,
        }
        with self._database.writing("keys") as connection:
            alive = api_keys.c.revoked.is_(None)
            taken = select(api_keys.c.id).where(api_keys.c.name == name, alive)
            if connection.execute(taken).first() is not None:
                raise ConfigError(
                    f"there is a key called {name!r}; choose another name, or revoke it first"
                )
            made = connection.execute(insert(api_keys).returning(*api_keys.c), row).one()
        return _key(made), secret

    def find_key(self, secret: str) -> ApiKey | None:
        """The key of a secret; None if it does not exist or is revoked."""
        wanted = select(api_keys).where(
            api_keys.c.prefix == secret[:_PREFIX], api_keys.c.revoked.is_(None)
        )
        if not secret.startswith("dg_") or not secret.isascii() or not secret.isprintable():
            return None
        with self._database.reading() as connection:
            rows = connection.execute(wanted).all()
        digest = _digest(secret)
        # The database looks up the visible prefix; the digest is compared in constant time.
        matching = [row for row in rows if hmac.compare_digest(row.digest, digest)]
        return _key(matching[0]) if matching else None

    def keys(self) -> list[ApiKey]:
        """All keys, including the revoked, the oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(select(api_keys).order_by(api_keys.c.id)).all()
        return [_key(row) for row in rows]

    def revoke_key(self, key: int) -> ApiKey:
        """Revoke a key, unless it is already revoked.

        Raises:
            DataError: the key does not exist.
        """
        this = api_keys.c.id == key
        with self._database.writing("keys") as connection:
            connection.execute(
                update(api_keys).where(this, api_keys.c.revoked.is_(None)).values(revoked=now())
            )
            row = connection.execute(select(api_keys).where(this)).first()
        if row is None:
            raise DataError(f"there is no key {key}; see 'dragoman keys list'")
        return _key(row)

    def has_keys(self) -> bool:
        """Whether any key was ever made."""
        with self._database.reading() as connection:
            return connection.execute(select(api_keys.c.id).limit(1)).first() is not None


class UsageShelf(Shelf):
    """Usage per calendar month (UTC), exact even if several processes count at once."""

    def charge(
        self,
        key: int | None,
        characters: int,
        now: datetime | None = None,
        *,
        limit: int | None = None,
        requests: int = 1,
    ) -> bool:
        """Add requests to the usage of a key in this month.

        Args:
            key: number of the key; None: all clients without a key.
            characters: of these requests.
            now: a time in the month; None: the current time.
            limit: maximum characters per month.
            requests: number of requests.

        Returns:
            False if the usage would exceed ``limit``; then nothing is added.
        """
        if limit is not None and characters > limit:
            return False
        with self._database.writing(durable=False) as connection:
            return add_usage(connection, key, characters, now, limit=limit, requests=requests)

    def used(self, key: int | None, now: datetime | None = None) -> int:
        """Characters that a key has used in this month (UTC)."""
        return self.usage(now).get(key, Usage()).characters

    def usage(self, now: datetime | None = None) -> dict[int | None, Usage]:
        """The usage of each key (None: all clients without a key) in this month (UTC)."""
        wanted = select(usage).where(usage.c.month == _month(now))
        with self._database.reading() as connection:
            rows = connection.execute(wanted).all()
        return {row.owner or None: Usage(row.characters, row.requests) for row in rows}


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _month(moment: datetime | None) -> str:
    return (moment or now()).astimezone(timezone.utc).strftime("%Y-%m")


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(
        row.id,
        row.name,
        row.created,
        row.revoked,
        row.requests_per_minute,
        row.characters_per_month,
        row.prefix,
    )
