"""Speeds that are measured on a text."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.training.settings import TrainingConfig
from dragoman.workflows.init import measure
from dragoman.workflows.init.choose import SIZES
from dragoman.workflows.init.look import Facts, look_at
from dragoman.workflows.init.measure import EncodedSample, encode, measure_speed


@pytest.mark.parametrize(("added", "spells_bytes"), [("", False), ("…", True), ("😀", True)])
@pytest.mark.parametrize("side", [0, 1])
def test_bytes_spell_what_the_text_lacks_of_the_held_out_sets(
    added: str, spells_bytes: bool, side: int, tmp_path: Path
) -> None:
    syllables = [f"{consonant}{vowel}" for consonant in "bdfgk" for vowel in "aio"]
    lines = [f"{''.join(one)} {''.join(reversed(one))}" for one in permutations(syllables, 3)]
    text = "".join(f"{line}\t{line}\n" for line in lines)
    (tmp_path / "text.tsv").write_text(f"en\tde\n{text}")
    part = CorpusPart(path=str(tmp_path / "text.tsv"), source="en", target="de")
    facts, sample = look_at([part], ("en", "de"), [[], []])
    held_out = [lines[0], lines[1]]
    held_out[side] += added
    pairs = [Pair(lines[5], lines[6], 1), Pair(held_out[0], held_out[1], 2)]
    encoded = encode(facts, sample, pairs)
    assert encoded.config.byte_fallback == spells_bytes
    found = encoded.vocabularies[side].encode(held_out[side])
    assert encoded.vocabularies[side].decode(found) == held_out[side]
    assert not encode(facts, sample).config.byte_fallback


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        ([f"{number}" for number in range(100)], 400),
        ([f"{a}{b} {c}" for a in "abcd" for b in "efghi" for c in "jklm"], 300),
    ],
)
def test_a_text_of_few_short_words_gets_a_small_vocabulary(
    lines: list[str], size: int, tmp_path: Path
) -> None:
    assert encode(*_looked_at(lines, tmp_path)).config.size == size


def test_a_text_of_next_to_nothing_is_told_in_words_of_the_text(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"too few different words and characters .* give more text"
    ):
        encode(*_looked_at(["a", "aa", "aaa", "b"], tmp_path))


def _looked_at(lines: list[str], folder: Path) -> tuple[Facts, list[Pair]]:
    text = "".join(f"{line}\t{line[::-1]}!\n" for line in lines)
    (folder / "text.tsv").write_text(f"en\tde\n{text}")
    part = CorpusPart(path=str(folder / "text.tsv"), source="en", target="de")
    return look_at([part], ("en", "de"), [[], []])


def test_lines_that_are_all_too_long_are_told() -> None:
    """Rather than looked through for ever."""
    pairs = [Pair(f"{'a b c ' * 9}{n}", f"{'d e f ' * 9}{n}", n) for n in range(9)]
    config = VocabularyConfig(size=30)
    vocabularies = train_vocabularies(pairs, config, seed=1)
    long = [[7] * 300] * len(pairs)
    encoded = EncodedSample(config, vocabularies, long, long)
    with pytest.raises(DataError, match=r"no pair .* 256 pieces .* split its lines into sentences"):
        measure_speed(SIZES[0], encoded, 1000, 256)


def test_steps_are_measured_with_the_optimizer_that_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Muon takes longer for a step than Adam."""
    seen: list[str] = []

    class Told:
        def __init__(self, model: object, training: TrainingConfig, *_: object, seed: int) -> None:
            seen.append(training.optimizer.kind)

        def tokens_per_second(self, seconds: float) -> float:
            return 1.0

    monkeypatch.setattr(measure, "Rehearsal", Told)
    vocabularies = train_vocabularies(
        [Pair(f"a b c {n}", f"d e f {n}", n) for n in range(9)], VocabularyConfig(size=30), seed=1
    )
    encoded = EncodedSample(VocabularyConfig(size=30), vocabularies, [[7] * 5], [[7] * 5])
    for size in SIZES:
        measure_speed(size, encoded, 1000, 256)
    assert seen == [size.optimizer.kind for size in SIZES]
    assert seen[0] == "muon"
