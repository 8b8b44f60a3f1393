"""The parts of a translation system that have settings of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from dragoman.core.config import Config
from dragoman.core.sections import OneName
from dragoman.evaluation.identifiers import IDENTIFIERS, PY3LANGID
from dragoman.text.terms.terminology import ProtectedKind

GlossaryMode = Literal["hard", "learned", "both"]
Weight = Annotated[float, Field(ge=1e-9, le=1e9)]


class LanguageModelConfig(Config):
    """A language model whose log-probabilities are added to those of the models: shallow fusion."""

    path: Path
    """Directory of a language model with the same target vocabulary."""
    weight: float = Field(0.2, ge=0, le=1000)
    """Factor of its log-probabilities; 0 disables it."""


class PivotConfig(Config):
    """The first of two legs: each line is translated into a third language, the pivot.

    The system's models then translate every hypothesis of this leg, and the best joint score wins
    (Utiyama and Isahara 2007, "A Comparison of Pivot Methods for Phrase-Based Statistical Machine
    Translation", section 2).
    """

    language: str
    """The pivot language, such as `en`."""
    models: tuple[Path, ...] | None = Field(None, min_length=1)
    """Models that translate into the pivot language; by default those of the system, which then
    must know both directions."""
    weights: tuple[Weight, ...] | None = None
    """Weights of `models`, as in the system."""
    ensemble: Literal["linear", "log-linear"] = "linear"
    """Kind of their ensemble, as in the system."""
    language_model: LanguageModelConfig | None = None
    """Language model of the pivot language; none by default."""
    tags: tuple[str, ...] | None = None
    """Further tags in front of each line; by default those of the system if the models are its
    own, too, or else none."""
    search: dict[str, Any] = Field(default_factory=dict)
    """Settings of search, which override those saved with the first of the models."""
    nbest: int = Field(4, ge=1, le=1000)
    """Hypotheses that are translated on; the beam is at least as wide, unless `search` has one."""


def _as_several(given: object) -> object:
    """A list of files, of which there may be one alone, or none."""
    if given is None:
        return ()
    return (given,) if isinstance(given, (str, Path)) else given


class TermsConfig(Config):
    """What translations must contain; see docs/glossaries.md."""

    glossary: Annotated[tuple[Path, ...], BeforeValidator(_as_several)] = ()
    """Terms and their translations: a table separated by tabs, or TBX; or a list of several, of
    which the first that has a term decides."""
    mode: GlossaryMode = "hard"
    """How the terms of the glossaries are brought about: `hard` by constraints on the search,
    `learned` by annotating them in the source, for models that were trained so, or `both`."""
    keep: tuple[Path, ...] = ()
    """Files of names and other terms that are not translated, one in each line."""
    keep_patterns: tuple[str, ...] = ()
    """Regular expressions of what is copied as it is, such as `ISO \\d+`."""
    protect: tuple[ProtectedKind, ...] | None = None
    """Sets of what is copied, and not invented: `placeholders` such as `{name}` and `%s`, `tags`
    such as `<b>` and `&amp;`, `urls` with e-mail addresses, and `numbers`, which may also be
    written otherwise. By default all of them, wherever the search can demand it; `[]` protects
    nothing."""

    def conflicts(self) -> Iterator[str]:
        """A mode of no glossary."""
        if not self.glossary:
            yield from self.unread("without a glossary", "mode")

    @property
    def insists(self) -> bool:
        """Whether something is demanded that is not protected by default."""
        hard = bool(self.glossary) and self.mode != "learned"
        return hard or bool(self.keep or self.keep_patterns or self.protect)


UNPROTECTED = TermsConfig(protect=())
"""For scores of a model: what search alone writes, as published figures are."""


class IdentifierConfig(Config):
    """What decides the language of each line, with `source_language: auto`."""

    classifier: Path | None = None
    """A classifier whose labels are languages; by default none, but an identifier."""
    name: Annotated[str, OneName(IDENTIFIERS.names, frozenset(IDENTIFIERS.built_in))] = PY3LANGID
    """The identifier; other packages may add some."""
    languages: tuple[str, ...] = ()
    """Languages that the identifier chooses from; by default those of `routes`, the pivot language,
    and those that the first of the models was trained to translate from."""
    least_probability: float = Field(0.5, ge=0, le=1)
    """Probability below which the language of a line is uncertain."""
    least_letters: int = Field(4, ge=0)
    """A line with fewer letters is uncertain in any case."""
    fallback: str | None = None
    """Language of uncertain lines; by default they take no route, as lines in a language without
    one."""

    def conflicts(self) -> Iterator[str]:
        """An identifier or its languages beside a classifier, which has its own."""
        if self.classifier is not None and self.languages:
            yield "languages are for py3langid; a classifier has labels of its own; remove them"
        if self.classifier is not None:
            yield from self.unread("with a classifier", "name")
