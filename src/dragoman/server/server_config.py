"""The configuration of a server: systems, addresses and limits."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from dragoman.core.config import Config, override, parse, read_yaml
from dragoman.core.files import absolute
from dragoman.core.sections import OneName
from dragoman.saved.installed_models import found_model_from
from dragoman.saved.system import TranslationSystem, on_folder, read_values
from dragoman.server.database import StoreLimits
from dragoman.text.splitters import SENTENCEX, SPLITTERS
from dragoman.translation.batching import BatchingConfig

MOST_ITEMS = 65_536
"""Texts of a request that any server may allow: their number is known before who sends them is."""


class LimitsConfig(Config):
    """Limits on what clients may ask for."""

    body_bytes: int = Field(10_000_000, ge=1)
    """Maximum size of a request, such as an uploaded file."""
    characters: int = Field(100_000, ge=1)
    """Maximum characters of all texts of a request."""
    items: int = Field(256, ge=1, le=MOST_ITEMS)
    """Maximum number of texts of a request."""
    alternatives: int = Field(8, ge=0, le=100)
    """Maximum number of alternatives of a translation."""
    seconds: float = Field(60, gt=0)
    """How long a request may take before it is answered with an error."""
    upload_seconds: float = Field(30, gt=0)
    """How long a client may take to send the body of a request."""
    idle_seconds: float = Field(75, gt=0)
    """How long a connection may be idle between requests. Set it above the time for which a proxy
    in front of the server keeps idle connections."""
    connections: int = Field(1000, ge=1)
    """Maximum requests in progress or waiting; further ones are refused at once."""
    requests_per_minute: int | None = Field(None, ge=1)
    """Maximum requests per minute of each key without its own limit, and of each address that sends
    no key; by default, no limit."""
    patience_seconds: float = Field(5, ge=0)
    """How long a request above this rate may wait for its turn before it is refused."""
    characters_per_month: int | None = Field(None, ge=1)
    """Maximum characters per calendar month (UTC) of each key without its own limit; by default, no
    limit."""
    documents: int = Field(100, ge=0)
    """Maximum number of files that are waiting or being translated."""
    documents_at_once: int = Field(2, ge=1)
    """How many files are translated at the same time."""
    small_documents_at_once: int = Field(8, ge=0)
    """How many files of at most 100 kB are translated in addition, so that small files do not wait
    for large ones."""
    document_hours: float = Field(24, gt=0)
    """How long files and their translations are kept. By DeepL's protocol, fetching a translation
    deletes it; by the others, it may be fetched again."""


class ServerBatchingConfig(BatchingConfig):
    """How requests are gathered, and how many of their sentences may wait."""

    queue_lines: int = Field(65_536, ge=1)
    """Maximum lines in the queue; further requests are refused."""


class ServerConfig(Config):
    """All settings of a server."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` for all."""
    port: int = Field(5000, ge=0, le=65535)
    """Port to listen on; 0 takes any free port."""
    systems: tuple[TranslationSystem, ...] = Field(min_length=1)
    """The systems that translate. A model of several languages serves all of its language pairs."""
    pivots: tuple[str, ...] = ("en",)
    """Languages to translate through, in order of preference, where no system translates
    directly."""
    splitter: Annotated[str, OneName(SPLITTERS.names, frozenset(SPLITTERS.built_in))] = SENTENCEX
    """Sentence splitter; other packages may add some."""
    workers: int | None = Field(None, ge=1, le=64)
    """Number of worker processes of each system that does not set its own. A worker has the weights
    and one thread, and translates one batch at a time. With small models, one worker per core
    answers many clients faster. By default, the server's own process translates one batch at a time
    with all cores."""
    batching: ServerBatchingConfig = ServerBatchingConfig()
    """How requests share batches."""
    limits: LimitsConfig = LimitsConfig()
    """Limits on what clients may ask for."""
    database: str | None = None
    """Path of an SQLite file, or URL of a database such as `postgresql://user@host/name`; by
    default, `server.sqlite` in the user's data directory."""
    store: StoreLimits = StoreLimits()
    """How much is kept for clients."""
    require_key: bool = False
    """Whether requests without a key are refused."""
    reload_seconds: float = Field(5, ge=0)
    """How often to look for changed model directories; 0 disables this."""
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    """Addresses or networks of proxies whose `X-Forwarded-For` is believed: by default, this
    machine; `*` alone means all."""
    allowed_origins: tuple[str, ...] = ("*",)
    """Origins of web pages that may call the server (CORS)."""
    web: bool = True
    """Whether there is a web page at `/`."""
    metrics_token: str | None = Field(None, min_length=1)
    """Token that requests to `/metrics` must send, as `Authorization: Bearer TOKEN`; by default,
    anybody may read `/metrics`."""
    log_format: Literal["plain", "json"] = "plain"
    """How each request is logged on standard error: a line to read, or a JSON object."""
    drain_seconds: float = Field(0, ge=0)
    """How long a stopping server still accepts requests. Meanwhile `/ready` answers 503 and each
    answer closes its connection, so that a load balancer turns to other servers."""
    shutdown_seconds: float = Field(30, gt=0)
    """How long requests in progress may then take."""

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse entries that cannot match any client's address."""
        for one in given:
            if one == "*" and len(given) > 1:
                raise ValueError("'*' is all addresses; name it alone, or leave it out")
            try:
                if one != "*":
                    ipaddress.ip_network(one)
            except ValueError as error:
                raise ValueError(
                    f"{one!r} is no address or network ({error}); write such as 10.0.0.5, "
                    "172.16.0.0/12 or ::1"
                ) from error
        return given

    @property
    def believed_addresses(self) -> list[str]:
        """The addresses of trusted proxies, including their form on IPv6 sockets.

        A socket that listens at ``::`` sees IPv4 addresses as part of ``::ffff:0:0/96``.
        """
        mapped = []
        for one in self.trusted_proxies:
            if one != "*" and (found := ipaddress.ip_network(one)).version == 4:
                mapped.append(f"::ffff:{found.network_address}/{96 + found.prefixlen}")
        return [*self.trusted_proxies, *mapped]


