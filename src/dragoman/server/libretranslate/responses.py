"""Responses to LibreTranslate's clients."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class LibreAnswer(BaseModel):
    """An answer, whose names are written in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class LibreDetection(LibreAnswer):
    """A language that a text may be in."""

    confidence: int = Field(ge=0, le=100, description="Confidence value", examples=[100])
    language: str = Field(description="Language code", examples=["en"])


class LibreTranslation(LibreAnswer):
    """Translated texts: lists, if the texts came as a list."""

    translated_text: str | list[str] = Field(description="Translated text(s)")
    detected_language: LibreDetection | list[LibreDetection] | None = Field(
        None, description="Source language(s), if the source is `auto`"
    )
    alternatives: list[str] | list[list[str]] | None = Field(
        None, description="Further translations of each text, if they are asked for"
    )


class LibreLanguage(LibreAnswer):
    """A language, and what it can be translated into."""

    code: str = Field(description="Language code", examples=["en"])
    name: str = Field(description="Human-readable language name (in English)")
    targets: list[str] = Field(description="Supported target language codes")


class LibreFile(LibreAnswer):
    """Where a translated file is."""

    translated_file_url: str = Field(description="Translated file URL, for half an hour")


class LibreSuccess(LibreAnswer):
    """A suggestion was kept."""

    success: bool = Field(description="Whether submission was successful")


class LibreHealth(LibreAnswer):
    """The server is up."""

    status: str = Field(description="`ok`", examples=["ok"])


class LibreChoice(LibreAnswer):
    """A language that a page shows at first."""

    code: str = Field(description="Language code")
    name: str = Field(description="Human-readable language name (in English)")


class LibreChoices(LibreAnswer):
    """The two languages that a page shows at first."""

    source: LibreChoice
    target: LibreChoice


class LibreSettings(LibreAnswer):
    """What a page that stands in front of the server must know."""

    char_limit: int = Field(description="Maximum characters of a request")
    frontend_timeout: int = Field(description="Milliseconds to wait while someone types")
    api_keys: bool = Field(description="Whether the API key database is enabled")
    key_required: bool = Field(description="Whether an API key is required")
    suggestions: bool = Field(description="Whether submitting suggestions is enabled")
    files_translation: bool = Field(description="Whether files can be translated")
    supported_files_format: list[str] = Field(description="Suffixes of these files")
    language: LibreChoices


class LibreError(LibreAnswer):
    """Why there is no answer."""

    error: str = Field(description="Error message")


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": LibreError, "description": "Invalid or too large request"},
    403: {"model": LibreError, "description": "Invalid API key"},
    429: {"model": LibreError, "description": "Slow down"},
    500: {"model": LibreError, "description": "Translation error"},
    503: {"model": LibreError, "description": "Too busy, or not ready"},
    "default": {"model": LibreError, "description": "Any other error"},
}
"""The errors of every path."""
