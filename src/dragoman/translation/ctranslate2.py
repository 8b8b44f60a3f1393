"""Translating through CTranslate2, a C++ engine with int8 weights (Klein et al. 2020).

A standard Transformer is converted once, into a folder inside the model's directory, and converted
again when its weights have changed.  CTranslate2 then runs the searches; input, output, options and
ranking stay Dragoman's.  Three things differ: probabilities are over the allowed pieces, where
Dragoman's are over all; an output that is cut off at the length limit counts without the end
symbol; and search for a sentence ends when ``beam`` hypotheses are finished, as Dragoman's does
with ``early_end: quick``, so that a call which asks for ``exact`` is refused.  A second search, for
a sentence whose output is degenerate, repeats no three pieces at all.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.core.files import atomic_directory, content_digest, read_json
from dragoman.models.families.transformer import (
    DecoderLayer,
    EncoderLayer,
    Transformer,
    TransformerConfig,
)
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.models.layers.positions import SinusoidalPositions
from dragoman.saved.adapter import read_adapter
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.model import CONVERTED_DIRECTORY, weights_digest
from dragoman.search import Hypothesis, SearchConfig
from dragoman.search.degenerate import Bounds, without_faults
from dragoman.search.hypothesis import rank
from dragoman.search.penalties import length_penalty
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK, Vocabularies, Vocabulary
from dragoman.translation.engine import SourceBatch, bounds_of

try:
    import ctranslate2
    from ctranslate2.specs import common_spec, transformer_spec
except ImportError as error:
    raise MissingExtraError.of("CTranslate2", "ctranslate2") from error

Compute = Literal["float32", "int8"]
_NOTE = "converted_from.json"
_SIDES = ("shared", "source", "target")
# All names that CTranslate2 has given its files, and the note.
_FILES = frozenset(
    [_NOTE, "config.json", "model.bin"]
    + [f"{side}_vocabulary.{suffix}" for side in _SIDES for suffix in ("json", "txt")]
)
_ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_tanh": common_spec.Activation.GELUTanh,
    "swish": common_spec.Activation.SWISH,
}
KNOWN: Known = {
    "model.family": ["transformer"],
    "model.d_model": None,
    "model.encoder_layers": None,
    "model.decoder_layers": None,
    "model.heads": None,
    "model.d_k": None,
    "model.d_v": None,
    "model.d_ff": None,
    "model.attention_bias": None,
    "model.activation": list(_ACTIVATIONS),
    "model.norm": None,
    "model.norm_epsilon": None,
    "model.positions": ["sinusoidal", "learned"],
    "model.max_positions": None,
    "model.timescales": None,
    "model.first_position": None,
    "model.scale_embeddings": None,
    "model.output_bias": None,
    "model.embeddings": None,
    "model.source_end": None,
    "model.begin": None,
}
"""The settings of a model that CTranslate2 can express; all others must have their defaults."""
_AHEAD = 2  # batches waiting per thread
_SIMILAR = 16  # source lengths, in pieces, that are searched with one limit
_NO_LOOP = 3  # every loop has the same three pieces twice
POSITIONS = 1280
"""Rows of the table of positions that are not learned: enough for sources of the default
``max_source_pieces``, and their outputs."""


class CTranslate2Engine:
    """Searches with a converted model.

    Args:
        directory: of the model; the converted model is kept in it.
        model: the model in that directory.
        vocabularies: of the model.
        compute: type of weights and activations.
        workers: number of batches at a time, one thread each; one per core if not given.
        adapter: that is merged into the model; the converted model is then kept beside its file.

    Raises:
        ConfigError: CTranslate2 does not support the model or the type of numbers.
        StorageError: the converted model cannot be written.
    """

    def __init__(
        self,
        directory: Path,
        model: TranslationModel,
        vocabularies: Vocabularies,
        *,
        compute: Compute = "float32",
        workers: int | None = None,
        adapter: Path | None = None,
    ) -> None:
        converted = convert(directory, model, vocabularies, adapter)
        supported = ctranslate2.get_supported_compute_types("cpu")
        if compute not in get_args(Compute) or compute not in supported:
            raise ConfigError(
                f"CTranslate2 does not compute in {compute} here; choose one of: "
                + ", ".join(kind for kind in get_args(Compute) if kind in supported)
            )
        threads = workers or os.cpu_count() or 1
        self._ahead = threads * _AHEAD
        self._translator = ctranslate2.Translator(
            str(converted),
            device="cpu",
            compute_type=compute,
            inter_threads=threads,
            intra_threads=1,
        )
        self._positions = model.position_limit or POSITIONS
        self._tags = vocabularies.target.tags
        self._source = _names(vocabularies.source)
        assert isinstance(model, Transformer), "or else it was not converted"
        self._end = [self._source[EOS]] if model.config.source_end else []
        target = _names(vocabularies.target)
        self._target = target
        self._ids = {name: number for number, name in enumerate(target)}

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[list[list[Hypothesis]]]:
        """See :meth:`dragoman.translation.engine.Engine.search`.  Batches run in parallel."""
        if config.coverage_penalty:
            raise ConfigError(
                "the engine ctranslate2 has no coverage penalty; leave out --engine, or set "
                "search.coverage_penalty to 0"
            )
        if config.early_end == "exact":
            raise ConfigError(
                "the engine ctranslate2 ends by its own rule, without early_end exact; leave it "
                "out, or choose engine pytorch"
            )
        if config.sampling is not None:
            raise ConfigError(
                "the engine ctranslate2 draws no samples, which mbr needs, too; leave out --engine"
            )
        if config.grammar != "any":
            raise ConfigError("the engine ctranslate2 has no grammar; leave out --engine")
        pending: deque[tuple[SourceBatch, list[Any]]] = deque()
        for batch in batches:
            if batch.prefixes is not None:
                raise ConfigError("the engine ctranslate2 has no forced prefix; leave out --engine")
            if batch.constraints is not None:
                raise ConfigError("the engine ctranslate2 cannot demand terms; leave out --engine")
            pending.append((batch, self._submit(batch.sources, config)))
            if len(pending) >= self._ahead:
                yield self._results(*pending.popleft(), config)
        while pending:
            yield self._results(*pending.popleft(), config)

    def close(self) -> None:
        """Free the converted model's memory."""
        self._translator.unload_model()

    def _results(
        self, batch: SourceBatch, results: list[Any], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        found = self._found(batch.sources, results, config)

        def again(places: list[int], bounds: list[Bounds]) -> list[list[Hypothesis]]:
            second = []
            for place, bound in zip(places, bounds, strict=True):
                sources = [batch.sources[place]]
                changed = config.model_copy(update=_without_faults(bound, config))
                second += self._found(sources, self._submit(sources, changed), changed)
            return second

        bounds = bounds_of(batch, config)
        return without_faults(found, bounds, again if config.searches_again else None)

    def _found(
        self, sources: list[list[int]], results: list[Any], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """What search finds for each sentence within its own limit.

        They were searched with the higher one that they share with sources of similar length; the
        few whose outputs come near their own are searched again with that.
        """
        found = [result.result() for result in results]
        limits = [self._longest(len(source), config) for source in sources]
        near = [
            place
            for place, (one, limit) in enumerate(zip(found, limits, strict=True))
            if limit < self._shared_limit(sources[place], config) and _comes_near(one, limit)
        ]
        again = self._submit_within(
            [sources[place] for place in near], [limits[place] for place in near], config
        )
        for place, result in zip(near, again, strict=True):
            found[place] = result.result()
        return [
            self._hypotheses(one, limit, config) for one, limit in zip(found, limits, strict=True)
        ]

    def _submit(self, sources: list[list[int]], config: SearchConfig) -> list[Any]:
        """Submit sentences to CTranslate2, in groups whose limit depends on no neighbour.

        Groups of the same source length would be small, and slow.
        """
        limits = [self._shared_limit(source, config) for source in sources]
        return self._submit_within(sources, limits, config)

    def _submit_within(
        self, sources: list[list[int]], limits: list[int], config: SearchConfig
    ) -> list[Any]:
        """Submit sentences, each with its maximum output length: those of one limit together."""
        groups: dict[int, list[int]] = defaultdict(list)
        for place, limit in enumerate(limits):
            groups[limit].append(place)
        pending: dict[int, Any] = {}
        for limit, places in groups.items():
            results = self._submit_group([sources[place] for place in places], limit, config)
            pending.update(zip(places, results, strict=True))
        return [pending[place] for place in range(len(sources))]

    def _submit_group(
        self, sources: list[list[int]], limit: int, config: SearchConfig
    ) -> list[Any]:
        """Submit sentences with a common limit.

        CTranslate2 is asked for all ``beam`` hypotheses, without a length penalty: it divides by
        another power of the length, which would make it stop earlier.
        """
        unknown = [] if config.writes_unknown else [UNK]
        symbols = [PAD, BOS, *unknown, *([] if config.allow_tags else self._tags)]
        pending: list[Any] = self._translator.translate_batch(
            [
                [self._source[i] for i in source] + self._end or [self._source[EOS]]
                for source in sources
            ],
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=0,
            return_scores=True,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=min(config.minimum_length, limit),
            no_repeat_ngram_size=config.no_repeat_ngram,
            suppress_sequences=[[self._target[i]] for i in symbols],
            asynchronous=True,
        )
        return pending

    def _shared_limit(self, source: list[int], config: SearchConfig) -> int:
        """The limit of the longest source that may be searched for together with this one."""
        if len(source) >= self._positions:  # the end symbol takes one
            raise ConfigError(
                f"the engine ctranslate2 reads up to {self._positions - 1} pieces, found "
                f"{len(source)}; lower search.max_source_pieces, or leave out --engine"
            )
        return self._longest(-(-len(source) // _SIMILAR) * _SIMILAR, config)

    def _longest(self, source: int, config: SearchConfig) -> int:
        """Maximum output length for a source of ``source`` pieces.

        CTranslate2 fails beyond its table of positions.
        """
        return min(config.longest(source), self._positions - 1)

    def _hypotheses(self, result: Any, limit: int, config: SearchConfig) -> list[Hypothesis]:
        """CTranslate2's hypotheses for a sentence with this limit, ranked as in the paper."""
        found = []
        for names, log_probability in zip(result.hypotheses, result.scores, strict=True):
            ids = [self._ids[name] for name in names]
            score = log_probability / length_penalty(len(ids) + 1, config.length_penalty)
            found.append(Hypothesis(ids, score, log_probability, ended=len(ids) < limit))
        return rank(found)[: config.nbest]


def _comes_near(result: Any, limit: int) -> bool:
    """Whether hypotheses are too long for a limit, or would compete with those that it cuts off.

    That is in the step in which others, shorter by a piece, end.
    """
    return any(len(names) + 1 >= limit for names in result.hypotheses)


def _without_faults(bounds: Bounds, config: SearchConfig) -> dict[str, int]:
    """The settings of a second search; an output as long as allowed counts as cut off."""
    changed = {"no_repeat_ngram": config.no_repeat_ngram or _NO_LOOP}
    if bounds.pieces is not None:
        limits = [bounds.pieces + 1, config.maximum_length]
        changed["maximum_length"] = min(limit for limit in limits if limit is not None)
    return changed


def convert(
    directory: Path,
    model: TranslationModel,
    vocabularies: Vocabularies,
    adapter: Path | None = None,
) -> Path:
    """The directory of the converted model; written if it is missing or of other weights.

    Args:
        directory: of the model.
        model: in memory, with the adapter if there is one.
        vocabularies: of the model.
        adapter: the file of an adapter, or its run.

    Raises:
        ConfigError: CTranslate2 cannot express the model.
        StorageError: the converted model cannot be written.
    """
    if not isinstance(model, Transformer):
        raise ConfigError(
            f"the engine ctranslate2 does not support {type(model).__name__}; leave out --engine"
        )
    program, remedy = "the engine ctranslate2", "leave out --engine"
    check_expressible(model.config, KNOWN, program, remedy, "model.")
    check_widths(model.config, program, remedy)
    path = directory / CONVERTED_DIRECTORY
    origin = {"weights": weights_digest(directory), "converter": ctranslate2.__version__}
    if adapter is not None:
        file = read_adapter(adapter).path
        path = file.with_name(f"{file.stem}.{CONVERTED_DIRECTORY}")
        origin["adapter"] = content_digest(file)
    if _read_note(path) == origin:
        return path
    spec = specification(model, vocabularies)
    spec.validate()
    spec.optimize()
    with atomic_directory(path, _FILES) as temporary:
        spec.save(str(temporary))
        (temporary / _NOTE).write_text(json.dumps(origin) + "\n", encoding="utf-8")
    return path


def _read_note(path: Path) -> Any:
    try:
        return read_json(path / _NOTE)
    except (OSError, ValueError):
        return None


def check_widths(config: FamilyConfig, program: str, remedy: str) -> None:
    """Refuse heads of another width, which CTranslate2 computes from their number.

    Args:
        config: of a Transformer.
        program: what the message begins with.
        remedy: what it ends with.

    Raises:
        ConfigError: the widths are others.
    """
    assert isinstance(config, TransformerConfig), "the only family of KNOWN"
    width = config.d_model // config.multi_head.heads
    if (widths := config.multi_head.head_widths(config.d_model)) != (width, width):
        raise ConfigError(
            f"{program} needs d_k and d_v of d_model / heads = {width}, not {widths}; {remedy}"
        )


def _names(vocabulary: Vocabulary) -> list[str]:
    return vocabulary.pieces(range(len(vocabulary)))


def specification(model: Transformer, vocabularies: Vocabularies) -> Any:
    """What CTranslate2 writes: the weights under its names, and the pieces of both sides."""
    spec = _weights(model)
    spec.register_source_vocabulary(_names(vocabularies.source))
    names = _names(vocabularies.target)
    spec.register_target_vocabulary(names)
    spec.config.bos_token = spec.config.decoder_start_token = names[BOS]
    spec.config.eos_token, spec.config.unk_token = names[EOS], names[UNK]
    return spec


def _weights(model: Transformer) -> Any:
    config = model.config
    spec = transformer_spec.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.multi_head.heads,
        pre_norm=config.residual.norm == "pre",
        activation=_ACTIVATIONS[config.feed_forward.activation],
    )
    for side, embedding in (
        (spec.encoder, model.source_embedding),
        (spec.decoder, model.target_embedding),
    ):
        part = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        part.weight = _array(embedding.weight)
        side.scale_embeddings = config.embedding.scale_embeddings
        positions: Any = embedding.positions
        table = (
            positions.rows(POSITIONS).float()
            if isinstance(positions, SinusoidalPositions)
            else positions.table * positions.scale
        )
        side.position_encodings.encodings = _array(table)
    spec.decoder.start_from_zero_embedding = config.begin == "zeros"
    spec.config.layer_norm_epsilon = config.residual.norm_epsilon
    _linear(spec.decoder.projection, [model.output], with_bias=config.embedding.output_bias)
    for layer, ours in zip(spec.encoder.layer, model.encoder, strict=True):
        assert isinstance(ours, EncoderLayer)
        _self_attention(layer.self_attention, ours.attention, ours.residuals[0])
        _feed_forward(layer.ffn, ours.feed_forward, ours.residuals[1])
    for layer, theirs in zip(spec.decoder.layer, model.decoder, strict=True):
        assert isinstance(theirs, DecoderLayer)
        _self_attention(layer.self_attention, theirs.self_attention, theirs.residuals[0])
        cross = theirs.cross_attention
        _linear(layer.attention.linear[0], [cross.query])
        _linear(layer.attention.linear[1], [cross.key, cross.value])
        _linear(layer.attention.linear[2], [cross.output])
        _norm(layer.attention.layer_norm, theirs.residuals[1].norm)
        _feed_forward(layer.ffn, theirs.feed_forward, theirs.residuals[2])
    if config.residual.ends_normalised:
        _norm(spec.encoder.layer_norm, model.encoder_norm)
        _norm(spec.decoder.layer_norm, model.decoder_norm)
    return spec


def _self_attention(spec: Any, attention: Any, residual: Any) -> None:
    _linear(spec.linear[0], [attention.query, attention.key, attention.value])
    _linear(spec.linear[1], [attention.output])
    _norm(spec.layer_norm, residual.norm)


def _feed_forward(spec: Any, ours: Any, residual: Any) -> None:
    for part, linear in ((spec.linear_0, ours.inner), (spec.linear_1, ours.outer)):
        _linear(part, [linear])
    _norm(spec.layer_norm, residual.norm)


def _linear(spec: Any, layers: Sequence[nn.Linear], *, with_bias: bool = True) -> None:
    """Layers of the same input as one; a bias that a layer lacks is zero."""
    weights: list[Tensor] = [layer.weight for layer in layers]
    spec.weight = _array(torch.cat(weights))
    if with_bias:
        biases: list[Tensor] = [
            layer.weight.new_zeros(layer.out_features) if layer.bias is None else layer.bias
            for layer in layers
        ]
        spec.bias = _array(torch.cat(biases))


def _norm(spec: Any, ours: Any) -> None:
    spec.gamma, spec.beta = _array(ours.weight), _array(ours.bias)


def _array(tensor: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    return tensor.detach().float().cpu().contiguous().numpy()
