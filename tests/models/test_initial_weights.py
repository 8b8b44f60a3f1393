"""How every parameter of every family begins: zero, one, or of which deviation.

Glorot and Bengio 2010 unless a rule says otherwise; recurrent families draw from one range, and
ConvS2S normalises its weights, and deep fusion and classifiers are composed of others, see their
own tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from families import VARIATIONS

from dragoman.core.sections import keys_of
from dragoman.models import FAMILIES

D_MODEL, PIECES = 96, 200
LARGER = {"d_model": D_MODEL, "d_ff": 130, "encoder_layers": 1, "decoder_layers": 1, "layers": 1}


def glorot(shape: torch.Size) -> float:
    """``sqrt(2 / (inputs + outputs))``; a convolution is ``(outputs, width, channels)``."""
    places = shape[1] if len(shape) == 3 else 1
    return (2 / (places * (shape[0] + shape[-1]))) ** 0.5


def of_three(shape: torch.Size) -> float:
    """W^Q, W^K and W^V as one matrix, as in PyTorch's attention."""
    return glorot(torch.Size([3 * shape[0], shape[1]]))


# The first that is found in "variation parameter" holds.
RULES: list[tuple[str, Callable[[torch.Size], float]]] = [
    (r"bias$", lambda shape: 0),
    (r"norms?\.(\d\.)?weight$", lambda shape: 1),
    (r"experts.*feed_forward\.(gate|noise)\.weight$", lambda shape: 0),  # equal loads at first
    (r"attention\.(query|key|value)\.weight$", of_three),
    (r"depthwise\.weight$", lambda shape: shape[0] ** -0.5),  # (width, channels)
    (r"scoring\.vector$", lambda shape: shape[1] ** -0.5),  # (heads, d_k)
    (r"^convs2s.*(embedding\.weight|positions\.table)$", lambda shape: 0.1),  # section 3.5
    (r"(embedding\.weight|positions\.table|source_side)$", lambda shape: D_MODEL**-0.5),
    (r"^transformer.* output\.weight$", lambda shape: D_MODEL**-0.5),  # an embedding, or as one
    (r"", glorot),
]


ELSEWHERE = ("recurrent", "deep_fusion", "classifier")


@pytest.mark.parametrize("name", [n for n in VARIATIONS if not n.startswith(ELSEWHERE)])
def test_every_parameter_begins_as_its_paper_says(name: str) -> None:
    torch.manual_seed(3)
    small = VARIATIONS[name]
    known = {key: value for key, value in LARGER.items() if key in keys_of(type(small))}
    config = small.model_copy(update={**known, "d_k": None, "d_v": None})
    model = FAMILIES[config.family](config, PIECES, PIECES)
    for parameter_name, parameter in model.named_parameters():
        if "parametrizations" in parameter_name:
            continue
        named = f"{name} {parameter_name}"
        expected = next(rule(parameter.shape) for key, rule in RULES if re.search(key, named))
        values = parameter.detach()
        if expected in (0, 1):
            assert values.eq(expected).all(), parameter_name
        else:
            near = 5 / (2 * values.numel()) ** 0.5  # five standard errors of a deviation
            assert values.std().item() == pytest.approx(expected, rel=near), parameter_name
            assert abs(values.mean().item()) < 5 * expected / values.numel() ** 0.5, parameter_name
