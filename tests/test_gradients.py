"""Every backward pass that is written by hand, against numerical gradients in float64."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from dragoman.models.layers.softmax import _ShortSoftmax
from dragoman.training.objectives import chunks
from dragoman.training.objectives.cross_entropy import smoothed_cross_entropy
from dragoman.training.objectives.r_drop import symmetric_divergence
from dragoman.training.steady_products import SteadyLinear

SOURCE = Path(__file__).parents[1] / "src" / "dragoman"

Case = tuple[Callable[..., Tensor], tuple[Tensor, ...]]


def cross_entropy(smoothing: float) -> Case:
    """A weight on each result, so that the gradient from above is not 1."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(4, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    gold = torch.tensor([1, 4, 0, 4])
    return lambda scores: -1.7 * smoothed_cross_entropy(scores, gold, smoothing)[0], (logits,)


def divergence() -> Case:
    generator = torch.Generator().manual_seed(6)
    logits = torch.randn(4, 2, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    return lambda scores: -1.7 * symmetric_divergence(scores), (logits,)


def softmax(*shape: int) -> Case:
    """A weight on each result, since the sum of a row is 1 whatever the scores."""
    generator = torch.Generator().manual_seed(4)
    scores = torch.randn(shape, dtype=torch.float64, generator=generator, requires_grad=True)
    weights = torch.randn(shape, dtype=torch.float64, generator=generator)
    apply: Callable[[Tensor], Tensor] = _ShortSoftmax.apply
    return lambda scores: apply(scores) * weights, (scores,)


def steady_product(*shape: int, bias: bool) -> Case:
    generator = torch.Generator().manual_seed(5)

    def drawn(*size: int) -> Tensor:
        return torch.randn(size, dtype=torch.float64, generator=generator, requires_grad=True)

    layer = SteadyLinear(shape[-1], 4, bias=bias)  # which cuts off the rows that are added
    names = [name for name, _ in layer.named_parameters()]
    inputs = drawn(*shape), drawn(4, shape[-1]), *([drawn(4)] if bias else [])

    def product(x: Tensor, *parameters: Tensor) -> Tensor:
        found: Tensor = functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))
        return found

    return product, inputs


CASES: dict[str, list[Case]] = {
    "models/layers/softmax.py: _ShortSoftmax": [softmax(2, 3, 5), softmax(3, 1)],
    "training/objectives/cross_entropy.py: _SmoothedCrossEntropy": [
        cross_entropy(s) for s in (0.0, 0.1, 1.0)
    ],
    "training/objectives/r_drop.py: _SymmetricDivergence": [divergence()],
    "training/steady_products.py: _SteadyProduct": [
        steady_product(2, 3, 5, bias=True),
        steady_product(17, 2, bias=False),
    ],
}


def own_functions() -> Iterator[str]:
    """Classes made of ``torch.autograd.Function``, wherever they are."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).split(".")[-1] for base in node.bases]
                if "Function" in bases:
                    yield f"{path.relative_to(SOURCE).as_posix()}: {node.name}"


def test_none_is_left_out() -> None:
    assert sorted(own_functions()) == sorted(CASES)


@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_numerical_ones(
    name: str, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CACHED_SCORES", 5 * rows_at_once)
    for function, inputs in CASES[name]:
        assert torch.autograd.gradcheck(function, inputs)
