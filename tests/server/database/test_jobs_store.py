from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from dragoman.core.errors import DataError
from dragoman.server.database.database_engine import Database
from dragoman.server.database.server_store import ServerStore
from dragoman.translation.service.interface import RefusedError

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
LATER = datetime.now(UTC) + timedelta(days=1000)


def files(database: str) -> int:
    opened = Database(database)
    with opened.reading() as session:
        found = session.execute(text("SELECT count(*) FROM job_files")).scalar_one()
    opened.close()
    return int(found)


def test_a_job_from_its_beginning_to_its_end(store: ServerStore, database: str) -> None:
    content = bytes(range(256)) * 10
    options = {"tags": ["<formal>"], "terms": [["a\0\ud800", ["b"], False]]}
    made = store.create_job("x.html", content, None, "pt_BR", options=options)
    assert (made.state, made.file_name) == ("queued", "x.html")
    assert (made.source_language, made.target_language) == (None, "pt-br")
    assert made.options == options
    assert store.job(made.id) == store.job(made.id, made.secret) == made
    claimed = store.claim_job(LONG_AGO)
    assert claimed is not None and claimed.id == made.id
    assert claimed.state == "translating" and claimed.started is not None
    assert store.job_content(made.id) == content
    assert store.report_job(made.id, 3, 9)
    seen = store.job(made.id)
    assert seen is not None and (seen.texts_done, seen.texts) == (3, 9)
    assert store.take_result(made.id, delete=True) is None
    store.finish_job(made.id, "done", result=b"\0\xff", result_name="x de.html", characters=7)
    done = store.job(made.id, made.secret)
    assert done is not None
    assert (done.state, done.characters, done.result_name) == ("done", 7, "x de.html")
    with pytest.raises(DataError, match="no document"):
        store.job_content(made.id)
    assert store.take_result(made.id, delete=False) == b"\0\xff"
    assert store.take_result(made.id, delete=True) == b"\0\xff"
    assert store.take_result(made.id, delete=True) is None
    assert files(database) == 0


def test_only_so_many_jobs_wait_however_many_come_at_once(store: ServerStore) -> None:
    def create(number: int) -> str | None:
        try:
            return store.create_job("x.txt", b"x", "en", "de", most=3).id
        except RefusedError as error:
            assert (error.kind, error.retry_after) == ("busy", 30)
            return None

    with ThreadPoolExecutor(8) as threads:
        made = [one for one in threads.map(create, range(16)) if one is not None]
    assert len(made) == 3
    claimed = store.claim_job(LONG_AGO)  # one that is translated counts, too
    assert claimed is not None and create(0) is None
    store.finish_job(claimed.id, "done", result=b"y")
    assert create(0) is not None and create(0) is None


def test_a_job_that_failed_says_why(store: ServerStore, database: str) -> None:
    made = store.create_job("x.txt", b"x", "en", "de")
    store.finish_job(made.id, "error", message="line\0 one")
    found = store.job(made.id)
    assert found is not None and (found.state, found.message) == ("error", "line one")
    assert store.take_result(made.id, delete=True) is None
    assert files(database) == 0


def test_what_is_finished_stays_finished(store: ServerStore) -> None:
    made = store.create_job("x.txt", b"x", "en", "de")
    store.finish_job(made.id, "done", result=b"first")
    store.finish_job(made.id, "done", result=b"second")
    store.finish_job(made.id, "queued")
    assert store.claim_job(LATER) is None
    assert not store.report_job(made.id, 1, 1)
    assert store.take_result(made.id, delete=False) == b"first"


def test_a_job_needs_its_secret(store: ServerStore) -> None:
    made = store.create_job("x.txt", b"x", "en", "de")
    for secret in ("", made.secret[:-1], made.secret.upper() + "x", "\0", "\ud800", "é"):
        assert store.job(made.id, secret) is None
    for identifier in ("", "x", "\0" * 32, "\ud800" * 32, "0" * 32, "' OR 1=1 --"):
        assert store.job(identifier) is None
        assert store.take_result(identifier, delete=True) is None


def test_the_oldest_job_comes_first_and_once(store: ServerStore) -> None:
    made = [store.create_job(f"{number}.txt", b"x", "en", "de").id for number in range(3)]
    claimed = [store.claim_job(LONG_AGO) for _ in range(4)]
    assert [one and one.id for one in claimed] == [*made, None]


