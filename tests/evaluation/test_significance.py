import gzip
import json
import math
import random
from statistics import stdev
from typing import Any

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest

from dragoman.core.errors import ConfigError, DataError
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    MetricName,
    higher_is_better,
    score_corpus,
)
from dragoman.evaluation.significance import (
    SignificanceConfig,
    compare_systems,
    difference_interval,
)
from dragoman.text.public_corpora import corpora_folder

WMT22 = corpora_folder() / "wmt22"

BLEU = EvaluationConfig(metrics=("bleu",), bleu_tokenize="none")
TESTS = [
    SignificanceConfig(test="bootstrap", samples=300),
    SignificanceConfig(test="randomization", samples=300),
]
both_tests = pytest.mark.parametrize("config", TESTS, ids=lambda config: config.test)


def corpus(lines: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices("abcdefghij", k=10)) for _ in range(lines)]


def corrupted(references: list[str], share: float, seed: int) -> list[str]:
    """The references with that share of their words replaced by one that never matches."""
    draw = random.Random(seed)
    return [" ".join("x" if draw.random() < share else w for w in r.split()) for r in references]


@both_tests
@given(lines=st.integers(1, 23), seed=st.integers(0, 1000))
@settings(max_examples=7, deadline=None)
def test_a_system_is_no_better_than_itself(
    config: SignificanceConfig, lines: int, seed: int
) -> None:
    references = corpus(lines, seed)
    output = corrupted(references, 0.2, seed)
    (result,) = compare_systems(output, {"same": output}, [references], BLEU, config)
    assert result.difference == 0
    assert result.p_value == 1
    assert not result.is_significant()


@both_tests
def test_a_clearly_better_system_is_found_from_either_side(config: SignificanceConfig) -> None:
    references = corpus(100, 1)
    good, bad = corrupted(references, 0.05, 2), corrupted(references, 0.3, 3)
    (better,) = compare_systems(bad, {"good": good}, [references], BLEU, config)
    (worse,) = compare_systems(good, {"bad": bad}, [references], BLEU, config)
    assert better.difference == pytest.approx(-worse.difference)
    assert better.difference > 10
    assert better.is_significant(0.01)
    assert worse.is_significant(0.01)


@both_tests
def test_equally_good_systems_are_seldom_told_apart(config: SignificanceConfig) -> None:
    """At the level of 5%, chance alone gives about one false alarm in twenty corpora."""
    alarms = 0
    for seed in range(20):
        references = corpus(50, seed)
        one, two = (corrupted(references, 0.2, 100 * seed + n) for n in (1, 2))
        (result,) = compare_systems(one, {"two": two}, [references], BLEU, config)
        alarms += result.is_significant()
    assert alarms <= 4


@both_tests
def test_p_is_of_both_tails(config: SignificanceConfig) -> None:
    """TER is linear where references are equally long, so that its difference is nearly normal."""
    references = corpus(200, 3)
    one, two = corrupted(references, 0.2, 4), corrupted(references, 0.22, 8)
    ter = EvaluationConfig(metrics=("ter",))
    (result,) = compare_systems(one, {"two": two}, [references], ter, config)
    changed = [[o.split().count("x") for o in output] for output in (one, two)]
    differences = [b - a for a, b in zip(*changed, strict=True)]
    assert result.difference == pytest.approx(100 * sum(differences) / 2000)
    deviations = sum(differences) / (200**0.5 * stdev(differences))
    both_tails = math.erfc(deviations / 2**0.5)
    assert 0.08 < both_tails < 0.12
    assert result.p_value == pytest.approx(both_tails, abs=0.03)


@pytest.mark.parametrize(("test", "theirs", "factor"), [(TESTS[0], "bs", 2), (TESTS[1], "ar", 1)])
def test_the_bootstrap_has_twice_the_p_of_sacrebleu_and_randomisation_the_same(
    test: SignificanceConfig, theirs: str, factor: int
) -> None:
    references = corpus(50, 6)
    one, two = corrupted(references, 0.2, 7), corrupted(references, 0.23, 8)
    metrics = {"BLEU": sacrebleu.BLEU(tokenize="none", force=True)}
    asked = PairedTest([("a", one), ("b", two)], metrics, [references], theirs, n_samples=300)
    (ours,) = compare_systems(one, {"b": two}, [references], BLEU, test)
    found: Any = asked()[1]["BLEU"][1]
    assert ours.p_value == pytest.approx(factor * found.p_value)
    assert ours.sacrebleu_p_value == pytest.approx(found.p_value)
    assert 0.02 < ours.p_value < 1


