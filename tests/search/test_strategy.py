"""The truths of search, for every family and every way to search."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Literal

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.data.batches import make_batch, pad_sources
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.search import (
    Ensemble,
    Hypothesis,
    ModelScorer,
    SamplingConfig,
    Scorer,
    SearchConfig,
    score_targets,
    search,
)
from dragoman.search.beam import beam_search
from dragoman.search.constraints import SearchTask
from dragoman.search.penalties import Penalties
from dragoman.search.strategy import build_rules
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK

Build = Callable[..., TranslationModel]
Pad = Callable[[Sequence[Sequence[int]]], tuple[Tensor, Tensor]]
GREEDY = SearchConfig(beam=1, extra_length=3)
BEAM = SearchConfig(beam=5, nbest=4, extra_length=3)
SAMPLE = SearchConfig(nbest=3, extra_length=3, sampling=SamplingConfig(top_p=0.9))
WAYS = [GREEDY, BEAM, SAMPLE]
every_way = pytest.mark.parametrize("config", WAYS, ids=["greedy", "beam", "sample"])
sources = st.lists(st.lists(st.integers(4, 10), max_size=4), min_size=1, max_size=5)
shared_fixture = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[h.ids for h in row] for row in found] == [[h.ids for h in row] for row in expected]
    for one, other in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
        assert one.score == pytest.approx(other.score)
        assert one.log_probability == pytest.approx(other.log_probability)
        assert one.ended == other.ended


def vary(config: SearchConfig, **changes: object) -> SearchConfig:
    return parse(SearchConfig, {**config.model_dump(), **changes}, "test")


@shared_fixture
@given(lines=sources, seed=st.integers(0, 99))
def test_a_beam_of_one_is_greedy(build: Build, pad: Pad, lines: list[list[int]], seed: int) -> None:
    scorer = ModelScorer(build(seed))
    source, mask = pad(lines)
    greedy = search(scorer, source, mask, GREEDY)
    with torch.inference_mode():
        rules = build_rules(mask, GREEDY)
        task = SearchTask(scorer, source, mask, rules, Penalties(0.6))
        of_one = beam_search(task, beam=1, nbest=1, early_end="quick")
    assert_same(of_one, greedy)


@every_way
@pytest.mark.parametrize("kind", ["linear", "log-linear"])
def test_an_ensemble_of_the_same_model_finds_the_same(
    build: Build, pad: Pad, config: SearchConfig, kind: Literal["linear", "log-linear"]
) -> None:
    scorer = ModelScorer(build())
    source, mask = pad([[5, 6, 7], [], [9, 4]])
    found = search(Ensemble([scorer, scorer], kind=kind), source, mask, config)
    assert_same(found, search(scorer, source, mask, config))


def every_output(scorer: Scorer, line: list[int], limit: int, alpha: float) -> list[Hypothesis]:
    """All outputs over pieces 4 to 6 up to the limit, by forced decoding, best first."""
    outputs = [
        list(ids) for size in range(limit + 1) for ids in itertools.product([4, 5, 6], repeat=size)
    ]
    batch = make_batch([line] * len(outputs), outputs)
    sums = score_targets(
        scorer, batch.source, batch.source_mask, batch.target_input, batch.target_output
    )
    scored = [
        Hypothesis(ids, total / ((5 + len(ids) + 1) / 6) ** alpha, total, len(ids) < limit)
        for ids, total in zip(outputs, sums.tolist(), strict=True)
    ]
    return sorted(scored, key=lambda hypothesis: -hypothesis.score)


@shared_fixture
@given(
    seed=st.integers(0, 99),
    line=st.lists(st.integers(4, 10), max_size=2),
    alpha=st.sampled_from([0.0, 0.6, 2.0]),
)
def test_a_beam_as_wide_as_the_space_is_brute_force(
    build: Build, pad: Pad, seed: int, line: list[int], alpha: float
) -> None:
    scorer = ModelScorer(build(seed, target_vocabulary=7))
    limit = len(line) + 1
    everything = every_output(scorer, line, limit, alpha)
    config = SearchConfig(
        beam=len(everything), nbest=len(everything), extra_length=1, length_penalty=alpha
    )
    assert_same(search(scorer, *pad([line, [7, 7]]), config)[:1], [everything])
    best = vary(config, nbest=1)
    assert_same(search(scorer, *pad([line]), best), [everything[:1]])


@every_way
@shared_fixture
@given(lines=sources, seed=st.integers(0, 99))
def test_forced_decoding_gives_the_score_of_search(
    build: Build, pad: Pad, config: SearchConfig, lines: list[list[int]], seed: int
) -> None:
    scorer = ModelScorer(build(seed))
    found = search(scorer, *pad(lines), config)
    pairs = [
        (line, hypothesis)
        for line, hypotheses in zip(lines, found, strict=True)
        for hypothesis in hypotheses
    ]
    batch = make_batch([line for line, _ in pairs], [hypothesis.ids for _, hypothesis in pairs])
    sums = score_targets(
        scorer, batch.source, batch.source_mask, batch.target_input, batch.target_output
    )
    for (line, hypothesis), total in zip(pairs, sums.tolist(), strict=True):
        length = len(hypothesis.ids)
        assert hypothesis.log_probability == pytest.approx(total)
        assert hypothesis.score == pytest.approx(total / ((6 + length) / 6) ** 0.6)
        assert length <= len(line) + 3
        assert hypothesis.ended == (length < len(line) + 3)


def forced(scorer: Scorer, source: list[int], target: list[int]) -> list[float]:
    """Log-probabilities of each piece and the end symbol, read all at once."""
    batch = make_batch([source], [target])
    memory = scorer.encode(batch.source, batch.source_mask)
    scores, _ = scorer.step(batch.target_input, memory, scorer.start(memory))
    each: list[float] = scores[0].gather(1, batch.target_output[0].unsqueeze(1))[:, 0].tolist()
    return each


@pytest.mark.parametrize("changes", [{}, {"early_end": "quick"}, {"minimum_length": 2}])
@every_way
@shared_fixture
@given(lines=sources, seed=st.integers(0, 99))
@pytest.mark.no_cover
def test_forced_decoding_gives_the_scores_of_tokens(
    build: Build,
    pad: Pad,
    config: SearchConfig,
    lines: list[list[int]],
    seed: int,
    changes: dict[str, object],
) -> None:
    scorer = Ensemble([ModelScorer(build(seed)), ModelScorer(build(seed + 1))])
    found = search(scorer, *pad(lines), vary(config, coverage_penalty=0, **changes))
    for line, hypotheses in zip(lines, found, strict=True):
        for one in hypotheses:
            assert one.token_scores == pytest.approx(forced(scorer, line, one.ids))
            assert math.fsum(one.token_scores or ()) == pytest.approx(one.log_probability)


@every_way
@shared_fixture
@given(lines=sources, order=st.randoms(use_true_random=False), seed=st.integers(0, 99))
def test_neither_batch_nor_order_matters(
    build: Build,
    pad: Pad,
    config: SearchConfig,
    lines: list[list[int]],
    order: random.Random,
    seed: int,
) -> None:
    scorer = ModelScorer(build(seed))
    together = search(scorer, *pad(lines), config)
    for number, line in enumerate(lines):
        alone = search(scorer, *pad([line]), config, numbers=[number])
        assert_same(alone, together[number : number + 1])
    numbers = list(range(len(lines)))
    order.shuffle(numbers)
    shuffled = search(scorer, *pad([lines[n] for n in numbers]), config, numbers=numbers)
    assert_same(shuffled, [together[n] for n in numbers])


@shared_fixture
@given(lines=sources, seed=st.integers(0, 99), nbest=st.integers(1, 6))
def test_the_nbest_are_distinct_and_sorted(
    build: Build, pad: Pad, lines: list[list[int]], seed: int, nbest: int
) -> None:
    config = SearchConfig(beam=6, nbest=nbest, extra_length=2)
    for hypotheses in search(ModelScorer(build(seed)), *pad(lines), config):
        assert 1 <= len(hypotheses) <= nbest
        assert len({tuple(hypothesis.ids) for hypothesis in hypotheses}) == len(hypotheses)
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)


def outputs(found: list[list[Hypothesis]]) -> list[list[int]]:
    return [hypothesis.ids for hypotheses in found for hypothesis in hypotheses]


@every_way
def test_special_symbols_and_banned_pieces_are_never_put_out(
    build: Build, pad: Pad, config: SearchConfig
) -> None:
    for seed in range(10):
        scorer = ModelScorer(build(seed, spread=0.1))
        found = outputs(search(scorer, *pad([[5, 6], [7]]), config, never=[4, 6]))
        assert not {PAD, UNK, BOS, EOS, 4, 6} & {i for ids in found for i in ids}


@every_way
def test_the_unknown_piece_comes_only_where_it_is_allowed(
    build: Build, pad: Pad, config: SearchConfig
) -> None:
    model = build()
    with torch.no_grad():
        output = model.get_parameter("output.weight")
        output[UNK] = output[5] + 0.01
    pair = vary(config, minimum_length=3), vary(config, minimum_length=3, allow_unknown=True)
    without, with_unknown = (
        outputs(search(ModelScorer(model), *pad([[5, 6]] * 40), way)) for way in pair
    )
    assert not any(UNK in ids for ids in without)
    assert any(UNK in ids or 5 not in ids for ids in with_unknown)


@every_way
@pytest.mark.parametrize("minimum", [1, 4, 5])
def test_no_output_is_shorter_than_the_minimum(
    build: Build, pad: Pad, config: SearchConfig, minimum: int
) -> None:
    for seed in range(4):
        config = vary(config, minimum_length=minimum)
        found = search(ModelScorer(build(seed)), *pad([[5, 6], [7, 8, 9, 4]]), config)
        assert all(len(ids) >= minimum for ids in outputs(found))


@every_way
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_ngram_comes_twice(build: Build, pad: Pad, config: SearchConfig, size: int) -> None:
    config = vary(config, no_repeat_ngram=size, extra_length=20)
    for seed in range(4):
        found = search(ModelScorer(build(seed)), *pad([[5, 6], [7]]), config)
        for ids in outputs(found):
            ngrams = [tuple(ids[i : i + size]) for i in range(len(ids) - size + 1)]
            assert len(set(ngrams)) == len(ngrams)


@every_way
def test_outputs_open_with_their_prefix(build: Build, pad: Pad, config: SearchConfig) -> None:
    prefixes: list[list[int]] = [[4, 4, 4], [], [9], [PAD, 12, 11, 10, 9, 8, 7, 6]]
    config = vary(config, no_repeat_ngram=1, minimum_length=2)  # a prefix comes before these
    scorer = ModelScorer(build())
    source, mask = pad([[5, 6], [7, 5], [8], [9]])
    found = search(scorer, source, mask, config, prefixes=prefixes)
    for prefix, hypotheses in zip(prefixes, found, strict=True):
        assert hypotheses
        for hypothesis in hypotheses:
            assert hypothesis.ids[: len(prefix)] == prefix
    assert_same(found[1:2], search(scorer, source, mask, config)[1:2])


@every_way
def test_where_nothing_else_is_left_an_output_may_end_early(
    build: Build, pad: Pad, config: SearchConfig
) -> None:
    config = vary(config, minimum_length=9, no_repeat_ngram=1, extra_length=20)
    found = search(ModelScorer(build(target_vocabulary=7)), *pad([[5, 6], [7]]), config)
    assert all(sorted(ids) == [4, 5, 6] for ids in outputs(found))
    assert all(found)


@every_way
def test_the_limit_beats_the_minimum(build: Build, pad: Pad, config: SearchConfig) -> None:
    config = vary(config, minimum_length=9, extra_length=1)
    found = search(ModelScorer(build()), *pad([[5, 6], []]), config)
    assert {len(h.ids) for h in found[0]} == {3}
    assert {len(h.ids) for h in found[1]} == {1}
    assert not any(h.ended for h in itertools.chain(*found))


@every_way
def test_a_bfloat16_model_searches_alike(build: Build, pad: Pad, config: SearchConfig) -> None:
    scorer = ModelScorer(build().bfloat16())
    found = search(scorer, *pad([[5, 6, 7], [8]]), config)
    assert all(found)
    again = search(scorer, *pad([[5, 6, 7], [8]]), config)
    assert outputs(again) == outputs(found)


@every_way
def test_an_empty_batch_has_no_translations(build: Build, pad: Pad, config: SearchConfig) -> None:
    source, mask = pad([[5]])
    assert search(ModelScorer(build()), source[:0], mask[:0], config) == []


def test_more_hypotheses_than_the_beam_are_refused() -> None:
    with pytest.raises(ConfigError, match="nbest 5 needs a beam at least as wide, not 4"):
        parse(SearchConfig, {"nbest": 5}, "test")
    assert parse(SearchConfig, {"nbest": 5, "sampling": {}}, "test").rows == 5


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"nbest": 5, "mbr": {"samples": 4}}, "nbest 5 is more than the 4 candidates"),
        (
            {"nbest": 3, "beam": 2, "mbr": {"samples": 9, "candidates": "beam"}},
            "nbest 3 is more than the 2 candidates",
        ),
        (
            {"nbest": 7, "beam": 2, "mbr": {"samples": 4, "candidates": "both"}},
            "nbest 7 is more than the 6 candidates",
        ),
        ({"grammar": "trees", "mbr": {"samples": 4}}, "grammar trees has none"),
        ({"grammar": "trees", "no_repeat_ngram": 3}, "trees repeat their brackets"),
    ],
)
def test_settings_that_contradict_are_refused(values: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(SearchConfig, values, "search")
    fitting = {**values, "nbest": 2, "grammar": "any"}
    assert parse(SearchConfig, fitting, "search").nbest == 2


def test_lines_that_a_model_cannot_read_are_refused() -> None:
    config = SearchConfig(max_source_pieces=7)
    assert config.refusal(7, None) is None
    assert "8 pieces are more than search.max_source_pieces 7" in str(config.refusal(8, None))
    assert config.refusal(4, 5) is None
    assert "model.max_positions 5" in str(config.refusal(5, 5)), "the end symbol takes one"


def test_only_what_is_searched_for_is_searched_for_again() -> None:
    assert SearchConfig().searches_again
    assert not SearchConfig(degenerate="keep").searches_again
    assert not SearchConfig(sampling=SamplingConfig()).searches_again


def test_trees_need_symbols(build: Build, pad: Pad) -> None:
    with pytest.raises(ConfigError, match="needs the symbols"):
        search(ModelScorer(build(1)), *pad([[8, 9]]), SearchConfig(grammar="trees"))


@pytest.mark.parametrize("part", [SearchConfig, SamplingConfig])
def test_no_number_may_be_infinite_or_none(part: type[SearchConfig] | type[SamplingConfig]) -> None:
    names = [name for name, field in part.model_fields.items() if field.annotation is float]
    assert names
    for name in names:
        for value in (math.inf, -math.inf, math.nan):
            with pytest.raises(ConfigError, match=rf"test: {name}: .*found {value}"):
                parse(part, {name: value}, "test")


@pytest.mark.parametrize(
    "name", ["beam", "nbest", "extra_length", "batch_tokens", "buffer_lines", "length_penalty"]
)
def test_what_would_fill_the_memory_or_never_end_is_refused(name: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"test: {name}: .*less than or equal to .*found 10{{9}}"
    ):
        parse(SearchConfig, {name: 10**9}, "test")


@pytest.mark.parametrize(("kind", "tokens"), [("cpu", 8192), ("cuda", 65_536)])
def test_batches_are_larger_on_a_gpu(kind: str, tokens: int) -> None:
    device = torch.device(kind)
    assert SearchConfig().sized_for(device).tokens_at_once == tokens
    assert SearchConfig(batch_tokens=7).sized_for(device).tokens_at_once == 7


@every_way
def test_the_maximum_holds_whatever_the_source(
    build: Build, pad: Pad, config: SearchConfig
) -> None:
    config = vary(config, minimum_length=3, maximum_length=3, extra_length=9)
    found = search(ModelScorer(build()), *pad([[5], [6, 7, 8, 9, 5, 6]]), config)
    assert {len(h.ids) for hypotheses in found for h in hypotheses} == {3}
    assert config.longest(2) == 3
    assert vary(config, maximum_length=None).longest(2) == 11


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3}, {"sampling": {}}])
def test_outputs_stay_within_the_positions_that_a_model_has_learned(
    options: dict[str, object],
) -> None:
    torch.manual_seed(1)
    config = TransformerConfig(
        d_model=6, d_ff=7, heads=2, positions="learned", max_positions=5, dropout=0.0
    )
    scorer = ModelScorer(Transformer(config, 11, 11).eval())
    source, mask = pad_sources([[4, 5, 6, 7], [8]])
    wanted = SearchConfig(minimum_length=9, **options)
    for scorers in (scorer, Ensemble([scorer, scorer])):
        for found in search(scorers, source, mask, wanted):
            assert len(found[0].ids) == 4
