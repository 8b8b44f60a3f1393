"""Keyword arguments of ``dragoman.load`` and of translators, for type checkers and editors.

A misspelt name is an error there; at run time, the classes that these mirror refuse it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from dragoman.core.config import Config

if TYPE_CHECKING:
    from dragoman.search.beam import EarlyEnd
    from dragoman.translation.terms import GivenGlossary

Section = Mapping[str, Any] | Config
"""Values of a section, such as those of ``sampling``, or its class."""

Precision = Literal["float32", "bfloat16", "int8", "auto"]


class SearchOptions(TypedDict, total=False):
    """Values of :class:`~dragoman.search.SearchConfig` for one call; None leaves one as it is."""

    beam: int | None
    early_end: EarlyEnd | None
    length_penalty: float | None
    coverage_penalty: float | None
    extra_length: int | None
    minimum_length: int | None
    maximum_length: int | None
    constrained_beam: int | None
    no_repeat_ngram: int | None
    degenerate: Literal["avoid", "keep"] | None
    too_long: float | None
    length_ratio: float | None
    capitals: Literal["lower", "keep"] | None
    allow_unknown: bool | None
    unknown: Literal["mark", "copy"] | None
    allow_tags: bool | None
    grammar: Literal["any", "trees"] | None
    nbest: int | None
    sampling: Section | None
    mbr: Section | None
    batch_tokens: int | None
    buffer_lines: int | None
    max_source_pieces: int | None


class LineOptions(SearchOptions, total=False):
    """Options of a call: those of its lines and of their search."""

    prefix: str | Iterable[str] | None
    glossary: GivenGlossary | None
    numbers: Iterable[int] | None
    progress: Callable[[int], object] | None


class SystemOptions(TypedDict, total=False):
    """Values of :class:`~dragoman.saved.system.TranslationSystem` but for models and device."""

    weights: Sequence[float] | None
    ensemble: Literal["linear", "log-linear"]
    language_model: Section | None
    adapter: Path | str | None
    adapters: Mapping[str, Path | str]
    pivot: Section | None
    source_language: str | None
    routes: Mapping[str, Section]
    identifier: Section | None
    target_language: str | None
    tags: Sequence[str]
    prefix: str
    terms: Section | None
    search: Section
    engine: str
    precision: Precision
    workers: int | None
    confidence: bool | Path | str
    shortlist: bool | Path | str
    own_pieces: float
