"""Documents that are translated in the background, with their content."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from dragoman.core.errors import DataError
from dragoman.server.database.keys_store import add_usage
from dragoman.server.database.records import DocumentJob, JobFile, JobState
from dragoman.server.database.table_store import Shelf, is_identifier, language, now, storable
from dragoman.translation.service.interface import RefusedError

_NAME_CHARACTERS = 1024
_FULL_SECONDS, _WAITING_SECONDS = 60, 30
_UNFINISHED = ("queued", "translating")
_Role = Literal["source", "result"]


class JobShelf(Shelf):
    """Document jobs.

    The documents are in the database.  So they appear and disappear with their jobs, have the
    database's access rights, and are visible to all its servers.  A source is deleted at the end of
    its translation, a result when it is taken, and both when the job is deleted.
    """

    def create_job(
        self,
        file_name: str,
        content: bytes,
        source_language: str | None,
        target_language: str,
        key: int | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        most: int | None = None,
    ) -> DocumentJob:
        """Keep a file that is to be translated.

        At most ``most`` jobs are unfinished, including this one; None: any number.

        Raises:
            RefusedError: ``invalid``, if the file has no name or a language code is invalid;
                ``too_large``, if the file exceeds the total; ``busy``, if too many documents wait
                or are kept.
        """
        moment = now()
        job = DocumentJob(
            id=secrets.token_hex(16),
            secret=secrets.token_hex(32),
            file_name=storable(file_name, "the name of the file", _NAME_CHARACTERS),
            source_language=None if source_language is None else language(source_language),
            target_language=language(target_language),
            state="queued",
            created=moment,
            changed=moment,
            key=key,
            options=dict(options or {}),
        )
        limit = self._limits.job_bytes
        if len(content) > limit:
            raise RefusedError(
                "too_large", f"the file has {len(content):,} bytes; the maximum is {limit:,}"
            )
        with self._database.writing("jobs") as session:
            if most is not None and _unfinished(session) >= most:
                raise RefusedError(
                    "busy", "too many files are waiting; try again later", _WAITING_SECONDS
                )
            kept = session.scalar(select(func.sum(JobFile.size))) or 0
            if kept + len(content) > limit:
                raise RefusedError(
                    "busy",
                    "too many documents wait to be translated or fetched; try again later",
                    _FULL_SECONDS,
                )
            session.add(job)
            session.flush()
            _put_file(session, job.id, "source", content)
        return job

    def job(self, identifier: str, secret: str | None = None) -> DocumentJob | None:
        """The job, or None if it does not exist or the given secret is wrong."""
        if not is_identifier(identifier):
            return None
        with self._database.reading() as session:
            job = session.get(DocumentJob, identifier)
        if job is None or secret is None:
            return job
        given = secret.encode("utf-8", "surrogatepass")
        return job if hmac.compare_digest(given, job.secret.encode()) else None

    def job_content(self, identifier: str) -> bytes:
        """The file as it was sent.

        Raises:
            DataError: the file does not exist, or was deleted.
        """
        with self._database.reading() as session:
            content = _file(session, identifier, "source")
        if content is None:
            raise DataError(f"there is no document {identifier[:40]!r} to translate")
        return content

    def claim_job(
        self,
        silent_since: datetime,
        at_work: Collection[str] = (),
        *,
        most_bytes: int | None = None,
    ) -> DocumentJob | None:
        """Claim the oldest job that is queued or whose translator has fallen silent.

        Its state becomes ``translating``.  No other thread or process gets the same job.

        Args:
            silent_since: a translator without a report since this time counts as dead.
            at_work: jobs whose translator is alive nevertheless, such as those of this process
                while the database refuses its reports.
            most_bytes: maximum size of the file; None: any.
        """
        silent = (DocumentJob.state == "translating") & (DocumentJob.changed < silent_since)
        if at_work:
            silent &= DocumentJob.id.not_in(at_work)
        free = (DocumentJob.state == "queued") | silent
        if most_bytes is not None:
            source = (JobFile.role == "source") & (JobFile.size <= most_bytes)
            free &= DocumentJob.id.in_(select(JobFile.job_id).where(source))
        order = DocumentJob.created, DocumentJob.id
        oldest = select(DocumentJob).where(free).order_by(*order).limit(1)
        with self._database.reading() as session:  # usually finds nothing
            if session.scalars(oldest).first() is None:
                return None
        with self._database.writing() as session:
            # In PostgreSQL, this skips jobs that others are just claiming.
            job = session.scalars(oldest.with_for_update(skip_locked=True)).first()
            if job is not None:
                job.abandoned += job.state == "translating"
                job.state, job.texts_done = "translating", 0
                job.started = job.changed = now()
        return job

    def report_job(self, identifier: str, done: int, texts: int) -> bool:
        """Store the progress of a job, which also shows that its translator is alive.

        Returns:
            False if the job was deleted or is not being translated.
        """
        this = (DocumentJob.id == identifier) & (DocumentJob.state == "translating")
        report = update(DocumentJob).where(this).returning(DocumentJob.id)
        with self._database.writing(durable=False) as session:
            changes = report.values(texts_done=done, texts=texts, changed=now())
            return session.scalars(changes).first() is not None

    def finish_job(
        self,
        identifier: str,
        state: JobState,
        *,
        result: bytes | None = None,
        result_name: str | None = None,
        characters: int = 0,
        message: str | None = None,
    ) -> bool:
        """Change the state of a job, keep its result and charge its key, all or nothing.

        Nothing happens if the job was deleted or finished meanwhile.  ``done`` and ``error`` delete
        its source.  The characters are charged.

        Returns:
            Whether the job was changed.
        """
        changes = {
            "state": state,
            "characters": characters,
            "message": message and storable(message, "the message", len(message)),
            "result_name": result_name
            and storable(result_name, "the name of the result", _NAME_CHARACTERS),
            "changed": now(),
        }
        with self._database.writing() as session:
            this = (DocumentJob.id == identifier) & DocumentJob.state.in_(_UNFINISHED)
            changed = update(DocumentJob).where(this).values(changes).returning(DocumentJob.key)
            owner = session.execute(changed).first()
            if owner is None:
                return False
            if state not in _UNFINISHED:
                _delete_file(session, identifier, "source")
            if result is not None:
                _delete_file(session, identifier, "result")
                _put_file(session, identifier, "result", result)
            if characters:
                add_usage(session, owner.key, characters)
        return True

    def take_result(self, identifier: str, *, delete: bool) -> bytes | None:
        """The translated file; None if it is unfinished or already taken.

        With ``delete``, the file is deleted, so that only this call gets it.
        """
        if not is_identifier(identifier):
            return None
        if not delete:
            with self._database.reading() as session:
                return _file(session, identifier, "result")
        with self._database.writing() as session:
            content = _file(session, identifier, "result")
            # Of several calls that have read the file, only one deletes it.
            return content if _delete_file(session, identifier, "result") else None

    def forget_jobs(self, before: datetime) -> int:
        """Delete the jobs created before a time, with their files; returns their number."""
        with self._database.writing() as session:
            old = delete(DocumentJob).where(DocumentJob.created < before).returning(DocumentJob.id)
            return len(session.scalars(old).all())


def _unfinished(session: Session) -> int:
    wanted = select(func.count()).where(DocumentJob.state.in_(_UNFINISHED))
    return session.scalars(wanted).one()


def _put_file(session: Session, identifier: str, role: _Role, content: bytes) -> None:
    session.add(JobFile(job_id=identifier, role=role, size=len(content), content=content))


def _file(session: Session, identifier: str, role: _Role) -> bytes | None:
    this = (JobFile.job_id == identifier) & (JobFile.role == role)
    return session.scalar(select(JobFile.content).where(this))


def _delete_file(session: Session, identifier: str, role: _Role) -> bool:
    """Delete a file; whether it existed."""
    this = (JobFile.job_id == identifier) & (JobFile.role == role)
    return (
        session.scalars(delete(JobFile).where(this).returning(JobFile.job_id)).first() is not None
    )
