"""Asks a server for translations: many requests at once, each answer checked and kept."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from dragoman.client.connection import Connection, Sending
from dragoman.core.errors import ConfigError, DragomanError, ServiceError
from dragoman.core.files import content_digest
from dragoman.techniques.teachers.answer_checks import AnswerChecks
from dragoman.techniques.teachers.apis import (
    Asked,
    DeepLApi,
    DragomanApi,
    LibreTranslateApi,
    Reply,
    TeacherApi,
    named_direction,
)
from dragoman.techniques.teachers.chat import ChatApi
from dragoman.techniques.teachers.journal import Journal, TaughtLine
from dragoman.techniques.teachers.spending import Spending, SpendingBounds
from dragoman.techniques.teachers.teacher_config import ApiName, TeacherConfig
from dragoman.text.examples import Direction
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.corpus_origin import model_digest

APIS: dict[ApiName, type[TeacherApi]] = {
    "openai": ChatApi,
    "deepl": DeepLApi,
    "libretranslate": LibreTranslateApi,
    "dragoman": DragomanApi,
}
_LATE = "timed_out"
_SPLITTABLE = (400, 413, 422)  # a smaller request may be accepted


@dataclass(frozen=True)
class Wanted:
    """A line to translate."""

    place: int
    text: str
    draft: str = ""
    """A translation to judge and repair; empty if there is none."""


def _asked(lines: Sequence[Wanted], attempt: int = 1) -> Asked:
    texts, drafts = (tuple(getattr(one, side) for one in lines) for side in ("text", "draft"))
    return Asked(texts, attempt, drafts)


class RemoteTeacher:
    """A teacher behind an API, for one direction.

    Args:
        config: the settings.
        direction: the languages.
        repairs: whether lines have drafts, which a language model judges and repairs; other servers
            translate anew.

    Raises:
        ConfigError: a language has no name, or a file of the settings does not fit.
        DataError: the glossary or the translation memory cannot be read.
        MissingExtraError: a package for requests is not installed.
    """

    def __init__(
        self, config: TeacherConfig, direction: Direction, *, repairs: bool = False
    ) -> None:
        self.config = config
        self.direction = named_direction(direction, config.url)
        languages = direction.source_language, direction.target_language
        terms = None if config.glossary is None else Glossary.read(config.glossary, languages)
        key = os.environ.get(config.key_variable, "").strip() or None
        self.api = APIS[config.api_name](config, direction, key, terms, repairs=repairs)
        language = direction.target_language if config.check_language else None
        self.checks = AnswerChecks.of(config.max_length_ratio, language)

    def origin(self) -> dict[str, Any]:
        """Everything that the translations depend on, with digests of files."""
        files = {name: getattr(self.config, name) for name in ("glossary", "memory")}
        values = {
            **self.config.decisive(),
            "source_language": self.direction.source_language,
            "target_language": self.direction.target_language,
            **{name: content_digest(path) for name, path in files.items() if path is not None},
        }
        if self.config.scorer is not None:
            values["scorer"] = model_digest(self.config.scorer)
        if isinstance(self.api, ChatApi):
            prompt = self.api.instructions.encode()
            values["prompt"] = hashlib.sha256(prompt).hexdigest()
        return values

    def requests(self, lines: Iterable[Wanted]) -> Iterator[Asked]:
        """The requests for some lines, without repetitions; empty lines need none."""
        left = (line for line in lines if line.text.strip())
        while some := list(islice(left, self.config.lines_per_request)):
            yield _asked(some)

    def sent_bytes(self, asked: Asked) -> int:
        """Length of the text of a request in UTF-8."""
        body = self.api.request(asked).content.get("json")
        return len(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))

    def answer(
        self, lines: Sequence[Wanted], journal: Journal, show: Callable[[int], object]
    ) -> None:
        """Ask for all lines that the journal lacks, and keep each answer in it.

        Args:
            lines: the lines.
            journal: has earlier answers.
            show: called with the number of lines that have an answer.

        Raises:
            ServiceError: the server refuses all requests, cannot be reached, or a bound is reached.
            StorageError: the disk refuses.
        """
        empty = [TaughtLine(line.place) for line in lines if not line.text.strip()]
        journal.answers.update((one.place, one) for one in empty)
        missing = [line for line in lines if line.place not in journal.answers]
        if missing:
            asyncio.run(self._answer(missing, journal, show, len(lines) - len(missing)))

    async def _answer(
        self,
        missing: Sequence[Wanted],
        journal: Journal,
        show: Callable[[int], object],
        done: int,
    ) -> None:
        url = self.config.url.rstrip("/").removesuffix(self.api.tail)
        connection = Connection(url, None, self.config.timeout)
        asking = _Asking(self, connection, journal, show, done)
        try:
            await self._choose_model(connection)
            await asking.all(missing)
        finally:
            await connection.close()

    async def _choose_model(self, connection: Connection) -> None:
        """Take the only model of a server of the OpenAI API if none is set.

        Raises:
            ConfigError: it has several.
        """
        if not isinstance(self.api, ChatApi) or self.api.model is not None:
            return
        sending = Sending("GET", "/v1/models", {"headers": self.api.headers()})
        response = await connection.send(sending)
        try:
            names = [str(one["id"]) for one in response.json()["data"]]
        except (ValueError, LookupError, TypeError) as error:
            raise ServiceError(
                f"{self.config.url}: no server of the OpenAI API; check the address", "foreign"
            ) from error
        if len(names) != 1:
            raise ConfigError(
                f"{self.config.url}: offers {', '.join(names) or 'no model'}; choose one with the "
                "teacher's setting model"
            )
        self.api.model = names[0]


class _Asking:
    """The requests for a part of the text, at most ``concurrency`` at once."""

    def __init__(
        self,
        teacher: RemoteTeacher,
        connection: Connection,
        journal: Journal,
        show: Callable[[int], object],
        done: int,
    ) -> None:
        self._teacher, self._config, self._api = teacher, teacher.config, teacher.api
        self._connection, self._journal = connection, journal
        self._show, self._done = show, done
        self._budget = SpendingBounds(self._config, journal.spent)
        self._succeeded = self._failed = False

    async def all(self, lines: Iterable[Wanted]) -> None:
        """Ask for lines; after an error, requests under way still bring their answers.

        Raises:
            ServiceError: see :meth:`RemoteTeacher.answer`.
        """
        left = iter(lines)
        workers = (self._work(left) for _ in range(self._config.concurrency))
        outcomes = await asyncio.gather(*workers, return_exceptions=True)
        for error in filter(None, outcomes):
            raise error

    async def _work(self, left: Iterator[Wanted]) -> None:
        while not self._failed and (batch := list(islice(left, self._config.lines_per_request))):
            try:
                await self._ask(batch, 1)
            except DragomanError:
                self._failed = True
                raise

    async def _ask(self, batch: Sequence[Wanted], attempt: int) -> None:
        """Ask for some lines, and again for those whose answers do not pass, in smaller requests.

        Raises:
            ServiceError: see :meth:`RemoteTeacher.answer`.
        """
        asked = _asked(batch, attempt)
        reply, spent = await self._sent(asked)
        if reply is None:  # the request was too much
            good: list[TaughtLine] = []
            bad = [TaughtLine(line.place, problem="refused") for line in batch]
        else:
            good, bad = self._judged(batch, reply)
        again_differs = reply is None or self._api.varies
        may_repeat = attempt < self._config.attempts and (
            again_differs or any(one.problem == "missing" for one in bad)
        )
        may_repeat = may_repeat or (reply is None and len(batch) > 1)
        settled = good if may_repeat else [*good, *bad]
        self._journal.add(settled, spent)
        self._done += len(settled)
        self._show(self._done)
        if bad and may_repeat:
            places = {one.place for one in bad}
            again = [line for line in batch if line.place in places]
            half = max(1, len(batch) // 2)
            for start in range(0, len(again), half):
                await self._ask(again[start : start + half], attempt + 1)

    async def _sent(self, asked: Asked) -> tuple[Reply | None, Spending]:
        """The reply to a request, None if the server refuses this one, and what it has cost.

        A request without an answer in time counts as if it had one: the server may charge for it.
        """
        size = self._teacher.sent_bytes(asked), sum(map(len, asked.texts))
        expected = self._budget.expected(*size)
        self._budget.reserve(expected)
        spent = Spending()
        try:
            response = await self._connection.send(self._api.request(asked))
            spent = self._budget.presumed(*size)
            reply = self._read(response.json, asked)
            if not self._config.is_language_model or any(reply.tokens):
                read, written = reply.tokens
                spent = replace(spent, input_tokens=read, output_tokens=written, estimated=0)
            self._succeeded = True
            return reply, spent
        except ServiceError as error:
            if error.kind == _LATE:
                spent = self._budget.presumed(*size)
            if not self._is_of_one_request(error, asked):
                if spent.requests:
                    self._journal.add((), spent)
                raise
            return None, spent
        finally:
            self._budget.settle(expected, spent)

    def _is_of_one_request(self, error: ServiceError, asked: Asked) -> bool:
        """Whether the error says nothing about other requests."""
        if error.kind == _LATE and asked.attempt < self._config.attempts:
            return True
        return error.status in _SPLITTABLE and (self._succeeded or len(asked.texts) > 1)

    def _read(self, content: Callable[[], Any], asked: Asked) -> Reply:
        """The reply in a response; one with another number of lines counts for none of them."""
        try:
            reply = self._api.read(content(), asked)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ServiceError(
                f"{self._config.url}: its answers are not those of the API "
                f"{self._config.api_name} ({type(error).__name__}: {error:}); check the address, "
                "or set the teacher's api",
                "foreign",
            ) from error
        if len(reply.candidates) != len(asked.texts):
            return Reply(tuple(() for _ in asked.texts), reply.model, reply.tokens)
        return reply

    def _judged(
        self, batch: Sequence[Wanted], reply: Reply
    ) -> tuple[list[TaughtLine], list[TaughtLine]]:
        """The answers with translations that pass the checks, and those without any."""
        today = datetime.now(UTC).date().isoformat()
        good, bad = [], []
        for line, candidates in zip(batch, reply.candidates, strict=True):
            problems = {one: self._teacher.checks.problem(line.text, one) for one in candidates}
            if passing := tuple(one for one, problem in problems.items() if problem is None):
                good.append(TaughtLine(line.place, passing, model=reply.model, date=today))
                continue
            last, problem = next(reversed(problems.items()), ("", reply.problem))
            bad.append(TaughtLine(line.place, (), problem, last, reply.model, today))
        return good, bad
