"""Answers are what another simulation, which reads the sentences, finds."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.memory_network.stories import OBJECTS, PEOPLE, PLACES, TASKS, WORDS, Question


def simulated(question: Question) -> str:
    """Follow a story by its words alone: everybody's place, and a bag for each person."""
    at: dict[str, str] = {}
    bags: dict[str, set[str]] = {person: set() for person in PEOPLE}
    for who, *_, last in question.story:
        if last in PLACES:
            assert at.get(who) != last  # nobody goes where they are
            at[who] = last
            at.update((thing, last) for thing in bags[who])
        elif last in bags[who]:
            bags[who].remove(last)
        else:
            assert all(last not in bag for bag in bags.values())  # nobody has it already
            assert at.get(last, at[who]) == at[who]  # it can be reached
            bags[who].add(last)
            at[last] = at[who]
    asked = question.question
    if asked[0] == "where":
        return at[asked[-1]]
    return "yes" if at[asked[1]] == asked[-1] else "no"


@given(st.sampled_from(sorted(TASKS)), st.integers(2, 40), st.integers(0, 99999))
def test_answers_are_right(task: str, sentences: int, seed: int) -> None:
    question = TASKS[task](sentences, Random(seed))
    assert len(question.story) == sentences
    assert question.answer == simulated(question)
    words = {word for line in (*question.story, question.question) for word in line}
    assert words | {question.answer} <= set(WORDS)


def test_half_of_the_answers_are_yes_and_no_place_is_preferred() -> None:
    rng = Random(1)
    said = Counter(TASKS["yes or no"](4, rng).answer for _ in range(1000))
    assert 450 < said["yes"] < 550
    places = Counter(TASKS["two facts"](8, rng).answer for _ in range(1200))
    assert set(places) == set(PLACES)
    assert max(places.values()) < 260


def test_objects_are_taken_and_put_down() -> None:
    rng = Random(1)
    story = [line for _ in range(50) for line in TASKS["two facts"](10, rng).story]
    verbs = Counter(line[1] for line in story if line[-1] in OBJECTS)
    assert min(verbs[verb] for verb in ("picks", "takes", "puts", "leaves")) > 20


@pytest.mark.parametrize("task", sorted(TASKS))
def test_the_same_seed_draws_the_same_story(task: str) -> None:
    one, same, other = (TASKS[task](6, Random(seed)) for seed in (1, 1, 2))
    assert one == same != other
