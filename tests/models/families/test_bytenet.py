"""ByteNet against the paper's formulas in NumPy, one sentence at a time, and its reach."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from families import full, random_ids, shaken, teacher_force

from dragoman.models.families.bytenet import ByteNet, ByteNetConfig
from dragoman.models.layers.dropout import keep_mask, seed_dropout

CONFIG = ByteNetConfig(
    encoder_layers=3,
    decoder_layers=5,
    layers_per_set=3,
    d_model=14,
    encoder_kernel_width=3,
    decoder_kernel_width=2,
    unfold_ratio=1.2,
    unfold_extra=1.5,
    dropout=0.0,
)


class PaperForward:
    """Section 3 with plain loops in float64; only the parameters are the model's.

    With ``dropping`` masks are drawn in the order of the blocks, as the model draws them.
    """

    def __init__(self, model: ByteNet, dropping: bool = False) -> None:
        self.dropping = dropping
        self.weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
        self.config = model.config

    def __call__(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        width = self.config.d_model
        columns = math.ceil(self.config.unfold_ratio * len(source) + self.config.unfold_extra)
        x = np.zeros((columns, width))
        x[: len(source)] = math.sqrt(width) * self.weights["source_embedding.weight"][source]
        side = self.config.encoder_kernel_width // 2
        for layer in range(self.config.encoder_layers):
            x = self.block(f"encoder.{layer}", x, layer, range(-side, side + 1))
        y = math.sqrt(width) * self.weights["target_embedding.weight"][target]
        y = np.array([row + (x[t] if t < columns else 0) for t, row in enumerate(y)])
        back = self.config.decoder_kernel_width - 1
        for layer in range(self.config.decoder_layers):
            y = self.block(f"decoder.{layer}", y, layer, range(-back, 1))
        last = np.maximum(0, self.linear("last", y))
        return self.linear("output", self.drop(last, self.config.dropout))

    def drop(self, x: np.ndarray, rate: float) -> np.ndarray:
        if not self.dropping:
            return x
        return x * keep_mask(torch.Size(x.shape), rate, torch.float64).numpy()

    def block(self, name: str, x: np.ndarray, layer: int, taps: range) -> np.ndarray:
        dilation = [1, 2, 4][layer % 3]
        h = self.linear(f"{name}.narrow", self.normalised(f"{name}.norms.0", x))
        h = self.normalised(f"{name}.norms.1", h)
        kernel = self.weights[f"{name}.convolution.weight"]
        rows = []
        for i in range(len(h)):
            y = self.weights[f"{name}.convolution.bias"].copy()
            for j, tap in enumerate(taps):
                place = i + tap * dilation
                if 0 <= place < len(h):
                    y += kernel[:, j] @ h[place]
            rows.append(y)
        h = self.normalised(f"{name}.norms.2", np.array(rows))
        return x + self.drop(self.linear(f"{name}.widen", h), self.config.block_dropout)

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def normalised(self, name: str, x: np.ndarray) -> np.ndarray:
        """Layer normalisation, then ReLU."""
        centred = x - x.mean(1, keepdims=True)
        x = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
        return np.maximum(0, x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])


@pytest.mark.parametrize("target_length", [4, 17], ids=["within the columns", "beyond them"])
def test_equals_the_paper_in_numpy(target_length: int) -> None:
    model = shaken(ByteNet, CONFIG, by=0.2)
    source, target = random_ids(1, 6), random_ids(1, target_length, seed=2)
    expected = PaperForward(model)(source[0].numpy(), target[0].numpy())
    found = teacher_force(model, source, full(source), target)
    np.testing.assert_allclose(found[0].detach().numpy(), expected, rtol=0, atol=1e-10)


def test_dropout_falls_on_the_last_relu_and_on_what_blocks_add() -> None:
    """A mask that is left out, drawn twice or of another rate shifts all that come after it."""
    rates = {"dropout": 0.4, "block_dropout": 0.2}
    model = shaken(ByteNet, CONFIG.model_copy(update=rates), by=0.2).train()
    source, target = random_ids(1, 6), random_ids(1, 4, seed=2)
    seed_dropout(7)
    found = teacher_force(model, source, full(source), target)
    seed_dropout(7)
    expected = PaperForward(model, dropping=True)(source[0].numpy(), target[0].numpy())
    np.testing.assert_allclose(found[0].detach().numpy(), expected, rtol=0, atol=1e-10)


def test_a_target_position_reads_its_own_column() -> None:
    """With one block of width 1 on each side there is nothing but the column to see."""
    sizes = {"encoder_layers": 1, "decoder_layers": 1}
    kernels = {"encoder_kernel_width": 1, "decoder_kernel_width": 1}
    model = shaken(ByteNet, CONFIG.model_copy(update={**sizes, **kernels}), by=0.2)
    source, target = random_ids(1, 6), random_ids(1, 6, seed=2)
    other = source.clone()
    other[0, 3] = 4 if source[0, 3] != 4 else 5
    first, second = (teacher_force(model, ids, full(ids), target)[0] for ids in (source, other))
    assert (first != second).any(-1).tolist() == [False, False, False, True, False, False]


def test_reach_grows_with_doubled_dilation() -> None:
    """Five blocks of width 2 with dilations 1, 2, 4, 1, 2 see ten positions back."""
    model = shaken(ByteNet, CONFIG, by=0.2)
    source, target = random_ids(1, 6), random_ids(1, 20, seed=2)
    other = target.clone()
    other[0, 3] = 4 if target[0, 3] != 4 else 5
    first, second = (teacher_force(model, source, full(source), ids)[0] for ids in (target, other))
    changed = (first != second).any(-1).nonzero().flatten().tolist()
    assert changed == list(range(3, 14))


def test_the_column_is_as_long_as_the_bound_and_zero_beyond() -> None:
    model = shaken(ByteNet, CONFIG, by=0.2)
    source = random_ids(3, 10)
    mask = torch.arange(10) < torch.tensor([10, 5, 1])[:, None]
    memory = model.encode(source, mask)
    assert memory.hidden.shape == (3, 14, 14)  # 1.2 * 10 + 1.5
    lengths = memory.hidden.abs().sum(-1).ne(0).sum(1).tolist()
    assert lengths == [14, 8, 3]


@pytest.mark.parametrize(
    ("ratio", "extra", "source", "columns"),
    [(1.2, 0, 5, 6), (1.2, 0, 6, 8), (1.1, 0, 10, 11), (1, 0, 7, 7), (1.5, 3, 4, 9)],
)
def test_columns_round_up_what_is_above_a_whole_number(
    ratio: float, extra: float, source: int, columns: int
) -> None:
    assert ByteNetConfig(unfold_ratio=ratio, unfold_extra=extra).columns(source) == columns


def test_a_state_keeps_left_contexts_only() -> None:
    model = shaken(ByteNet, CONFIG, by=0.2)
    source = random_ids(2, 4)
    memory = model.encode(source, full(source))
    _, state = model.decode(random_ids(6, 30, seed=2), memory, model.start(memory, beam=3))
    assert [context.shape for context in state.contexts] == [
        (6, back, 7) for back in (1, 2, 4, 1, 2)
    ]


def test_no_attention_is_said_clearly() -> None:
    model = shaken(ByteNet, CONFIG, by=0.2)
    source = random_ids(1, 4)
    with pytest.raises(TypeError, match="ByteNet has no attention"):
        model.attention_weights(source, model.encode(source, full(source)))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [("d_model", 7, "must be even"), ("encoder_kernel_width", 4, "must be odd")],
)
def test_widths_that_cannot_be(key: str, value: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ByteNetConfig(**{key: value})


def test_embeddings_are_small_weights_of_unit_variance() -> None:
    """As N(0, 1) they would hardly move under Adam, whose steps do not grow with the weight."""
    torch.manual_seed(1)
    model = ByteNet(ByteNetConfig(d_model=64, encoder_layers=1, decoder_layers=1), 500, 500)
    inputs = []
    model.encoder[0].register_forward_pre_hook(lambda _, found: inputs.append(found[0]))
    source = torch.arange(400).view(4, 100)
    model.encode(source, full(source))
    assert inputs[0][:, :100].std().item() == pytest.approx(1, rel=0.02)
    for embedding in (model.source_embedding, model.target_embedding):
        assert embedding.weight.std().item() == pytest.approx(1 / 8, rel=0.02)
