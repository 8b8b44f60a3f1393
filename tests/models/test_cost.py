"""Parameter counts against Table 3 of the paper, operations against a count by hand."""

from __future__ import annotations

import pytest
import torch

from dragoman.models import ConvS2SConfig, RecurrentConfig, TransformerConfig
from dragoman.models.cost import cost, flop_counter
from dragoman.models.layers.low_rank import AdapterConfig
from dragoman.models.size import meta_model

PIECES = 37_000
BIG = {"d_model": 1024, "d_ff": 4096, "heads": 16}


def millions(**choices: object) -> float:
    """Of the model itself; that its cost says the same is in ``test_cost_by_hand.py``."""
    model = meta_model(TransformerConfig(**choices), PIECES, PIECES)
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


@pytest.mark.parametrize(
    ("choices", "difference"),
    [
        ({"encoder_layers": 2, "decoder_layers": 2}, -29),
        ({"encoder_layers": 4, "decoder_layers": 4}, -15),
        ({"encoder_layers": 8, "decoder_layers": 8}, +15),
        ({"d_k": 16}, -7),
        ({"d_k": 32}, -5),
        ({"d_ff": 1024}, -12),
        ({"d_ff": 4096}, +25),
    ],
)
def test_parameters_differ_from_base_as_in_table_3(
    choices: dict[str, int], difference: int
) -> None:
    assert millions(**choices) - millions() == pytest.approx(difference, abs=0.75)


def test_base_and_big_have_the_published_size() -> None:
    assert millions() == pytest.approx(65, abs=2.5)
    assert millions(**BIG) == pytest.approx(213, abs=2)


def test_parts_add_up_and_share() -> None:
    counted = cost(TransformerConfig(encoder_layers=1, decoder_layers=1), PIECES, PIECES, 3, 3)
    assert counted.parameters["source_embedding"] == PIECES * 512
    assert "target_embedding" not in counted.parameters
    assert sum(counted.parameters.values()) == counted.total_parameters


def test_of_a_model_with_an_adapter_only_the_factors_learn() -> None:
    d, ff, rank = 8, 12, 3
    config = TransformerConfig(encoder_layers=1, decoder_layers=2, d_model=d, d_ff=ff, heads=2)
    plain, adapted = (cost(config, 31, 31, adapter=one) for one in (None, AdapterConfig(rank=rank)))
    squares, networks = 4 * (1 + 2 * 2), 2 * (1 + 2)  # matrices of attention, of networks
    assert adapted.learned_parameters == rank * (squares * 2 * d + networks * (d + ff))
    assert adapted.frozen_parameters == plain.total_parameters == plain.learned_parameters
    assert adapted.forward_flops_per_target_token > plain.forward_flops_per_target_token


def test_operations_agree_with_a_count_by_hand() -> None:
    n, d, ff, source, target, pieces = 2, 8, 12, 5, 7, 31
    config = TransformerConfig(encoder_layers=n, decoder_layers=n, d_model=d, d_ff=ff, heads=2)
    projections = 4 * d * d
    encoder = n * source * (projections + 2 * d * ff + 2 * source * d)
    decoder_self = target * (projections + 2 * target * d)
    cross = 2 * target * d * d + 2 * source * d * d + 2 * target * source * d
    decoder = n * (decoder_self + cross + target * 2 * d * ff)
    by_hand = 2 * (encoder + decoder + target * d * pieces) / target
    counted = cost(config, pieces, pieces, source, target)
    assert counted.forward_flops_per_target_token == pytest.approx(by_hand)
    assert counted.flops_per_target_token == pytest.approx(3 * by_hand, rel=0.01)
    assert counted.training_flops(1000) == 1000 * counted.flops_per_target_token


def test_operations_of_a_recurrent_model_agree_with_a_count_by_hand() -> None:
    n, d, source, target, pieces = 2, 8, 5, 7, 31
    layers = {"encoder_layers": n, "decoder_layers": n, "d_model": d}
    config = RecurrentConfig(**layers, attention="general", input_feeding=False)
    gates = 4 * d * (d + d)
    looking = source * d * d + 2 * target * source * d + target * 2 * d * d
    total = n * (source + target) * gates + looking + target * d * pieces
    counted = cost(config, pieces, pieces, source, target)
    assert counted.forward_flops_per_target_token == pytest.approx(2 * total / target)
    biases = 2 * n * 8 * d
    matrices = 2 * n * gates + d * d + 2 * d * d + 3 * pieces * d
    assert counted.total_parameters == matrices + biases


def test_operations_of_convolutions_agree_with_a_count_by_hand() -> None:
    n, d, h, k, source, target, pieces = 2, 8, 12, 3, 5, 7, 31
    config = ConvS2SConfig(encoder_layers=n, decoder_layers=n, d_model=d, d_hidden=h)
    layer = k * h * 2 * h
    encoder = source * (2 * d * h + n * layer)
    attention = 2 * d * h + 2 * source * d
    decoder = target * (2 * d * h + n * (layer + attention) + d * pieces)
    counted = cost(config, pieces, pieces, source, target)
    by_hand = 2 * (encoder + decoder) / target
    assert counted.forward_flops_per_target_token == pytest.approx(by_hand)
    assert counted.flops_per_target_token == pytest.approx(3 * by_hand, rel=0.01)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_operations_of_a_convolution_in_groups(groups: int, transposed: bool) -> None:
    batch, channels, width, length = 5, 6, 3, 11
    kind = torch.nn.ConvTranspose1d if transposed else torch.nn.Conv1d
    convolution = kind(channels, channels, width, padding=1, groups=groups)
    x = torch.zeros(batch, channels, length, requires_grad=True)
    with flop_counter() as counter:
        y = convolution(x)
        forward = counter.get_total_flops()
        y.sum().backward()
    assert forward == 2 * batch * length * width * channels * channels // groups
    assert counter.get_total_flops() == 3 * forward


@pytest.mark.parametrize("wanted", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_convolution_costs_as_much_again_for_each_gradient(transposed: bool, wanted: int) -> None:
    """Widths that differ and a stride of 2, tap by tap; the gradient of the input may be spared."""
    batch, channels, outputs, groups, width, length = 5, 4, 6, 2, 3, 11
    kind = torch.nn.ConvTranspose1d if transposed else torch.nn.Conv1d
    convolution = kind(channels, outputs, width, stride=2, groups=groups)
    x = torch.zeros(batch, channels, length, requires_grad=wanted == 2)
    with flop_counter() as counter:
        y = convolution(x)
        forward = counter.get_total_flops()
        y.sum().backward()
    # Each tap of each window is a product of a matrix for each group.
    windows = length if transposed else (length - width) // 2 + 1
    by_hand = 2 * batch * windows * width * groups * (channels // groups) * (outputs // groups)
    assert forward == by_hand
    assert counter.get_total_flops() - forward == wanted * by_hand
