"""Opening systems: from a description to models on a device, combined into one scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dragoman.core.arguments import check_path
from dragoman.core.config import parse
from dragoman.core.device import (
    SearchPrecision,
    decide_precision,
    find_device,
    return_freed_memory,
)
from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.saved.adapter import Adapter, read_adapter
from dragoman.saved.directions import (
    check_source,
    only_languages,
    source_tags,
    start_from,
    tags_for,
    telling_tags,
)
from dragoman.saved.installed_models import found_model
from dragoman.saved.language_pieces import foreign_pieces
from dragoman.saved.model import config_of, load_for_search
from dragoman.saved.saved_config import SavedModel
from dragoman.saved.shortlist import read_shortlist, shortlist_path
from dragoman.saved.system import TranslationSystem
from dragoman.saved.system_parts import TermsConfig
from dragoman.search import Scorer, SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.inline_tags import InlineTags
from dragoman.text.markup_spans import MarkupStyle
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import read_kept
from dragoman.text.terms.line_demands import USUAL
from dragoman.text.terms.term_annotation import TermAnnotator
from dragoman.text.terms.terminology import Terminology
from dragoman.text.vocabularies import Vocabularies
from dragoman.translation.combining import (
    build_scorer,
    check_together,
    common_inline_tags,
    common_markup,
    fused_with,
)
from dragoman.translation.engines.packing import pack_weights
from dragoman.translation.engines.quantised import check_int8, quantise_weights, release_weights
from dragoman.translation.engines.shortlisting import ShortlistedSearch, check_shortlisted
from dragoman.translation.preparation import LanguageReminder, check_prefix, unwritable


@dataclass(frozen=True)
class OpenSystem:
    """A system whose models are in memory."""

    system: TranslationSystem
    """The description, with its precision decided, so that other processes use the same."""
    models: list[TranslationModel]
    """The models that translate, without the language model."""
    vocabularies: Vocabularies
    search: SearchConfig
    """The first model's settings, overridden by those of the system."""
    scorer: Scorer
    tags: tuple[str, ...]
    """Tags in front of each line."""
    loaded: Mapping[Path, SavedModel]
    """All models in memory, by path."""
    reminder: LanguageReminder
    """Warns about lines that name none of several target languages."""
    annotate: TermAnnotator | None
    """Annotates the terms of the glossary in each line, if the system does so."""
    context: ContextConfig | None
    """The neighbours that the models read with each sentence."""
    inline_tags: InlineTags | None = None
    """Inline tags that all models and the engine know; None if there are none."""
    markup: tuple[MarkupStyle, ...] = ()
    """Markup of lines that all models read as inline tags."""
    shortlist: ShortlistedSearch | None = None
    """Searches among the pieces of the shortlist, if the system has one."""
    foreign: tuple[int, ...] = ()
    """Pieces of other languages, which outputs may not contain."""


def system_of(
    paths: Sequence[Path | str], device: torch.device | str | None, options: Mapping[str, Any]
) -> TranslationSystem:
    """The system that a call describes, such as a call of :func:`dragoman.load`.

    Raises:
        ConfigError: no path, a device that does not exist, or another option that does not exist
            or is out of range.
        UsageError: a path or device of the wrong type.
    """
    if not paths:
        raise ConfigError("name at least one model or run directory to load")
    models = tuple(found_model(check_path(path)) for path in paths)
    if "models" in options:
        raise ConfigError("load options: models: give them one by one: load('one', 'two')")
    where = None if device is None else str(find_device(device))
    return parse(TranslationSystem, {**options, "models": models, "device": where}, "load options")


def open_legs(system: TranslationSystem, where: str = "search options") -> list[OpenSystem]:
    """Open a system or, if it translates through a pivot, both of its legs.

    A model that both legs use is loaded once.

    Raises:
        DragomanError: the errors of :func:`open_system`; also, with a pivot, a model that does not
            translate into the pivot language or from it.
    """
    if system.chooses_route:
        raise ConfigError(
            "source_language: auto: lines of several languages are for 'dragoman translate' "
            "and dragoman.Router; name one language here"
        )
    if system.chooses_adapter:
        raise ConfigError(
            "adapters: lines of several domains are for 'dragoman translate' and "
            "dragoman.DomainRouter; name one adapter here"
        )
    if system.pivot is None:
        return [open_system(system, where)]
    opened: list[OpenSystem] = []
    places = ("pivot.search", where)
    for leg, place in zip(system.legs(), places, strict=True):
        try:
            loaded = opened[0].loaded if opened else {}
            opened.append(open_system(leg, place, loaded))
        except ConfigError as error:
            raise ConfigError(f"pivot {system.pivot.language}: {leg.models[0]}: {error}") from error
    for one in opened:
        if not one.models[0].reads_source:
            raise ConfigError(
                f"pivot: {one.system.models[0]} is a language model; name one that translates"
            )
        if one.context is not None:
            raise ConfigError(
                f"pivot: {one.system.models[0]} reads context, which there is none of between two "
                "models; translate in two commands"
            )
    return opened


