"""Drawing new splits of many words at once.

Training on a GPU reads hundreds of thousands of words per second, too many to draw singly in
Python.  States of words are numbered when they first occur, and all words take their next step
together.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dragoman.core.ranges import IntArray, gathered, starts_of
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies.subword_sampling import SplittingProcess, State

MOST_STATES = 1_000_000
"""Maximum number of remembered states, about 500 MB. When it is exceeded, all are forgotten."""

LONGEST_REMEMBERED = 24
"""Maximum characters of a word whose states are remembered.  Longer words rarely recur: most are
whole sentences in scripts without spaces, each with different states."""

_UNKNOWN = -1

Number = TypeVar("Number", np.int64, np.float64)


class SplitDrawing:
    """Draws other splits of the words of sentences, and remembers the possible steps of each.

    The draw depends only on the sentences and the random numbers, not on earlier draws.

    Args:
        pieces: of the vocabulary, in the order of their ids; "▁" begins a word.
        atoms: whether each piece is never split and stands between words.
    """

    def __init__(
        self, process: SplittingProcess, pieces: Sequence[str], atoms: Sequence[bool]
    ) -> None:
        self._process, self._pieces = process, pieces
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        self._atoms = np.array(atoms, dtype=np.bool_)
        spaced = np.array([piece.startswith(SPACE_SIGN) for piece in pieces], dtype=np.bool_)
        self._begins = spaced | self._atoms
        self._lock = threading.Lock()  # several tasks prepare their batches at once
        self._forget()

    def _forget(self) -> None:
        self._states: list[State] = []
        self._numbers: dict[State, int] = {}
        self._of_pieces = np.full(len(self._pieces), _UNKNOWN)  # words of one piece
        self._of_words: dict[bytes, int] = {}  # words of several, by their ids
        # Of each state, the ways that lead on: where they begin in what follows, and how many.
        self._first, self._count = _Vector(np.int64), _Vector(np.int64)
        self._bounds, self._ends = _Vector(np.float64), _Vector(np.int64)
        # And the ids of its pieces, likewise.
        self._start, self._length = _Vector(np.int64), _Vector(np.int64)
        self._split = _Vector(np.int64)

    def draw(
        self, ids: IntArray, lengths: IntArray, random: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Splits sentences anew.

        Args:
            ids: the sentences one after another, in any split.
            lengths: of each, ``(sentences,)``.

        Returns:
            New ids one after another, and the new length of each sentence.
        """
        words = self._words(ids, lengths)
        with self._lock:
            if len(self._states) > MOST_STATES:
                self._forget()
            split, counts = self._split_of(self._last_states(ids, words, random))
        sentences = np.repeat(np.arange(len(lengths)), lengths)[words]
        found = np.bincount(sentences, weights=counts, minlength=len(lengths))
        return split, found.astype(np.int64)

    def _last_states(self, ids: IntArray, words: IntArray, random: np.random.Generator) -> IntArray:
        at = self._beginnings(ids, words)
        moving = np.flatnonzero(at != _UNKNOWN)
        ends = np.append(words[1:], len(ids))
        for word in np.flatnonzero(at == _UNKNOWN).tolist():
            at[word] = self._number(self._walked(ids[words[word] : ends[word]], random))
        while len(moving):
            ways = self._drawn_ways(at[moving], random.random(len(moving)))
            moving, ways = moving[ways >= 0], ways[ways >= 0]
            at[moving] = self._ends_of(ways, at[moving])
        return at

    def _walked(self, word: IntArray, random: np.random.Generator) -> State:
        """The final state of a long word; no state on the way there is remembered."""
        state = self._process.start(self._spelt(word.tolist()))
        while True:
            bounds = self._process.bounds(state)
            way = bisect_right(bounds, random.random())
            if way == len(bounds):
                return state
            state = self._process.follow(state, way)

    def _spelt(self, ids: Sequence[int]) -> str:
        return "".join(self._pieces[piece] for piece in ids)

    def _words(self, ids: IntArray, lengths: IntArray) -> IntArray:
        """The position of the first piece of each word."""
        begins = self._begins[ids]
        begins[1:] |= self._atoms[ids[:-1]]
        begins[starts_of(lengths)[lengths > 0]] = True
        return np.flatnonzero(begins)

    def _beginnings(self, ids: IntArray, words: IntArray) -> IntArray:
        """The initial state of each word; -1 for long ones."""
        ends = np.append(words[1:], len(ids))
        found = np.full(len(words), _UNKNOWN)
        alone = ends - words == 1
        pieces = ids[words[alone]]
        for piece in np.unique(pieces[self._of_pieces[pieces] == _UNKNOWN]).tolist():
            spelt = self._pieces[piece]
            state = self._process.whole if self._atoms[piece] else self._process.start
            self._of_pieces[piece] = self._number(state(spelt))
        found[alone] = self._of_pieces[pieces]
        spelt_bytes, width = ids.tobytes(), ids.itemsize
        found[~alone] = [
            self._beginning(spelt_bytes[start:end])
            for start, end in zip(
                (width * words[~alone]).tolist(), (width * ends[~alone]).tolist(), strict=True
            )
        ]
        return found

    def _beginning(self, word: bytes) -> int:
        """The initial state of a word of several pieces; -1 for a long one."""
        number = self._of_words.get(word)
        if number is None:
            spelt = self._spelt(np.frombuffer(word, dtype=np.int64).tolist())
            if len(spelt) > LONGEST_REMEMBERED:
                return _UNKNOWN
            number = self._of_words[word] = self._number(self._process.start(spelt))
        return number

    def _number(self, state: State) -> int:
        """The permanent number of a state."""
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
            for vector in (self._first, self._count, self._start, self._length):
                vector.extend([_UNKNOWN])
        return number

    def _drawn_ways(self, states: IntArray, drawn: npt.NDArray[np.float64]) -> IntArray:
        """The way that a number from 0 to 1 selects from each state; -1 if the state is final."""
        for state in np.unique(states[self._first.values[states] == _UNKNOWN]).tolist():
            bounds = self._process.bounds(self._states[state])
            self._first.values[state], self._count.values[state] = len(self._bounds), len(bounds)
            self._bounds.extend(bounds)
            self._ends.extend([_UNKNOWN] * len(bounds))  # most ways are never taken
        ways = self._first.values[states]
        ends = ways + self._count.values[states]
        left = np.flatnonzero(ways < ends)
        while len(left := left[drawn[left] >= self._bounds.values[ways[left]]]):
            ways[left] += 1
            left = left[ways[left] < ends[left]]
        ways[ways == ends] = -1
        return ways

    def _ends_of(self, ways: IntArray, states: IntArray) -> IntArray:
        """The states to which ways lead."""
        ends = self._ends.values[ways]
        fresh, places = np.unique(ways[ends == _UNKNOWN], return_index=True)
        for way, state in zip(
            fresh.tolist(), states[ends == _UNKNOWN][places].tolist(), strict=True
        ):
            taken = way - int(self._first.values[state])
            self._ends.values[way] = self._number(self._process.follow(self._states[state], taken))
        return self._ends.values[ways]

    def _split_of(self, states: IntArray) -> tuple[IntArray, IntArray]:
        """The ids of the pieces of each state one after another, and their number per state."""
        for state in np.unique(states[self._start.values[states] == _UNKNOWN]).tolist():
            ids = [self._ids[piece] for piece in self._process.pieces(self._states[state])]
            self._start.values[state], self._length.values[state] = len(self._split), len(ids)
            self._split.extend(ids)
        lengths = self._length.values[states]
        return gathered(self._split.values, self._start.values[states], lengths), lengths


class _Vector(Generic[Number]):
    """A growing array of numbers."""

    def __init__(self, kind: type[Number]) -> None:
        self._room: npt.NDArray[Number] = np.empty(1024, dtype=kind)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def values(self) -> npt.NDArray[Number]:
        """The present numbers, to be read and changed."""
        return self._room[: self._used]

    def extend(self, values: Sequence[float] | npt.NDArray[Number]) -> None:
        """Appends numbers."""
        used = self._used + len(values)
        if used > len(self._room):
            room = np.empty(2 * used, dtype=self._room.dtype)
            room[: self._used] = self.values
            self._room = room
        self._room[self._used : used] = values
        self._used = used
