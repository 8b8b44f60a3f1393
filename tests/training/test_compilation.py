"""Compiled layers and passes: one graph each, and the loss and gradient of eager code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

from dragoman.data.batches import Batch, make_batch
from dragoman.models import TransformerConfig
from dragoman.models.families.transformer import DecoderLayer, EncoderLayer, Transformer
from dragoman.models.layers.dropout import seed_dropout
from dragoman.training.compilation import compile_layers
from dragoman.training.objectives import CrossEntropy
from dragoman.training.objectives.projected_loss import WholePass, whole_pass
from dragoman.training.tasks import Objective

pytestmark = [
    # The compiler looks at the gradients of what it is given, for which PyTorch warns.
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),  # inductor uses it
]

SIZES = {"d_model": 10, "d_ff": 13, "heads": 2}
BATCHES = [
    make_batch([[4, 5, 6], [7, 5], [8, 9]], [[5, 6], [7, 8, 9, 4, 5], [4, 4]]),
    make_batch([[4, 5, 6, 8, 9], [7, 5, 4]], [[5, 6, 5, 5], [7, 8]]),
]
TRACED = "eager"
"""Traces the forward pass and runs the graph as it is, in seconds."""

exhaustive = pytest.mark.exhaustive
backends = pytest.mark.parametrize(
    "backend",
    [
        TRACED,
        pytest.param("aot_eager", marks=exhaustive),  # the backward pass is traced, too
        # Both become C++, which takes minutes to compile on two cores.
        pytest.param("inductor", marks=[exhaustive, pytest.mark.timeout(1800)]),
    ],
)


Learned = tuple[list[float], torch.Tensor]
"""Losses, and a gradient."""


@pytest.fixture(autouse=True)
def forget_compiled() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def model(depth: int = 1) -> Transformer:
    torch.manual_seed(1)
    layers = {"encoder_layers": depth, "decoder_layers": depth}
    return Transformer(TransformerConfig(**SIZES, **layers, dropout=0.3), 23, 23).double().train()


def losses(model: Transformer, objective: Objective, batches: list[Batch]) -> Learned:
    """The loss of each batch, and the gradient of their sum; with the same masks for everyone."""
    seed_dropout(7)
    found = [float(objective.backward(model, batch, 0.5)["loss"]) for batch in batches]
    return found, torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def agree(found: Learned, expected: Learned) -> None:
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    torch.testing.assert_close(found[1], expected[1], rtol=1e-7, atol=1e-9)


def graphs(*functions: Callable[..., Any]) -> list[int]:
    """How many compiled versions each function has."""
    return [len(_debug_get_cache_entry_list(function.__code__)) for function in functions]


@backends
def test_layers_of_a_kind_are_one_graph_for_all_lengths(backend: str) -> None:
    expected = losses(model(2), CrossEntropy(0.1), BATCHES)
    compiled = model(2)
    compile_layers(compiled, backend=backend, fullgraph=True)
    agree(losses(compiled, CrossEntropy(0.1), BATCHES), expected)
    assert graphs(EncoderLayer.forward, DecoderLayer.forward) == [1, 1]


@backends
def test_a_whole_pass_is_one_graph(backend: str) -> None:
    expected = losses(model(), CrossEntropy(0.1), BATCHES)
    compute = torch.compile(whole_pass, dynamic=True, fullgraph=True, backend=backend)
    agree(losses(model(), WholePass(0.1, compute=compute), BATCHES), expected)
    assert graphs(whole_pass) == [1]


def test_a_whole_pass_is_the_pass_in_chunks() -> None:
    agree(losses(model(), WholePass(0.1), BATCHES), losses(model(), CrossEntropy(0.1), BATCHES))


@pytest.mark.exhaustive
def test_fused_losses_are_the_same() -> None:
    compute = partial(whole_pass, fused=True)
    expected = losses(model(), CrossEntropy(0.1), BATCHES)
    agree(losses(model(), WholePass(0.1, compute=compute), BATCHES), expected)


def test_search_is_not_compiled() -> None:
    compiled = model().eval()
    compile_layers(compiled, backend=TRACED)
    with torch.no_grad():
        compiled.encode(BATCHES[0].source, BATCHES[0].source_mask)
    assert graphs(EncoderLayer.forward) == [0]