def open_system(
    system: TranslationSystem,
    where: str = "search options",
    loaded: Mapping[Path, SavedModel] | None = None,
) -> OpenSystem:
    """Load the models of a system without a pivot, and combine them into one scorer.

    Args:
        system: the description.
        where: name of its section ``search`` in errors.
        loaded: models in memory already, by path, on the same device and in the same precision.

    Raises:
        SavedError: a model or adapter is missing or damaged, the adapter is of another model,
            vocabularies differ, or models of an ensemble have no languages in common.
        ConfigError: a device that does not exist, an invalid search setting or weight, a language
            or tag that the first model does not know, or a language model where a translation model
            is needed, or the other way round.
    """
    own = system.engine in {"auto", "pytorch"}
    # Other engines have their own weights; these only serve forced decoding and attention.
    device = find_device(system.device if own else "cpu")
    precision = _search_precision(system, device) if own else "float32"
    held = dict(loaded or {})
    adapter = None if system.adapter is None else read_adapter(system.adapter)

    def load(path: Path, adapter: Adapter | None = None) -> SavedModel:
        if path not in held:
            check_translates(path)
            held[path] = _prepared_for_search(path, device, precision, adapter)
        return held[path]

    saved = [load(path, adapter) for path in system.models]
    first = saved[0]
    check_together(saved)
    search = parse(SearchConfig, first.search, f"{first.path}: search")
    models = [part.model for part in saved]
    scorer = build_scorer(models, system.weights, system.ensemble)
    if system.prefix:
        _check_writable(system.prefix, first)
        check_prefix(first.model.reads_source, first.config.context)
    if (fused := system.language_model) is not None:
        scorer = fused_with(scorer, load(fused.path), fused.weight, first)
    decided = system.model_copy(update={"precision": precision}) if own else system
    if not own:  # it ends early in its own way: ignore the model's setting, check the call's
        search = changed_search(search, {"early_end": "quick"})
    search = changed_search(search, system.search, where)
    if system.source_language is not None:
        check_source(first.config, system.source_language)
    tags: tuple[str, ...] = ()
    source = first.vocabularies.source
    if system.target_language is not None or system.tags:
        tags = tags_for(first.config, source, system.target_language, system.tags)
    tags += source_tags(first.config, system.source_language, tags)
    told = system.target_language is not None
    reminder = LanguageReminder([] if told else telling_tags(first.config, source), source)
    return OpenSystem(
        decided,
        models,
        first.vocabularies,
        search,
        scorer,
        tags,
        held,
        reminder,
        annotate=_annotator(system, saved),
        context=first.config.context,
        inline_tags=common_inline_tags(saved) if own else None,
        markup=common_markup(saved) if own else (),
        shortlist=_shortlist(system, saved, scorer) if own else None,
        foreign=_foreign(system, first) if own else (),
    )


def _search_precision(system: TranslationSystem, device: torch.device) -> SearchPrecision:
    """The precision in which PyTorch computes for a system."""
    if system.precision == "int8":
        check_int8(device)
        return "int8"
    return decide_precision(system.precision, device)


def _prepared_for_search(
    path: Path, device: torch.device, precision: SearchPrecision, adapter: Adapter | None
) -> SavedModel:
    """Load a model, storing the weights of linear layers as precision and processor require."""
    if precision == "int8":
        saved = load_for_search(path, device, "float32", adapter)
        quantise_weights(saved.model)
        release_weights(saved.model)
    else:
        saved = load_for_search(path, device, precision, adapter)
        pack_weights(saved.model)
    if precision != "float32":
        return_freed_memory()
    return saved


def languages_of(system: TranslationSystem, legs: Sequence[OpenSystem]) -> tuple[str, str] | None:
    """The source and target language of legs that translate in turn, if they have names."""
    first, last = (leg.loaded[leg.system.models[0]].config for leg in (legs[0], legs[-1]))
    return only_languages(first, last, system.source_language, system.target_language)


def open_terms(system: TranslationSystem, legs: Sequence[OpenSystem]) -> Terminology:
    """The required terms of a system's translations, and what they may not invent.

    Raises:
        DataError: a file is missing or broken, or terms contradict one another.
        ConfigError: a pattern is not usable.
    """
    config = system.terms or TermsConfig()
    glossaries = [Glossary(read_kept(path), str(path)) for path in config.keep]
    if config.mode != "learned":
        languages = languages_of(system, legs)
        glossaries += [Glossary.read(path, languages) for path in config.glossary]
    protect = config.protect
    if protect is None:
        protect = USUAL if all(map(_spells_words, legs)) else ()
    return Terminology(glossaries, protect, config.keep_patterns, by_default=not config.insists)


