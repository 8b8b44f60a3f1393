"""The numbers of an adaptation follow the amount of text, within bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from listed_pieces import listed

from dragoman.core.errors import ConfigError
from dragoman.techniques.adaptation.adaptation_plan import (
    FEWEST_STEPS,
    VocabularyChoice,
    choose_vocabulary,
    planned,
)
from dragoman.text.formats import Pair
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies


@given(st.integers(1, 10**8), st.integers(1, 10**8), st.sampled_from([64, 128, 512]))
def test_more_text_is_never_learned_for_fewer_steps(one: int, two: int, width: int) -> None:
    few, many = (planned(tokens, width, 1.0) for tokens in sorted([one, two]))
    assert FEWEST_STEPS <= few.steps <= many.steps
    assert few.step_tokens <= many.step_tokens
    assert few.peak_learning_rate <= many.peak_learning_rate <= 10.1 * few.peak_learning_rate
    assert few.replay_weight <= many.replay_weight <= 1
    assert few.warmup_steps < few.steps
    assert few.validation_steps <= few.steps


@pytest.mark.parametrize(
    ("tokens", "steps", "rate", "replay_weight"),
    [
        (6, 240, 4.19e-5, 0.075),
        (80, 240, 5.24e-5, 1.0),
        (96, 240, 5.74e-5, 1.0),
        (1_000, 240, 1.85e-4, 1.0),
        (5_120, 240, 4.19e-4, 1.0),
        (10_000, 312, 4.19e-4, 1.0),
        (300_000, 2000, 4.19e-4, 1.0),
    ],
)
def test_from_one_pair_to_thousands(
    tokens: int, steps: int, rate: float, replay_weight: float
) -> None:
    """The rate falls with what would be repeated more than 30 times, to a tenth at the least.

    General text counts at most eight times as much as all that a step has of the domain.
    """
    plan = planned(tokens, 128, 1.0)
    assert (plan.steps, plan.peak_learning_rate) == (steps, rate)
    assert plan.replay_weight == replay_weight


def test_a_token_of_general_text_counts_as_the_ratio_says() -> None:
    one, half = planned(10_000, 128, 1.0), planned(10_000, 128, 0.5)
    assert half.replay_weight == one.replay_weight / 2
    assert planned(10_000, 128, 0.0).replay_weight == 0


def test_an_adapter_learns_faster() -> None:
    full, lora = planned(10_000, 128, 1.0), planned(10_000, 128, 1.0, "lora")
    assert lora.peak_learning_rate == pytest.approx(10 * full.peak_learning_rate, rel=0.01)


KNOWN = [Pair("the light is on", "das licht ist an", n) for n in range(30)]
OTHER = [Pair("the light is on", "свет включён", n) for n in range(30)]
PARENT = train_vocabularies(KNOWN, VocabularyConfig(size=45), seed=1)


def size(choice: VocabularyChoice, pairs: list[Pair], tags: tuple[str, ...] = ()) -> int:
    """Of what is chosen; 0 if the parent's is kept."""
    chosen = choose_vocabulary(choice, PARENT, pairs, tags=tags, general=KNOWN)
    section = chosen.section()
    assert (chosen.extended is None) == (not section)
    return int(section.get("size", 0))


def test_another_script_is_a_reason_to_extend_and_the_same_text_is_none() -> None:
    assert size("auto", KNOWN) == 0
    assert size("auto", OTHER) > len(PARENT.source)
    assert size("keep", OTHER) == 0
    assert size("extend", OTHER) == size("auto", OTHER)


def test_asking_for_an_extension_that_has_nothing_to_add_keeps_the_vocabulary() -> None:
    found = choose_vocabulary("extend", PARENT, KNOWN)
    assert found.extended is None and found.section() == {}
    assert any("extending by 0 pieces does not pay" in note for note in found.notes)


def test_a_tag_is_added_and_cannot_be_done_without() -> None:
    chosen = choose_vocabulary("auto", PARENT, KNOWN, tags=("<2ru>",))
    assert isinstance(chosen.extended, Vocabularies)
    source = chosen.extended.source
    assert source.pieces(source.tags) == ["<2ru>"]
    assert chosen.section() == {"size": len(source)}
    with pytest.raises(ConfigError, match=r"no tag <2ru>.*choose --vocabulary auto"):
        choose_vocabulary("keep", PARENT, KNOWN, tags=("<2ru>",))
    again = choose_vocabulary("keep", chosen.extended, KNOWN, tags=("<2ru>",))
    assert again.extended is None


def test_a_list_of_pieces_is_kept_unless_an_extension_is_asked_for() -> None:
    parent = Vocabularies(listed("the", "light"), listed("das", "licht"))
    found = choose_vocabulary("auto", parent, OTHER)
    assert found.extended is None and "fixed list" in found.notes[0]
    with pytest.raises(ConfigError, match="fixed list of pieces"):
        choose_vocabulary("extend", parent, OTHER)
    with pytest.raises(ConfigError, match="fixed list of pieces"):
        choose_vocabulary("auto", parent, OTHER, tags=("<2ru>",))
