"""The database of a server: keys, corrections, glossaries, document jobs, and usage."""

from __future__ import annotations

from pydantic import Field

from dragoman.core.config import Config


class StoreLimits(Config):
    """Limits on what clients may leave in the database."""

    correction_characters: int = Field(5_000, ge=1)
    """Maximum characters of either side of a correction."""
    pending_corrections: int = Field(10_000, ge=0)
    """Maximum number of corrections that wait for a review."""
    pending_corrections_per_client: int = Field(500, ge=0)
    """Maximum number of corrections waiting per key or, without a key, per address (for IPv6, /64
    network)."""
    glossaries: int = Field(1_000, ge=0)
    """Maximum number of glossaries per key, and of all clients without a key together."""
    glossary_characters: int = Field(1_000_000, ge=1)
    """Maximum characters of the entries of one direction of a glossary."""
    job_bytes: int = Field(1_000_000_000, ge=1)
    """Maximum size of all documents that are kept (`limits.document_hours`)."""