@pytest.mark.parametrize(("test", "theirs"), [(TESTS[0], "bs"), (TESTS[1], "ar")])
@pytest.mark.parametrize("share", [0.2, 0.0])  # another system, and the same
def test_the_p_value_of_sacrebleu_is_reported_beside_ours_which_has_a_mark(
    test: SignificanceConfig, theirs: str, share: float
) -> None:
    references = corpus(9, 6)
    one = corrupted(references, 0.2, 7)
    two = corrupted(references, share, 8) if share else one
    measure = sacrebleu.BLEU(tokenize="none", force=True)
    asked = PairedTest(
        [("a", one), ("b", two)], {"BLEU": measure}, [references], theirs, n_samples=300
    )
    signatures, found = asked()
    (ours,) = compare_systems(one, {"b": two}, [references], BLEU, test)
    cell: Any = found["BLEU"][1]
    assert ours.sacrebleu_p_value == pytest.approx(cell.p_value)
    assert ours.signature == f"{signatures['BLEU']}|p:two-sided"
    assert f"p = {ours.p_value:.4f}, sacreBLEU's {cell.p_value:.4f})" in str(ours)
    assert ours.to_json()["sacrebleu_p_value"] == ours.sacrebleu_p_value


@pytest.mark.parametrize("metric", ["exact_match", "accuracy", "ter"])
@pytest.mark.parametrize("lines", [1, 2, 4])
def test_few_lines_that_differ_are_no_proof(metric: MetricName, lines: int) -> None:
    """All better by the same: no trial differs by more, and 2 in 2^lines by as much."""
    references = corpus(100, 11)
    worse = ["x" if number < lines else line for number, line in enumerate(references)]
    config = EvaluationConfig(metrics=(metric,))
    test = SignificanceConfig(test="randomization", samples=1000)
    (result,) = compare_systems(worse, {"b": references}, [references], config, test)
    assert result.p_value == pytest.approx(2 ** (1 - lines), abs=0.03)


@pytest.mark.parametrize("metric", ["bleu", "exact_match", "ter"])
@pytest.mark.parametrize(("lines", "of"), [(1, 1), (2, 2), (5, 5), (1, 100), (3, 100)])
def test_few_lines_that_differ_are_no_proof_to_the_bootstrap(
    metric: MetricName, lines: int, of: int
) -> None:
    """All resamples of one line are alike, which says nothing about other lines."""
    references = corpus(of, 11)
    worse = ["x" if number < lines else line for number, line in enumerate(references)]
    config = EvaluationConfig(metrics=(metric,))
    (result,) = compare_systems(worse, {"b": references}, [references], config, TESTS[0])
    assert 2 ** (1 - lines) <= result.p_value <= 1
    if metric == "exact_match" and lines == of:  # equal in all resamples
        assert result.p_value == 2 ** (1 - lines)
    assert not result.is_significant()


@both_tests
def test_scores_are_those_of_the_metrics_and_repeat_exactly(config: SignificanceConfig) -> None:
    references = corpus(30, 5)
    systems = {"b": corrupted(references, 0.1, 6), "c": corrupted(references, 0.2, 7)}
    baseline = corrupted(references, 0.15, 8)
    metrics = EvaluationConfig(metrics=("bleu", "chrf"), bleu_tokenize="none")
    results = compare_systems(baseline, systems, [references], metrics, config)
    assert [(r.system, r.metric) for r in results] == [
        (system, metric) for system in systems for metric in ("BLEU", "chrF2")
    ]
    for result in results:
        own = {s.name: s.value for s in score_corpus(systems[result.system], [references], metrics)}
        base = {s.name: s.value for s in score_corpus(baseline, [references], metrics)}
        assert result.value == pytest.approx(own[result.metric])
        assert result.baseline_value == pytest.approx(base[result.metric])
    assert results == compare_systems(baseline, systems, [references], metrics, config)


