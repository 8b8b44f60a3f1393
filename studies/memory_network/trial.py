"""One model learns all kinds of questions and is tested on longer stories, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor

from studies.learning import PAD, Schedule, SmallTransformer, learn
from studies.memory_network.model import MemoryNetwork
from studies.memory_network.stories import TASKS, WORDS, Question

CLIP = {"memory-network": 40.0, "transformer": 1.0}
"""Maximum norm of the gradient, by model; that of memory networks is the paper's."""
SYMBOLS = len(WORDS) + 1
"""Number of ids, padding included."""
_ID = {word: number for number, word in enumerate(WORDS, PAD + 1)}
_EMPTY = 0.1
"""Probability of an empty sentence before each one in training, as noise in the times at which
they were said (section 4.1)."""
_TEST_BATCH = 100


@dataclass(frozen=True)
class Trial:
    """What is trained, and how."""

    model: str
    hops: int
    sentences: int
    """Maximum sentences of a story in training; the minimum is 2."""
    batch: int
    seed: int
    schedule: Schedule
    linear_share: float = 0.0
    """Share of the steps in which the memory network has no softmax over sentences."""
    questions: int = 1000
    """Number of test questions of each kind and length."""


@dataclass(frozen=True)
class ErrorRate:
    """Wrong answers to questions of one kind about stories of one length, in per cent."""

    task: str
    sentences: int
    wrong: float


@dataclass(frozen=True)
class Result:
    """What a trial gave."""

    trial: Trial
    parameters: int
    minutes: float
    errors: tuple[ErrorRate, ...]

    def values(self) -> dict[str, Any]:
        """The result in plain values."""
        return asdict(self)


def story_tensor(
    questions: Sequence[Question], empty: float = 0.0, rng: Random | None = None
) -> Tensor:
    """Ids ``(batch, sentences, words)`` of stories, the last sentences aligned.

    Args:
        questions: the stories.
        empty: probability of an empty sentence before each one.
        rng: draws them.
    """
    stories: list[list[list[int]]] = []
    for question in questions:
        story: list[list[int]] = []
        for sentence in question.story:
            if rng and rng.random() < empty:
                story.append([])
            story.append([_ID[word] for word in sentence])
        stories.append(story)
    sentences = max(map(len, stories))
    words = max(len(sentence) for story in stories for sentence in story)
    ids = torch.full((len(stories), sentences, words), PAD)
    for row, story in enumerate(stories):
        for back, line in enumerate(reversed(story), 1):
            ids[row, sentences - back, : len(line)] = torch.tensor(line, dtype=torch.long)
    return ids


def word_tensor(lines: Sequence[Sequence[str]]) -> Tensor:
    """Ids ``(batch, words)`` of lines of words, filled up with padding."""
    ids = [torch.tensor([_ID[word] for word in line]) for line in lines]
    return torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=PAD)


def answer_tensor(questions: Sequence[Question]) -> Tensor:
    """Ids ``(batch,)`` of the answers."""
    return torch.tensor([_ID[question.answer] for question in questions])


def _as_text(questions: Sequence[Question]) -> Tensor:
    """What the Transformer reads: the question, then the story, in one sequence."""
    return word_tensor([[*q.question, *(w for s in q.story for w in s)] for q in questions])


def run(trial: Trial, advance: Callable[[int], object]) -> Result:
    """Train on all kinds and test each; ``advance`` is called with the number of steps done."""
    torch.manual_seed(trial.seed)
    rng = Random(trial.seed)
    lengths = (trial.sentences, 2 * trial.sentences, 4 * trial.sentences)
    model = (
        MemoryNetwork(SYMBOLS, hops=trial.hops, sentences=lengths[-1])
        if trial.model == "memory-network"
        else SmallTransformer(SYMBOLS)
    )
    kinds = list(TASKS.values())

    def batch_loss(step: int) -> tuple[Tensor, float]:
        sentences = rng.randint(2, trial.sentences)
        questions = [rng.choice(kinds)(sentences, rng) for _ in range(trial.batch)]
        answers = answer_tensor(questions)
        if isinstance(model, SmallTransformer):
            return model.loss(_as_text(questions), answers[:, None])
        model.linear = step <= trial.linear_share * trial.schedule.steps
        stories = story_tensor(questions, _EMPTY, rng)
        return model.loss(stories, word_tensor([q.question for q in questions]), answers)

    minutes = learn(model, batch_loss, trial.schedule, advance)
    errors = tuple(
        ErrorRate(task, sentences, _wrong(model, task, sentences, trial))
        for sentences in lengths
        for task in TASKS
    )
    return Result(trial, sum(p.numel() for p in model.parameters()), minutes, errors)


def _wrong(
    model: MemoryNetwork | SmallTransformer, task: str, sentences: int, trial: Trial
) -> float:
    """Wrong answers to new questions, in per cent."""
    rng, wrong, left = Random(f"{trial.seed} {task} {sentences}"), 0, trial.questions
    while left:
        questions = [TASKS[task](sentences, rng) for _ in range(min(left, _TEST_BATCH))]
        if isinstance(model, SmallTransformer):
            given = model.answer(_as_text(questions), 1)[:, 0]
        else:
            asked = word_tensor([question.question for question in questions])
            given = model.answer(story_tensor(questions), asked)
        wrong += int((given != answer_tensor(questions)).sum())
        left -= len(questions)
    return 100 * wrong / trial.questions