def read_server(
    path: Path | None, changes: Mapping[str, Any], settings: Sequence[str] = ()
) -> ServerConfig:
    """The configuration of a server.

    Relative paths in a file, of models and of the database, are relative to its folder.  A system
    may be just the path of a model directory, the name of an installed model, or the path of the
    YAML file of a system.

    Args:
        path: a YAML file, if any.
        changes: values that replace those of the file, such as ``{"port": 80}``; their paths are
            relative to the current directory.
        settings: further changes, such as ``limits.seconds=20``.
    """
    if path is None:
        values: dict[str, Any] = {}
    else:
        values = read_yaml(path)
        folder = Path(os.path.realpath(path)).parent
        if isinstance(systems := values.get("systems"), list):
            values["systems"] = [_system(system, folder) for system in systems]
        if isinstance(database := values.get("database"), str) and _is_path(database):
            values["database"] = str(absolute(database, folder))
    whole = override({**values, **changes}, tuple(settings))
    return parse(ServerConfig, _with_workers(whole), "serve" if path is None else path)


def _is_path(database: str) -> bool:
    """Whether it is a path, not a URL or the empty string, which is refused later."""
    return bool(database.strip()) and "://" not in database


def _with_workers(values: dict[str, Any]) -> dict[str, Any]:
    """The values with ``workers`` as default in systems and batching."""
    workers, systems, batching = (values.get(one) for one in ("workers", "systems", "batching"))
    if not isinstance(systems, list):
        return values  # refused by the parser
    if isinstance(workers, int):
        systems = [
            {"workers": workers, **system} if isinstance(system, dict) else system
            for system in systems
        ]
    numbers = [system.get("workers") for system in systems if isinstance(system, dict)]
    known = [one for one in numbers if isinstance(one, int)]
    if known and (batching is None or isinstance(batching, dict)):
        values = {**values, "batching": {"batches_at_once": max(known), **(batching or {})}}
    return {**values, "systems": systems}


def system_at(path: Path) -> dict[str, Any]:
    """The description of a system, from a YAML file or for a model directory."""
    if path.suffix in {".yaml", ".yml"} and not path.is_dir():
        return read_values(path)
    return {"models": [str(path)]}


def _system(value: Any, folder: Path) -> Any:
    if isinstance(value, str):
        return system_at(found_model_from(value, folder))
    return on_folder(value, folder) if isinstance(value, dict) else value
