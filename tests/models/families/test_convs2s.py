"""ConvS2S against the paper's formulas in NumPy, one sentence at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from families import build, full, random_ids, shaken, teacher_force

from dragoman.core.errors import DataError
from dragoman.models.families.convs2s import ConvS2S, ConvS2SConfig
from dragoman.models.layers.dropout import keep_mask, seed_dropout

CONFIG = ConvS2SConfig(
    encoder_layers=2,
    decoder_layers=3,
    d_model=7,
    d_hidden=5,
    encoder_kernel_width=3,
    decoder_kernel_width=4,
    max_positions=40,
    dropout=0.0,
)


class PaperForward:
    """Section 3 with plain loops in float64; only the parameters are the model's.

    With ``dropping`` masks are drawn in the order of the layers, as the model draws them.
    """

    def __init__(self, model: ConvS2S, dropping: bool = False) -> None:
        self.dropping = dropping
        self.weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
        self.config = model.config

    def __call__(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        keys, values = self.encode(source)
        g = self.embed("target_embedding", target)
        x = self.linear("into_decoder", g)
        self.looked: list[Any] = []
        for layer in range(self.config.decoder_layers):
            x = self.decoder_layer(f"decoder.{layer}", x, g, keys, values)
        hidden = self.drop(self.linear("out_of_decoder", x))
        if self.config.embeddings == "separate":
            return self.linear("output", hidden)
        table = "source" if self.config.embeddings == "shared" else "target"
        return hidden @ self.weights[f"{table}_embedding.weight"].T + self.weights["output.bias"]

    def encode(self, source: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        e = self.embed("source_embedding", source)
        if self.config.encoder == "averaging":
            return self.smoothed(e), e
        x = self.linear("encoder.into", e)
        side = self.config.encoder_kernel_width // 2
        for layer in range(self.config.encoder_layers):
            name = f"encoder.layers.{layer}.convolution"
            convolved = self.gated_convolution(name, self.drop(x), side, side)
            x = (convolved + x) * math.sqrt(0.5)
        z = self.linear("encoder.out", x)
        return z, z + e

    def smoothed(self, e: np.ndarray) -> np.ndarray:
        side = self.config.averaging_window // 2
        padded = np.pad(e, ((side, side), (0, 0)))
        return np.array([padded[j : j + 2 * side + 1].sum(0) for j in range(len(e))]) / (
            2 * side + 1
        )

    def embed(self, name: str, ids: np.ndarray) -> np.ndarray:
        tied = name == "target_embedding" and self.config.embeddings == "shared"
        table = self.weights[f"{'source_embedding' if tied else name}.weight"]
        places = self.weights[f"{name}.positions.table"]
        return self.drop(np.array([table[piece] + places[i] for i, piece in enumerate(ids)]))

    def drop(self, x: np.ndarray) -> np.ndarray:
        if not self.dropping:
            return x
        return x * keep_mask(torch.Size(x.shape), self.config.dropout, torch.float64).numpy()

    def matrix(self, name: str) -> np.ndarray:
        g = self.weights[f"{name}.parametrizations.weight.original0"]
        v = self.weights[f"{name}.parametrizations.weight.original1"]
        return np.array([g[i] * v[i] / math.sqrt((v[i] ** 2).sum()) for i in range(len(v))])

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.matrix(name).T + self.weights[f"{name}.bias"]

    def gated_convolution(self, name: str, x: np.ndarray, left: int, right: int) -> np.ndarray:
        kernel, bias = self.matrix(name), self.weights[f"{name}.bias"]
        width = x.shape[1]
        rows = []
        for i in range(len(x)):
            y = bias.copy()
            for j, offset in enumerate(range(-left, right + 1)):
                if 0 <= i + offset < len(x):
                    y += kernel[:, j] @ x[i + offset]
            rows.append(y[:width] / (1 + np.exp(-y[width:])))
        return np.array(rows)

    def decoder_layer(
        self, name: str, x: np.ndarray, g: np.ndarray, keys: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        left = self.config.decoder_kernel_width - 1
        convolved = self.gated_convolution(f"{name}.convolution", self.drop(x), left, 0)
        h = (convolved + x) * math.sqrt(0.5)
        d = self.linear(f"{name}.query", h) + g
        m = len(keys)
        scores = d @ keys.T
        a = np.exp(scores - scores.max(1, keepdims=True))
        a /= a.sum(1, keepdims=True)
        self.looked.append(a)
        c = m * math.sqrt(1 / m) * (a @ values)
        return (h + self.linear(f"{name}.output", c)) * math.sqrt(0.5)


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"embeddings": "target"},
        {"embeddings": "shared"},
        {"encoder": "averaging", "averaging_window": 3},
        {"encoder_kernel_width": 5, "decoder_kernel_width": 1},
    ],
    ids=lambda choice: ", ".join(map(str, choice.values())) or "default",
)
def test_equals_the_paper_in_numpy(choice: dict[str, object]) -> None:
    model = shaken(ConvS2S, CONFIG.model_copy(update=choice), by=0.3)
    source, target = random_ids(1, 6), random_ids(1, 8, seed=2)
    paper = PaperForward(model)
    expected = paper(source[0].numpy(), target[0].numpy())
    found = teacher_force(model, source, full(source), target)
    np.testing.assert_allclose(found[0].detach().numpy(), expected, rtol=0, atol=1e-10)
    weights = model.attention_weights(target, model.encode(source, full(source)))
    assert weights.shape == (1, 3, 1, 8, 6)
    looked = np.stack(paper.looked)[None, :, None]
    np.testing.assert_allclose(weights.detach().numpy(), looked, rtol=0, atol=1e-12)


@pytest.mark.parametrize("encoder", ["convolution", "averaging"])
def test_dropout_is_where_the_paper_has_it(encoder: str) -> None:
    """Section 4.2: on embeddings, the decoder's output and the input of convolutional blocks.

    A mask that is left out, drawn twice or of another rate shifts all that come after it.
    """
    model = shaken(
        ConvS2S, CONFIG.model_copy(update={"dropout": 0.3, "encoder": encoder}), by=0.3
    ).train()
    source, target = random_ids(1, 6), random_ids(1, 8, seed=2)
    seed_dropout(7)
    found = teacher_force(model, source, full(source), target)
    seed_dropout(7)
    expected = PaperForward(model, dropping=True)(source[0].numpy(), target[0].numpy())
    np.testing.assert_allclose(found[0].detach().numpy(), expected, rtol=0, atol=1e-10)


def test_attention_weights_see_no_padding() -> None:
    model = shaken(ConvS2S, CONFIG, by=0.3)
    source, target = random_ids(2, 7), random_ids(2, 5, seed=2)
    mask = torch.arange(7) < torch.tensor([7, 3])[:, None]
    weights = model.attention_weights(target, model.encode(source, mask))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 1, 5, dtype=torch.float64))
    assert weights[1, ..., 3:].abs().max() == 0


def test_a_state_keeps_left_contexts_only() -> None:
    model = shaken(ConvS2S, CONFIG, by=0.3)
    source = random_ids(2, 4)
    memory = model.encode(source, full(source))
    _, state = model.decode(random_ids(6, 30, seed=2), memory, model.start(memory, beam=3))
    assert [context.shape for context in state.contexts] == [(6, 3, 5)] * 3


def test_an_encoder_layer_reaches_as_far_as_its_kernels() -> None:
    """Two layers of width 3 see two positions to either side."""
    model = shaken(ConvS2S, CONFIG, by=0.3)
    source = random_ids(1, 11)
    other = source.clone()
    other[0, 5] = 4 if source[0, 5] != 4 else 5
    keys = [model.encode(ids, full(ids)).hidden[0] for ids in (source, other)]
    changed = (keys[0] != keys[1]).any(-1).nonzero().flatten().tolist()
    assert changed == [3, 4, 5, 6, 7]


def test_encoder_layers_get_the_mean_gradient_of_the_readers() -> None:
    """Section 3.4, against the same model without the scaling: embeddings' direct path stays."""
    model = shaken(ConvS2S, CONFIG, by=0.3).train()
    source, target = random_ids(2, 5), random_ids(2, 4, seed=2)

    def gradients(readers: float) -> dict[str, torch.Tensor]:
        model.zero_grad()
        encoder: Any = model.encoder
        encoder.readers = readers
        teacher_force(model, source, full(source), target).logsumexp(-1).sum().backward()
        return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}

    scaled, plain = gradients(3), gradients(1)
    for name, gradient in scaled.items():
        if name.startswith("encoder."):
            torch.testing.assert_close(gradient * 3, plain[name])
        elif not name.startswith("source_embedding."):
            torch.testing.assert_close(gradient, plain[name])
    embedding = "source_embedding.weight"
    direct = gradients(math.inf)[embedding]  # what comes through the encoder is cut off
    torch.testing.assert_close(scaled[embedding] - direct, (plain[embedding] - direct) / 3)
    assert direct.abs().max() > 0.01


