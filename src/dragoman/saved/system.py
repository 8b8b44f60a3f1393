"""One description of a translation system: models, their combination, and the search engine.

The description is plain values.  This process, its workers and a server build the same system from
it (:mod:`dragoman.translation.building`), and a YAML file can hold everything that a command line
can express::

    models: [models/a, models/b]
    weights: [0.7, 0.3]
    language_model:
      path: models/lm
      weight: 0.2
    search:
      beam: 8
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dragoman.core.config import Config, parse, read_yaml, to_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.files import atomic_write
from dragoman.core.relocation import Relocation
from dragoman.core.sections import OneName
from dragoman.saved.engine_names import ENGINES
from dragoman.saved.installed_models import found_model_from
from dragoman.saved.system_parts import (
    IdentifierConfig,
    LanguageModelConfig,
    PivotConfig,
    TermsConfig,
    Weight,
)
from dragoman.text.tags import is_tag

AUTO = "auto"
"""In place of a source language: it is decided line by line."""


class TranslationSystem(Config):
    """Everything that decides how a line is translated."""

    models: tuple[Path, ...] = Field(min_length=1)
    """Directories of models, runs or checkpoints, or names of installed models; several translate
    together, as an ensemble."""
    weights: tuple[Weight, ...] | None = None
    """Weights of the models of an ensemble, in their order; by default, all are equal."""
    ensemble: Literal["linear", "log-linear"] = "linear"
    """Mean of the models' probabilities, or of their log-probabilities, normalised again."""
    language_model: LanguageModelConfig | None = None
    """Language model for shallow fusion; none by default."""
    adapter: Path | None = None
    """A low-rank adapter of the model, which is merged into it: its file, or the run that it was
    trained in; none by default."""
    adapters: dict[str, Path] = Field(default_factory=dict)
    """Adapters by domain, such as `{ui: runs/ui}`: each is for lines that begin with the tag of
    its domain, such as `<ui>`; all other lines are for the model itself, or for `adapter`."""
    pivot: PivotConfig | None = None
    """Third language to translate through; by default, models translate the lines themselves."""
    source_language: str | None = None
    """Language of the lines, such as `de`; only checked against what the first model was trained
    to translate from. `auto` decides it line by line, see `routes`."""
    routes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """With `source_language: auto`: by language, which values of this description are others for
    lines in it, such as `{fr: {models: [models/fr-en]}}`. A line in the pivot language needs no
    route: it is not translated into the pivot."""
    identifier: IdentifierConfig | None = None
    """With `source_language: auto`: what decides; by default, py3langid."""
    target_language: str | None = None
    """Target language, such as `de`, of a model that was trained on several: its tags are put in
    front of each line."""
    tags: tuple[str, ...] = ()
    """Further tags that are put in front of each line, such as `[<ui>]`."""
    prefix: str = ""
    """Forced prefix of every translation, unless a call gives another."""
    terms: TermsConfig | None = None
    """Terms that translations must contain, and what is copied: by default placeholders, tags,
    addresses and numbers."""
    search: dict[str, Any] = Field(default_factory=dict)
    """Settings of search, which override those saved with the first model."""
    engine: Annotated[str, OneName(ENGINES.names, frozenset(ENGINES.built_in))] = "auto"
    """Engine that searches; `auto` begins with `pytorch`, and changes to `ctranslate2` in long
    texts if that gives the same text faster; see docs/performance.md."""
    precision: Literal["float32", "bfloat16", "int8", "auto"] = "float32"
    """Precision of weights; `auto` is `bfloat16` where the hardware has it. `int8` multiplies the
    large matrices in integers of eight bits, on the CPU only."""
    device: str | None = None
    """Device, such as `cpu` or `cuda:1`; by default, a GPU if there is one."""
    workers: int | None = Field(None, ge=1, le=1024)
    """Processes (ctranslate2: threads) that share the lines; by default, this process works
    alone."""
    confidence: bool | Path = False
    """Whether each translation gets its confidence: `true`, by the calibration beside the model, or
    the file of a calibration; see docs/confidence.md."""
    shortlist: bool | Path = False
    """Whether outputs are restricted to the likeliest pieces of each source, which is faster:
    `true`, by the shortlist beside the first model, or the file of a shortlist; see
    docs/search.md."""
    own_pieces: float = Field(0.0, ge=0, le=1)
    """Keeps outputs in their language: a piece is written only if it is at least this share as
    frequent in training text of that language as in any other; 0 allows all. See
    docs/multilingual.md."""

    def conflicts(self) -> Iterator[str]:
        """Settings that do not fit the models or the engine, and a pivot that leads nowhere."""
        found = list(self._conflicts())
        yield from found
        yield from self._route_conflicts()
        if self.pivot is not None:
            yield from self._pivot_conflicts(self.pivot)
            for problem in self._first_leg(self.pivot)._conflicts():
                if problem not in found:
                    yield f"pivot: {problem}"

    def _conflicts(self) -> Iterator[str]:
        """Those of a system without a pivot."""
        if len(self.models) == 1:
            yield from self.unread("by one model", "weights", "ensemble")
        elif self.weights is not None and len(self.weights) != len(self.models):
            yield (
                f"weights: expected one for each of the {len(self.models)} models, found "
                f"{len(self.weights)}"
            )
        yield from self._unfit_adapters()
        yield from self.beyond_ctranslate2() if self.engine == "ctranslate2" else ()
        yield from self._confidence_conflicts()

    def _confidence_conflicts(self) -> Iterator[str]:
        """Confidence that no calibration can give."""
        if self.confidence and self.pivot is not None:
            yield (
                "confidence is calibrated for one search, and through a pivot there are two; leave "
                "one of them out"
            )
        if self.confidence and self.adapters:
            yield (
                "confidence is calibrated for one adapter, and these change by domain; leave one "
                "of them out"
            )
        if self.confidence is True and len(self.models) > 1:
            yield (
                "confidence: an ensemble has no model whose calibration is its own; name the file "
                "of one (--calibration FILE)"
            )

    def _unfit_adapters(self) -> Iterator[str]:
        """Adapters of several models, or of domains that no line can name or this cannot serve."""
        given = [name for name in ("adapter", "adapters") if getattr(self, name)]
        if given and len(self.models) > 1:
            yield (
                f"{given[0]}: an adapter belongs to one model; make a model of either with "
                "'dragoman merge', and name those"
            )
        if given and self.pivot is not None and self.pivot.models is not None:
            yield (
                f"{given[0]}: the legs of this pivot have models of their own; merge the adapter "
                "into its model with 'dragoman merge', and name that"
            )
        for domain in self.adapters:
            if not is_tag(f"<{domain}>"):
                yield f"adapters: {domain!r} cannot be a tag like <ui>; choose another name"
        if not self.adapters:
            return
        unfit = {"engine": self.engine == "ctranslate2"}
        unfit |= {name: getattr(self, name) is not None for name in ("workers", "pivot")}
        for name, is_unfit in unfit.items():
            if is_unfit:
                yield (
                    f"adapters by domain are exchanged in this process, so {name} cannot be "
                    f"{'one' if name == 'pivot' else getattr(self, name)}; leave it out, or name "
                    "one adapter for all lines"
                )
        if self.chooses_route:
            yield "adapters by domain do not go with routes by language; leave out one of them"

    @property
    def chooses_adapter(self) -> bool:
        """Whether each line's domain selects the model that translates it."""
        return bool(self.adapters)

    def beyond_ctranslate2(self) -> Iterator[str]:
        """What CTranslate2 lacks for this system, each with a remedy behind a semicolon."""
        if len(self.models) > 1:
            yield "engine ctranslate2 does not support ensembles; name one model"
        if self.language_model is not None:
            yield "engine ctranslate2 has no language model; remove it, or choose engine pytorch"
        if self.prefix:
            yield "engine ctranslate2 has no forced prefix; remove it, or choose engine pytorch"
        if self.device not in {None, "cpu"}:
            yield f"engine ctranslate2 runs on the cpu here, not on {self.device}"
        if self.shortlist:
            yield "engine ctranslate2 reads no shortlist; remove it, or choose engine pytorch"
        if self.own_pieces:
            yield "engine ctranslate2 cannot keep to own_pieces; remove it, or choose pytorch"
        if self.precision in {"auto", "bfloat16"}:
            yield f"precision {self.precision} needs engine pytorch; ctranslate2 has float32, int8"
        if self.engine == "ctranslate2" and self.search.get("early_end") == "exact":
            yield "early_end exact needs engine pytorch; ctranslate2 ends by its own rule"

    @property
    def chooses_route(self) -> bool:
        """Whether each line's language selects the model that translates it."""
        return self.source_language == AUTO

    def _route_conflicts(self) -> Iterator[str]:
        """Routes that nothing chooses, that are no descriptions, or lead on to others."""
        if not self.chooses_route:
            for name in ("routes", "identifier"):
                if getattr(self, name):
                    yield f"{name} is read with source_language: {AUTO}; set that, or remove it"
            return
        if not self.routes and self.pivot is None:
            yield (
                f"source_language {AUTO} chooses among routes, or skips a pivot; there is neither, "
                "and a model of several source languages needs no choice: leave it out"
            )
        for language, values in self.routes.items():
            if wrong := {"routes", "identifier", "source_language"} & values.keys():
                yield f"routes.{language}: {sorted(wrong)[0]} is that of the system; remove it"
                continue
            try:
                self.route(language)
            except ConfigError as error:
                yield str(error)
        fallback = None if self.identifier is None else self.identifier.fallback
        if fallback is not None and fallback not in self.routed():
            yield (
                f"identifier.fallback {fallback} has no route; routes: "
                f"{', '.join(self.routed()) or 'none'}"
            )

    def routed(self) -> list[str]:
        """The languages whose lines are not translated as all others."""
        pivot = [] if self.pivot is None else [self.pivot.language]
        return list(dict.fromkeys([*self.routes, *pivot]))

    def route(self, language: str | None) -> TranslationSystem:
        """The system for lines in a language; the default if it is None or has no route."""
        common: dict[str, Any] = {"source_language": None, "routes": {}, "identifier": None}
        if language is None or language not in self.routed():
            return self.model_copy(update=common)
        if language not in self.routes:
            return self.model_copy(update={**common, "pivot": None, "source_language": language})
        own = self.routes[language]
        values = {**self.model_dump(exclude_defaults=True, exclude=set(common)), **own}
        if "models" in own:  # to which nothing belongs that is of others
            several = isinstance(own["models"], (list, tuple)) and len(own["models"]) > 1
            for name in ("adapter", "weights", *(() if several else ("ensemble",))):
                if name not in own:
                    values.pop(name, None)
        values["source_language"] = language
        return parse(TranslationSystem, values, f"routes.{language}")

    def _pivot_conflicts(self, pivot: PivotConfig) -> Iterator[str]:
        """Languages that make no path of two legs."""
        if self.terms is not None and self.terms.mode != "hard":
            yield (
                f"terms.mode {self.terms.mode}: through a pivot no model reads lines and writes "
                "their translations; choose mode hard"
            )
        for name in ("source_language", "target_language"):
            if pivot.language == getattr(self, name):
                yield (
                    f"pivot.language {pivot.language} is the {name.replace('_', ' ')} itself; "
                    "choose a third language, or leave the pivot out"
                )
        if isinstance(self.shortlist, Path) and pivot.models is not None:
            yield (
                "shortlist: through a pivot each leg has its own; write true, which takes that "
                "beside each leg's model"
            )
        if pivot.models is None:
            for problem in pivot.unread("without models of its own", "weights", "ensemble"):
                yield f"pivot.{problem}"
            if self.target_language is None:
                yield (
                    "pivot: the same models translate into and from it, so name target_language "
                    "(--to); or name the models of either leg (--then names those of the second)"
                )

    def legs(self) -> list[TranslationSystem]:
        """The legs of a translation: the system itself or, with a pivot, two without a pivot."""
        if self.pivot is None:
            return [self]
        onward = {"pivot": None, "source_language": self.pivot.language}
        return [self._first_leg(self.pivot), self.model_copy(update=onward)]

    def _first_leg(self, pivot: PivotConfig) -> TranslationSystem:
        own = pivot if pivot.models is not None else self
        tags = pivot.tags
        if tags is None:
            tags = () if pivot.models is not None else self.tags
        return self.model_copy(
            update={
                "models": own.models,
                "weights": own.weights,
                "ensemble": own.ensemble,
                "language_model": pivot.language_model,
                "pivot": None,
                "target_language": pivot.language,
                "tags": tags,
                "prefix": "",
                "terms": None,
                "search": {**pivot.search, "nbest": pivot.nbest},
            }
        )

    def searches_like(self, other: TranslationSystem) -> bool:
        """Whether one engine can search for both systems: they differ in settings and tags only."""
        names = (
            *("models", "weights", "ensemble", "language_model", "adapter", "engine", "shortlist"),
            *("own_pieces", "precision", "device", "workers"),
        )
        if self.own_pieces and self.target_language != other.target_language:
            return False  # each language forbids pieces of the other
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def directories(self) -> list[Path]:
        """All directories that are needed to build the system."""
        needed = []
        for leg in self.legs():
            fused = [] if leg.language_model is None else [leg.language_model.path]
            needed += [*leg.models, *fused]
        return list(dict.fromkeys(needed))

    def paths(self) -> list[Path]:
        """All files and directories named in the description, its routes and its pivot."""
        found: list[Path] = []

        def noted(name: str) -> str:
            found.append(Path(name))
            return name

        _with_paths(self.plain(), noted)
        return list(dict.fromkeys(found))

    def plain(self) -> dict[str, Any]:
        """The values that differ from their defaults, as for YAML and JSON."""
        values: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True)
        return values


