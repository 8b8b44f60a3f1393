from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import text

from dragoman.core.errors import ConfigError, DataError
from dragoman.server.database.database_engine import Database
from dragoman.server.database.server_store import ServerStore

NOVEMBER = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)
DECEMBER = NOVEMBER + timedelta(seconds=1)


def test_a_secret_finds_its_key_and_no_other(store: ServerStore) -> None:
    key, secret = store.create_key("one", requests_per_minute=3, characters_per_month=2**40)
    other, another = store.create_key("two")
    assert (key.name, key.requests_per_minute, key.characters_per_month) == ("one", 3, 2**40)
    assert secret.startswith("dg_") and len(secret) >= len("dg_") + 43  # 32 bytes
    assert secret.startswith(key.prefix) and len(key.prefix) < 12
    assert store.find_key(secret) == key
    assert store.find_key(another) == other
    assert store.keys() == [key, other]
    assert key.created.tzinfo is not None


def test_other_secrets_find_nothing(store: ServerStore) -> None:
    _, real = store.create_key("one")
    for secret in ("", "dg_", "x", "dg_" + "a" * 43, "dg_\0", "\ud800", "dg_é"):
        assert store.find_key(secret) is None
        assert store.find_key(real[:9] + secret) is None
    assert store.find_key(real[:-1]) is None
    assert store.find_key(real + "a") is None


def test_secrets_are_not_in_the_database(store: ServerStore, database: str) -> None:
    _, secret = store.create_key("one")
    opened = Database(database)
    with opened.reading() as session:
        (row,) = session.execute(text("SELECT * FROM api_keys")).mappings()
    opened.close()
    assert row["digest"] == hashlib.sha256(secret.encode()).hexdigest()
    assert secret[10:] not in str(dict(row))


def test_a_revoked_key_is_found_no_more(store: ServerStore) -> None:
    key, secret = store.create_key("one")
    revoked = store.revoke_key(key.id)
    assert revoked.revoked is not None
    assert store.find_key(secret) is None
    assert store.revoke_key(key.id) == revoked
    assert store.keys() == [revoked]
    with pytest.raises(DataError, match="no key 99"):
        store.revoke_key(99)


def test_names_of_living_keys_are_unique(store: ServerStore) -> None:
    key, _ = store.create_key(" the  one ")
    assert key.name == "the one"
    with pytest.raises(ConfigError, match="'the one'"):
        store.create_key("the one")
    store.revoke_key(key.id)
    store.create_key("the one")


def test_a_key_needs_a_name(store: ServerStore) -> None:
    for name in ("", " ", "\0", "x" * 201):
        with pytest.raises(ConfigError, match="name"):
            store.create_key(name)
    assert not store.has_keys()


def test_whether_there_were_keys(store: ServerStore) -> None:
    assert not store.has_keys()
    key, _ = store.create_key("one")
    store.revoke_key(key.id)
    assert store.has_keys()


def counted(store: ServerStore, now: datetime | None = None) -> dict[int | None, tuple[int, int]]:
    """Characters and requests of each key."""
    return {key: (used.characters, used.requests) for key, used in store.usage(now).items()}


def test_usage_is_by_key_and_month(store: ServerStore) -> None:
    key, _ = store.create_key("one")
    store.charge(key.id, 5, NOVEMBER)
    store.charge(key.id, 2**40, NOVEMBER)
    store.charge(key.id, 1, DECEMBER)
    store.charge(None, 7, NOVEMBER)
    assert store.used(key.id, NOVEMBER) == 5 + 2**40
    assert store.used(key.id, DECEMBER) == 1
    assert store.used(None, NOVEMBER) == 7
    assert store.used(None, DECEMBER) == 0
    assert counted(store, NOVEMBER) == {key.id: (5 + 2**40, 2), None: (7, 1)}


def test_the_month_is_that_of_utc(store: ServerStore) -> None:
    east = timezone(timedelta(hours=2))
    store.charge(None, 3, datetime(2026, 12, 1, 1, 0, tzinfo=east))
    assert store.used(None, NOVEMBER) == 3


def test_nothing_is_charged_beyond_a_limit(store: ServerStore) -> None:
    assert not store.charge(None, 11, limit=10)
    assert store.charge(None, 6, limit=10)
    assert not store.charge(None, 5, limit=10)
    assert store.charge(None, 4, limit=10)
    assert store.charge(None, 0, limit=10)
    assert counted(store)[None] == (10, 3)


def test_counts_are_exact_under_threads(store: ServerStore) -> None:
    with ThreadPoolExecutor(8) as threads:
        charged = [
            threads.submit(store.charge, number % 3 or None, 7, NOVEMBER) for number in range(90)
        ]
        limited = [threads.submit(store.charge, 9, 1, NOVEMBER, limit=10) for _ in range(20)]
    assert all(one.result() for one in charged)
    assert sum(one.result() for one in limited) == 10
    assert counted(store, NOVEMBER) == {
        **dict.fromkeys((None, 1, 2), (30 * 7, 30)),
        9: (10, 10),
    }


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_counts_are_exact_under_processes(store: ServerStore, database: str) -> None:
    program = (
        "import json, sys\n"
        "from dragoman.server.database.server_store import ServerStore\n"
        "with ServerStore(json.loads(sys.argv[1])) as store:\n"
        "    for _ in range(40):\n"
        "        store.charge(None, 1)\n"
    )
    command = [sys.executable, "-c", program, json.dumps(database)]
    with subprocess.Popen(command) as other:
        for _ in range(40):
            store.charge(None, 1)
        assert other.wait() == 0
    assert counted(store)[None] == (80, 80)
