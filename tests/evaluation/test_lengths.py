"""Scores by the length of the source."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.evaluation.lengths import even_bounds, score_by_length
from dragoman.evaluation.metrics import EvaluationConfig, SourceSide, score_corpus
from dragoman.text.terms.terminology import counters

BLEU = EvaluationConfig(metrics=("bleu", "chrf"), bleu_tokenize="none")

lengths_of_sentences = st.lists(st.integers(0, 13), min_size=1, max_size=23)


def text(lengths: list[int], seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices("abc", k=length + 4)) for length in lengths]


@given(lengths=lengths_of_sentences, bounds=st.sets(st.integers(0, 15), max_size=4))
@settings(max_examples=20, deadline=None)
def test_each_row_is_the_corpus_score_of_its_sentences(
    lengths: list[int], bounds: set[int]
) -> None:
    systems = {"one": text(lengths, 1), "two": text(lengths, 2)}
    references = [text(lengths, 3), text(lengths, 4)]
    buckets = score_by_length(lengths, systems, references, BLEU, sorted(bounds))
    assert sum(bucket.sentences for bucket in buckets) == len(lengths)
    for shorter, longer in pairwise(buckets):
        assert shorter.longest < longer.shortest
        if bounds:
            assert any(shorter.longest <= bound < longer.shortest for bound in bounds)
    for bucket in buckets:
        rows = [
            row for row, length in enumerate(lengths) if bucket.shortest <= length <= bucket.longest
        ]
        assert bucket.sentences == len(rows)
        assert not any(bucket.shortest <= bound < bucket.longest for bound in bounds)
        chosen = [[lines[row] for row in rows] for lines in references]
        for name, lines in systems.items():
            whole = score_corpus([lines[row] for row in rows], chosen, BLEU)
            assert bucket.scores[name] == whole[0]


@given(lengths=lengths_of_sentences)
def test_without_bounds_rows_are_as_even_as_lengths_allow(lengths: list[int]) -> None:
    bounds = even_bounds(lengths, 5)
    assert bounds == sorted({*bounds})
    assert all(min(lengths) <= bound < max(lengths) for bound in bounds)
    ranked = list(range(10, 10 * (len(lengths) + 1), 10))  # all different
    edges = [0, *even_bounds(ranked, 5), ranked[-1]]
    sizes = [sum(low < length <= high for length in ranked) for low, high in pairwise(edges)]
    assert len(sizes) == min(5, len(ranked))
    assert max(sizes) - min(sizes) <= 1


def test_intervals_and_plain_values() -> None:
    config = BLEU.model_copy(update={"confidence_samples": 20})
    lengths = [3, 9, 4, 9, 12]
    systems, references = {"a": text(lengths, 1)}, [text(lengths, 2)]
    short, long = score_by_length(lengths, systems, references, config, bounds=[8])
    assert str(short) == "3 to 4"
    assert long.scores["a"].confidence is not None
    values = json.loads(json.dumps(long.to_json()))
    assert (values["shortest"], values["longest"], values["sentences"]) == (9, 12, 3)
    assert values["scores"]["a"]["name"] == "BLEU"


def test_metrics_of_sources_see_the_sources_of_each_row() -> None:
    sources = ["{a}", "see {b} and {c} there", "a {d}", "{e} is what there is"]
    translations = ["{a}", "{b}", "{d}", "{e}"]
    config = EvaluationConfig(metrics=("placeholders", "bleu"))
    short, long = score_by_length(
        [len(line.split()) for line in sources],
        {"a": translations},
        [["of no use"] * 4],
        config,
        bounds=[2],
        source=SourceSide(sources, counters()),
    )
    assert (short.sentences, short.scores["a"].value) == (2, 100)
    assert long.scores["a"].value == pytest.approx(200 / 3)


def test_lines_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(DataError, match="1 lines of source text, but 2 lengths"):
        score_by_length([1, 2], {"a": ["x", "y"]}, [["x", "y"]], source=SourceSide(["x"], {}))
    with pytest.raises(DataError, match="a: 1 lines, but 2 sources"):
        score_by_length([1, 2], {"a": ["x"]}, [["x"]])
    with pytest.raises(DataError, match="b: 2 lines, but reference 1 has 1"):
        score_by_length([1], {"a": ["x"], "b": ["x", "y"]}, [["x"]])
