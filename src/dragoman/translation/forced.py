"""Forced decoding: scores and attention of models for given translations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from dragoman.core.arguments import check_lines, check_text
from dragoman.core.errors import ConfigError, DataError
from dragoman.data.batch import Batch, make_batch
from dragoman.models.interface import TranslationModel
from dragoman.models.self_attention_recorder import self_attention
from dragoman.search import SearchConfig, score_targets
from dragoman.text.vocabularies import BOS, EOS, Vocabulary
from dragoman.translation.engines.engine import TorchEngine, evaluating
from dragoman.translation.line_stream import group_by_length
from dragoman.translation.outputs import Attention, Scored, Unscored
from dragoman.translation.preparation import LineFormat, unknown_language


def check_attention(models: Sequence[TranslationModel]) -> None:
    """Check that all models have attention over the source.

    Raises:
        ConfigError: a model has none.
    """
    for model in models:
        if not (model.reads_source and model.has_attention()):
            raise ConfigError(
                f"{type(model).__name__} has no attention over the source; use a family that has, "
                "such as transformer"
            )


class ForcedDecoder:
    """Reads given translations, and their sources as a translator reads them."""

    def __init__(self, engine: TorchEngine, line_format: LineFormat, search: SearchConfig) -> None:
        self._engine, self._format, self._search = engine, line_format, search
        self._vocabularies = line_format.vocabularies

    def score(self, sources: Sequence[str] | None, targets: Sequence[str]) -> list[Scored]:
        """The result of ``ScoringTranslator.score``."""
        sources, targets = self._checked(sources, targets)
        source, target = self._encode_pairs(sources, targets)
        for side in (source, target):
            for number, line in enumerate(side, 1):
                if reason := self._refusal(line):
                    raise DataError(f"line {number}: {reason}")
        return score_encoded(self._engine, source, target, self._search.tokens_at_once)

    def score_fit(
        self, sources: Sequence[str] | None, targets: Sequence[str]
    ) -> list[Scored | Unscored]:
        """The result of ``ScoringTranslator.score_fit``."""
        sources, targets = self._checked(sources, targets)
        sources, targets = self._pairs_in_context(sources, targets, each_alone=True)
        source = self._vocabularies.source.encode_batch(self._format.as_read(sources))
        target = self._vocabularies.target.encode_batch(targets)
        problems = [
            self._problem(text, source_ids, target_ids)
            for text, source_ids, target_ids in zip(sources, source, target, strict=True)
        ]
        fit = [number for number, problem in enumerate(problems) if problem is None]
        scored = iter(
            score_encoded(
                self._engine,
                [source[number] for number in fit],
                [target[number] for number in fit],
                self._search.tokens_at_once,
            )
        )
        return [problem or next(scored) for problem in problems]

    def _checked(
        self, sources: Sequence[str] | None, targets: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """As many sources as targets; for a language model, empty sources."""
        reads_source = self._format.reads_source
        if (sources is not None) != reads_source:
            raise ConfigError(
                "this model translates: give sources too"
                if reads_source
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
        return sources, targets

    def _problem(self, text: str, source: Sequence[int], target: Sequence[int]) -> Unscored | None:
        """Why a pair cannot be scored; None if it can."""
        if reason := unknown_language(text, self._vocabularies.source):
            return Unscored("unknown language tag", reason)
        if reason := self._refusal(source) or self._refusal(target):
            return Unscored("too long for the model", reason)
        return None

    def check_shown(self, *, of_source: bool = True) -> None:
        """Check that there is a single attention to show, over the source or self-attention.

        Raises:
            ConfigError: an ensemble, or a family without attention over the source.
        """
        if len(self._engine.models) > 1:
            raise ConfigError("attention is shown for one model, not an ensemble; load only one")
        if of_source:
            check_attention(self._engine.models)

    def source_ids(self, source: str) -> list[int]:
        """The ids of a sentence as the model reads it.

        Raises:
            DataError: the sentence is empty, or too long for the model.
        """
        lines = self._format.in_context([check_text(source, "source")])
        (text,) = self._format.as_read(lines)
        ids = self._encode(self._vocabularies.source, text, "source")
        if not ids:
            raise DataError("source: it is empty; give a sentence")
        return ids

    def attention(self, source: Sequence[int], target: str) -> Attention:
        """The only model's attention to a source, given by its ids, while it writes ``target``."""
        target = check_text(target, "target")
        if (context := self._format.context) is not None and context.target:
            (target,) = self._format.in_context([target])
        ids = self._encode(self._vocabularies.target, target, "target")
        return Attention(
            attended(self._engine, source, ids),
            self._vocabularies.target.pieces([*ids, EOS]),
            self._vocabularies.source.pieces([*source, EOS]),
            target,
        )

    def self_attention(self, source: Sequence[int], target: str | None) -> Attention:
        """The self-attention between pieces of a source, given by its ids, or of a target."""
        engine, (model,) = self._engine, self._engine.models
        ids: list[int] = []
        if target is not None:
            ids = self._encode(self._vocabularies.target, check_text(target, "target"), "target")
        batch = make_batch([source], [ids]).to(engine.device)
        with evaluating(engine.models), torch.inference_mode():
            written = None if target is None else batch.target_input
            weights = self_attention(model, batch.source, written).float().cpu()
        if target is None:
            pieces = self._vocabularies.source.pieces([*source, EOS])
            return Attention(weights, pieces, pieces, "")
        vocabulary = self._vocabularies.target
        return Attention(
            weights, vocabulary.pieces([*ids, EOS]), vocabulary.pieces([BOS, *ids]), target
        )

    def _encode_pairs(
        self, sources: list[str], targets: list[str]
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The ids of sources and targets to score, with their context."""
        sources, targets = self._pairs_in_context(sources, targets)
        source = self._encode_sources(sources)
        target = self._vocabularies.target.encode_batch(targets)
        if (fitter := self._format.fitter(self._search)) is None:
            return source, target
        return fitter(self._format.as_read(sources), targets, source, target)

    def _pairs_in_context(
        self, sources: list[str], targets: list[str], *, each_alone: bool = False
    ) -> tuple[list[str], list[str]]:
        """Both sides with their context; without context if each is a text by itself."""
        if (reader := self._format.reader()) is None:
            return sources, targets
        pairs = []
        for number, pair in enumerate(zip(sources, targets, strict=True)):
            if each_alone:
                reader.end_document()
            pairs.append(reader(number, *pair))
        return [source for source, _ in pairs], [target for _, target in pairs]

    def _encode_sources(self, sources: list[str]) -> list[list[int]]:
        """The ids of sources to score; warns about a source that names no target language."""
        vocabulary = self._vocabularies.source
        encoded = vocabulary.encode_batch(self._format.as_read(sources))
        for number, (text, ids) in enumerate(zip(sources, encoded, strict=True)):
            if reason := unknown_language(text, vocabulary):
                raise DataError(f"line {number + 1}: {reason}")
            if ids and (remind := self._format.reminder) is not None:
                remind(number, ids)
        return encoded

    def _encode(self, vocabulary: Vocabulary, text: str, name: str) -> list[int]:
        """The ids of a sentence, after checking that it is short enough for the model."""
        ids = vocabulary.encode(text)
        if reason := self._refusal(ids):
            raise DataError(f"{name}: {reason}")
        return ids

    def _refusal(self, ids: Sequence[int]) -> str | None:
        return self._search.refusal(len(ids), self._format.positions)


def score_encoded(
    engine: TorchEngine,
    source: Sequence[Sequence[int]],
    target: Sequence[Sequence[int]],
    batch_tokens: int,
) -> list[Scored]:
    """Score each target as the translation of its source.

    Sources and targets are ids without begin and end symbols, ``batch_tokens`` the size of a batch,
    padding included.
    """
    scored: list[Scored] = [Scored(0.0, 0)] * len(source)
    with evaluating(engine.models):
        for numbers, batch in _batches(engine, source, target, batch_tokens):
            sums = score_targets(
                engine.scorer,
                batch.source,
                batch.source_mask,
                batch.target_input,
                batch.target_output,
            )
            for number, log_probability in zip(numbers, sums.tolist(), strict=True):
                scored[number] = Scored(log_probability, len(target[number]) + 1)
    return scored


def _batches(
    engine: TorchEngine,
    source: Sequence[Sequence[int]],
    target: Sequence[Sequence[int]],
    batch_tokens: int,
) -> Iterator[tuple[list[int], Batch]]:
    """Pairs of similar length on the device of the models, with their numbers."""

    def length(number: int) -> int:
        return max(len(source[number]), len(target[number])) + 1

    for numbers in group_by_length(range(len(source)), length, batch_tokens):
        batch = make_batch([source[n] for n in numbers], [target[n] for n in numbers])
        yield numbers, batch.to(engine.device)


def mean_attention(
    engine: TorchEngine,
    source: Sequence[Sequence[int]],
    target: Sequence[Sequence[int]],
    batch_tokens: int,
    *,
    layer: int | None = None,
    head: int | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """Attention to sources while given targets are written, as one matrix per sentence.

    The default is the mean over the heads of the penultimate layer, which follows the translation
    of words best (Garg et al. 2019, arXiv:1909.02074, section 3.2), or of the only layer.  An
    ensemble has the mean over its models.

    Args:
        engine: its models have attention over the source.
        source: ids of each sentence, without begin and end symbol.
        target: ids of their translations, also without these symbols.
        batch_tokens: size of a batch, padding included.
        layer: another layer, from 1.
        head: a single head of that layer, from 1, instead of the mean over all.

    Raises:
        ConfigError: a model has no such layer or head.

    Yields:
        The number of a sentence, longest first, and its weights ``(target, source)`` in float32 on
        the CPU, end symbols included.
    """
    for numbers, batch in _batches(engine, source, target, batch_tokens):
        of_models = []
        with evaluating(engine.models), torch.inference_mode():
            for model in engine.models:
                memory = model.encode(batch.source, batch.source_mask)
                weights = model.attention_weights(batch.target_input, memory)
                of_models.append(_chosen_heads(weights, layer, head).float().mean(1))
        means = torch.stack(of_models).mean(0).cpu()  # (batch, target, source)
        for number, one in zip(numbers, means, strict=True):
            yield number, one[: len(target[number]) + 1, : len(source[number]) + 1]


def _chosen_heads(weights: Tensor, layer: int | None, head: int | None) -> Tensor:
    """Select heads: ``(batch, layers, heads, target, source)`` to ``(batch, chosen, ...)``."""
    layers, heads = weights.shape[1:3]
    for name, wanted, there in (("layer", layer, layers), ("head", head, heads)):
        if wanted is not None and not 1 <= wanted <= there:
            raise ConfigError(f"{name} {wanted}: does not exist; this model has {there}")
    of_layer = weights[:, max(0, layers - 2) if layer is None else layer - 1]
    return of_layer if head is None else of_layer[:, head - 1 : head]


def attended(engine: TorchEngine, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """The attention of an engine's only model to a source while it writes a target.

    Returns:
        Weights ``(layers, heads, target, source)`` in float32 on the CPU, end symbols included.
    """
    (model,) = engine.models
    batch = make_batch([source], [target]).to(engine.device)
    with evaluating(engine.models), torch.inference_mode():
        memory = model.encode(batch.source, batch.source_mask)
        weights = model.attention_weights(batch.target_input, memory)
    return weights[0].float().cpu()
