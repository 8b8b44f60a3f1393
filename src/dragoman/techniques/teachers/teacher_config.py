"""Settings of a teacher behind an HTTP API."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from dragoman.core.config import Config, override, parse, read_yaml
from dragoman.core.files import absolute
from dragoman.core.relocation import Relocation

ApiName = Literal["openai", "deepl", "libretranslate", "dragoman"]
KEY_VARIABLE = "DRAGOMAN_TEACHER_KEY"
_CHANGEABLE = {
    *("key_variable", "concurrency", "timeout", "max_requests", "max_tokens", "max_cost"),
    *("price_input", "price_output", "price_characters"),
}
"""Settings that may change between repetitions of a command."""


class TeacherConfig(Config):
    """A server that translates training text; ``teacher.yaml`` has these keys."""

    url: str
    """Address of the API, such as `http://localhost:8000/v1` for a server of the OpenAI API."""
    api: ApiName | None = None
    """The API that the server speaks. By default the address decides: `openai` if it ends with
    `/v1`, `deepl` and `libretranslate` for addresses of these services, otherwise `dragoman`."""
    model: str | None = None
    """Model to ask for; needed if a server of the OpenAI API offers several."""
    key_variable: str = KEY_VARIABLE
    """Environment variable with the key of the server. The key itself is never written down."""
    lines_per_request: int = Field(20, ge=1, le=1000)
    """Lines that one request asks for."""
    concurrency: int = Field(4, ge=1, le=256)
    """Requests at the same time."""
    timeout: float = Field(120.0, gt=0, le=86400)
    """Seconds that one request may take, with its repetitions while the server is busy."""
    attempts: int = Field(3, ge=1, le=20)
    """How often a line is asked for, in smaller and smaller requests, until an answer passes the
    checks."""
    candidates: int = Field(1, ge=1, le=64)
    """Translations of each line to choose from."""
    temperature: float = Field(0.0, ge=0, le=2)
    """Temperature of sampling of a language model. Several candidates need one above 0."""
    scorer: Path | None = None
    """Model, run or checkpoint that chooses among the candidates: the one that it finds likeliest.
    By default the one is chosen that agrees most with the others."""
    structured: Literal["schema", "json", "none"] = "schema"
    """What a server of the OpenAI API is told about the form of answers: a JSON schema, only that
    they are JSON, or nothing; for servers that refuse the others."""
    prompt: Path | None = None
    """File with the instructions to a language model; `{source_language}` and `{target_language}`
    in it become the names of the languages."""
    glossary: Path | None = None
    """Terms, in a format of glossaries; a language model gets those that its lines contain."""
    memory: Path | None = None
    """Translation memory, `source<TAB>target` a line; a language model gets the nearest pairs."""
    examples: int = Field(3, ge=0, le=50)
    """Pairs of the translation memory in a request."""
    max_length_ratio: float = Field(4.0, gt=1)
    """A translation with this many times the characters of its source, or with so many times fewer,
    is not taken; very short lines may differ more."""
    check_language: bool = True
    """Whether translations that are clearly in another language are refused, where `py3langid` is
    installed and knows the language."""
    max_requests: int | None = Field(None, ge=1)
    """Bound on the number of requests, over all repetitions of the command."""
    max_tokens: int | None = Field(None, ge=1)
    """Bound on the tokens read and written by a language model."""
    max_cost: float | None = Field(None, gt=0)
    """Bound on the cost, in the currency of the prices."""
    price_input: float | None = Field(None, ge=0)
    """Price of a million tokens that a language model reads."""
    price_output: float | None = Field(None, ge=0)
    """Price of a million tokens that a language model writes."""
    price_characters: float | None = Field(None, ge=0)
    """Price of a million characters of source text, as translation services charge."""
    terms_of_use: str = ""
    """What the provider allows to do with its translations, in a sentence for the model card."""

    @property
    def api_name(self) -> ApiName:
        """The API, by the address if it is not set."""
        if self.api is not None:
            return self.api
        address = urlsplit(self.url)
        host = address.hostname or ""
        if host == "deepl.com" or host.endswith(".deepl.com"):
            return "deepl"
        if host.startswith("libretranslate."):
            return "libretranslate"
        return "openai" if address.path.rstrip("/").endswith("/v1") else "dragoman"

    @property
    def address(self) -> str:
        """The URL without what may be secret in it: a password and the query."""
        url = urlsplit(self.url)
        return urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, "", ""))

    @property
    def is_language_model(self) -> bool:
        """Whether requests are instructions to a language model."""
        return self.api_name == "openai"

    def conflicts(self) -> Iterator[str]:
        """Settings that the API does not read, and bounds that cannot be computed."""
        if not self.is_language_model:
            yield from self.unread(
                f"by a server of the API {self.api_name}",
                *("temperature", "structured", "prompt", "memory", "max_tokens"),
                *("price_input", "price_output"),
            )
            if self.api_name != "dragoman":
                yield from self.unread(f"by a server of the API {self.api_name}", "glossary")
        elif self.candidates > 1 and self.temperature == 0:
            yield "candidates: at temperature 0 all are the same; set temperature, such as 0.7"
        if self.api_name == "deepl" and self.candidates > 1:
            yield "candidates: DeepL's API gives one translation; remove it"
        if self.memory is None:
            yield from self.unread("without memory", "examples")
        if self.candidates == 1:
            yield from self.unread("with one candidate", "scorer")
        prices = (self.price_input, self.price_output, self.price_characters)
        if self.max_cost is not None and not any(prices):
            yield "max_cost: needs a price; set price_input and price_output, or price_characters"

    def decisive(self) -> dict[str, object]:
        """The settings that translations depend on, apart from files and the forms of requests."""
        names = ("model", "candidates", "temperature", "max_length_ratio", "check_language")
        return {"api": self.api_name, **self.model_dump(include=set(names))}

    def lasting(self) -> dict[str, Any]:
        """The settings apart from bounds, prices and those of single requests."""
        return self.model_dump(exclude=_CHANGEABLE)


def is_remote(name: str) -> bool:
    """Whether the name of a teacher is an address, or a file that describes one, and no model."""
    return "://" in name or name.endswith((".yaml", ".yml"))


def read_teacher(name: str, settings: Sequence[str] = ()) -> TeacherConfig:
    """The settings of a teacher.

    Args:
        name: its address, or a YAML file with the keys of :class:`TeacherConfig`, in which paths
            are relative to it.
        settings: ``KEY=VALUE`` each, which take precedence; paths in them are relative to the
            working directory.

    Raises:
        ConfigError: the file cannot be read, or a setting is not valid.
    """
    values: dict[str, Any] = {"url": name}
    if "://" not in name:
        values = _with_absolute_paths(read_yaml(name), Path(os.path.realpath(name)).parent)
    return _with_settings(values, settings, name)


def changed_teacher(teacher: TeacherConfig, settings: Sequence[str]) -> TeacherConfig:
    """The teacher with further settings, ``KEY=VALUE`` each.

    Raises:
        ConfigError: a setting is not valid.
    """
    return _with_settings(teacher.model_dump(mode="json"), settings, teacher.address)


def _with_settings(values: dict[str, Any], settings: Sequence[str], where: str) -> TeacherConfig:
    values = override(values, tuple(settings))
    return parse(TeacherConfig, _with_absolute_paths(values, Path()), where)


def _with_absolute_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    relocation = Relocation({"path": lambda path: str(absolute(path, folder))})
    changed: dict[str, Any] = relocation.of(TeacherConfig, values)
    return changed
