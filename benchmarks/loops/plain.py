"""A Transformer trained the plain way, on the batches and from the initial weights of a run.

plain.py RUN STEPS      a JSON line: negative log-likelihood and target tokens of every step

PyTorch's own layers, attention, dropout, cross-entropy and Adam in float32, all scores at once:
the reference for Dragoman's faster training.
"""

from __future__ import annotations

import json
import sys
from itertools import chain, count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.data.batches import Batch, Batches
from dragoman.experiment import Experiment
from dragoman.models.families.transformer import Transformer
from dragoman.saved.model import build_model
from dragoman.text.vocabularies import PAD
from dragoman.training.optimizers.adam import AdamConfig


class PlainTransformer(nn.Module):
    """``torch.nn.Transformer`` with shared embeddings and the weights of one of ours."""

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        c = ours.config
        self.layers = nn.Transformer(
            *(c.d_model, c.multi_head.heads, c.encoder_layers, c.decoder_layers),
            *(c.feed_forward.d_ff, c.residual.dropout),
            batch_first=True,
        )
        self.layers.encoder.norm = self.layers.decoder.norm = None  # not in the paper
        self.embedding = nn.Embedding.from_pretrained(
            ours.source_embedding.weight.detach().clone(), freeze=False
        )
        self.positions = ours.source_embedding.positions
        self.dropout = c.residual.dropout
        with torch.no_grad():
            for theirs, one in zip(self.layers.encoder.layers, ours.encoder, strict=True):
                _copy_attention(theirs.self_attn, one.attention)
                _copy_rest(theirs, one)
            for theirs, one in zip(self.layers.decoder.layers, ours.decoder, strict=True):
                _copy_attention(theirs.self_attn, one.self_attention)
                _copy_attention(theirs.multihead_attn, one.cross_attention)
                _copy_rest(theirs, one)

    def forward(self, batch: Batch) -> Tensor:
        """Scores ``(batch, target, vocabulary)``."""
        length = batch.target_input.shape[1]
        hidden = self.layers(
            self.embed(batch.source),
            self.embed(batch.target_input),
            tgt_mask=torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1),
            src_key_padding_mask=~batch.source_mask,
            memory_key_padding_mask=~batch.source_mask,
        )
        return functional.linear(hidden, self.embedding.weight)

    def embed(self, ids: Tensor) -> Tensor:
        """``(batch, length)`` to ``(batch, length, d_model)``."""
        vectors = self.embedding(ids) * self.embedding.weight.shape[1] ** 0.5
        assert self.positions is not None
        vectors = vectors + self.positions(0, ids.shape[1])
        return functional.dropout(vectors, self.dropout, self.training)


def _copy_attention(theirs: nn.MultiheadAttention, ours: Any) -> None:
    """Copy weights; biases and attention dropout, absent from the paper, stay zero."""
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.out_proj.weight.copy_(ours.output.weight)
    for bias in (theirs.in_proj_bias, theirs.out_proj.bias):
        bias.zero_().requires_grad_(False)
    theirs.dropout = 0.0


def _copy_rest(theirs: Any, ours: Any) -> None:
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    theirs.dropout.p = 0.0  # inside the feed-forward sublayer; not in the paper
    for number, residual in enumerate(ours.residuals, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(residual.norm.state_dict())


def main(run: Path, steps: int) -> None:
    experiment = Experiment.open(run)
    prepared, config = experiment.prepare(), experiment.config
    torch.manual_seed(config.seed)
    ours = build_model(config.model, prepared.vocabularies)
    assert isinstance(ours, Transformer)
    model = PlainTransformer(ours).train()
    torch.manual_seed(config.seed)
    adam, schedule = config.training.optimizer, config.training.schedule
    assert isinstance(adam, AdamConfig)
    optimizer = torch.optim.Adam(
        [p for p in model.parameters() if p.requires_grad],
        betas=(adam.beta1, adam.beta2),
        eps=adam.epsilon,
    )
    batches = Batches(prepared.store, config.training.step_tokens, seed=config.seed)
    curve: list[tuple[float, int]] = []
    for epoch in count():
        for batch in chain.from_iterable(batches.epoch(epoch)):
            step = len(curve) + 1
            peak, warmup = schedule.peak(config.model.d_model), schedule.warmup_steps
            rate = peak * min(step / warmup, (warmup / step) ** 0.5)
            optimizer.param_groups[0]["lr"] = rate
            scores, gold = model(batch).flatten(0, 1), batch.target_output.flatten()
            loss = functional.cross_entropy(
                scores,
                gold,
                ignore_index=PAD,
                label_smoothing=config.training.label_smoothing,
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                nll = functional.cross_entropy(scores, gold, ignore_index=PAD, reduction="sum")
                curve.append((nll.item(), batch.target_tokens))
            if len(curve) == steps:
                print(json.dumps(curve))
                return


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