def _spells_words(leg: OpenSystem) -> bool:
    """Whether a search can be for phrases: its pieces mark spaces, and there is a source."""
    try:
        leg.vocabularies.target.require_space_signs("what is protected")
    except ConfigError:
        return False
    return leg.models[0].reads_source


def changed_search(
    search: SearchConfig, given: Mapping[str, Any], where: str = "search options"
) -> SearchConfig:
    """``search`` with some settings overridden; a value of None leaves a setting as it is.

    Settings within ``sampling`` and ``mbr`` are also overridden one by one; there, None is an
    ordinary value.  Errors call the changes ``where``.

    Raises:
        ConfigError: a setting does not exist or is out of range.
    """
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        return search
    for name, section in (("sampling", search.sampling), ("mbr", search.mbr)):
        if isinstance(inner := changes.get(name), Mapping) and section is not None:
            changes[name] = {**section.model_dump(), **inner}
    draws = "sampling" in changes or search.sampling is not None
    if isinstance(nbest := changes.get("nbest"), int) and not draws:
        # The beam must be as wide as nbest; widen it unless its width is given.
        changes = {"beam": max(search.beam, nbest), **changes}
    return parse(SearchConfig, {**search.model_dump(), **changes}, where)


def _annotator(system: TranslationSystem, models: Sequence[SavedModel]) -> TermAnnotator | None:
    """The annotator of terms in sources, as in training, if the system uses one."""
    terms = system.terms
    if terms is None or not terms.glossary or terms.mode == "hard":
        return None
    config = models[0].config
    method = config.term_annotation
    for saved in models:
        found = saved.config.term_annotation
        if found is None:
            raise ConfigError(
                f"glossary mode {terms.mode}: {saved.path} was not trained with annotated terms; "
                "choose mode hard, or train with transforms: [{kind: terms, glossary: FILE}]"
            )
        if found != method:
            raise ConfigError(
                f"glossary mode {terms.mode}: {saved.path} was trained with terms annotated by the "
                f"method {found}, and {models[0].path} by {method}; choose mode hard"
            )
    assert method is not None, "there is a model, and it has one"
    asked = system.source_language, system.target_language
    languages = only_languages(config, config, *asked)
    glossaries = [Glossary.read(path, languages) for path in terms.glossary]
    return TermAnnotator(glossaries[0].beside(glossaries[1:]), method)


def _shortlist(
    system: TranslationSystem, models: Sequence[SavedModel], scorer: Scorer
) -> ShortlistedSearch | None:
    """The search among the pieces of the system's shortlist; None if it has none."""
    if not system.shortlist:
        return None
    check_shortlisted([one.model for one in models], common_inline_tags(models))
    vocabularies = models[0].vocabularies
    shortlist = read_shortlist(shortlist_path(system), vocabularies)
    return ShortlistedSearch(scorer, shortlist, len(vocabularies.target))


def _foreign(system: TranslationSystem, first: SavedModel) -> tuple[int, ...]:
    """Pieces outside the target language, if the system excludes them."""
    if not system.own_pieces:
        return ()
    language = system.target_language
    if language is None:
        languages = {one.target_language for one in first.config.directions}
        if len(languages) > 1:
            raise ConfigError(
                f"own_pieces: {first.path} writes {', '.join(sorted(languages))}; name one with "
                "--to or target_language"
            )
        language = first.config.target_language
    return foreign_pieces(first.path, first.vocabularies.target, language, system.own_pieces)


def _check_writable(prefix: str, first: SavedModel) -> None:
    """Check that a model can begin its outputs with ``prefix``."""
    check_prefix(first.model.reads_source)
    target = first.vocabularies.target
    if reason := unwritable(prefix, target.encode(prefix), target):
        raise ConfigError(reason)


def check_translates(path: Path) -> None:
    """Check that a model writes text, before its weights are read.

    Raises:
        ConfigError: it is a classifier, or a masked language model.
        SavedError: the model does not exist.
    """
    config = config_of(path)
    if config.model.writes_labels:
        raise ConfigError(
            f"{path}: a classifier, which labels text and cannot translate; use 'dragoman "
            f"classify {path}' or dragoman.load_classifier"
        )
    if not config.translates:
        raise ConfigError(
            f"{path}: a masked language model, whose decoder was never trained; start a "
            f"translation model from it by {start_from(path)}"
        )
