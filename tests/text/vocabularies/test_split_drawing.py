"""Splits of many words at once are as likely as those of one, and the seed decides them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from splitting_processes import MERGES, UNIGRAMS, probabilities

from dragoman.text.vocabularies import split_drawing
from dragoman.text.vocabularies.split_drawing import SplitDrawing
from dragoman.text.vocabularies.subword_sampling import (
    BpeDropout,
    SplittingProcess,
    UnigramSampling,
)

BPE = BpeDropout(MERGES, 0.3)
UNIGRAM = UnigramSampling(UNIGRAMS, 0.5)
LETTERS = ["<2de>", "<0x41>", "▁", *"abcdx"]
PIECES = [*LETTERS, *MERGES]
ATOMS = [piece.startswith("<") for piece in PIECES]
processes = pytest.mark.parametrize("process", [BPE, UNIGRAM], ids=["bpe", "unigram"])


def drawing(process: SplittingProcess = BPE) -> SplitDrawing:
    return SplitDrawing(process, PIECES, ATOMS)


def ids(*pieces: str) -> list[int]:
    return [PIECES.index(piece) for piece in pieces]


def draw(source: SplitDrawing, sentences: list[list[int]], seed: int = 1) -> list[list[str]]:
    flat = np.array([one for sentence in sentences for one in sentence], dtype=np.int64)
    lengths = np.array([len(sentence) for sentence in sentences])
    new, counts = source.draw(flat, lengths, np.random.default_rng(seed))
    assert len(new) == counts.sum()
    parts = np.split(new, np.cumsum(counts)[:-1])
    return [[PIECES[one] for one in part] for part in parts]


@processes
@pytest.mark.parametrize("longest", [2, 3])
def test_splits_are_as_likely_as_the_process_says(
    process: SplittingProcess, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_drawing, "LONGEST_REMEMBERED", longest)
    expected = probabilities(process, "abc")
    found = Counter(map(tuple, draw(drawing(process), [ids("ab", "c")] * 20_000)))
    assert found.keys() <= {split for split, chance in expected.items() if chance > 0}
    for split, chance in expected.items():
        error = 4.5 * (chance * (1 - chance) / 20_000) ** 0.5
        assert abs(found[split] / 20_000 - chance) <= error


@processes
def test_words_end_at_spaces_tags_and_bytes(process: SplittingProcess) -> None:
    """Across them, "ab" could be merged."""
    pieces = ["<2de>", "a", "<0x41>", "b", "<2de>", "<2de>", "a", "<0x41>"]
    assert draw(drawing(process), [ids(*pieces)] * 50) == [pieces] * 50
    source = SplitDrawing(BpeDropout({**MERGES, "a▁": 1.0}, 0.1), PIECES, ATOMS)
    assert draw(source, [ids("a", "▁", "b")] * 50) == [["a", "▁", "b"]] * 50


def test_sentences_stay_apart_and_empty_ones_empty() -> None:
    sentences = [[], ids("a"), ids("b"), [], ids("abc", "d"), []]
    for seed in range(20):
        found = draw(drawing(), sentences, seed)
        assert ["".join(one) for one in found] == ["", "a", "b", "", "abcd", ""]
    assert draw(drawing(), [[], []]) == [[], []]


def test_what_was_drawn_before_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [ids("abcd", "x"), ids("ab", "cd"), ids("bc")] * 30
    expected = draw(drawing(), sentences, 7)
    used = drawing()
    for seed in range(9):
        draw(used, sentences[::-1], seed)
    assert draw(used, sentences, 7) == expected
    monkeypatch.setattr(split_drawing, "MOST_STATES", 3)  # forgets every time
    assert draw(used, sentences, 7) == expected
    assert draw(used, sentences, 8) != expected


def test_of_long_words_the_ways_are_not_remembered() -> None:
    """A sentence without spaces is such a word, and has states that no other one has."""
    source = drawing()
    (found,) = draw(source, [ids("<2de>", *["abcd"] * 100, "<2de>", "ab", "c")])
    assert "".join(found) == f"<2de>{'abcd' * 100}<2de>abc"
    assert sum(len(state) > 4 for state in source._states) == 1


def test_another_process_draws_the_same() -> None:
    code = (
        "import numpy as np\n"
        "from dragoman.text.vocabularies.split_drawing import SplitDrawing\n"
        "from dragoman.text.vocabularies.subword_sampling import BpeDropout\n"
        f"drawing = SplitDrawing(BpeDropout({MERGES!r}, 0.5), {PIECES!r}, {ATOMS!r})\n"
        f"ids = np.array({ids('abcd', 'abcd', 'x') * 50!r})\n"
        "print(drawing.draw(ids, np.array([len(ids)]), np.random.default_rng(3))[0].tolist())\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout != ""
