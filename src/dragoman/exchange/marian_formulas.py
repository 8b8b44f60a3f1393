"""Marian's Transformer, computed from its ``.npz`` in NumPy and float64.

It knows nothing of Dragoman's models: it reads the parameters by Marian's names and follows its
documentation, to check an export where Marian itself is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
_EPSILON = 1e-6


class MarianTransformer:
    """Scores a target, given a source.

    Args:
        weights: parameters by Marian's names.
        options: the content of ``special:model.yml``.
    """

    def __init__(self, weights: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self._weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
        self._options = options
        self._heads = int(options["transformer-heads"])
        self._before = "n" in options["transformer-preprocess"]

    def log_probabilities(self, source: Sequence[int], target: Sequence[int]) -> Array:
        """Of every piece at each position of ``target``, ``(target, vocabulary)``.

        Args:
            source: ids, closed by the end symbol.
            target: ids; each position sees those before it.
        """
        encoded = self._embedded("encoder", source)
        for layer in range(1, int(self._options["enc-depth"]) + 1):
            name = f"encoder_l{layer}"
            encoded = self._attend(f"{name}_self", encoded, None, causal=False)
            encoded = self._feed_forward(f"{name}_ffn", encoded)
        encoded = self._top("encoder", encoded)
        x = self._embedded("decoder", target[:-1], begins=True)
        for layer in range(1, int(self._options["dec-depth"]) + 1):
            name = f"decoder_l{layer}"
            if self._options["transformer-decoder-autoreg"] == "rnn":
                x = self._recur(f"{name}_rnn", x)
            else:
                x = self._attend(f"{name}_self", x, None, causal=True)
            x = self._attend(f"{name}_context", x, encoded, causal=False)
            x = self._feed_forward(f"{name}_ffn", x)
        scores = self._top("decoder", x) @ self._output()
        if not self._options["output-omit-bias"]:
            scores += self._weights["decoder_ff_logit_out_b"]
        scores -= scores.max(-1, keepdims=True)
        normalised: Array = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
        return normalised

    def _table(self, side: str) -> Array:
        shared = self._options["tied-embeddings-all"] or self._options["tied-embeddings-src"]
        return self._weights["Wemb" if shared else f"{side}_Wemb"]

    def _output(self) -> Array:
        if self._options["tied-embeddings"] or self._options["tied-embeddings-all"]:
            return self._table("decoder").T
        return self._weights["decoder_ff_logit_out_W"]

    def _embedded(self, side: str, ids: Sequence[int], *, begins: bool = False) -> Array:
        """Embeddings times ``sqrt(d)``, zeros before the first piece, and sinusoids."""
        table = self._table(side)
        width = table.shape[1]
        rows = table[list(ids)].reshape(len(ids), width)
        if begins:
            rows = np.concatenate([np.zeros((1, width)), rows])
        half = width // 2
        rates = np.exp(-np.log(10000.0) / (half - 1) * np.arange(half))
        angles = np.arange(len(rows))[:, None] * rates
        return rows * np.sqrt(width) + np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    def _norm(self, name: str, x: Array) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + _EPSILON)
        prefix, suffix = (name[:-4], "_pre") if name.endswith("_pre") else (name, "")
        scale = self._weights[f"{prefix}_ln_scale{suffix}"]
        scaled: Array = centred / spread * scale + self._weights[f"{prefix}_ln_bias{suffix}"]
        return scaled

    def _inner(self, name: str, x: Array) -> Array:
        return self._norm(f"{name}_pre", x) if self._before else x

    def _outer(self, name: str, x: Array, sublayer: Array) -> Array:
        added = x + sublayer
        return added if self._before else self._norm(name, added)

    def _top(self, side: str, x: Array) -> Array:
        return self._norm(f"{side}_top", x) if self._options["transformer-postprocess-top"] else x

    def _affine(self, name: str, part: str, x: Array) -> Array:
        sums: Array = x @ self._weights[f"{name}_W{part}"] + self._weights[f"{name}_b{part}"]
        return sums

    def _attend(self, name: str, x: Array, memory: Array | None, *, causal: bool) -> Array:
        inner = self._inner(f"{name}_Wo", x)
        seen = inner if memory is None else memory
        queries, keys, values = (
            self._split(self._affine(name, part, one))
            for part, one in (("q", inner), ("k", seen), ("v", seen))
        )
        scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(queries.shape[-1])
        if causal:
            scores = scores + np.triu(np.full(scores.shape[1:], -np.inf), 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        context = weights / weights.sum(-1, keepdims=True) @ values  # (heads, length, width)
        joined = context.transpose(1, 0, 2).reshape(len(x), -1)
        return self._outer(f"{name}_Wo", x, self._affine(name, "o", joined))

    def _recur(self, name: str, x: Array) -> Array:
        """SSRU: a cell that forgets by a gate, and its positive part."""
        inner = self._inner(name, x)
        forget = 1 / (1 + np.exp(-self._affine(name, "f", inner)))
        candidates = inner @ self._weights[f"{name}_W"]
        cells = [np.zeros_like(x[0])]
        for gate, candidate in zip(forget, candidates, strict=True):
            cells.append(gate * cells[-1] + (1 - gate) * candidate)
        return self._outer(f"{name}_ffn", x, np.maximum(np.stack(cells[1:]), 0))

    def _split(self, x: Array) -> Array:
        # (length, heads * width) to (heads, length, width)
        return x.reshape(len(x), self._heads, -1).transpose(1, 0, 2)

    def _feed_forward(self, name: str, x: Array) -> Array:
        hidden = self._affine(name, "1", self._inner(f"{name}_ffn", x))
        if self._options["transformer-ffn-activation"] == "relu":
            active = np.maximum(hidden, 0)
        else:  # swish
            active = hidden / (1 + np.exp(-hidden))
        return self._outer(f"{name}_ffn", x, self._affine(name, "2", active))
