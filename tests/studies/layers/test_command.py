"""``python -m studies.layers``: fits, counted exponents and what is written; no time is judged."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from click.testing import Result as Outcome
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.layers.__main__ import layers
from studies.layers.growth import fit, upper
from studies.layers.layer_types import LAYER_TYPES, Sizes
from studies.layers.measurement import Plan
from studies.layers.page import BEGIN, END
from studies.layers.result import QUANTITIES, Result, produce

SMALL = {
    "--lengths": "8,16,32",
    "--widths": "8,16,32",
    "--fixed-length": 8,
    "--fixed-width": 16,
    "--path-lengths": "4,8,16",
    "--heads": 2,
    "--window": 5,
    "--rounds": 2,
    "--batch": 1,
    "--threads": 1,
}
OPTIONS = [part for option in SMALL.items() for part in option]
NAMES = [kind.name for kind in LAYER_TYPES]


sizes_and_values = st.lists(
    st.tuples(st.integers(2, 5000), st.floats(0.001, 1000)),
    min_size=3,
    max_size=9,
    unique_by=lambda pair: pair[0],
)


@settings(max_examples=20)
@given(sizes_and_values)
def test_the_fit_is_that_of_numpy(pairs: list[tuple[int, float]]) -> None:
    sizes, values = zip(*sorted(pairs), strict=True)
    first = upper(sizes)
    (slope, _), covariance = np.polyfit(np.log(sizes[first:]), np.log(values[first:]), 1, cov=True)
    found = fit(sizes, values)
    assert found.exponent == pytest.approx(slope, rel=1e-6, abs=1e-6)
    assert found.standard_error == pytest.approx(covariance[0, 0] ** 0.5, rel=1e-6, abs=1e-6)


def test_the_upper_range_is_the_larger_half() -> None:
    assert [upper(range(count)) for count in (3, 4, 5, 6, 7, 8)] == [0, 1, 2, 3, 3, 4]
    assert fit([1, 2, 4, 8, 16, 32], [9, 9, 9, 64, 256, 1024]).exponent == pytest.approx(2)


@pytest.fixture(scope="module")
def result() -> Result:
    lengths, widths = (32, 64, 128, 192, 256), (32, 64, 96, 128)
    plan = Plan(Sizes(16, 2, 9, 3), lengths, widths, 16, (16, 32, 64), batch=2, rounds=1)
    return produce(plan, torch.device("cpu"), lambda: None)


@pytest.fixture
def measured_before(result: Result, monkeypatch: pytest.MonkeyPatch) -> Result:
    """What is written is the same whatever was measured; measuring has its own tests."""
    monkeypatch.setattr("studies.layers.result.produce", lambda *_: result)
    return result


def call(*arguments: object) -> Outcome:
    return CliRunner().invoke(layers, [str(argument) for argument in arguments])


def exponents(result: Result, axis: str, name: str) -> dict[str, float]:
    return {layer.name: layer.growth[axis][name].exponent for layer in result.layers}


EXACT = {  # exponents of operations in n and d that are whole, whatever the sizes
    "self-attention, bare": (2, 1),
    "restricted": (1, None),
    "restricted, bare": (1, 1),
    "convolution": (1, 2),
    "convolution, dilated": (1, 2),
    "separable convolution": (1, 2),  # k n d, channel by channel, is not counted
}


def test_operations_grow_as_the_paper_says(result: Result) -> None:
    over_n, over_d = exponents(result, "n", "flops"), exponents(result, "d", "flops")
    for name, (in_n, in_d) in EXACT.items():
        assert over_n[name] == pytest.approx(in_n, abs=1e-9), name
        assert in_d is None or over_d[name] == pytest.approx(in_d, abs=1e-9), name
    # The gradient of the first state is not asked for: three products but one.
    assert over_n["recurrent"] == pytest.approx(1, abs=1e-3)
    assert over_d["recurrent"] == pytest.approx(2, abs=1e-9)
    # 4 n d^2 + 2 n^2 d, by hand: not yet the square at these sizes
    by_hand = [4 * n * 16**2 + 2 * n**2 * 16 for n in result.plan.lengths]
    expected = fit(result.plan.lengths, by_hand).exponent
    assert over_n["self-attention"] == pytest.approx(expected, abs=1e-9)
    assert 1.7 < expected < 1.9
    assert exponents(result, "d", "formula")["separable convolution"] < 2


def test_memory_of_linear_layers_is_linear_and_of_attention_is_not(result: Result) -> None:
    over_n = exponents(result, "n", "activation_bytes")
    over_d = exponents(result, "d", "activation_bytes")
    for name in ("restricted", "convolution", "convolution, dilated", "separable convolution"):
        assert over_n[name] == pytest.approx(1, abs=0.01), name  # a border is kept, too
    assert 0.9 < over_n["recurrent"] <= 1  # a little memory does not grow
    assert 1.8 < over_n["self-attention, bare"] < 2
    for name in ("convolution", "convolution, dilated", "separable convolution"):
        assert over_d[name] == pytest.approx(1, abs=1e-9), name
    bare = {cost.n: cost.activation_bytes for cost in result.layers[1].over_n}
    # Copies of three vectors a position for the products, and each head's weights.
    assert bare == {n: 4 * 2 * (3 * n * 16 + 2 * n * n) for n in bare}


def test_chains_and_paths_grow_as_the_paper_says(result: Result) -> None:
    chain = exponents(result, "sequential", "counted")
    assert chain.pop("recurrent") == pytest.approx(1, abs=0.02)
    assert list(chain.values()) == pytest.approx([0] * len(chain), abs=1e-12)
    path = exponents(result, "path", "counted")
    assert path["recurrent"] == pytest.approx(1)
    assert path["self-attention"] == pytest.approx(0, abs=1e-12)
    assert path["restricted"] == pytest.approx(1)
    assert path["convolution"] == pytest.approx(fit((16, 32, 64), (15, 31, 63)).exponent)
    logarithm = exponents(result, "path", "formula")["convolution, dilated"]
    assert path["convolution, dilated"] == pytest.approx(logarithm, abs=0.01)


def test_every_quantity_is_positive_and_complete(result: Result) -> None:
    assert [layer.name for layer in result.layers] == NAMES
    for layer in result.layers:
        assert [cost.n for cost in layer.over_n] == list(result.plan.lengths)
        assert [cost.d for cost in layer.over_d] == list(result.plan.widths)
        for cost in (*layer.over_n, *layer.over_d):
            assert all(getattr(cost, name) > 0 for name in QUANTITIES)
            assert cost.activation_bytes < cost.peak_bytes
            assert cost.forward_flops < cost.flops


def test_the_command_writes_what_it_prints(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    threads = torch.get_num_threads()
    outcome = call(*OPTIONS, "--output", folder)
    assert outcome.exit_code == 0, outcome.stderr
    assert torch.get_num_threads() == threads
    page = (folder / "layers.md").read_text(encoding="utf-8")
    assert page.startswith("# ")
    assert outcome.stdout.strip() in page
    assert all(page.count(f"| {name} ") == 5 for name in NAMES)
    assert "](layers.svg)" in page
    ElementTree.parse(folder / "layers.svg")
    values = json.loads((folder / "layers.json").read_text(encoding="utf-8"))
    assert [layer["name"] for layer in values["layers"]] == NAMES
    assert values["plan"]["lengths"] == [8, 16, 32]
    assert values["threads"] == 1


@pytest.mark.usefixtures("measured_before")
def test_words_around_the_tables_stay(tmp_path: Path) -> None:
    page = tmp_path / "layers.md"
    page.write_text(f"# Mine\n\nBefore.\n\n{BEGIN} old {END}\n\nAfter.\n", encoding="utf-8")
    assert call(*OPTIONS, "--output", tmp_path).exit_code == 0
    written = page.read_text(encoding="utf-8")
    assert re.fullmatch(
        rf"# Mine\n\nBefore\.\n\n{BEGIN}\n\n.*\n\n{END}\n\nAfter\.\n", written, re.DOTALL
    )
    assert " old " not in written


def test_json_is_the_whole_result(measured_before: Result) -> None:
    values = json.loads(call(*OPTIONS, "--json").stdout)
    assert values == json.loads(json.dumps(measured_before.values()))
    growth = values["layers"][0]["growth"]
    assert growth["n"].keys() == growth["d"].keys() == {"formula", *QUANTITIES}
    assert growth["path"].keys() == {"formula", "counted"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--lengths", "8,16"], "3 or more"),
        (["--lengths", "8,32,16"], "increase"),
        (["--widths", "8,a,16"], "whole numbers"),
        (["--window", "4"], "even"),
        (["--kernel", "2"], "--kernel"),
        (["--threads", "100000"], "100000 is not in the range"),
        (["--lengths", "2,3,100000000000"], "increasing numbers from 2 to 1,000,000"),
        (["--heads", "3"], "3 heads do not divide the width 64"),
        (["--device", "abacus"], "device 'abacus' cannot be used"),
        (["--device", "meta"], "device 'meta' cannot be used"),
        (["--device", ""], "device '' cannot be used"),
    ],
)
def test_wrong_options_are_told(options: list[str], said: str) -> None:
    outcome = call(*options)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    (line,) = [line for line in outcome.stderr.splitlines() if "Error:" in line]
    assert said in line


def test_a_point_that_both_sweeps_share_is_measured_once() -> None:
    plan = Plan(Sizes(16), (8, 16), (8, 16), 8, (4,), batch=1, rounds=1)
    assert plan.points == [(8, 16), (16, 16), (8, 8)]
    assert replace(plan, length=4).points == [(8, 16), (16, 16), (4, 8), (4, 16)]
