"""Text in, text out: the path shared by command line, servers, validation and back-translation.

Lines are normalised and split as in training, sorted by length, translated in batches and returned
in their original order.  A translation depends only on its line and the settings, not on the other
lines or their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack

import torch
from typing_extensions import override

from dragoman.core.errors import ConfigError, UsageError
from dragoman.models.interface import TranslationModel
from dragoman.saved.system import TranslationSystem
from dragoman.search import Scorer, SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.inline_tags import InlineTags
from dragoman.text.markup_spans import MarkupStyle
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.term_annotation import TermAnnotator
from dragoman.text.terms.terminology import Terminology
from dragoman.text.vocabularies import Vocabularies
from dragoman.translation.building import build_engines
from dragoman.translation.call_options import SearchOptions, SystemOptions
from dragoman.translation.combining import build_scorer
from dragoman.translation.described_translator import DescribedTranslator
from dragoman.translation.direct import DirectTranslation
from dragoman.translation.engines.engine import Engine, TorchEngine
from dragoman.translation.engines.term_search import PhraseSpeller
from dragoman.translation.forced import ForcedDecoder
from dragoman.translation.line_rewriting import LineRewritings
from dragoman.translation.line_stream import TranslatedLine, numbered
from dragoman.translation.line_translator import LineCall
from dragoman.translation.opening import (
    OpenSystem,
    changed_search,
    languages_of,
    open_legs,
    open_terms,
    system_of,
)
from dragoman.translation.pivot import check_ranks
from dragoman.translation.preparation import LanguageReminder, LineFormat, check_prefix
from dragoman.translation.terms import (
    TermDemands,
    are_demanded,
    read_glossary,
)


class Translator(DescribedTranslator):
    """Models, their vocabularies and a way to search.

    Args:
        models: one model, or several that translate together as an ensemble.
        search: default settings, which a call may override.
        engine: carries out the searches, if not ``scorer`` in this process; closed with the
            translator.
        scorer: such as a weighted ensemble, or models fused with a language model; by default
            ``models`` with equal weights.
        prefix: the beginning of every translation, unless a call gives another.
        tags: put in front of each source, such as ``<2de>``.
        pivot: translates each line into a third language first.  The ``nbest`` hypotheses of its
            settings are then translated by ``models``.  It is closed with this translator.
        reminder: warns about lines that name no target language.
        annotate: annotates the terms in each source before it is encoded.
        terms: required in translations.
        context: the preceding lines that the models read with each line.  The lines of a call
            are one document, or several separated by empty lines.
        inline_tags: the inline tags that the models have learned, if any.
        markup: of lines, which the models read as inline tags.
        languages: source and target language, if they have names, for files of terms.

    Models in training may be given: they are in evaluation mode only while in use.
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],
        vocabularies: Vocabularies,
        search: SearchConfig | None = None,
        engine: Engine | None = None,
        *,
        scorer: Scorer | None = None,
        prefix: str = "",
        tags: Sequence[str] = (),
        pivot: Translator | None = None,
        reminder: LanguageReminder | None = None,
        annotate: TermAnnotator | None = None,
        terms: Terminology | None = None,
        context: ContextConfig | None = None,
        inline_tags: InlineTags | None = None,
        markup: tuple[MarkupStyle, ...] = (),
        languages: tuple[str, str] | None = None,
    ) -> None:
        own = build_scorer(models)
        local = TorchEngine(
            scorer or own, models, vocabularies, inline_tags=inline_tags, context=context
        )
        line_format = LineFormat(
            vocabularies,
            models[0].reads_source,
            local.scorer.position_limit,
            tuple(tags),
            annotate,
            context,
            inline_tags,
            markup,
            reminder,
        )
        self._direct = DirectTranslation(engine or local, local, line_format)
        self.vocabularies = vocabularies
        self._search = (search or SearchConfig()).sized_for(local.device)
        self._prefix, self._pivot, self._closed = prefix, pivot, False
        self._terms, self._speller = terms or Terminology(), PhraseSpeller(vocabularies.target)
        self._languages = self._written_in = languages
        if pivot is not None:
            check_ranks(pivot.search)
            check_ranks(self.search)

    @classmethod
    def load(
        cls,
        *paths: Path | str,
        device: torch.device | str | None = None,
        **options: Unpack[SystemOptions],
    ) -> Translator:
        """Open a model or run directory; several paths make an ensemble.

        Args:
            paths: directories of models, runs or checkpoints, or names of installed models.  The
                search settings of the first apply to all.
            device: such as ``cpu`` or ``cuda:1``; by default a GPU if available.
            options: other values of :class:`~dragoman.saved.system.TranslationSystem`, such as
                ``workers=2``, ``precision="auto"``, ``weights=[0.7, 0.3]``,
                ``target_language="de"``, ``adapter="runs/ui"``, ``pivot={"language": "en"}``,
                ``confidence=True`` or
                ``language_model={"path": "models/lm", "weight": 0.2}``.

        Raises:
            SavedError: a model is missing or damaged, or the vocabularies differ.
            ConfigError: no path, a device that does not exist, or another option that does not
                exist or is out of range.
            UsageError: a path or device of the wrong type.
        """
        return cls.of(system_of(paths, device, options))

    @classmethod
    def of(cls, system: TranslationSystem, where: str = "search options") -> Translator:
        """Build the translator that a description specifies.

        Args:
            system: the description.
            where: name of the description's section ``search`` in errors, such as
                ``my.yaml: search``.

        Raises:
            SavedError: a model is missing or damaged, or the vocabularies differ.
            ConfigError: a device that does not exist, a setting that does not fit the models, or
                something that the engine cannot do.
            MissingExtraError: a package that the engine needs is not installed.
        """
        legs = open_legs(system, where)
        terms, languages = open_terms(system, legs), languages_of(system, legs)
        engines = build_engines(legs)

        try:
            first = None if len(legs) == 1 else cls.over(legs[0], engines[0])
            return cls.over(legs[-1], engines[-1], pivot=first, terms=terms, languages=languages)
        except BaseException:
            for engine in engines:
                engine.close()
            raise

    @classmethod
    def over(
        cls,
        opened: OpenSystem,
        engine: Engine,
        *,
        pivot: Translator | None = None,
        terms: Terminology | None = None,
        languages: tuple[str, str] | None = None,
    ) -> Translator:
        """Build the translator of an open system; other arguments are those of the constructor."""
        return cls(
            opened.models,
            opened.vocabularies,
            opened.search,
            engine,
            scorer=opened.scorer,
            prefix=opened.system.prefix,
            tags=opened.tags,
            pivot=pivot,
            reminder=opened.reminder,
            annotate=opened.annotate,
            terms=terms,
            context=opened.context,
            inline_tags=opened.inline_tags,
            markup=opened.markup,
            languages=languages,
        )

    @override
    def close(self) -> None:
        """End the processes of ``workers``; afterwards this translator cannot translate or score.

        Closing twice is harmless.  A translator that is not closed ends its processes when Python
        garbage-collects it.
        """
        self._closed = True
        self._direct.engine.close()
        if self._pivot is not None:
            self._pivot.close()

    @override
    def __enter__(self) -> Self:
        self._check_open()
        return self

    @property
    @override
    def search(self) -> SearchConfig:
        return self._search

    def tagged(self, tags: Sequence[str]) -> Translator:
        """Copy this translator with other tags, known to the models; all else is shared."""
        other = copy(self)
        line_format = replace(self.line_format, tags=tuple(tags))
        other._direct = replace(self._direct, line_format=line_format)
        other._languages = None  # tags may select another language
        other._written_in = None if tags else self._written_in
        return other

    @property
    def is_ready(self) -> bool:
        """Whether a call is worked on at once.

        If processes of ``workers`` were killed, the next call first starts new ones.
        """
        return self._direct.engine.is_ready and (self._pivot is None or self._pivot.is_ready)

    def prepare(self) -> None:
        """Prepare for many calls, as in a server."""
        self._direct.engine.prepare(self._search)
        if self._pivot is not None:
            self._pivot.prepare()

    @override
    def _stream(self, call: LineCall, options: dict[str, Any]) -> Iterator[TranslatedLine]:
        self._check_open()
        prefix = self._prefix if call.prefix is None else call.prefix
        if prefix != "":
            check_prefix(self.reads_source, self.context)
        given = numbered(call.lines, prefix, call.numbers)
        config = self.configure(**options)
        terms = self._terms
        if call.glossary is not None:
            terms = terms.also(read_glossary(call.glossary, self._languages))
        source = (self._pivot or self).vocabularies.source
        written = self.line_format, terms, config, source, self._written_in
        rewritings = LineRewritings(*written, has_pivot=self._pivot is not None)
        given = rewritings.read(given)
        demands = None
        if are_demanded(terms, self._speller, config, self._direct.local):
            words = source, self._speller, self.context, self.inline_tags
            keeps_tags = not terms.by_default or config.allow_tags
            demands = TermDemands(terms, *words, keeps_tags=keeps_tags)
            given = map(demands.demand, given)
        # TermDemands itself warns about a glossary whose terms occur in no line.
        direct = replace(self._direct, warns_of_unused=not self._terms.glossaries)
        first = None
        if self._pivot is not None:
            shared = self._pivot.configure(
                buffer_lines=config.buffer_lines, batch_tokens=config.batch_tokens
            )
            first = partial(self._pivot._direct.stream, config=shared)
        found = direct.search(given, call.progress, config, first)
        return self._checked(found, rewritings, demands)

    def _checked(
        self,
        translated: Iterator[TranslatedLine],
        rewritings: LineRewritings,
        demands: TermDemands | None,
    ) -> Iterator[TranslatedLine]:
        """Yield lines and translations, with a warning for each translation that lacks a term."""
        for one in translated:
            if demands is not None:
                demands.check(one)
            yield rewritings.write(one)
            self._check_open()  # it may have been closed before the next one is requested
        if demands is not None:
            demands.conclude()

    @property
    def glossaries(self) -> Sequence[Glossary]:
        """Glossaries that the translator was opened with."""
        return self._terms.glossaries

    def configure(self, **options: Unpack[SearchOptions]) -> SearchConfig:
        """The search settings of a call with these options; with a pivot, of the second leg.

        Raises:
            ConfigError: an option does not exist or is out of range; or sampling or minimum Bayes
                risk is combined with a pivot.
        """
        config = changed_search(self.search, options)
        if self._pivot is not None:
            check_ranks(config)
        return config

    @override
    def _forced(self, wanted: str) -> ForcedDecoder:
        self._check_open()
        self.check_direct(wanted)
        return ForcedDecoder(self._direct.local, self.line_format, self.search)

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("this translator is closed; load it again to go on")

    def check_direct(self, wanted: str) -> None:
        """Check that one model translates from source to target.

        Args:
            wanted: the feature that needs this, for the error.

        Raises:
            ConfigError: there is a pivot.
        """
        if self._pivot is not None:
            raise ConfigError(
                f"{wanted}: there is one for each of the two legs, not through a pivot; load the "
                "models of a leg without pivot"
            )
