"""A database for files that wait, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from command_fixtures import certificates_read_once, counted_once  # noqa: F401 - for all tests here
from document_jobs import Progress, Work

from dragoman.documents.file_translation import TranslatedFile
from dragoman.server import jobs
from dragoman.server.database.server_store import ServerStore
from dragoman.translation.service.interface import TextRequest


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerStore]:
    with ServerStore(str(tmp_path_factory.mktemp("store") / "server.sqlite")) as store:
        yield store


@pytest.fixture
def store(database: ServerStore) -> Iterator[ServerStore]:
    yield database
    database.forget_jobs(datetime.now(UTC) + timedelta(days=1))


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server looks for files, and tells how far it is, many times a second."""
    monkeypatch.setattr(jobs, "_REPORT_SECONDS", 0.01)
    monkeypatch.setattr(jobs, "_LOOK_SECONDS", 0.01)


@pytest.fixture
def translates(monkeypatch: pytest.MonkeyPatch) -> Callable[[Work], None]:
    """Sets what becomes of a file."""

    def use(work: Work) -> None:
        async def translate_file(
            service: object,
            name: str,
            content: bytes,
            request: TextRequest,
            *,
            seconds: float | None = None,
            progress: Progress,
        ) -> TranslatedFile:
            result = await work(name, content, request, progress)
            return TranslatedFile(f"new {name}", result, "text/plain", "en", len(content))

        monkeypatch.setattr(jobs, "translate_file", translate_file)

    return use