def read_system(path: Path) -> TranslationSystem:
    """Read a description; paths in it are relative to its folder, or names of installed models."""
    return parse(TranslationSystem, read_values(path), path)


def read_values(path: Path) -> dict[str, Any]:
    """The values of a description with absolute paths, to be overridden."""
    return on_folder(read_yaml(path), Path(os.path.realpath(path)).parent)


def on_folder(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The values of a description with absolute paths: in a folder, or of installed models."""
    return _with_paths(dict(values), lambda name: str(found_model_from(name, folder)))


def _with_paths(values: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """The values of a description with changed paths, also those of its routes."""
    relocation = Relocation({"path": change})
    changed: dict[str, Any] = relocation.of(TranslationSystem, values)
    if isinstance(routes := values.get("routes"), dict):  # which differ from the system in values
        found = {name: relocation.of(TranslationSystem, one) for name, one in routes.items()}
        changed["routes"] = found
    return changed


def is_description(path: Path) -> bool:
    """Whether a file describes a system or is empty, so that another description may replace it.

    Paths in it need not exist any more, and its values may be of another release.
    """
    try:
        values = read_yaml(path) if path.stat().st_size else {"models": []}
    except (ConfigError, OSError):
        return False
    return "models" in values and values.keys() <= TranslationSystem.model_fields.keys()


def write_system(path: Path, system: TranslationSystem) -> None:
    """Write a description; paths below its folder become relative, so that the folder can be moved.

    A symbolic link at ``path`` is replaced by the file.
    """
    folder = Path(os.path.realpath(path.parent))

    def shortened(name: str) -> str:
        whole = Path(os.path.abspath(name))  # a link to a model stays a link
        return str(whole.relative_to(folder) if whole.is_relative_to(folder) else whole)

    with atomic_write(path) as stream:
        values = _with_paths(system.plain(), shortened)
        stream.write(to_yaml(values))
