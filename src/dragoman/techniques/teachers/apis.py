"""APIs of servers that translate: what a request looks like, and what its answer says.

A new API is a class here with a row in :data:`APIS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from dragoman.client.connection import Sending
from dragoman.core.errors import ConfigError
from dragoman.techniques.teachers.answer_checks import Problem
from dragoman.techniques.teachers.teacher_config import TeacherConfig
from dragoman.text.examples import Direction
from dragoman.text.terms.glossary import Glossary


@dataclass(frozen=True)
class Reply:
    """What a server says to a request."""

    candidates: tuple[tuple[str, ...], ...]
    """Translations of each line, as many as asked for or fewer."""
    model: str = ""
    tokens: tuple[int, int] = (0, 0)
    """Read and written by a language model."""
    problem: Problem = "missing"
    """Why lines without a translation have none."""


class Asked(NamedTuple):
    """Lines of one request."""

    texts: tuple[str, ...]
    attempt: int = 1
    drafts: tuple[str, ...] = ()
    """Translations to judge and repair, one for each text, which may be empty; or none."""


class TeacherApi(ABC):
    """One API, for one teacher and one direction.

    Args:
        config: the settings of the teacher.
        direction: the languages.
        key: the key of the server; None if it needs none.
        terms: terms that translations should have.
        repairs: whether a language model judges and repairs drafts.
    """

    varies: ClassVar[bool] = False
    """Whether the same lines may get another translation when they are asked for again."""
    tail: ClassVar[str] = ""
    """End of an address that belongs to the paths of requests instead."""

    def __init__(
        self,
        config: TeacherConfig,
        direction: Direction,
        key: str | None,
        terms: Glossary | None,
        *,
        repairs: bool = False,
    ) -> None:
        self.config, self.direction, self.terms, self.repairs = config, direction, terms, repairs
        self._key = key

    @abstractmethod
    def request(self, asked: Asked) -> Sending:
        """The request for the translations of some lines."""

    @abstractmethod
    def read(self, content: Any, asked: Asked) -> Reply:
        """The reply in the JSON of a response.

        Raises:
            ValueError: the JSON is not that of the API, as :class:`LookupError` and
                :class:`TypeError` also say.
        """

    def headers(self) -> dict[str, str]:
        """The headers with the key."""
        return {} if self._key is None else {"Authorization": f"Bearer {self._key}"}


class DragomanApi(TeacherApi):
    """The own API (``/v1``), see docs/calling.md."""

    def request(self, asked: Asked) -> Sending:
        """A request for whole lines, which are not split into sentences."""
        body: dict[str, Any] = {
            "text": list(asked.texts),
            "source": self.direction.source_language,
            "target": self.direction.target_language,
            "split": "none",
        }
        if self.config.candidates > 1:
            body["nbest"] = self.config.candidates
        if self.terms is not None and (found := terms_in(self.terms, asked.texts)):
            body["glossary"] = found
        return Sending("POST", "/v1/translate", {"json": body, "headers": self.headers()})

    def read(self, content: Any, asked: Asked) -> Reply:
        """The reply; a text has ``alternatives`` if several were asked for."""
        found = [
            tuple(dict.fromkeys([one["text"], *one.get("alternatives", ())]))
            for one in content["translations"]
        ]
        return Reply(tuple(found), str(content.get("model", "")))


class LibreTranslateApi(TeacherApi):
    """The API of LibreTranslate, https://docs.libretranslate.com/."""

    def request(self, asked: Asked) -> Sending:
        """A request with a list of texts."""
        body: dict[str, Any] = {
            "q": list(asked.texts),
            "source": self.direction.source_language,
            "target": self.direction.target_language,
            "format": "text",
        }
        if self.config.candidates > 1:
            body["alternatives"] = self.config.candidates - 1
        if self._key is not None:
            body["api_key"] = self._key
        return Sending("POST", "/translate", {"json": body})

    def read(self, content: Any, asked: Asked) -> Reply:
        """The reply; ``alternatives`` is a list for each text."""
        texts = content["translatedText"]
        others = content.get("alternatives") or [[] for _ in texts]
        pairs = zip(texts, others, strict=True)
        return Reply(tuple(tuple(dict.fromkeys([text, *more])) for text, more in pairs))


class DeepLApi(TeacherApi):
    """The API of DeepL, https://developers.deepl.com/docs."""

    tail = "/v2"

    def request(self, asked: Asked) -> Sending:
        """A request with a list of texts."""
        body = {
            "text": list(asked.texts),
            "source_lang": self.direction.source_language.partition("-")[0].upper(),
            "target_lang": self.direction.target_language.upper(),
            "split_sentences": "0",
            "preserve_formatting": True,
        }
        return Sending("POST", "/v2/translate", {"json": body, "headers": self.headers()})

    def headers(self) -> dict[str, str]:
        """DeepL has a scheme of its own."""
        return {} if self._key is None else {"Authorization": f"DeepL-Auth-Key {self._key}"}

    def read(self, content: Any, asked: Asked) -> Reply:
        """The reply."""
        return Reply(tuple((str(one["text"]),) for one in content["translations"]))


def terms_in(terms: Glossary, texts: Sequence[str]) -> dict[str, str]:
    """The terms of a glossary that some lines contain, with their first translations."""
    found = (match.term for text in texts for match in terms.matches(text))
    return {term.source: term.targets[0] for term in found}


def named_direction(direction: Direction, url: str) -> Direction:
    """``direction`` if both languages have names.

    Raises:
        ConfigError: a language has no name.
    """
    if {"source", "target"} & {direction.source_language, direction.target_language}:
        raise ConfigError(
            f"{url}: a teacher must be told the languages; set source_language and "
            "target_language in the recipe"
        )
    return direction
