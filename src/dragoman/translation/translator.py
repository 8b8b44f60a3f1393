"""Text in, text out: the path shared by command line, servers, validation and back-translation.

Lines are normalised and split as in training, sorted by length, translated in batches and returned
in their original order.  A translation depends only on its line and the settings, not on the other
lines or their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from dragoman.core.arguments import check_function, check_lines, check_path, check_text
from dragoman.core.config import parse
from dragoman.core.device import find_device
from dragoman.core.errors import ConfigError, DataError, UsageError
from dragoman.models.interface import TranslationModel
from dragoman.saved.system import TranslationSystem
from dragoman.search import Hypothesis, Scorer, SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.vocabulary import EOS, Vocabularies, Vocabulary
from dragoman.translation.building import build_engines
from dragoman.translation.engine import Engine, TorchEngine
from dragoman.translation.forced import attended, score_encoded
from dragoman.translation.opening import build_scorer, changed_search, open_legs
from dragoman.translation.outputs import Attention, Scored, Translation
from dragoman.translation.pivot import PivotStream
from dragoman.translation.preparation import (
    LanguageReminder,
    Preparation,
    check_prefix,
    context_fitter,
    contextual,
    numbered,
    unknown_language,
    with_tags,
)
from dragoman.translation.streaming import Line, LineStream


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
        context: which of the lines before it the models read a line with.  The lines of a call are
            a document, or several between which there are empty lines.

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
        context: ContextConfig | None = None,
    ) -> None:
        own = build_scorer(models)
        self.vocabularies = vocabularies
        self.search = search or SearchConfig()
        self._local = TorchEngine(scorer or own, models, vocabularies)
        self._engine = engine or self._local
        self._prefix, self._tags, self._reminder = prefix, tuple(tags), reminder
        self._pivot, self._closed = pivot, False
        self._context = context
        if pivot is not None:
            _check_ranks(pivot.search)
            _check_ranks(self.search)

    @classmethod
    def load(
        cls, *paths: Path | str, device: torch.device | str | None = None, **options: Any
    ) -> Translator:
        """Open a model or run directory; several paths make an ensemble.

        Args:
            paths: directories of models, runs or checkpoints.  The first one's search settings
                apply to all.
            device: such as ``cpu`` or ``cuda:1``; by default a GPU if there is one.
            options: other values of :class:`~dragoman.saved.system.TranslationSystem`, such as
                ``workers=2``, ``precision="auto"``, ``weights=[0.7, 0.3]``,
                ``target_language="de"``, ``pivot={"language": "en"}`` or
                ``language_model={"path": "models/lm", "weight": 0.2}``.

        Raises:
            SavedError: a model is missing or damaged, or the vocabularies differ.
            ConfigError: no path, a device that does not exist, or another option that does not
                exist or is out of range.
            UsageError: a path or device of the wrong type.
        """
        if not paths:
            raise ConfigError("name at least one model or run directory to load")
        models = tuple(check_path(path) for path in paths)
        if "models" in options:
            raise ConfigError("load options: models: give them one by one: load('one', 'two')")
        where = None if device is None else str(find_device(device))
        given = {**options, "models": models, "device": where}
        return cls.of(parse(TranslationSystem, given, "load options"))

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
        legs = open_legs(system, where)
        engines = build_engines(legs)

        def built(place: int, pivot: Translator | None = None) -> Translator:
            opened = legs[place]
            return cls(
                opened.models,
                opened.vocabularies,
                opened.search,
                engines[place],
                scorer=opened.scorer,
                prefix=opened.system.prefix,
                tags=opened.tags,
                pivot=pivot,
                reminder=opened.reminder,
                context=opened.context,
            )

        try:
            return built(0) if len(legs) == 1 else built(1, built(0))
        except BaseException:
            for engine in engines:
                engine.close()
            raise

    def close(self) -> None:
        """End the processes of ``workers``; afterwards this can no longer translate or score.

        Closing it again does nothing.  A translator that is not closed ends its processes when
        Python garbage-collects it.
        """
        self._closed = True
        self._engine.close()
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
        return self._local.models

    @property
    def reads_source(self) -> bool:
        """Whether this translates; False for a language model, which continues lines."""
        return self.models[0].reads_source

    @property
    def tags(self) -> tuple[str, ...]:
        """Those that are put in front of each source."""
        return self._tags

    @property
    def context(self) -> ContextConfig | None:
        """Which of the lines before it the models read a line with."""
        return self._context

    @property
    def device(self) -> torch.device:
        """The device of the models."""
        return self._local.device

    def translate(self, lines: Iterable[str], **options: Any) -> list[str]:
        """The best translation of each line; of a language model, the line and its continuation.

        Args:
            lines: source sentences; an empty line has an empty translation, but a language model
                starts a new text there.
            options: ``prefix``, ``numbers`` and ``progress`` as in :meth:`stream_nbest`; any other
                is a value of :class:`~dragoman.search.SearchConfig` for this call, such as
                ``beam=8``, and None leaves the setting as it is.

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
            check_prefix(self.reads_source, self._context)
        given = numbered(lines, prefix, numbers)
        if progress is not None:
            check_function(progress, "progress")
        config = self.configure(**options)
        if self._pivot is None:
            return self._while_open(self._run(given, progress or _nobody, config))
        shared = {"buffer_lines": config.buffer_lines, "batch_tokens": config.batch_tokens}
        stream = PivotStream(
            partial(self._pivot._run, config=self._pivot.configure(**shared)),
            partial(self._run, config=config),
            config.nbest,
            progress or _nobody,
        )
        return self._while_open(stream.run(given))

    def _run(
        self, lines: Iterator[Line], progress: Callable[[int], object], config: SearchConfig
    ) -> Iterator[list[Translation]]:
        """Translations by the models themselves, without a pivot."""
        positions = self._local.scorer.position_limit
        prepare = Preparation(
            self.vocabularies,
            config,
            positions,
            self.reads_source,
            self._tags,
            reminder=self._reminder,
            context=self._context,
        )
        if self._context is not None:
            lines = contextual(lines, self._context, self.vocabularies.source)
        return LineStream(self._engine, config, prepare, self._read, progress).run(lines)

    def in_context(self, lines: Sequence[str]) -> list[str]:
        """The lines of one text, each with its context, if the models read any.

        They are translated as they are, whatever is translated before them.
        """
        if self._context is None:
            return list(lines)
        return [line.text for line in self._contextual(lines)]

    def _contextual(self, lines: Sequence[str]) -> Iterator[Line]:
        assert self._context is not None, "asked for only then"
        given = (Line(text, "", number) for number, text in enumerate(lines))
        return contextual(given, self._context, self.vocabularies.source)

    def configure(self, **options: Any) -> SearchConfig:
        """The search settings of a call with these options; with a pivot, of the second leg.

        Raises:
            ConfigError: an option does not exist or is out of range; or sampling through a pivot.
        """
        config = changed_search(self.search, options)
        if self._pivot is not None:
            _check_ranks(config)
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
        self._check_direct("scores")
        if (sources is not None) != self.reads_source:
            raise ConfigError(
                "this model translates: give sources too"
                if self.reads_source
                else "a language model reads no source: give targets alone"
            )
        targets = list(check_lines(targets, "target line"))
        sources = list(
            check_lines([""] * len(targets) if sources is None else sources, "source line")
        )
        if len(sources) != len(targets):
            raise DataError(
                f"{len(sources)} source lines and {len(targets)} target lines: "
                "they must correspond line by line"
            )
        source, target = self._encode_pairs(sources, targets)
        for side in (source, target):
            for number, line in enumerate(side, 1):
                if reason := self.search.refusal(len(line), self._local.scorer.position_limit):
                    raise DataError(f"line {number}: {reason}")
        return score_encoded(self._local, source, target, self.search.batch_tokens)

    def attention(self, source: str, target: str | None = None) -> Attention:
        """Where the model looks in ``source`` while it writes ``target``.

        Args:
            source: a sentence.
            target: its translation; the model's own if not given.

        Raises:
            ConfigError: this is an ensemble, a family without attention over the source, or there
                is a pivot.
            DataError: an empty source; a source or target that is longer than
                ``max_source_pieces`` or the model's positions.
            UsageError: either is not a string, or the translator is closed.
        """
        self._check_open()
        self._check_direct("attention")
        if len(self.models) > 1:
            raise ConfigError("attention is shown for one model, not an ensemble; load only one")
        (model,) = self.models
        if not (model.reads_source and model.has_attention()):
            raise ConfigError(
                f"{type(model).__name__} has no attention over the source; use a family that has, "
                "such as transformer"
            )
        (text,) = with_tags(self._tags, self.in_context([check_text(source, "source")]))
        source_ids = self._encode(self.vocabularies.source, text, "source")
        if not source_ids:
            raise DataError("source: it is empty; give a sentence")
        target = self.translate([source])[0] if target is None else check_text(target, "target")
        if self._context is not None and self._context.target:
            (target,) = self.in_context([target])
        target_ids = self._encode(self.vocabularies.target, target, "target")
        weights = attended(self._local, source_ids, target_ids)
        return Attention(
            weights,
            self.vocabularies.target.pieces([*target_ids, EOS]),
            self.vocabularies.source.pieces([*source_ids, EOS]),
            target,
        )

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("this translator is closed; load it again to go on")

    def _check_direct(self, wanted: str) -> None:
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

    def _encode_pairs(
        self, sources: list[str], targets: list[str]
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The ids of sources and targets to score, with their context."""
        context = self._context
        if context is not None:
            if context.target and not any(context.separator in text for text in targets):
                targets = self.in_context(targets)
            sources = self.in_context(sources)
        source = self._encode_sources(sources)
        target = self.vocabularies.target.encode_batch(targets)
        positions = self._local.scorer.position_limit
        fitter = context_fitter(context, self.vocabularies, self.search, positions)
        if fitter is None:
            return source, target
        return fitter(with_tags(self._tags, sources), targets, source, target)

    def _encode_sources(self, sources: list[str]) -> list[list[int]]:
        """The ids of sources to score; warns about one that names no target language."""
        vocabulary = self.vocabularies.source
        encoded = vocabulary.encode_batch(with_tags(self._tags, sources))
        for number, (text, ids) in enumerate(zip(sources, encoded, strict=True)):
            if reason := unknown_language(text, vocabulary):
                raise DataError(f"line {number + 1}: {reason}")
            if ids and self._reminder is not None:
                self._reminder(number, ids)
        return encoded

    def _encode(self, vocabulary: Vocabulary, text: str, name: str) -> list[int]:
        """The ids of a sentence, checked to be short enough for the model."""
        ids = vocabulary.encode(text)
        if reason := self.search.refusal(len(ids), self._local.scorer.position_limit):
            raise DataError(f"{name}: {reason}")
        return ids

    def _read(self, hypothesis: Hypothesis) -> Translation:
        ids, context = list(hypothesis.ids), self._context
        if context is not None and context.target:
            separator = self.vocabularies.target.tag(context.separator)
            while separator in ids:  # what precedes it translates the context again
                ids = ids[ids.index(separator) + 1 :]
        return Translation(
            self.vocabularies.target.decode(ids),
            hypothesis.score,
            hypothesis.log_probability,
            self.vocabularies.target.pieces(ids),
            hypothesis.ended,
        )


def _check_ranks(config: SearchConfig) -> None:
    """Check that a search can be a leg: joint scores rank the hypotheses of both."""
    if config.sampling is not None:
        raise ConfigError(
            "sampling: through a pivot the best joint score decides, and samples have none; leave "
            "it out"
        )


def _nobody(_: int) -> None:
    """Ignore progress."""
