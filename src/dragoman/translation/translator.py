"""Text in, text out: the path shared by command line, servers, validation and back-translation.

Lines are normalised and split as in training, sorted by length, translated in batches and returned
in their original order.  A translation depends only on its line and the settings, not on the other
lines or their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import torch

from dragoman.core.arguments import check_function
from dragoman.core.errors import ConfigError, DataError, UsageError
from dragoman.core.wording import shown
from dragoman.models.interface import TranslationModel
from dragoman.saved.system import TranslationSystem
from dragoman.search import Scorer, SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.inline_tags import InlineTags
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.term_annotation import TermAnnotator
from dragoman.text.terms.terminology import Terminology
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.translation.bayes_risk import BayesRiskStream, check_compared
from dragoman.translation.building import build_engines
from dragoman.translation.combining import build_scorer
from dragoman.translation.confidence import ConfidentEngine
from dragoman.translation.direct import DirectTranslation
from dragoman.translation.engines.engine import Engine, MayBeAway, TorchEngine
from dragoman.translation.engines.term_search import PhraseSpeller
from dragoman.translation.opening import (
    OpenSystem,
    changed_search,
    languages_of,
    open_legs,
    open_terms,
    system_of,
)
from dragoman.translation.outputs import Attention, AttentionOf, Scored, Translation, Unscored
from dragoman.translation.pivot import PivotStream, check_ranks
from dragoman.translation.preparation import (
    LanguageReminder,
    check_prefix,
    numbered,
    texts_in_context,
)
from dragoman.translation.streaming import Line
from dragoman.translation.terms import (
    WatchedLines,
    check_terms,
    read_glossary,
)


class Translator:
    """Models, their vocabularies and a way to search.

    Args:
        models: one model, or several that translate together as an ensemble.
        vocabularies: of all models.
        search: default settings, which a call may override.
        engine: carries out the searches, if not ``scorer`` in this process; closed with the
            translator.
        scorer: such as a weighted ensemble or one fused with a language model; by default the
            models with equal weights.
        prefix: what translations begin with, unless a call gives another.
        tags: put in front of each source, such as ``<2de>``.
        pivot: translates each line into a third language first; the ``nbest`` hypotheses of its
            settings are then translated by ``models``.  It is closed with this translator.
        reminder: looks at each line, to warn about one that names no target language.
        annotate: annotates the terms in each source before it is encoded.
        terms: what translations must contain.
        context: which of the lines before it the models read a line with.  The lines of a call are
            a document, or several between which there are empty lines.
        inline_tags: what the models know of inline tags, if anything.
        languages: source and target language, if they have names, for files of terms.

    A model in training may be given: it is in evaluation mode only while it is in use.

    A ``with`` block closes the translator at its end; see :meth:`close`.
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
        languages: tuple[str, str] | None = None,
    ) -> None:
        own = build_scorer(models)
        local = TorchEngine(
            scorer or own, models, vocabularies, inline_tags=inline_tags, context=context
        )
        self._direct = DirectTranslation(
            engine or local,
            local,
            vocabularies,
            tuple(tags),
            reminder=reminder,
            annotate=annotate,
            context=context,
            inline_tags=inline_tags,
        )
        self.vocabularies = vocabularies
        self.search = (search or SearchConfig()).sized_for(local.device)
        self._prefix, self._pivot, self._closed = prefix, pivot, False
        self._terms, self._speller = terms or Terminology(), PhraseSpeller(vocabularies.target)
        self._languages = languages
        if pivot is not None:
            check_ranks(pivot.search)
            check_ranks(self.search)

    @classmethod
    def load(
        cls, *paths: Path | str, device: torch.device | str | None = None, **options: Any
    ) -> Translator:
        """Open a model or run directory; several paths make an ensemble.

        Args:
            paths: directories of models, runs or checkpoints, or names of installed models.  The
                first one's search settings apply to all.
            device: such as ``cpu`` or ``cuda:1``; by default a GPU if there is one.
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
            where: what errors call its section ``search``, such as ``my.yaml: search``.

        Raises:
            SavedError: a model is missing or damaged, or the vocabularies differ.
            ConfigError: a device that does not exist, a setting that does not fit the models, or
                something that the engine cannot do.
            MissingExtraError: a package that the engine needs is not installed.
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
        """The translator of an open system without a pivot of its own.

        Args:
            opened: the system.
            engine: carries out its searches; closed with the translator.
            pivot: as in the constructor.
            terms: as in the constructor.
            languages: as in the constructor.
        """
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
            languages=languages,
        )

    def close(self) -> None:
        """End the processes of ``workers``; afterwards this can no longer translate or score.

        Closing it again does nothing.  A translator that is not closed ends its processes when
        Python garbage-collects it.
        """
        self._closed = True
        self._direct.engine.close()
        if self._pivot is not None:
            self._pivot.close()

    def __enter__(self) -> Translator:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def models(self) -> list[TranslationModel]:
        """The model, or those of an ensemble."""
        return self._direct.local.models

    @property
    def reads_source(self) -> bool:
        """Whether this translates; False for a language model, which continues lines."""
        return self._direct.reads_source

    @property
    def tags(self) -> tuple[str, ...]:
        """Those that are put in front of each source."""
        return self._direct.tags

    def tagged(self, tags: Sequence[str]) -> Translator:
        """This with other tags in front of each source; either shares all else with the other.

        Args:
            tags: that the models know.
        """
        other = copy(self)
        other._direct = replace(self._direct, tags=tuple(tags))
        other._languages = None  # tags may ask for another language
        return other

    @property
    def has_confidence(self) -> bool:
        """Whether translations have a calibrated confidence."""
        return isinstance(self._direct.engine, ConfidentEngine)

    @property
    def is_ready(self) -> bool:
        """Whether a call is worked on at once.

        It is not while processes of ``workers`` are to be started in place of those that were
        killed, which a call does.
        """
        if isinstance(self._direct.engine, MayBeAway) and not self._direct.engine.is_ready:
            return False
        return self._pivot is None or self._pivot.is_ready

    @property
    def context(self) -> ContextConfig | None:
        """Which of the lines before it the models read a line with."""
        return self._direct.context

    @property
    def inline_tags(self) -> InlineTags | None:
        """How many inline tags a line may have; None: the models know none."""
        return self._direct.inline_tags

    @property
    def device(self) -> torch.device:
        """The device of the models."""
        return self._direct.local.device

    @property
    def local_engine(self) -> TorchEngine:
        """The models in this process: for given translations, whatever engine searches."""
        return self._direct.local

    @property
    def position_limit(self) -> int | None:
        """Maximum positions of a source or target, end symbol included; None: unlimited."""
        return self._direct.position_limit

    def translate(self, lines: Iterable[str], **options: Any) -> list[str]:
        """The best translation of each line; of a language model, the line and its continuation.

        Args:
            lines: source sentences; an empty line has an empty translation, but a language model
                starts a new text there.
            options: ``prefix``, ``glossary``, ``numbers`` and ``progress`` as in
                :meth:`stream_nbest`; any other is a value of
                :class:`~dragoman.search.SearchConfig` for this call, such as ``beam=8``, and None
                leaves the setting as it is.

        Raises:
            ConfigError: an option does not exist or is out of range.
            UsageError: ``lines`` is a single string or contains anything but strings, or the
                translator is closed.
            DataError: a line, or its prefix, is longer than ``max_source_pieces`` or the model's
                positions; or the vocabulary lacks a character of a prefix.
        """
        return list(self.stream(lines, **options))

    def translate_nbest(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        """The ``nbest`` best translations of each line, or as many samples, best first.

        The beam is at least as wide as ``nbest``, unless ``beam`` is given too.  Other arguments
        and errors are those of :meth:`translate`, but a line that is too long raises no error: it
        has one translation, which is empty and gives the reason (:attr:`Translation.refused`).
        Fewer than ``nbest`` are returned where fewer are possible.
        """
        return list(self.stream_nbest(lines, **options))

    def stream(self, lines: Iterable[str], **options: Any) -> Iterator[str]:
        """The best translation of each line, in order and in bounded memory.

        Arguments and errors are those of :meth:`translate`; the translations before a line that
        fails come first.
        """
        nbest = options.pop("nbest", None)
        if nbest is not None and not (isinstance(nbest, int) and nbest == 1):
            raise ConfigError(
                "nbest: only the best translation of each line is returned here; use "
                "translate_nbest"
            )
        return self._best(self.stream_nbest(lines, **options, nbest=1))

    def stream_nbest(
        self,
        lines: Iterable[str],
        *,
        prefix: str | Iterable[str] | None = None,
        glossary: Glossary | Mapping[str, str | Sequence[str]] | Path | str | None = None,
        numbers: Iterable[int] | None = None,
        progress: Callable[[int], object] | None = None,
        **options: Any,
    ) -> Iterator[list[Translation]]:
        """The ``nbest`` best translations of each line, in order and in bounded memory.

        ``buffer_lines`` lines are read before the first translation is returned, and as many again
        if ``workers`` or another engine process several batches at once; with 1, each line is
        answered before the next is read.

        Args:
            lines: as in :meth:`translate`.
            prefix: what the translation of every line begins with, or one text per line, "" for
                none; an empty line stays empty.
            glossary: terms whose translations must be used, in addition to those that this was
                opened with: a glossary, a file of one, or a mapping.  What a translation lacks all
                the same is in :attr:`Translation.missing`, and a warning names it.
            numbers: of the lines in the whole input, from 0, if these are not its first:
                sampling draws by them, and errors report them, counted from 1.  An iterator such
                as ``itertools.count(100)`` may go on for ever.
            progress: called with the number of lines translated so far, after each batch and
                whenever lines that need no search are reached; at last with that of all lines.
            options: values of :class:`~dragoman.search.SearchConfig`.

        Raises:
            DragomanError: the errors of :meth:`translate_nbest`.
        """
        self._check_open()
        prefix = self._prefix if prefix is None else prefix
        if prefix != "":
            check_prefix(self.reads_source, self._direct.context)
        given = numbered(lines, prefix, numbers)
        if progress is not None:
            check_function(progress, "progress")
        config = self.configure(**options)
        terms = self._terms
        if glossary is not None:
            terms = terms.also(read_glossary(glossary, self._languages))
        if terms:
            if not self.reads_source:
                raise ConfigError("glossary: a language model has no source to find terms in")
            check_terms(terms, self._speller, config, self._direct.local.scorer)
            tags = (
                self.vocabularies.source if self._pivot is None else self._pivot.vocabularies.source
            )
            context = self._direct.context
            watched = WatchedLines(
                *(given, terms, tags, self._speller),
                has_inline_tags=self._direct.inline_tags is not None,
                separator=None if context is None else context.separator,
            )
            translated = self._stream(iter(watched), progress or _nobody, config)
            return self._while_open(watched.warned(translated))
        return self._while_open(self._stream(given, progress or _nobody, config))

    def _stream(
        self, given: Iterator[Line], progress: Callable[[int], object], config: SearchConfig
    ) -> Iterator[list[Translation]]:
        """Translations by the models or, with a pivot, by both legs."""
        # WatchedLines has its own warning of a glossary whose terms occur in no line.
        onward = partial(self._direct.stream, warn_of_unused=not self._terms.glossaries)
        if config.mbr is not None:
            check_compared(self.vocabularies, self.reads_source)
            return BayesRiskStream(onward, config, progress).run(given)
        if self._pivot is None:
            return onward(given, progress, config)
        shared = {"buffer_lines": config.buffer_lines, "batch_tokens": config.batch_tokens}
        stream = PivotStream(
            partial(self._pivot._direct.stream, config=self._pivot.configure(**shared)),
            partial(onward, config=config),
            config.nbest,
            progress,
        )
        return stream.run(given)

    @property
    def glossaries(self) -> Sequence[Glossary]:
        """Those that it was opened with."""
        return self._terms.glossaries

    def in_context(self, lines: Sequence[str]) -> list[str]:
        """The lines of one text, each with its context, if the models read any.

        They are translated as they are, whatever is translated before them.
        """
        return texts_in_context(lines, self._direct.context, self.vocabularies.source)

    def configure(self, **options: Any) -> SearchConfig:
        """The search settings of a call with these options; with a pivot, of the second leg.

        Raises:
            ConfigError: an option does not exist or is out of range; or sampling or minimum Bayes
                risk through a pivot.
        """
        config = changed_search(self.search, options)
        if self._pivot is not None:
            check_ranks(config)
        return config

    def score(self, sources: Sequence[str] | None, targets: Sequence[str]) -> list[Scored]:
        """How likely each target is as the translation of its source (forced decoding).

        Models that read context read the sources as :meth:`translate` reads lines, and targets as
        well if they have it.

        Args:
            sources: one per target; None for a language model, which scores targets alone.
            targets: the translations to score.

        Raises:
            ConfigError: sources for a language model, or none for a translation model; or there is
                a pivot.
            UsageError: either is a single string or contains anything but strings, or the
                translator is closed.
            DataError: unequal numbers of lines, a line longer than ``max_source_pieces`` or the
                model's positions, or one with the tag of a language that the model lacks.
        """
        self._check_open()
        self.check_direct("scores")
        return self._direct.forced(self.search).score(sources, targets)

    def score_fit(
        self, sources: Sequence[str] | None, targets: Sequence[str]
    ) -> list[Scored | Unscored]:
        """Scores as :meth:`score` gives them, each pair by itself.

        Where a pair cannot be scored, the reason takes the place of its score.  Each pair is read
        as a text by itself.

        Args:
            sources: one per target; None for a language model.
            targets: the translations to score.

        Raises:
            ConfigError: as for :meth:`score`.
            DataError: unequal numbers of lines.
            UsageError: as for :meth:`score`.
        """
        self._check_open()
        self.check_direct("scores")
        return self._direct.forced(self.search).score_fit(sources, targets)

    def attention(
        self, source: str, target: str | None = None, *, of: AttentionOf = "source"
    ) -> Attention:
        """Where the model looks in ``source`` while it writes ``target``.

        Args:
            source: a sentence.
            target: its translation; the model's own if not given.
            of: what is looked at: the source; or, in self-attention, the source by the source
                (encoder; ``target`` is not read), or the target by the target (decoder).

        Raises:
            ConfigError: this is an ensemble, a family without such attention, there is a pivot, or
                nothing of this name is looked at.
            DataError: an empty source; a source or target that is longer than
                ``max_source_pieces`` or the model's positions.
            UsageError: either is not a string, or the translator is closed.
        """
        self._check_open()
        self.check_direct("attention")
        if of not in get_args(AttentionOf):
            raise ConfigError(
                f"attention: {shown(of)} is not looked at; choose one of: "
                f"{', '.join(get_args(AttentionOf))}"
            )
        forced = self._direct.forced(self.search)
        forced.check_shown(of_source=of == "source")
        ids = forced.source_ids(source)
        if target is None and of != "encoder":
            (target,) = self.translate([source])
        if of == "source" and target is not None:
            return forced.attention(ids, target)
        return forced.self_attention(ids, None if of == "encoder" else target)

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("this translator is closed; load it again to go on")

    def check_direct(self, wanted: str) -> None:
        """Check that source and target are those of one model.

        Args:
            wanted: what needs that, for the error.

        Raises:
            ConfigError: there is a pivot.
        """
        if self._pivot is not None:
            raise ConfigError(
                f"{wanted}: there is one for each of the two legs, not through a pivot; load the "
                "models of a leg without pivot"
            )

    def _best(self, translated: Iterable[list[Translation]]) -> Iterator[str]:
        for translations in translated:
            if (reason := translations[0].refused) is not None:
                raise DataError(reason)
            yield translations[0].text

    def _while_open(self, translated: Iterator[list[Translation]]) -> Iterator[list[Translation]]:
        for translations in translated:
            yield translations
            self._check_open()  # it may have been closed before the next one is requested


def _nobody(_: int) -> None:
    """Ignore progress."""
