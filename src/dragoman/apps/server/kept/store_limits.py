"""How much a server keeps for its clients."""

from __future__ import annotations

from pydantic import Field

from dragoman.core.config import Config


class StoreLimits(Config):
    """Bounds of what clients may leave in the database."""

    correction_characters: int = Field(5_000, ge=1)
    """Maximum characters of either side of a correction."""
    pending_corrections: int = Field(10_000, ge=0)
    """Maximum number of corrections that wait for a review."""
    pending_corrections_per_client: int = Field(500, ge=0)
    """Maximum number of these from a key, or without one from an address (of IPv6, from a network
    of 64 bits)."""
    glossaries: int = Field(1_000, ge=0)
    """Maximum number of glossaries of a key, and of all clients without one."""
    glossary_characters: int = Field(1_000_000, ge=1)
    """Maximum characters of the entries of one direction of a glossary."""
    job_bytes: int = Field(1_000_000_000, ge=1)
    """Maximum size of all documents that are being translated or wait to be fetched."""
