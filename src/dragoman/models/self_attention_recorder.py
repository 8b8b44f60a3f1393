"""Self-attention weights between the positions of a sentence, per head of an encoder or decoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.neighbourhood import Everywhere
from dragoman.models.layers.self_attention import DecoderSelfAttention, EncoderSelfAttention

Coder = Literal["encoder", "decoder"]


@dataclass
class SelfAttentionRecorder:
    """Records the weights of self-attention while a model reads."""

    coder: Coder = "encoder"
    """Side whose attention is recorded."""
    layers: list[Tensor] = field(default_factory=list)
    """``(rows, heads, query, key)`` each, of the last positions read, or of all of them."""

    @contextmanager
    def listening(self, model: TranslationModel) -> Iterator[None]:
        """Record the weights of every layer inside the block.

        Raises:
            ConfigError: the model has no heads, or does not see the whole sentence.
        """
        kind = EncoderSelfAttention if self.coder == "encoder" else DecoderSelfAttention
        modules: list[Any] = [part for part in _without_fused(model) if isinstance(part, kind)]
        if not modules or not all(isinstance(m.neighbourhood, Everywhere) for m in modules):
            raise ConfigError(
                f"this model's {self.coder} has no heads that see the whole sentence; give a "
                "Transformer without window or sparsity"
            )
        for attention in modules:
            if self.coder == "encoder":
                attention.mix = partial(self._mix, attention)
            else:
                attention.read = partial(self._read, attention)
        try:
            yield
        finally:
            for attention in modules:
                del attention.__dict__["mix" if self.coder == "encoder" else "read"]

    def _mix(self, attention: EncoderSelfAttention, x: Tensor, shared: Tensor) -> Tensor:
        self.layers.append(attention.weights(x, attention.keys_values(x), shared))
        return type(attention).mix(attention, x, shared)

    def _read(
        self, attention: DecoderSelfAttention, x: Tensor, past: Any, start: int, shared: Any
    ) -> Any:
        self.layers.append(attention.weights(x, attention.keys_values(x), shared))
        return type(attention).read(attention, x, past, start, shared)


def _without_fused(model: TranslationModel) -> Iterator[nn.Module]:
    """The modules of a model, without those of a language model that it is fused with."""
    for part in model.children():
        if not (isinstance(part, TranslationModel) and not part.reads_source):
            yield from part.modules()


@torch.no_grad()
def self_attention(model: TranslationModel, source: Tensor, target: Tensor | None = None) -> Tensor:
    """The weights of one sentence, given as ids ``(1, source)`` and ``(1, target)``.

    They are the decoder's if it has a target, as the decoder reads it, otherwise the encoder's.

    Returns:
        ``(layers, heads, position, position)``, rows sum to 1.

    Raises:
        ConfigError: the heads of the decoder look at source and target at once.
    """
    mask = torch.ones_like(source, dtype=torch.bool)
    recorder = SelfAttentionRecorder("encoder" if target is None else "decoder")
    if target is None:
        with recorder.listening(model):
            model.encode(source, mask)
        return torch.cat(recorder.layers)
    memory = model.encode(source, mask)
    with recorder.listening(model):
        model.decode(target, memory, model.start(memory))
    if not recorder.layers:
        raise ConfigError(
            "this model's decoder reads the source itself: its heads look at source and target at "
            "once; show attention over the source"
        )
    return torch.cat(recorder.layers)