@pytest.mark.parametrize("reads", ["encoder_states", "decode"])
def test_other_gradients_are_those_of_the_function(reads: str) -> None:
    """Where no decoder layer reads, as a classifier; and of likelihood, as Fisher information."""
    model = shaken(ConvS2S, CONFIG, by=0.3).train(reads == "encoder_states")
    source, target = random_ids(2, 5), random_ids(2, 4, seed=2)
    encoder: Any = model.encoder
    weight = encoder.into.bias

    def value() -> torch.Tensor:
        if reads == "encoder_states":
            return model.encoder_states(source, full(source)).logsumexp(-1).sum()
        return teacher_force(model, source, full(source), target).logsumexp(-1).sum()

    (found,) = torch.autograd.grad(value(), weight)
    step = 1e-6 * torch.randn_like(weight)
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            weight.add_(sign * step)
            values.append(value())
            weight.sub_(sign * step)
    torch.testing.assert_close((found * step).sum(), (values[0] - values[1]) / 2, rtol=1e-4, atol=0)


def test_initial_deviations_are_those_of_section_3_5() -> None:
    torch.manual_seed(5)
    sizes = {"d_model": 96, "d_hidden": 128, "encoder_layers": 1, "decoder_layers": 1}
    model = ConvS2S(ConvS2SConfig(**sizes, dropout=0.25, max_positions=128), 500, 600)

    def deviation(weight: torch.Tensor) -> float:
        return weight.std().item()

    layer: Any = model.decoder[0]
    parts: Any = model
    into_decoder, output = parts.into_decoder.weight, parts.output.weight
    assert deviation(parts.source_embedding.weight) == pytest.approx(0.1, rel=0.03)
    assert deviation(parts.target_embedding.positions.table) == pytest.approx(0.1, rel=0.03)
    assert deviation(layer.convolution.weight) == pytest.approx((4 * 0.75 / 384) ** 0.5, rel=0.03)
    assert deviation(into_decoder) == pytest.approx((0.75 / 96) ** 0.5, rel=0.03)
    assert deviation(layer.query.weight) == pytest.approx((1 / 128) ** 0.5, rel=0.03)
    assert deviation(output) == pytest.approx((0.75 / 96) ** 0.5, rel=0.03)


def test_a_long_sentence_is_a_clear_error() -> None:
    model = build(CONFIG.model_copy(update={"max_positions": 4}))
    with pytest.raises(DataError, match=r"5 positions.*max_positions"):
        model.encode(random_ids(1, 5), torch.ones(1, 5, dtype=torch.bool))


@pytest.mark.parametrize("key", ["encoder_kernel_width", "averaging_window"])
def test_centred_windows_are_odd(key: str) -> None:
    with pytest.raises(ValueError, match=r"must be odd"):
        ConvS2SConfig(**{key: 4})
