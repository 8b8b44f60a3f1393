"""Stories of people, places and objects, and questions about them, drawn from a seed.

After the first, second and sixth of the bAbI tasks (Weston et al. 2015, arXiv:1502.05698): an
answer needs one fact, two facts, or is yes or no.  Words and sentences are this project's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

PEOPLE = ("alice", "bruno", "chidi", "dilek", "emil", "farah")
PLACES = ("attic", "bakery", "cellar", "harbour", "library", "orchard")
OBJECTS = ("kettle", "lantern", "parcel", "violin")
_GOES = ("goes to the", "walks to the", "hurries to the")
_TAKES = ("picks up the", "takes the")
_DROPS = ("puts down the", "leaves the")


@dataclass(frozen=True)
class Question:
    """A story of sentences of words, a question about it and the one word that answers it."""

    story: tuple[tuple[str, ...], ...]
    question: tuple[str, ...]
    answer: str


@dataclass
class World:
    """Who is where, and who has what, while a story is told."""

    place: dict[str, str] = field(default_factory=dict)
    """Of people, and of objects that were put down."""
    holder: dict[str, str] = field(default_factory=dict)
    """The person who has an object."""
    story: list[tuple[str, ...]] = field(default_factory=list)

    def tell(self, *parts: str) -> None:
        """Add a sentence, given as words and phrases."""
        self.story.append(tuple(" ".join(parts).split()))

    def go(self, rng: Random) -> None:
        """Somebody goes to another place."""
        person = rng.choice(PEOPLE)
        place = rng.choice([place for place in PLACES if place != self.place.get(person)])
        self.place[person] = place
        self.tell(person, rng.choice(_GOES), place)

    def handle(self, rng: Random) -> bool:
        """Somebody who is somewhere takes or leaves an object; False if nobody can."""
        here = [person for person in PEOPLE if person in self.place]
        if not here:
            return False
        thing = rng.choice(OBJECTS)
        holder = self.holder.pop(thing, None)
        if holder:
            self.place[thing] = self.place[holder]
            self.tell(holder, rng.choice(_DROPS), thing)
        else:
            # Whoever takes an object that was put down must be where it is.
            there = self.place.get(thing)
            near = [person for person in here if there in (None, self.place[person])]
            if not near:
                return False
            self.holder[thing] = rng.choice(near)
            self.place.pop(thing, None)
            self.tell(self.holder[thing], rng.choice(_TAKES), thing)
        return True

    def where(self, thing: str) -> str:
        """The place of a person or an object."""
        return self.place[self.holder.get(thing, thing)]


def _one_fact(sentences: int, rng: Random) -> Question:
    """Where a person is: the last sentence about this person says it."""
    world = World()
    while len(world.story) < sentences:
        world.go(rng)
    person = rng.choice(sorted(world.place))
    return Question(tuple(world.story), ("where", "is", person), world.where(person))


def _two_facts(sentences: int, rng: Random) -> Question:
    """Where an object is: who had it last, and where that person was then or is now."""
    world = World()
    while len(world.story) < sentences:
        # The last sentence is about an object if none was yet, so that there is a question.
        last = len(world.story) == sentences - 1 and not (world.holder or _dropped(world))
        if last or rng.random() < 0.5:
            if not world.handle(rng):
                world.go(rng)
        else:
            world.go(rng)
    thing = rng.choice(sorted([*world.holder, *_dropped(world)]))
    return Question(tuple(world.story), ("where", "is", "the", thing), world.where(thing))


def _dropped(world: World) -> list[str]:
    return [thing for thing in world.place if thing in OBJECTS]


def _yes_or_no(sentences: int, rng: Random) -> Question:
    """Whether a person is in a place, which is so in half of the questions."""
    simple = _one_fact(sentences, rng)
    person, place, answer = simple.question[-1], simple.answer, "yes"
    if rng.random() < 0.5:
        place, answer = rng.choice([other for other in PLACES if other != place]), "no"
    return Question(simple.story, ("is", person, "in", "the", place), answer)


TASKS: dict[str, Callable[[int, Random], Question]] = {
    "one fact": _one_fact,
    "two facts": _two_facts,
    "yes or no": _yes_or_no,
}
"""Draw a question about a story of that number of sentences, two or more."""

CHANCE = {"one fact": 1 / len(PLACES), "two facts": 1 / len(PLACES), "yes or no": 1 / 2}
"""Share of right answers by guessing."""

_PHRASES = (*_GOES, *_TAKES, *_DROPS, "where is yes no in", *PEOPLE, *PLACES, *OBJECTS)
WORDS = tuple(sorted({word for phrase in _PHRASES for word in phrase.split()}))
"""All words of stories, questions and answers."""
