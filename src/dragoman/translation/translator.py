"""Text in, text out: the one path of the command line, servers, validation and back-translation.

Lines are normalized and split as in training, sorted by length, searched for in batches and
given back in their order.  A translation depends on its line and the settings alone: not on the
lines beside it, nor on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from dragoman.core.arguments import check_lines, check_path, check_text
from dragoman.core.config import Config, parse
from dragoman.core.device import Precision, decide_precision, find_device
from dragoman.core.errors import ConfigError, DataError, SavedError, UsageError
from dragoman.data.batches import make_batch
from dragoman.models.interface import TranslationModel
from dragoman.saved.model import SavedModel, load_for_search
from dragoman.search import Hypothesis, SearchConfig, score_targets
from dragoman.text.vocabulary import EOS, Vocabularies, Vocabulary
from dragoman.translation.engine import Engine, SourceBatch, TorchEngine, evaluating
from dragoman.translation.outputs import Attention, Scored, Translation
from dragoman.translation.workers import WorkerEngine


class _LoadOptions(Config):
    """What :meth:`Translator.load` may be told; of the device, ``find_device`` says what is one."""

    device: Any = None
    precision: Precision = "float32"
    workers: int | None = Field(None, ge=1, le=1024)


class Translator:
    """Models, their vocabularies and a way to search.

    Args:
        models: one model, or several that translate together as an ensemble.
        vocabularies: of all of them.
        search: how to translate where a call does not say otherwise.
        engine: what searches, if not these models in this process.

    A model in training may be given: it is in evaluation mode only while it is in use.

    In a ``with`` block a translator closes at its end; see :meth:`close`.
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],
        vocabularies: Vocabularies,
        search: SearchConfig | None = None,
        engine: Engine | None = None,
    ) -> None:
        if not models:
            raise ConfigError("a translator needs at least one model")
        if len({model.reads_source for model in models}) > 1:
            raise ConfigError("a language model and a model with a source are no ensemble")
        self.vocabularies = vocabularies
        self.search = search or SearchConfig()
        self._local = TorchEngine(models, vocabularies.target.tags)
        self._engine = engine or self._local
        self._closed = False

    @classmethod
    def load(
        cls,
        *paths: Path | str,
        device: torch.device | str | None = None,
        precision: Precision = "float32",
        workers: int | None = None,
        **unknown: Any,
    ) -> Translator:
        """Open a model or run directory; several paths make an ensemble.

        Args:
            paths: directories of models, runs or checkpoints.  The first one's search settings
                hold for all.
            device: such as ``cpu`` or ``cuda:1``; a GPU if there is one unless told otherwise.
            precision: ``bfloat16`` is faster where the hardware has it, and changes a few
                translations; ``auto`` takes it there.
            workers: processes that share the lines, 1 to 1,024; this one alone if not given.
            unknown: options that do not exist, which are told.

        Raises:
            SavedError: one is missing or damaged, or their vocabularies differ.
            ConfigError: no path, a device that is not there, or another option that does not
                exist or is out of range.
            UsageError: a path or device of the wrong kind.
        """
        if not paths:
            raise ConfigError("name at least one model or run directory to load")
        given = {"device": device, "precision": precision, "workers": workers, **unknown}
        options = parse(_LoadOptions, given, "load options")
        directories = [check_path(path) for path in paths]
        decided = decide_precision(options.precision, find_device(device))
        first, *others = saved = [load_for_search(path, device, decided) for path in directories]
        for other in others:
            _check_same_vocabularies(first, other)
        config = parse(SearchConfig, first.search, f"{first.path}: search")
        engine = None
        if options.workers is not None:
            engine = WorkerEngine(directories, options.workers, device, decided)
        return cls([part.model for part in saved], first.vocabularies, config, engine)

    def close(self) -> None:
        """End the processes of ``workers``; afterwards this translates and scores no more.

        Again, it does nothing.  A translator that is forgotten ends its processes, too, when
        Python removes it.
        """
        self._closed = True
        self._engine.close()

    def __enter__(self) -> Translator:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def models(self) -> list[TranslationModel]:
        """One, or the several of an ensemble."""
        return self._local.models

    @property
    def reads_source(self) -> bool:
        """Whether this translates; a language model continues the lines that it is given."""
        return self.models[0].reads_source

    @property
    def device(self) -> torch.device:
        """Where the models are."""
        return self._local.device

    def translate(self, lines: Iterable[str], **options: Any) -> list[str]:
        """The best translation of each line; by a language model, the line and what follows.

        Args:
            lines: source sentences; an empty one has an empty translation, but a language model
                begins a new text there.
            options: values of :class:`~dragoman.search.SearchConfig` for this call, such as
                ``beam=8``; None leaves one as it is.

        Raises:
            ConfigError: an option that does not exist or is out of range.
            UsageError: ``lines`` is one string or holds anything but strings, or the translator
                is closed.
            DataError: a line is longer than ``max_source_pieces`` or the model's positions.
        """
        return list(self.stream(lines, **options))

    def translate_nbest(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        """The ``nbest`` best translations of each line, or as many samples, best first.

        The beam is as wide as ``nbest`` unless ``beam`` is given, too.  Other arguments and errors
        as of :meth:`translate`, but a line that is too long is no error: it
        has one translation that is empty and says why (:attr:`Translation.refused`).  There are
        fewer than ``nbest`` where fewer are possible.
        """
        return list(self.stream_nbest(lines, **options))

    def stream(
        self,
        lines: Iterable[str],
        *,
        progress: Callable[[int], object] | None = None,
        **options: Any,
    ) -> Iterator[str]:
        """The best translation of each line, in order and in bounded memory.

        ``buffer_lines`` lines are read before the first translation comes.  Arguments and errors
        as of :meth:`translate`; before that of a line comes what was translated.  ``progress`` is
        called with the number of lines that are translated so far, after each batch.
        """
        nbest = options.pop("nbest", None)
        if nbest is not None and not (isinstance(nbest, int) and nbest == 1):
            raise ConfigError(
                "nbest: here each line gives its best translation; use translate_nbest"
            )
        return self._best(self.stream_nbest(lines, progress=progress, **options, nbest=1))

    def stream_nbest(
        self,
        lines: Iterable[str],
        *,
        progress: Callable[[int], object] | None = None,
        **options: Any,
    ) -> Iterator[list[Translation]]:
        """The ``nbest`` best translations of each line, in order and in bounded memory.

        Arguments and errors as of :meth:`translate_nbest`; ``progress`` is called with the number
        of lines that are translated so far, after each batch.
        """
        self._check_open()
        return self._in_buffers(check_lines(lines), self._configure(options), progress or _nobody)

    def score(self, sources: Sequence[str] | None, targets: Sequence[str]) -> list[Scored]:
        """How likely each target is as the translation of its source (forced decoding).

        Args:
            sources: None for a language model, to which targets are likely by themselves.
            targets: as many as there are sources.

        Raises:
            ConfigError: sources for a language model, or none for another.
            UsageError: one of them is one string, or holds anything but strings.
            DataError: unequal numbers of lines, or one longer than ``max_source_pieces`` or the
                model's positions.
        """
        self._check_open()
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
                "they must be as many, line by line"
            )
        source = self.vocabularies.source.encode_batch(sources)
        target = self.vocabularies.target.encode_batch(targets)
        for side in (source, target):
            for reason in self._too_long(side, 0, self.search).values():
                raise DataError(reason)
        scored: list[Scored] = [Scored(0.0, 0)] * len(sources)

        def length(number: int) -> int:
            return max(len(source[number]), len(target[number])) + 1

        with evaluating(self.models):
            for numbers in _batches(range(len(source)), length, self.search.batch_tokens):
                batch = make_batch([source[n] for n in numbers], [target[n] for n in numbers])
                batch = batch.to(self.device)
                sums = score_targets(
                    self._local.scorer,
                    batch.source,
                    batch.source_mask,
                    batch.target_input,
                    batch.target_output,
                )
                for number, log_probability in zip(numbers, sums.tolist(), strict=True):
                    scored[number] = Scored(log_probability, len(target[number]) + 1)
        return scored

    def attention(self, source: str, target: str | None = None) -> Attention:
        """Where the model looks in ``source`` while it writes ``target``.

        Args:
            source: a sentence.
            target: its translation; the model's own if not given.

        Raises:
            ConfigError: an ensemble, or a family without attention over the source.
            DataError: an empty source; a source or target that is longer than
                ``max_source_pieces`` or the model's positions.
            UsageError: one of them is no string, or the translator is closed.
        """
        self._check_open()
        if len(self.models) > 1:
            raise ConfigError("attention is of one model; load one without the others")
        (model,) = self.models
        if not (model.reads_source and model.has_attention()):
            raise ConfigError(
                f"{type(model).__name__} has no attention over the source; use a family that has, "
                "such as transformer"
            )
        source_ids = self._encode(self.vocabularies.source, check_text(source, "source"), "source")
        if not source_ids:
            raise DataError("source: it is empty; give a sentence")
        target = self.translate([source])[0] if target is None else check_text(target, "target")
        target_ids = self._encode(self.vocabularies.target, target, "target")
        batch = make_batch([source_ids], [target_ids]).to(self.device)
        with evaluating(self.models), torch.inference_mode():
            memory = model.encode(batch.source, batch.source_mask)
            weights = model.attention_weights(batch.target_input, memory)
        return Attention(
            weights[0].float().cpu(),
            self.vocabularies.target.pieces([*target_ids, EOS]),
            self.vocabularies.source.pieces([*source_ids, EOS]),
            target,
        )

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("this translator is closed; load it again to go on")

    def _best(self, translated: Iterable[list[Translation]]) -> Iterator[str]:
        for translations in translated:
            if (reason := translations[0].refused) is not None:
                raise DataError(reason)
            yield translations[0].text

    def _in_buffers(
        self, lines: Iterator[str], config: SearchConfig, progress: Callable[[int], object]
    ) -> Iterator[list[Translation]]:
        start = 0
        while buffer := list(islice(lines, config.buffer_lines)):
            for translations in self._translate(buffer, start, config, progress):
                yield translations
                self._check_open()  # it may be closed before the next is asked for
            start += len(buffer)

    def _configure(self, options: dict[str, Any]) -> SearchConfig:
        given = {name: value for name, value in options.items() if value is not None}
        draws = "sampling" in given or self.search.sampling is not None
        if isinstance(nbest := given.get("nbest"), int) and not draws:
            # As many hypotheses as are asked for need a beam as wide, unless its width is given.
            given = {"beam": max(self.search.beam, nbest), **given}
        return parse(SearchConfig, {**self.search.model_dump(), **given}, "search options")

    def _translate(
        self,
        lines: list[str],
        start: int,
        config: SearchConfig,
        progress: Callable[[int], object],
    ) -> list[list[Translation]]:
        """Translate lines that are numbered from ``start`` in the whole input."""
        ids = self.vocabularies.source.encode_batch(lines)
        nothing = [Translation("", 0.0, 0.0, [], ended=True)]
        translations = [nothing.copy() for _ in lines]
        too_long = self._too_long(ids, start, config)
        for number, reason in too_long.items():
            translations[number] = [_refused(reason)]
        wanted = [
            number
            for number, line in enumerate(ids)
            if (line or not self.reads_source) and number not in too_long
        ]
        tokens = max(1, config.batch_tokens // config.rows)
        groups = list(_batches(wanted, lambda number: len(ids[number]) + 1, tokens))
        batches = (
            SourceBatch([start + number for number in group], [ids[number] for number in group])
            for group in groups
        )
        done = start + len(lines) - len(wanted)  # the others take no time
        for group, found in zip(groups, self._engine.search(batches, config), strict=True):
            for number, hypotheses in zip(group, found, strict=True):
                translations[number] = [self._read(hypothesis) for hypothesis in hypotheses]
            done += len(group)
            progress(done)
        return translations

    def _encode(self, vocabulary: Vocabulary, text: str, name: str) -> list[int]:
        """The ids of a sentence that the model can read."""
        ids = vocabulary.encode(text)
        if reason := self.search.refusal(len(ids), self._local.scorer.position_limit):
            raise DataError(f"{name}: {reason}")
        return ids

    def _too_long(self, ids: list[list[int]], start: int, config: SearchConfig) -> dict[int, str]:
        """Which lines cannot be read, and what to tell of each; they count from ``start``."""
        positions = self._local.scorer.position_limit
        reasons = (config.refusal(len(line), positions) for line in ids)
        return {
            number: f"line {start + number + 1}: {reason}"
            for number, reason in enumerate(reasons)
            if reason is not None
        }

    def _read(self, hypothesis: Hypothesis) -> Translation:
        return Translation(
            self.vocabularies.target.decode(hypothesis.ids),
            hypothesis.score,
            hypothesis.log_probability,
            self.vocabularies.target.pieces(hypothesis.ids),
            hypothesis.ended,
        )


def _batches(
    numbers: Iterable[int], length: Callable[[int], int], tokens: int
) -> Iterator[list[int]]:
    """Group line numbers so that a padded batch has at most ``tokens``, longest first.

    A line longer than that is a batch by itself.
    """
    batch: list[int] = []
    for number in sorted(numbers, key=length, reverse=True):
        if batch and length(batch[0]) * (len(batch) + 1) > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _nobody(_: int) -> None:
    """Is told how far the work is."""


def _refused(reason: str) -> Translation:
    """In the place of a translation; no filter by score can take it for a good one."""
    never = float("-inf")
    return Translation("", never, never, [], ended=False, refused=reason)


def _check_same_vocabularies(first: SavedModel, other: SavedModel) -> None:
    for side, one, another in zip(
        ("source", "target"), first.vocabularies, other.vocabularies, strict=True
    ):
        if one.fingerprint != another.fingerprint:
            raise SavedError(
                f"{other.path}: its {side} vocabulary is not that of {first.path}; models of an "
                "ensemble must be trained with the same vocabulary"
            )