def test_the_result_is_json_and_says_how_it_was_found() -> None:
    references = corpus(20, 9)
    (result,) = compare_systems(
        references, {"other": corrupted(references, 0.1, 1)}, [references], BLEU, TESTS[0]
    )
    values = json.loads(json.dumps(result.to_json()))
    assert values["system"] == "other"
    assert values["difference"] == pytest.approx(values["value"] - values["baseline_value"])
    assert "bs:300" in values["signature"]
    assert "seed:12345" in values["signature"]
    assert str(result).startswith("other: BLEU")


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_the_interval_of_a_difference_holds_the_difference(metric: MetricName) -> None:
    references = corpus(200, seed=1)
    worse, better = corrupted(references, 0.4, seed=2), corrupted(references, 0.3, seed=3)
    low, high = difference_interval(worse, better, [references], metric=metric, samples=200)
    ours = EvaluationConfig(metrics=(metric,))
    before, after = (score_corpus(one, [references], ours)[0].value for one in (worse, better))
    assert low < after - before < high
    assert (low > 0) == higher_is_better(metric), "such a difference is no chance"
    turned = difference_interval(better, worse, [references], metric=metric, samples=200)
    assert turned == pytest.approx((-high, -low))


def test_the_interval_of_no_difference_is_empty() -> None:
    references = corpus(20, seed=1)
    worse = corrupted(references, 0.4, seed=2)
    assert difference_interval(worse, worse, [references], samples=20) == (0, 0)
    with pytest.raises(DataError, match="system"):
        difference_interval(worse, worse[1:], [references])


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DataError, match="no system"):
        compare_systems(["a"], {}, [["a"]])
    with pytest.raises(DataError, match="other: 2 lines, but reference 1 has 1"):
        compare_systems(["a"], {"other": ["a", "b"]}, [["a"]])
    with pytest.raises(DataError, match="baseline: 2 lines"):
        compare_systems(["a", "b"], {"other": ["a"]}, [["a"]])


def read(name: str) -> list[str]:
    with gzip.open(WMT22 / name, "rt", encoding="utf-8", newline="\n") as stream:
        return stream.read().removesuffix("\n").split("\n")


@pytest.mark.skipif(not WMT22.is_dir(), reason="the WMT22 outputs are not there")
def test_real_systems_are_told_apart_in_both_directions() -> None:
    references = [read("en-de.refA.de.gz")[:500]]
    strong, weak = (read(f"en-de.hyp.{s}.de.gz")[:500] for s in ("Online-B", "OpenNMT"))
    metrics = EvaluationConfig(metrics=("bleu",))
    (up,) = compare_systems(weak, {"Online-B": strong}, references, metrics, TESTS[0])
    (down,) = compare_systems(strong, {"OpenNMT": weak}, references, metrics, TESTS[0])
    assert up.difference > 0 > down.difference
    assert up.is_significant()
    assert down.is_significant()
    (same,) = compare_systems(weak, {"weak": weak}, references, metrics, TESTS[0])
    assert same.p_value == 1


@both_tests
def test_the_seed_of_the_environment_may_be_zero(
    config: SignificanceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "0")
    references = corpus(30, 1)
    output, other = (corrupted(references, 0.2, seed) for seed in (2, 3))
    first, *repeated = (
        compare_systems(output, {"other": other}, [references], BLEU, config) for _ in range(3)
    )
    assert "seed:0" in first[0].signature
    assert repeated == [first, first]


@pytest.mark.parametrize("seed", ["abc", "-3", "1.5", ""])
def test_a_seed_that_is_none_is_refused_wherever_something_is_drawn(
    seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    with pytest.raises(ConfigError, match="SACREBLEU_SEED"):
        compare_systems(["a b"], {"other": ["a"]}, [["a b"]], BLEU)
    drawing = BLEU.model_copy(update={"confidence_samples": 10})
    with pytest.raises(ConfigError, match="SACREBLEU_SEED"):
        score_corpus(["a b"], [["a b"]], drawing)
    assert score_corpus(["a b"], [["a b"]], BLEU), "nothing is drawn"
