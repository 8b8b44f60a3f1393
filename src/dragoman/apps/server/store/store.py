"""The database behind a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from dragoman.apps.server.store.records import (
    ApiKey,
    Correction,
    CorrectionState,
    DocumentJob,
    JobState,
    KeptGlossary,
)


class Store:
    """Keys, corrections, glossaries, document jobs and usage.

    Methods block; they may be called from any thread.  Doors call them with
    ``anyio.to_thread.run_sync``.

    Args:
        url: of the database, as SQLAlchemy writes it.
    """

    def __init__(self, url: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Close all connections."""

    # Keys

    def create_key(
        self,
        name: str,
        *,
        requests_per_minute: int | None = None,
        characters_per_month: int | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key; its secret is shown only now."""
        raise NotImplementedError

    def find_key(self, secret: str) -> ApiKey | None:
        """The key of a secret; None if there is none, or it is revoked."""
        raise NotImplementedError

    def keys(self) -> list[ApiKey]:
        """All keys, the oldest first, with those that are revoked."""
        raise NotImplementedError

    def revoke_key(self, key: int) -> ApiKey:
        """End a key.

        Raises:
            DataError: there is no such key.
        """
        raise NotImplementedError

    def has_keys(self) -> bool:
        """Whether any key was ever made."""
        raise NotImplementedError

    # Usage

    def charge(self, key: int | None, characters: int, now: datetime | None = None) -> None:
        """Add to what a key (None: everybody without one) has used in this month (UTC)."""
        raise NotImplementedError

    def used(self, key: int | None, now: datetime | None = None) -> int:
        """Characters that a key has used in this month (UTC)."""
        raise NotImplementedError

    # Corrections, and the memory that they are

    def add_correction(
        self,
        source: str,
        target: str,
        source_language: str,
        target_language: str,
        key: int | None = None,
    ) -> Correction:
        """Put a correction into the queue for review."""
        raise NotImplementedError

    def corrections(self, state: CorrectionState | None = None) -> list[Correction]:
        """Those in one state, or all, the oldest first."""
        raise NotImplementedError

    def review_correction(self, correction: int, state: CorrectionState) -> Correction:
        """Accept or reject a correction.

        Raises:
            DataError: there is no such correction.
        """
        raise NotImplementedError

    def remembered(
        self, sentences: Iterable[str], source_language: str, target_language: str
    ) -> dict[str, str]:
        """Accepted translations of exactly these sentences, the newest of each."""
        raise NotImplementedError

    # Glossaries

    def create_glossary(
        self,
        name: str,
        source_language: str,
        target_language: str,
        entries: Sequence[tuple[str, str]],
        key: int | None = None,
    ) -> KeptGlossary:
        """Keep a glossary."""
        raise NotImplementedError

    def glossaries(self, key: int | None = None) -> list[KeptGlossary]:
        """Those of a key (None: of everybody without one), the oldest first."""
        raise NotImplementedError

    def glossary(self, identifier: str, key: int | None = None) -> KeptGlossary | None:
        """One of those of a key."""
        raise NotImplementedError

    def delete_glossary(self, identifier: str, key: int | None = None) -> bool:
        """Delete one of those of a key; False if there is none."""
        raise NotImplementedError

    # Document jobs

    def create_job(
        self,
        file_name: str,
        content: bytes,
        source_language: str | None,
        target_language: str,
        key: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> DocumentJob:
        """Keep a file that is to be translated, with plain values that say how."""
        raise NotImplementedError

    def job(self, identifier: str, secret: str | None = None) -> DocumentJob | None:
        """A job; None if there is none, or the secret is given and is another."""
        raise NotImplementedError

    def job_content(self, identifier: str) -> bytes:
        """The file as it was sent."""
        raise NotImplementedError

    def unfinished_jobs(self) -> int:
        """How many are queued or being translated."""
        raise NotImplementedError

    def claim_job(self, silent_since: datetime) -> DocumentJob | None:
        """Begin the oldest job that is queued, or whose translator has not been heard since a time.

        Its state is then ``translating``.  Nobody else gets it, in whatever thread or process.
        """
        raise NotImplementedError

    def report_job(self, identifier: str, done: int, texts: int) -> bool:
        """Note how far a job is, and that its translator lives; False if nobody wants it any more.

        That is so if it was deleted, or is not being translated.
        """
        raise NotImplementedError

    def finish_job(
        self,
        identifier: str,
        state: JobState,
        *,
        result: bytes | None = None,
        result_name: str | None = None,
        characters: int = 0,
        message: str | None = None,
    ) -> None:
        """Change the state of a job, and keep its result."""
        raise NotImplementedError

    def take_result(self, identifier: str, *, delete: bool) -> bytes | None:
        """The translated file; None if it is not done, or was taken already."""
        raise NotImplementedError

    def forget_jobs(self, before: datetime) -> int:
        """Delete jobs made before a time, and their files; how many there were."""
        raise NotImplementedError