def test_a_job_is_not_claimed_by_silence_from_a_translator_that_lives(store: ServerStore) -> None:
    first, second = (store.create_job("x.txt", b"x", "en", "de").id for _ in range(2))
    for _ in range(2):
        store.claim_job(LONG_AGO)
    claimed = store.claim_job(LATER, {first})
    assert claimed is not None and (claimed.id, claimed.abandoned) == (second, 1)
    assert store.claim_job(LATER, {first, second}) is None


def test_a_place_for_small_files_passes_over_large_ones(store: ServerStore) -> None:
    for name, size in (("large.txt", 11), ("small.txt", 10), ("next.txt", 3)):
        store.create_job(name, b"x" * size, "en", "de")
    claimed = [store.claim_job(LONG_AGO, most_bytes=10) for _ in range(3)]
    assert [one and one.file_name for one in claimed] == ["small.txt", "next.txt", None]
    last = store.claim_job(LONG_AGO)
    assert last is not None and last.file_name == "large.txt"


def test_a_job_is_claimed_once_under_threads(store: ServerStore) -> None:
    made = {store.create_job(f"{number}.txt", b"x", "en", "de").id for number in range(6)}
    with ThreadPoolExecutor(6) as threads:
        claimed = list(threads.map(lambda _: store.claim_job(LONG_AGO), range(12)))
    found = [one.id for one in claimed if one is not None]
    # PostgreSQL passes over what others are just claiming, so that a few may get none.
    assert len(found) == len({*found})
    while (one := store.claim_job(LONG_AGO)) is not None:
        found.append(one.id)
    assert sorted(found) == sorted(made)


def test_a_job_is_taken_once_under_threads(store: ServerStore) -> None:
    made = store.create_job("x.txt", b"x", "en", "de")
    result = b"result" * 50_000  # long enough for others to read it, too
    store.finish_job(made.id, "done", result=result)
    with ThreadPoolExecutor(6) as threads:
        taken = list(threads.map(lambda _: store.take_result(made.id, delete=True), range(12)))
    assert taken.count(result) == 1
    assert taken.count(None) == 11


def test_the_job_of_a_translator_that_fell_silent_is_claimed_again(store: ServerStore) -> None:
    made = store.create_job("x.txt", b"x", "en", "de")
    first = store.claim_job(LONG_AGO)
    assert store.claim_job(LONG_AGO) is None
    assert store.report_job(made.id, 1, 2)
    again = store.claim_job(LATER)
    assert first is not None and again is not None and again.id == made.id
    assert again.texts_done == 0 and again.started is not None and first.started is not None
    assert again.started >= first.started
    store.finish_job(made.id, "queued")  # as a server does that ends
    assert store.claim_job(LONG_AGO) is not None


def test_old_jobs_are_forgotten_with_their_files(store: ServerStore, database: str) -> None:
    first, second = (store.create_job("x.txt", b"x", "en", "de") for _ in range(2))
    store.finish_job(second.id, "done", result=b"y")
    assert store.forget_jobs(first.created) == 0
    assert files(database) == 2
    assert store.forget_jobs(LATER) == 2
    assert store.job(first.id) is None
    assert files(database) == 0
    assert not store.report_job(first.id, 1, 1)
    store.finish_job(first.id, "done", result=b"z")
    assert files(database) == 0


def test_documents_have_bounds(open_store: Callable[..., ServerStore]) -> None:
    store = open_store(job_bytes=10)
    with pytest.raises(RefusedError) as refused:
        store.create_job("x.txt", b"x" * 11, "en", "de")
    assert refused.value.kind == "too_large"
    made = store.create_job("x.txt", b"x" * 6, "en", "de")
    with pytest.raises(RefusedError) as refused:
        store.create_job("x.txt", b"x" * 5, "en", "de")
    assert refused.value.kind == "busy" and refused.value.retry_after
    store.finish_job(made.id, "done", result=b"y")
    store.create_job("x.txt", b"x" * 5, "en", "de")
    for name, language in ((" ", "de"), ("x", "d e"), ("\0", "de")):
        with pytest.raises(RefusedError) as refused:
            store.create_job(name, b"", "en", language)
        assert refused.value.kind == "invalid"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_deleted_documents_leave_no_trace_in_the_file(store: ServerStore, database: str) -> None:
    secret = os.urandom(24).hex().encode()
    made = store.create_job("x.txt", secret * 1000, "en", "de")
    store.finish_job(made.id, "done", result=b"y")
    store.close()  # which empties the journal
    with open(database, "rb") as stream:
        assert secret not in stream.read()
