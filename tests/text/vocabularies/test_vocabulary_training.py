"""Languages of unequal size, balanced by a temperature."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.examples import Example, Origin
from dragoman.text.reservoir import tempered
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import (
    balanced_lines,
    counted_lines,
    train_weighted_vocabularies,
)

sizes = st.dictionaries(st.text(max_size=3), st.floats(1, 1e9), min_size=1, max_size=6)


@given(sizes, st.floats(1, 100))
def test_shares_are_sizes_to_the_power(sizes: dict[str, float], temperature: float) -> None:
    factors = tempered(sizes, temperature)
    largest = max(sizes, key=sizes.__getitem__)
    assert factors[largest] == 1
    for group, size in sizes.items():
        share = size * factors[group] / sizes[largest]
        assert share == pytest.approx((size / sizes[largest]) ** (1 / temperature))


def pairs(**counts: int) -> list[tuple[Example, float]]:
    """English with so many lines of each language, whose words are its own."""
    return [
        (Example(f"e{number}", f"{name}{number}", "en", name, (), Origin("p", number)), 1.0)
        for name, count in counts.items()
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("temperature", "expected"), [(1, {"de": 1000, "fr": 10}), (1000, {"de": 1010, "fr": 1010})]
)
def test_every_language_counts_as_it_should(temperature: float, expected: dict[str, float]) -> None:
    sources, targets = balanced_lines(pairs(de=1000, fr=10), temperature, 10_000, 1, joint=True)
    counted: Counter[str] = Counter()
    for line, weight in targets:
        counted[line[:2]] += weight  # type: ignore[assignment]
    assert counted == {name: pytest.approx(count, rel=0.01) for name, count in expected.items()}
    assert {weight for _, weight in sources} == {1.0}  # English is the largest by far


def test_a_small_direction_keeps_its_place_in_the_sample() -> None:
    _, targets = balanced_lines(pairs(de=5000, fr=10), 5, 100, 1, joint=False)
    names = Counter(line[:2] for line, _ in targets)
    assert names == {"de": 50, "fr": 10}
    weights = {line[:2]: weight for line, weight in targets}
    assert weights["de"] == pytest.approx(5000 / 50)
    assert weights["fr"] == pytest.approx((5000 / 10) ** 0.8)


@pytest.mark.parametrize("temperature", [2, 5, 100])
def test_counts_keep_the_shares_of_very_unequal_languages(temperature: float) -> None:
    config = VocabularyConfig(balance=temperature)
    _, targets = counted_lines(pairs(de=50_000, gd=5), config, 1, joint=False)
    counted: Counter[str] = Counter()
    for line, count in targets:
        counted[line[:2]] += count
    expected = (5 / 50_000) ** (1 / temperature)
    assert counted["gd"] / counted["de"] == pytest.approx(expected, rel=0.01)


def test_a_vocabulary_gives_a_small_language_its_pieces() -> None:
    large = [f"{a}{b}{c}" for a in "bdfgkl" for b in "aeiou" for c in "mnrst"]
    small = ["žluťoučký", "kůňúpěl", "ďábelské"]
    corpus = [
        (Example("x", large[n % len(large)], "en", "de", (), Origin("p", n)), 1.0)
        for n in range(1500)
    ] + [(Example("x", small[n % 3], "en", "cs", (), Origin("p", n)), 1.0) for n in range(6)]

    def pieces(balance: float | None) -> int:
        config = VocabularyConfig(size=120, balance=balance)
        found = train_weighted_vocabularies(corpus, config, seed=1).target
        return sum(len(found.encode(word)) for word in small)

    assert pieces(5) < pieces(None)
