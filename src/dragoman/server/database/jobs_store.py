"""Documents that are translated in the background, with their content."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, case, delete, func, insert, select, update

from dragoman.core.errors import DataError
from dragoman.server.database.keys_store import add_usage
from dragoman.server.database.records import DocumentJob, JobState
from dragoman.server.database.table_store import Shelf, is_identifier, language, now, storable
from dragoman.server.database.tables import job_files, jobs
from dragoman.translation.service.interface import RefusedError

_NAME_CHARACTERS = 1024
_FULL_SECONDS, _WAITING_SECONDS = 60, 30
_UNFINISHED = ("queued", "translating")


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

        Args:
            file_name: the client's name for the file.
            content: the file.
            source_language: language code; None: to be detected.
            target_language: language code.
            key: number of its key.
            options: of the translation, as plain values.
            most: maximum number of unfinished jobs, including this one; None: unlimited.

        Raises:
            RefusedError: ``invalid``, if the file has no name or a language code is invalid;
                ``too_large``, if the file exceeds the total; ``busy``, if too many documents wait
                or are kept.
        """
        moment = now()
        row = {
            "id": secrets.token_hex(16),
            "secret": secrets.token_hex(32),
            "file_name": storable(file_name, "the name of the file", _NAME_CHARACTERS),
            "source_language": None if source_language is None else language(source_language),
            "target_language": language(target_language),
            "state": "queued",
            "created": moment,
            "changed": moment,
            "characters": 0,
            "key_id": key,
            "options": json.dumps(dict(options or {})),
            "texts_done": 0,
            "texts": 0,
        }
        limit = self._limits.job_bytes
        if len(content) > limit:
            raise RefusedError(
                "too_large", f"the file has {len(content):,} bytes; the maximum is {limit:,}"
            )
        with self._database.writing("jobs") as connection:
            if most is not None and _unfinished(connection) >= most:
                raise RefusedError(
                    "busy", "too many files are waiting; try again later", _WAITING_SECONDS
                )
            kept = connection.execute(select(func.sum(job_files.c.bytes))).scalar() or 0
            if kept + len(content) > limit:
                raise RefusedError(
                    "busy",
                    "too many documents wait to be translated or fetched; try again later",
                    _FULL_SECONDS,
                )
            made = connection.execute(insert(jobs).returning(*jobs.c), row).one()
            _put_file(connection, made.id, "source", content)
        return _job(made)

    def job(self, identifier: str, secret: str | None = None) -> DocumentJob | None:
        """The job, or None if it does not exist or the given secret is wrong."""
        if not is_identifier(identifier):
            return None
        with self._database.reading() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == identifier)).first()
        if row is None:
            return None
        if secret is not None and not hmac.compare_digest(
            secret.encode("utf-8", "surrogatepass"), row.secret.encode()
        ):
            return None
        return _job(row)

    def job_content(self, identifier: str) -> bytes:
        """The file as it was sent.

        Raises:
            DataError: the file does not exist, or was deleted.
        """
        with self._database.reading() as connection:
            content = _file(connection, identifier, "source")
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
        silent = (jobs.c.state == "translating") & (jobs.c.changed < silent_since)
        if at_work:
            silent &= jobs.c.id.not_in(at_work)
        free = (jobs.c.state == "queued") | silent
        if most_bytes is not None:
            source = (job_files.c.role == "source") & (job_files.c.bytes <= most_bytes)
            free &= jobs.c.id.in_(select(job_files.c.job_id).where(source))
        oldest = select(jobs.c.id).where(free).order_by(jobs.c.created, jobs.c.id).limit(1)
        with self._database.reading() as connection:  # usually finds nothing
            if connection.execute(oldest).first() is None:
                return None
        with self._database.writing() as connection:
            # In PostgreSQL, this skips jobs that others are just claiming.
            found = connection.execute(oldest.with_for_update(skip_locked=True)).scalar()
            if found is None:
                return None
            begun = {"state": "translating", "started": now(), "changed": now()}
            abandoned = case((silent, jobs.c.abandoned + 1), else_=jobs.c.abandoned)
            claimed = (
                update(jobs)
                .where(jobs.c.id == found)
                .values(texts_done=0, abandoned=abandoned, **begun)
            )
            return _job(connection.execute(claimed.returning(*jobs.c)).one())

    def report_job(self, identifier: str, done: int, texts: int) -> bool:
        """Store the progress of a job, which also shows that its translator is alive.

        Returns:
            False if the job was deleted or is not being translated.
        """
        this = (jobs.c.id == identifier) & (jobs.c.state == "translating")
        report = update(jobs).where(this).values(texts_done=done, texts=texts, changed=now())
        with self._database.writing(durable=False) as connection:
            return connection.execute(report).rowcount > 0

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
        its source.

        Args:
            identifier: of the job.
            state: the new state.
            result: the translated file.
            result_name: suggested name of the translated file.
            characters: number of translated characters, which are charged.
            message: reason of an error.

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
        with self._database.writing() as connection:
            this = (jobs.c.id == identifier) & jobs.c.state.in_(_UNFINISHED)
            changed = update(jobs).where(this).values(changes).returning(jobs.c.key_id)
            found = connection.execute(changed).first()
            if found is None:
                return False
            if state not in _UNFINISHED:
                _delete_file(connection, identifier, "source")
            if result is not None:
                _delete_file(connection, identifier, "result")
                _put_file(connection, identifier, "result", result)
            if characters:
                add_usage(connection, found.key_id, characters)
        return True

    def take_result(self, identifier: str, *, delete: bool) -> bytes | None:
        """The translated file; None if it is unfinished or already taken.

        Args:
            identifier: of the job.
            delete: whether to delete the file, so that only this call gets it.
        """
        if not is_identifier(identifier):
            return None
        if not delete:
            with self._database.reading() as connection:
                return _file(connection, identifier, "result")
        with self._database.writing() as connection:
            content = _file(connection, identifier, "result")
            # Of several calls that have read the file, only one deletes it.
            return content if _delete_file(connection, identifier, "result") else None

    def forget_jobs(self, before: datetime) -> int:
        """Delete the jobs created before a time, with their files; returns their number."""
        with self._database.writing() as connection:
            return connection.execute(delete(jobs).where(jobs.c.created < before)).rowcount


def _unfinished(connection: Connection) -> int:
    """The number of jobs that are queued or being translated."""
    wanted = select(func.count()).where(jobs.c.state.in_(_UNFINISHED))
    return connection.execute(wanted).scalar_one()


def _put_file(connection: Connection, identifier: str, role: str, content: bytes) -> None:
    row = {"job_id": identifier, "role": role, "bytes": len(content), "content": content}
    connection.execute(insert(job_files), row)


def _file(connection: Connection, identifier: str, role: str) -> bytes | None:
    this = (job_files.c.job_id == identifier) & (job_files.c.role == role)
    found = connection.execute(select(job_files.c.content).where(this)).scalar()
    return None if found is None else bytes(found)


def _delete_file(connection: Connection, identifier: str, role: str) -> bool:
    """Delete a file; whether it existed."""
    this = (job_files.c.job_id == identifier) & (job_files.c.role == role)
    return connection.execute(delete(job_files).where(this)).rowcount > 0


def _job(row: Row[Any]) -> DocumentJob:
    return DocumentJob(
        row.id,
        row.secret,
        row.file_name,
        row.source_language,
        row.target_language,
        row.state,
        row.created,
        row.characters,
        row.message,
        row.key_id,
        row.result_name,
        json.loads(row.options),
        row.started,
        row.texts_done,
        row.texts,
        row.abandoned,
        row.changed,
    )
