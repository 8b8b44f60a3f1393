"""Recurrent models against PyTorch's own layers and the papers' formulas in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
import torch
from families import build, random_ids, teacher_force
from torch import nn

from dragoman.core.errors import DataError
from dragoman.models import RecurrentConfig
from dragoman.models.families.recurrent import Recurrent, RecurrentMemory
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.recurrent_decoders import SCORES, AttendedMemory

Array = np.ndarray
Memory = tuple[Array, Array]  # what queries are compared with, and what they see
SMALL: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 5, "dropout": 0.0}
AVERAGING: dict[str, Any] = {
    "encoder": "averaging",
    "averaging_window": 3,
    "max_positions": 7,
    "decoder_layers": 2,
    "d_model": 5,
    "dropout": 0.0,
}
GNMT: dict[str, Any] = {
    "encoder_layers": 4,
    "decoder_layers": 4,
    "d_model": 5,
    "bidirectional": "first",
    "attention": "additive",
    "attention_from": "bottom",
    "residual": True,
    "dropout": 0.0,
}

DEEP_ATT: dict[str, Any] = {
    "encoder_layers": 3,
    "decoder_layers": 3,
    "d_model": 5,
    "bidirectional": "interleaved",
    "fast_forward": True,
    "attention": "additive",
    "attention_from": "bottom",
    "initial_range": 0.05,  # what is passed on without a non-linearity grows from layer to layer
    "dropout": 0.0,
}


def mask_of(lengths: list[int]) -> torch.Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def layers_of(model: Recurrent) -> list[Any]:
    """Of the encoder."""
    encoder: Any = model.encoder
    return list(encoder.layers)


def made(seed: int = 0, **choices: Any) -> Recurrent:
    """A model whose weights are large enough for gates to leave their linear range."""
    model = build(RecurrentConfig(**choices), seed)
    assert isinstance(model, Recurrent)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8)
    return model


def encoded(model: Recurrent, source: torch.Tensor, mask: torch.Tensor) -> RecurrentMemory:
    memory = model.encode(source, mask)
    assert isinstance(memory, RecurrentMemory)
    return memory


# The encoder beside torch.nn.LSTM and torch.nn.GRU, which get one sentence at a time.


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("bidirectional", ["none", "all"])
def test_encoder_equals_a_stack_of_torch_without_padding(cell: str, bidirectional: str) -> None:
    ours = made(**{**SMALL, "encoder_layers": 3}, cell=cell, bidirectional=bidirectional)
    kind = nn.LSTM if cell == "lstm" else nn.GRU
    theirs = kind(5, 5, 3, batch_first=True, bidirectional=bidirectional == "all").double()
    renamed = {
        name.replace("_l0", f"_l{number}"): tensor
        for number, layer in enumerate(layers_of(ours))
        for name, tensor in layer.state_dict().items()
    }
    theirs.load_state_dict(renamed)
    lengths = [2, 7, 4]
    source, mask = random_ids(3, 7), mask_of(lengths)
    x = ours.source_embedding(source)
    hidden, ends = ours.encoder(x, mask)
    for row, length in enumerate(lengths):
        expected, final = theirs(x[row : row + 1, :length])
        torch.testing.assert_close(hidden[row : row + 1, :length], expected)
        assert hidden[row, length:].abs().sum() == 0
        parts = final if cell == "lstm" else (final,)
        for end, part in zip(ends[-1], parts, strict=True):
            torch.testing.assert_close(end[row], part[-1, 0])


def test_gnmt_encoder_equals_torch_layers_joined_by_hand() -> None:
    """One layer in both directions, then one way, residual from the third on (3.1, 3.2)."""
    ours = made(**GNMT)
    layers = layers_of(ours)
    assert [layer.bidirectional for layer in layers] == [True, False, False, False]
    for length in (1, 6):
        source = random_ids(1, length)
        x, _ = layers[0](ours.source_embedding(source))
        x, _ = layers[1](x)
        for layer in layers[2:]:
            x = layer(x)[0] + x
        memory = encoded(ours, source, mask_of([length]))
        torch.testing.assert_close(memory.hidden, x)


def alternating(layers: list[Any], x: torch.Tensor, first: int, *, forward: bool) -> torch.Tensor:
    """One column by hand, on one sentence: the first, third ... layer reads forward, or backward.

    ``forward`` is whether layers also get ``Half(f)`` of the layer below.
    """
    h = given = x
    for depth, layer in enumerate(layers):
        if depth:
            below = layers[depth - 1]
            f = (given @ below.weight_ih_l0.T + below.bias_ih_l0).split(5, dim=-1)
            given = torch.cat([f[0], f[2], h], dim=-1) if forward else h
        turned = (depth + first) % 2 == 1
        h = layer(given.flip(1) if turned else given)[0]
        h = h.flip(1) if turned else h
    return h


@pytest.mark.parametrize("fast_forward", [False, True])
def test_the_columns_of_deep_att_alternate_and_are_concatenated(fast_forward: bool) -> None:
    """Two columns that start in opposite directions (Zhou et al. 2016, section 3.2)."""
    ours = made(**{**DEEP_ATT, "fast_forward": fast_forward})
    columns = [list(column.layers) for column in cast(Any, ours.encoder).columns]
    assert [len(column) for column in columns] == [3, 3]
    lengths = [2, 7, 1]
    source = random_ids(3, 7)
    memory = encoded(ours, source, mask_of(lengths))
    for row, length in enumerate(lengths):
        x = ours.source_embedding(source[row : row + 1, :length])
        read = [alternating(column, x, n, forward=fast_forward) for n, column in enumerate(columns)]
        torch.testing.assert_close(memory.hidden[row : row + 1, :length], torch.cat(read, dim=-1))
        assert memory.hidden[row, length:].abs().sum() == 0
        # s_0 = tanh(W_s h), of the column whose third layer ends at the first word
        top = read[1][0, 0]
        weight = cast(Any, ours.first_state).layers[0].weight
        torch.testing.assert_close(memory.first[0][0][row], (weight @ top).tanh())


def test_what_is_passed_on_begins_with_the_same_size_in_all_layers() -> None:
    """With one range for all weights, each layer would get more than the one below."""
    sizes = {"encoder_layers": 8, "d_model": 32, "bidirectional": "interleaved"}
    passed: list[float] = []

    def watch(_: Any, inputs: tuple[Any, ...]) -> None:
        passed.append(inputs[0].data[:, :64].std().item())

    model = build(RecurrentConfig(**sizes, decoder_layers=2, fast_forward=True, dropout=0.0))
    for layer in cast(Any, model).encoder.columns[0].layers[1:]:
        layer.register_forward_pre_hook(watch)
    model.encode(random_ids(5, 9), mask_of([9] * 5))
    assert len(passed) == 7
    assert max(passed) < 4 * min(passed)


def test_one_column_that_alternates() -> None:
    ours = made(**{**SMALL, "encoder_layers": 3}, bidirectional="alternating", cell="gru")
    source = random_ids(2, 6)
    x = ours.source_embedding(source)
    expected = alternating(layers_of(ours), x, 0, forward=False)
    torch.testing.assert_close(encoded(ours, source, mask_of([6, 6])).hidden, expected)


@pytest.mark.parametrize("bidirectional", ["none", "first", "all", "alternating", "interleaved"])
def test_a_reversed_source_is_read_from_its_end_and_seen_in_its_own_order(
    bidirectional: str,
) -> None:
    choices = {**SMALL, "bidirectional": bidirectional}
    ours, plain = made(**choices, source="reversed"), made(**choices)
    lengths = [2, 7, 1]
    source, target = random_ids(3, 7), random_ids(3, 5, seed=2)
    memory = encoded(ours, source, mask_of(lengths))
    looked = ours.attention_weights(target, memory)
    for row, length in enumerate(lengths):
        turned = [*reversed(range(length - 1)), length - 1]  # the end symbol stays last
        own, mask = source[row : row + 1, turned], mask_of([length])
        expected = encoded(plain, own, mask)
        torch.testing.assert_close(memory.hidden[row, turned], expected.hidden[0])
        for ours_first, first in zip(memory.first, expected.first, strict=True):
            for part, other in zip(ours_first, first, strict=True):
                torch.testing.assert_close(part[row], other[0])
        weights = plain.attention_weights(target[row : row + 1], expected)
        torch.testing.assert_close(looked[row, ..., turned], weights[0])


# Attention, sentence by sentence and pair by pair.


def softmax(scores: Array) -> Array:
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def score(kind: str, weights: dict[str, Array], h: Array, m: Array) -> float:
    """One score, as printed: Luong et al. equation 8, Bahdanau et al. A.1.2."""
    if kind == "dot":
        return float(h @ m)
    if kind == "general":
        return float(h @ weights["key.weight"] @ m)
    inside = weights["query.weight"] @ h + weights["key.weight"] @ m
    return float(weights["score.weight"][0] @ np.tanh(inside))


@pytest.mark.parametrize("kind", ["additive", "dot", "general"])
def test_attention_is_the_formula(kind: str) -> None:
    torch.manual_seed(3)
    width = 5 if kind == "dot" else 7
    attention = SCORES[kind](5, width).double()
    weights = {name: p.detach().numpy() for name, p in attention.named_parameters()}
    hidden, query = torch.randn(2, 4, width).double(), torch.randn(6, 3, 5).double()
    mask = mask_of([4, 2])
    bias = torch.zeros(2, 1, 4).double().masked_fill(~mask[:, None], -torch.inf)
    memory = AttendedMemory(hidden, mask, attention.key(hidden), bias)
    context, found = attention(query, memory)
    found = found.view(2, 3, 3, 4)  # sentences, beam, queries, source
    for row in range(6):
        sentence, length = row // 3, [4, 2][row // 3]
        seen = hidden[sentence, :length].numpy()
        for position in range(3):
            h = query[row, position].numpy()
            expected = softmax(np.array([score(kind, weights, h, m) for m in seen]))
            ours = found[sentence, row % 3, position]
            np.testing.assert_allclose(ours[:length].detach(), expected, atol=1e-14)
            assert ours[length:].abs().sum() == 0
            np.testing.assert_allclose(context[row, position].detach(), expected @ seen, atol=1e-14)


# Decoders in NumPy, one sentence and one position at a time; only weights are shared.


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


class PaperDecoder:
    """The decoder by the papers' formulas, from what the encoder gave."""

    def __init__(self, model: Recurrent) -> None:
        self.config = model.config
        self.weights = {n: p.detach().numpy() for n, p in model.named_parameters()}
        prefix = "decoder.attention."
        self.of_attention = {
            n.removeprefix(prefix): w for n, w in self.weights.items() if n.startswith(prefix)
        }

    def cell(self, name: str, x: Array, state: list[Array]) -> list[Array]:
        """LSTM: Hochreiter & Schmidhuber 1997 with forget gates; GRU: Cho et al. 2014 as
        cuDNN and PyTorch have it, reset after the product."""
        w, u, b, c = (
            self.weights[f"{name}.{part}_l0"]
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        if self.config.recurrence.cell == "lstm":
            h, memory = state
            i, f, g, o = np.split(w @ x + b + u @ h + c, 4)
            memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
            return [sigmoid(o) * np.tanh(memory), memory]
        if self.config.recurrence.cell == "tanh":
            return [np.tanh(w @ x + b + u @ state[0] + c)]
        (h,) = state
        (r, z, n), (hr, hz, hn) = np.split(w @ x + b, 3), np.split(u @ h + c, 3)
        update = sigmoid(z + hz)
        return [(1 - update) * np.tanh(n + sigmoid(r + hr) * hn) + update * h]

    def beside(self, name: str, x: Array, above: Array) -> Array:
        """``[Half(f), h]``: candidate and input gate before the recurrence (Zhou et al. 2016)."""
        if not self.config.fast_forward:
            return above
        f = self.weights[f"{name}.weight_ih_l0"] @ x + self.weights[f"{name}.bias_ih_l0"]
        i, _, g, _ = np.split(f, 4)
        return np.concatenate([i, g, above])

    def look(self, h: Array, memory: Memory) -> tuple[Array, Array]:
        scored, seen = memory
        kind = self.config.attention
        weights = softmax(np.array([score(kind, self.of_attention, h, m) for m in scored]))
        return weights @ seen, weights

    def connected(self, layer: int, output: Array, below: Array) -> Array:
        """Wu et al. 2016, equation 6, from the third layer on."""
        return output + below if self.config.residual and layer >= 2 else output

    def top(self, target: Array, memory: Memory, state: list[list[Array]]) -> Iterator[Array]:
        """Luong et al. 2015, equations 5 and 6, section 3.3."""
        fed = np.zeros(self.config.d_model)
        for piece in target:
            x = self.weights["target_embedding.weight"][piece]
            if self.config.input_feeding:
                x = np.concatenate([x, fed])
            given = x
            for layer in range(self.config.decoder_layers):
                given = self.beside(f"decoder.layers.{layer - 1}", given, x) if layer else x
                state[layer] = self.cell(f"decoder.layers.{layer}", given, state[layer])
                x = self.connected(layer, state[layer][0], x)
            context, self.last = self.look(x, memory)
            fed = np.tanh(self.weights["decoder.combine.weight"] @ np.concatenate([context, x]))
            yield self.weights["output.weight"] @ fed

    def bottom(self, target: Array, memory: Memory, state: list[list[Array]]) -> Iterator[Array]:
        """Wu et al. 2016, section 3 and equation 6, but with the present output as the query."""
        context = np.zeros(memory[1].shape[1])
        for piece in target:
            x = self.weights["target_embedding.weight"][piece]
            if self.config.input_feeding:
                x = np.concatenate([x, context])
            given, below = x, "decoder.bottom"
            state[0] = self.cell(below, given, state[0])
            x = state[0][0]
            context, self.last = self.look(x, memory)
            for layer in range(1, self.config.decoder_layers):
                both = np.concatenate([x, context])
                given, below = self.beside(below, given, both), f"decoder.above.{layer - 1}"
                state[layer] = self.cell(below, given, state[layer])
                x = self.connected(layer, state[layer][0], x)
            yield self.weights["output.weight"] @ x


DECODERS = {
    "LSTM, general, input feeding": {**SMALL, "attention": "general"},
    "LSTM, dot, no input feeding": {**SMALL, "attention": "dot", "input_feeding": False},
    "GRU, additive, bidirectional": {
        **SMALL,
        "cell": "gru",
        "attention": "additive",
        "bidirectional": "all",
    },
    "GRU, additive, no input feeding": {
        **SMALL,
        "cell": "gru",
        "attention": "additive",
        "input_feeding": False,
    },
    "LSTM, residual": {**SMALL, "encoder_layers": 3, "decoder_layers": 4, "residual": True},
    "tanh, general": {**SMALL, "cell": "tanh"},
    "fast-forward": {**SMALL, "fast_forward": True, "initial_range": 0.05},
    "Deep-Att": DEEP_ATT,
    "GNMT": {**GNMT, "input_feeding": False},
    "GNMT, input feeding": GNMT,
    "averaging, LSTM, general": {**AVERAGING, "attention": "general"},
    "averaging, GRU, additive": {**AVERAGING, "cell": "gru", "attention": "additive"},
    "averaging, LSTM, dot, from the bottom": {
        **AVERAGING,
        "attention": "dot",
        "attention_from": "bottom",
    },
}


def averaged(model: Recurrent, source: Array) -> tuple[Memory, list[list[Array]]]:
    """Gehring et al. 2016, section 3.1, and states of zero."""
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    config, length = model.config, len(source)
    e = weights["source_embedding.weight"][source] + weights["encoder.positions.table"][:length]
    q = config.averaging_window
    near = range(-(q // 2), q // 2 + 1)
    z = [sum(e[j + t] for t in near if 0 <= j + t < length) / q for j in range(length)]
    parts = 2 if config.recurrence.cell == "lstm" else 1
    zeros = [[np.zeros(config.d_model)] * parts for _ in range(config.decoder_layers)]
    return (np.array(z), e), zeros


@pytest.mark.parametrize("choices", DECODERS.values(), ids=DECODERS.keys())
def test_decoder_equals_the_papers_in_numpy(choices: dict[str, Any]) -> None:
    model = made(**choices)
    lengths = [6, 3]
    source, target = random_ids(2, 6), random_ids(2, 5, seed=2)
    memory = encoded(model, source, mask_of(lengths))
    found = teacher_force(model, source, mask_of(lengths), target).detach().numpy()
    looked = model.attention_weights(target, memory).detach().numpy()
    assert looked.shape == (2, 1, 1, 5, 6)
    paper = PaperDecoder(model)
    decode = paper.top if model.config.attention_from == "top" else paper.bottom
    for row, length in enumerate(lengths):
        if model.config.encoder == "averaging":
            read, state = averaged(model, source[row, :length].numpy())
        else:
            seen = memory.hidden[row, :length].detach().numpy()
            read = seen, seen
            state = [[part[row].detach().numpy() for part in layer] for layer in memory.first]
        expected = decode(target[row].numpy(), read, state)
        for position, scores in enumerate(expected):
            np.testing.assert_allclose(found[row, position], scores, atol=1e-12)
            weights = looked[row, 0, 0, position]
            np.testing.assert_allclose(weights[:length], paper.last, atol=1e-12)
            assert np.abs(weights[length:]).sum() == 0


# The first state.


def test_layers_start_where_those_beside_them_ended() -> None:
    model = made(**SMALL)
    source = random_ids(1, 6)
    memory = encoded(model, source, mask_of([6]))
    x = model.source_embedding(source)
    for layer, first in zip(layers_of(model), memory.first, strict=True):
        x, (h, c) = layer(x)
        torch.testing.assert_close(first, [h[0], c[0]])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_otherwise_from_the_backward_state_at_the_first_word(cell: str) -> None:
    """``s_0 = tanh(W_s h_1)``, ``h_1`` of the backward direction (Bahdanau et al., A.2.2)."""
    model = made(**SMALL, cell=cell, bidirectional="all")
    memory = encoded(model, random_ids(2, 6), mask_of([6, 3]))
    backward = memory.hidden[:, 0, 5:].detach().numpy()
    weights = dict(model.named_parameters())
    for layer, first in enumerate(memory.first):
        w = weights[f"first_state.layers.{layer}.weight"].detach().numpy()
        np.testing.assert_allclose(first[0].detach(), np.tanh(backward @ w.T), atol=1e-14)
        assert all(cells.abs().sum() == 0 for cells in first[1:])
        assert len(first) == (2 if cell == "lstm" else 1)


# Dropout.


def watched(model: Recurrent) -> tuple[list[torch.Size], torch.Tensor]:
    """Shapes that dropout falls on in one pass of two sentences, and the hidden vectors."""
    shapes: list[torch.Size] = []
    for part in model.modules():
        if isinstance(part, Dropout):
            part.register_forward_hook(lambda _, inputs, output: shapes.append(output.shape))
    memory = model.train().encode(random_ids(2, 6), mask_of([6, 3]))
    hidden, _ = model.decode(random_ids(2, 5, seed=2), memory, model.start(memory))
    return shapes, hidden


@pytest.mark.parametrize("attention_from", ["top", "bottom"])
def test_dropout_falls_on_embeddings_between_layers_and_on_the_output(attention_from: str) -> None:
    """Zaremba et al. 2014: L + 1 times for L layers, never on what a layer keeps."""
    choices = {**SMALL, "encoder_layers": 3, "decoder_layers": 3, "dropout": 0.5}
    model = made(**choices, input_feeding=False, attention_from=attention_from)
    shapes, hidden = watched(model)
    between = (2, 5, 5) if attention_from == "top" else (2, 5, 10)  # with what was seen
    encoder = [(2, 6, 5), (9, 5), (9, 5)]  # 6 + 3 real tokens
    assert shapes == [*encoder, (2, 5, 5), between, between, (2, 5, 5)]
    assert 0.2 < (hidden == 0).double().mean() < 0.8


def test_dropout_falls_on_what_the_averaging_encoder_reads() -> None:
    """On the sum of embedding and position; the decoder has it as with any other encoder."""
    shapes, _ = watched(made(**{**AVERAGING, "dropout": 0.5}, input_feeding=False))
    assert shapes == [(2, 6, 5), (2, 5, 5), (2, 5, 5), (2, 5, 5)]


# Configuration.


def test_the_defaults_are_luong() -> None:
    """4 layers of 1000 cells, one direction, dropout 0.2, input feeding (sections 4.1, 4.2)."""
    assert RecurrentConfig().d_model == 1000
    assert RecurrentConfig().copies_state
    model = build(RecurrentConfig(d_model=10))
    largest = max(p.detach().abs().max().item() for p in model.parameters())
    assert 0.99 < largest <= 1.0  # 0.1 for 1000 cells


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"attention": "dot", "bidirectional": "all"}, "attention dot needs a top encoder layer"),
        ({"attention_from": "bottom", "decoder_layers": 1}, "decoder_layers of 2 or more"),
        ({"residual": True, "encoder_layers": 2, "decoder_layers": 2}, "needs 3 layers or more"),
        ({**AVERAGING, "residual": True}, "needs 3 layers or more"),
        ({**AVERAGING, "bidirectional": "all"}, "bidirectional: all is not read with encoder: "),
        ({**AVERAGING, "encoder_layers": 2}, "encoder_layers: 2 is not read with encoder: "),
        ({**AVERAGING, "source": "reversed"}, "source: reversed is not read with encoder: "),
        ({**DEEP_ATT, "cell": "gru"}, "fast_forward needs cell: lstm, not gru"),
        ({**DEEP_ATT, "bidirectional": "all"}, "fast_forward needs encoder layers of one direct"),
        ({**DEEP_ATT, "residual": True}, "fast_forward takes the place of residual"),
        ({"fast_forward": True, "encoder_layers": 1, "decoder_layers": 1}, "needs 2 or more"),
        ({"averaging_window": 3}, "averaging_window: 3 is not read with encoder: "),
        ({"max_positions": 7}, "max_positions: 7 is not read with encoder: "),
    ],
)
def test_what_does_not_fit_together_is_refused(choices: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecurrentConfig(**choices)


def test_positions_of_the_averaging_encoder_end_with_a_clear_error() -> None:
    model = made(**AVERAGING)
    assert model.config.position_limit == model.position_limit == 7
    with pytest.raises(DataError, match=r"8 positions.*max_positions"):
        model.encode(random_ids(1, 8), mask_of([8]))


def test_a_resolved_configuration_can_be_read_again() -> None:
    for config in (RecurrentConfig(**AVERAGING), RecurrentConfig(**SMALL)):
        assert RecurrentConfig(**config.model_dump()) == config
