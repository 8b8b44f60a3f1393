"""Keys of clients, and their usage."""

from __future__ import annotations

import hmac
import secrets
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from dragoman.core.errors import ConfigError, DataError
from dragoman.server.database.records import ApiKey, Usage
from dragoman.server.database.table_store import Shelf, now
from dragoman.text.normalization import normalize

_SECRET_BYTES = 32
_PREFIX = len("dg_") + 6  # visible characters: 36 bits of 256
_NAME_CHARACTERS = 200
_NOBODY = 0


def add_usage(
    session: Session,
    key: int | None,
    characters: int,
    now: datetime | None = None,
    *,
    limit: int | None = None,
    requests: int = 1,
) -> bool:
    """:meth:`UsageShelf.charge` as a part of a transaction."""
    dialect: Any = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    row = {"month": _month(now), "owner": key or _NOBODY, "characters": characters}
    added = dialect.insert(Usage).values(requests=requests, **row)
    total = Usage.characters + added.excluded.characters
    added = added.on_conflict_do_update(
        index_elements=["month", "owner"],
        set_={"characters": total, "requests": Usage.requests + requests},
        where=None if limit is None else total <= limit,
    )
    return session.execute(added.returning(Usage.owner)).first() is not None


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

        A limit that is None is that of the server.

        Raises:
            ConfigError: the name is empty, too long or taken.
        """
        name = normalize(name)
        if not name or len(name) > _NAME_CHARACTERS:
            raise ConfigError(f"a key needs a name of 1 to {_NAME_CHARACTERS} characters")
        secret = "dg_" + secrets.token_urlsafe(_SECRET_BYTES)
        key = ApiKey(
            name=name,
            prefix=secret[:_PREFIX],
            digest=_digest(secret),
            created=now(),
            requests_per_minute=requests_per_minute,
            characters_per_month=characters_per_month,
        )
        with self._database.writing("keys") as session:
            taken = select(ApiKey).where(ApiKey.name == name, ApiKey.revoked.is_(None))
            if session.scalars(taken).first() is not None:
                raise ConfigError(
                    f"there is a key called {name!r}; choose another name, or revoke it first"
                )
            session.add(key)
        return key, secret

    def find_key(self, secret: str) -> ApiKey | None:
        """The key of a secret; None if it does not exist or is revoked."""
        if not secret.startswith("dg_") or not secret.isascii() or not secret.isprintable():
            return None
        wanted = select(ApiKey).where(ApiKey.prefix == secret[:_PREFIX], ApiKey.revoked.is_(None))
        with self._database.reading() as session:
            candidates = session.scalars(wanted).all()
        digest = _digest(secret)
        # The database looks up the visible prefix; the digest is compared in constant time.
        matching = [key for key in candidates if hmac.compare_digest(key.digest, digest)]
        return matching[0] if matching else None

    def keys(self) -> list[ApiKey]:
        """All keys, including the revoked, the oldest first."""
        with self._database.reading() as session:
            return list(session.scalars(select(ApiKey).order_by(ApiKey.id)))

    def revoke_key(self, key: int) -> ApiKey:
        """Revoke a key, unless it is already revoked.

        Raises:
            DataError: the key does not exist.
        """
        with self._database.writing("keys") as session:
            revoked = session.get(ApiKey, key)
            if revoked is None:
                raise DataError(f"there is no key {key}; see 'dragoman keys list'")
            revoked.revoked = revoked.revoked or now()
        return revoked

    def has_keys(self) -> bool:
        """Whether any key was ever made."""
        with self._database.reading() as session:
            return session.scalars(select(ApiKey.id).limit(1)).first() is not None


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

        A key that is None stands for all clients without a key.

        Returns:
            False if the usage would exceed ``limit``; then nothing is added.
        """
        if limit is not None and characters > limit:
            return False
        with self._database.writing(durable=False) as session:
            return add_usage(session, key, characters, now, limit=limit, requests=requests)

    def used(self, key: int | None, now: datetime | None = None) -> int:
        """Characters that a key has used in this month (UTC)."""
        used = self.usage(now).get(key)
        return used.characters if used else 0

    def usage(self, now: datetime | None = None) -> dict[int | None, Usage]:
        """The usage of each key (None: all clients without a key) in this month (UTC)."""
        wanted = select(Usage).where(Usage.month == _month(now))
        with self._database.reading() as session:
            return {used.owner or None: used for used in session.scalars(wanted)}


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _month(moment: datetime | None) -> str:
    return (moment or now()).astimezone(UTC).strftime("%Y-%m")
