import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError, MissingExtraError
from dragoman.evaluation.metrics import (
    Confidence,
    EvaluationConfig,
    exact_match,
    is_better,
    perplexity,
    score_corpus,
    sentence_chrf,
)

ALL = EvaluationConfig(metrics=("bleu", "chrf", "ter"))
TOKENISED = EvaluationConfig(metrics=("bleu",), bleu_tokenize="none")

examples = settings(max_examples=25, deadline=None)
words = st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=9)
corpora = st.lists(st.tuples(words, words), min_size=1, max_size=7)


def ngrams(items: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(items[i : i + order]) for i in range(len(items) - order + 1))


def bleu(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float | None:
    """BLEU by the formula of Papineni et al. (2002), one reference, no smoothing."""
    logs = []
    for order in range(1, 5):
        pairs = [
            (ngrams(h, order), ngrams(r, order))
            for h, r in zip(hypotheses, references, strict=True)
        ]
        matches = sum(sum((h & r).values()) for h, r in pairs)
        if matches == 0:
            return None
        logs.append(math.log(matches / sum(sum(h.values()) for h, _ in pairs)))
    lengths = sum(map(len, references)) / sum(map(len, hypotheses))
    return 100 * math.exp(min(0.0, 1 - lengths) + sum(logs) / 4)


def chrf(hypothesis: str, reference: str, beta: int = 2, longest: int = 6) -> float:
    """The F-score of Popović (2015) over the orders that either side has."""
    hypothesis, reference = hypothesis.replace(" ", ""), reference.replace(" ", "")
    precisions, recalls = [], []
    for order in range(1, longest + 1):
        h, r = ngrams(hypothesis, order), ngrams(reference, order)
        if h and r:
            matches = sum((h & r).values())
            precisions.append(matches / sum(h.values()))
            recalls.append(matches / sum(r.values()))
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    if precision + recall == 0:
        return 0.0
    return 100 * (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


@examples
@given(corpora)
def test_bleu_is_the_papers_formula(corpus: list[tuple[list[str], list[str]]]) -> None:
    hypotheses, references = zip(*corpus, strict=True)
    expected = bleu(hypotheses, references)
    if expected is None:  # smoothing begins where the formula ends
        return
    lines = [" ".join(h) for h in hypotheses]
    (score,) = score_corpus(lines, [[" ".join(r) for r in references]], TOKENISED)
    assert score.value == pytest.approx(expected)


@examples
@given(words, words)
def test_chrf_is_the_papers_formula(one: list[str], other: list[str]) -> None:
    hypothesis, reference = " ".join(one), " ".join(other)
    config = EvaluationConfig(metrics=("chrf",))
    (score,) = score_corpus([hypothesis], [[reference]], config)
    assert score.value == pytest.approx(chrf(hypothesis, reference))


def test_ter_counts_edits_and_a_shift_as_one() -> None:
    config = EvaluationConfig(metrics=("ter",))
    reference = ["the cat sat on the red mat"]

    def ter(hypothesis: str) -> float:
        return score_corpus([hypothesis], [reference], config)[0].value

    assert ter("the cat sat on the mat") == pytest.approx(100 / 7)
    assert ter("the dog sat on a red mat") == pytest.approx(200 / 7)
    assert ter("on the red mat the cat sat") == pytest.approx(100 / 7)


@examples
@given(st.lists(words, min_size=1, max_size=7))
def test_a_copy_of_the_reference_is_perfect(lines: list[list[str]]) -> None:
    text = [" ".join(line) for line in lines]
    scores = score_corpus(text, [text], ALL)
    assert [score.value for score in scores] == pytest.approx([100, 100, 0])
    assert exact_match(text, text) == 100


@examples
@given(st.lists(words, min_size=1, max_size=7))
def test_saying_nothing_earns_nothing(lines: list[list[str]]) -> None:
    references = [" ".join(line) for line in lines]
    scores = score_corpus([""] * len(lines), [references], ALL)
    assert [score.value for score in scores] == pytest.approx([0, 0, 100])


@examples
@given(corpora, st.randoms(use_true_random=False))
def test_the_order_of_sentences_does_not_matter(
    corpus: list[tuple[list[str], list[str]]], shuffler: random.Random
) -> None:
    def scores() -> list[float]:
        hypotheses, references = zip(*corpus, strict=True)
        lines = [" ".join(h) for h in hypotheses]
        return [s.value for s in score_corpus(lines, [[" ".join(r) for r in references]], ALL)]

    before = scores()
    shuffler.shuffle(corpus)
    assert scores() == pytest.approx(before)


@examples
@given(corpora)
def test_one_right_reference_among_several_is_enough(
    corpus: list[tuple[list[str], list[str]]],
) -> None:
    hypotheses = [" ".join(h) for h, _ in corpus]
    references = [" ".join(r) for _, r in corpus]
    (score,) = score_corpus(hypotheses, [references, hypotheses], TOKENISED)
    assert score.value == pytest.approx(100)
    assert "nrefs:2" in score.signature


def test_lowercase_overlooks_case_and_says_so() -> None:
    hypotheses, references = ["A CAT SAT ON THE MAT"], [["a cat sat on the mat"]]
    strict, lenient = (
        score_corpus(hypotheses, references, EvaluationConfig(lowercase=lowercase))
        for lowercase in (False, True)
    )
    assert all(score.value < 1 and "case:mixed" in score.signature for score in strict)
    assert all(
        score.value == pytest.approx(100) and "case:lc" in score.signature for score in lenient
    )


def test_the_signature_names_the_tokenizer_and_the_word_order() -> None:
    config = EvaluationConfig(bleu_tokenize="char", chrf_word_order=2)
    bleu_score, chrf_score = score_corpus(["a b"], [["a b"]], config)
    assert "tok:char" in bleu_score.signature
    assert chrf_score.name == "chrF2++"
    assert "nw:2" in chrf_score.signature


def test_a_score_of_zero_has_an_interval_too() -> None:
    config = EvaluationConfig(metrics=("degenerate", "accuracy"), confidence_samples=10)
    scores = score_corpus(["one", "two"], [["1", "2"]], config)
    assert [one.value for one in scores] == [0, 0]
    assert [one.confidence for one in scores] == [Confidence(0.0, 0.0)] * 2


def test_a_single_resample_which_has_no_interval_is_refused() -> None:
    with pytest.raises(ConfigError, match="one resample has no interval; take more"):
        parse(EvaluationConfig, {"confidence_samples": 1}, "evaluate")
    config = parse(EvaluationConfig, {"metrics": ["chrf"], "confidence_samples": 2}, "evaluate")
    (score,) = score_corpus(["a b"], [["a c"]], config)
    assert score.confidence is not None


def test_confidence_interval_holds_the_score_and_narrows_with_more_text() -> None:
    draw = random.Random(3)
    references = [" ".join(draw.choices("abcdefgh", k=8)) for _ in range(400)]
    hypotheses = [r if draw.random() < 0.5 else r[::-1] for r in references]
    config = EvaluationConfig(metrics=("bleu",), bleu_tokenize="none", confidence_samples=200)
    (few,) = score_corpus(hypotheses[:40], [references[:40]], config)
    (many,) = score_corpus(hypotheses, [references], config)
    for score in (few, many):
        assert score.confidence is not None
        assert abs(score.value - score.confidence.mean) < score.confidence.margin
    # Four hundred lines against forty: the margin shrinks by about the square root of ten.
    assert few.confidence is not None
    assert many.confidence is not None
    assert 2 < few.confidence.margin / many.confidence.margin < 5
    assert many == score_corpus(hypotheses, [references], config)[0]
    assert "bs:200" in many.signature
    assert many.to_json()["confidence"]["margin"] == many.confidence.margin
    assert "±" in str(many)


def test_json_is_plain() -> None:
    (score,) = score_corpus(["a b c d"], [["a b c d"]], TOKENISED)
    assert score.to_json() == {
        "name": "BLEU",
        "value": pytest.approx(100),
        "signature": score.signature,
    }
    assert str(score).startswith("BLEU = 100.00 [nrefs:1")


def test_tokenised_text_is_no_reason_to_warn(caplog: pytest.LogCaptureFixture) -> None:
    lines = ["this line ends in a tokenised period ."] * 100
    score_corpus(lines, [lines], TOKENISED)
    assert not caplog.records
    score_corpus(lines, [lines], EvaluationConfig(metrics=("bleu",)))
    assert any("tokenized period" in record.message for record in caplog.records)


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ([], [[]], "hypotheses: no lines"),
        (["a"], [], "no references"),
        (["a"], [["a"], ["a", "b"]], "1 lines, but reference 2 has 2"),
        ("a", [["a"]], "a single text"),
        (["a"], ["a"], "a single text"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    hypotheses: list[str], references: list[list[str]], message: str
) -> None:
    with pytest.raises(DataError, match=message) as error:
        score_corpus(hypotheses, references)
    assert "\n" not in str(error.value)


def test_a_tokenizer_that_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ko_mecab.MeCab", None)
    config = EvaluationConfig(metrics=("bleu",), bleu_tokenize="ko-mecab")
    with pytest.raises(MissingExtraError, match=r"sacrebleu\[ko\]") as error:
        score_corpus(["가"], [["가"]], config)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("values", [{"metrics": ["meteor"]}, {"bleu_tokenise": "none"}])
def test_a_wrong_configuration_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        parse(EvaluationConfig, values, "here")


@examples
@given(st.lists(st.booleans(), min_size=1, max_size=31))
def test_exact_match_is_the_share_of_equal_lines(equal: list[bool]) -> None:
    hypotheses = ["same" if e else "other" for e in equal]
    assert exact_match(hypotheses, ["same"] * len(equal)) == pytest.approx(
        100 * sum(equal) / len(equal)
    )


def test_exact_match_wants_as_many_lines() -> None:
    with pytest.raises(DataError, match="1 lines, but reference 1 has 2"):
        exact_match(["a"], ["a", "b"])


@given(st.integers(2, 40_000), st.integers(1, 500))
@examples
def test_guessing_among_n_tokens_has_perplexity_n(vocabulary: int, tokens: int) -> None:
    assert perplexity(-tokens * math.log(vocabulary), tokens) == pytest.approx(vocabulary)


def test_perplexity_at_the_edges() -> None:
    assert perplexity(0.0, 3) == 1
    assert perplexity(-1e6, 1) == math.inf
    with pytest.raises(DataError, match="no tokens"):
        perplexity(0.0, 0)


def test_sacrebleu_waits_until_it_is_needed() -> None:
    code = (
        "import sys, dragoman.evaluation.metrics, dragoman.evaluation.significance;"
        "sys.exit('sacrebleu' in sys.modules or 'torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_chrf_of_sentences_is_that_of_a_corpus_of_one() -> None:
    hypotheses, references = ["ein Haus", "zwei", ""], ["ein Haus", "drei Häuser", "vier"]
    for config in (EvaluationConfig(), EvaluationConfig(chrf_word_order=2, lowercase=True)):
        alone = config.model_copy(update={"metrics": ("chrf",)})
        expected = [
            score_corpus([one], [[reference]], alone)[0].value
            for one, reference in zip(hypotheses, references, strict=True)
        ]
        assert sentence_chrf(hypotheses, references, config) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "sign"),
    [("bleu", 1), ("chrf", 1), ("ter", -1), ("wrong_language", -1), ("loss", -1)],
)
def test_which_way_is_better(metric: str, sign: int) -> None:
    assert is_better(metric, 10.0 + sign, 10.0)
    assert not is_better(metric, 10.0 - sign, 10.0)
    assert not is_better(metric, 10.0, 10.0)
    assert not is_better(metric, 10.0 + sign, 10.0, margin=0.2)
    assert is_better(metric, 10.0 + 3 * sign, 10.0, margin=0.2)


def test_an_interval_of_chrf_where_next_to_nothing_matches() -> None:
    """Resamples without the one match score 0, of another number type than the others."""
    hypotheses, references = [*[""] * 19, "a b c d"], ["a b c d"] * 20
    config = EvaluationConfig(metrics=("chrf",), confidence_samples=100)
    (score,) = score_corpus(hypotheses, [references], config)
    assert score.confidence is not None
    assert 0 < score.confidence.mean < 100
    assert score.confidence.margin > 0
    assert score.signature.startswith("nrefs:1|bs:100|")


def test_resamples_without_a_word_in_references_have_an_interval() -> None:
    """Where sacrebleu's TER is a plain number, and elsewhere one of NumPy's."""
    config = EvaluationConfig(metrics=("ter",), confidence_samples=100)
    (score,) = score_corpus(["a b c d", ""], [["a b d", ""]], config)
    assert score.confidence is not None
    assert 0 < score.confidence.mean < 100 / 3
    assert score.confidence.margin > 0
