"""What a server serves, where, and within which bounds."""

from __future__ import annotations

from pydantic import Field

from dragoman.apps.server.store.bounds import StoreLimits
from dragoman.core.config import Config
from dragoman.saved.system import TranslationSystem
from dragoman.translation.batching import BatchingConfig


class LimitsConfig(Config):
    """Bounds of what clients may ask for."""

    body_bytes: int = Field(10_000_000, ge=1)
    """Maximum size of a request, such as an uploaded file."""
    characters: int = Field(100_000, ge=1)
    """Maximum characters of all texts of a request."""
    items: int = Field(256, ge=1)
    """Maximum number of texts of a request."""
    alternatives: int = Field(8, ge=0, le=100)
    """Maximum number of alternatives of a translation."""
    seconds: float = Field(60, gt=0)
    """How long a request may take; afterwards it is answered with an error."""
    connections: int = Field(1000, ge=1)
    """Maximum number of requests at work or waiting; further ones are refused at once."""
    requests_per_minute: int | None = Field(None, ge=1)
    """Maximum requests per minute of a client without a key, by its address, and of a key that has
    no limit of its own; by default, none."""
    characters_per_month: int | None = Field(None, ge=1)
    """Maximum characters per calendar month (UTC) of a key that has no limit of its own; by
    default, none."""
    documents: int = Field(100, ge=0)
    """Maximum number of files that wait or are being translated."""
    documents_at_once: int = Field(2, ge=1)
    """How many files are translated at the same time."""
    document_hours: float = Field(24, gt=0)
    """How long files and their translations are kept, unless they are fetched before."""


class ServerConfig(Config):
    """Everything that decides what a server does."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` for all."""
    port: int = Field(5000, ge=0, le=65535)
    """Port to listen on; 0: any that is free."""
    systems: tuple[TranslationSystem, ...] = Field(min_length=1)
    """What translates. A model of several languages serves all of its pairs."""
    pivots: tuple[str, ...] = ("en",)
    """Languages to translate through, in order of preference, where nothing translates directly."""
    batching: BatchingConfig = BatchingConfig()
    limits: LimitsConfig = LimitsConfig()
    database: str | None = None
    """Path of an SQLite file, or URL of a database such as `postgresql://user@host/name`; by
    default, `server.sqlite` in the user's data directory."""
    store: StoreLimits = StoreLimits()
    require_key: bool = False
    """Whether requests without a key are refused."""
    reload_seconds: float = Field(5, ge=0)
    """How often to look for changed model directories; 0: never."""
    trusted_proxies: tuple[str, ...] = ("127.0.0.1",)
    """Addresses of proxies whose `X-Forwarded-For` is believed; `*`: all."""
    allowed_origins: tuple[str, ...] = ("*",)
    """Origins of web pages that may call the server (CORS)."""
    web: bool = True
    """Whether there is a web page at `/`."""
