"""The log says that a database is back only when it is."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from dragoman.server.database.failures import DamagedError, Outage, UnansweredError, UnwritableError
from dragoman.server.database.server_store import ServerStore

AGAIN = "the database answers again"
FULL = UnwritableError("/srv/x: the disk is full")
AWAY = UnansweredError("/srv/x: cannot be reached")


@pytest.fixture
def outage() -> Outage:
    return Outage(logging.getLogger("dragoman.test"), "usage cannot be written")


@pytest.fixture(autouse=True)
def info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_each_reason_is_said_once_and_so_is_the_end(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    outage.end()
    for error in (AWAY, AWAY, FULL, DamagedError("/srv/x: damaged")):
        outage.begin(error)
    outage.end()
    outage.end()
    assert caplog.messages == [
        "usage cannot be written, and will be tried again: /srv/x: cannot be reached",
        "usage cannot be written, and will be tried again: /srv/x: the disk is full",
        "usage cannot be written, and will be tried again: /srv/x: damaged",
        AGAIN,
    ]


def test_reading_shows_that_a_database_is_reached_but_not_that_it_can_be_written(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    outage.begin(AWAY)
    outage.end(written=False)
    assert caplog.messages.count(AGAIN) == 1
    outage.begin(FULL)
    outage.end(written=False)
    assert caplog.messages.count(AGAIN) == 1
    outage.end()
    assert caplog.messages.count(AGAIN) == 2


@pytest.fixture
def full_store(tmp_path: Path) -> Iterator[ServerStore]:
    """A store whose disk is full, as SQLite sees it."""
    with ServerStore(str(tmp_path / "server.sqlite")) as store:
        with store._database.reading() as session:
            pages = session.execute(text("PRAGMA page_count")).scalar_one()
            session.execute(text(f"PRAGMA max_page_count = {pages}"))
        yield store


def test_a_full_disk_can_be_read_and_deletes_what_does_not_exist(
    full_store: ServerStore, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UnwritableError, match="the disk is full") as caught:
        for _ in range(100):
            full_store.create_job("a.txt", b"x" * 100_000, None, "de")
    outage.begin(caught.value)
    before = datetime(2000, 1, 1, tzinfo=UTC)
    outage.end(written=full_store.forget_jobs(before) > 0)
    outage.end(written=full_store.claim_job(before) is not None)
    assert AGAIN not in caplog.messages
