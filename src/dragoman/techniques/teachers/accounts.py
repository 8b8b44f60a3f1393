"""The accounts of a teacher: what its answers will cost, and what became of the lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dragoman.techniques.teachers.answer_checks import PROBLEMS
from dragoman.techniques.teachers.journal import Journal, TaughtLine
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher, Wanted
from dragoman.techniques.teachers.spending import Spending, SpendingBounds
from dragoman.translation.synthesis import GivenLine

_EXAMPLES = 5  # dropped lines of each problem in the report


def tell_costs(
    teacher: RemoteTeacher,
    lines: Iterable[Wanted],
    journal: Journal,
    tell: Callable[[str], object],
) -> None:
    """Say what the missing answers will cost, and which bounds are kept."""
    config, budget = teacher.config, SpendingBounds(teacher.config, journal.spent)
    expected = Spending()
    missing = (line for line in lines if line.place not in journal.answers)
    for asked in teacher.requests(missing):
        expected = expected + budget.expected(teacher.sent_bytes(asked), sum(map(len, asked.texts)))
    bounds = {
        "requests": config.max_requests,
        "tokens": config.max_tokens,
        "cost": config.max_cost,
    }
    kept = ", ".join(f"{name} {bound:,}" for name, bound in bounds.items() if bound is not None)
    spent = f"; spent before: {journal.spent.described(config)}" if journal.spent.requests else ""
    tell(f"{config.url}: about {expected.described(config)} to go; bounds: {kept or 'none'}{spent}")


def report(
    teacher: RemoteTeacher,
    text: Iterable[GivenLine],
    answers: Mapping[int, TaughtLine],
    journal: Journal,
) -> dict[str, Any]:
    """What became of the lines: counts by outcome, examples of each problem, and the spending.

    Args:
        teacher: gave the answers.
        text: the lines.
        answers: those that are used, by the places of their lines.
        journal: has what all answers have cost.
    """
    counts: Counter[str] = Counter(answer.problem or "translated" for answer in answers.values())
    dropped = {place: answer for place, answer in answers.items() if answer.problem is not None}
    examples: dict[str, list[dict[str, Any]]] = {}
    for place, line in enumerate(text):
        if (answer := dropped.get(place)) is not None:
            shown = examples.setdefault(str(answer.problem), [])
            if len(shown) < _EXAMPLES:
                shown.append({"line": line.number, "text": line.text, "answer": answer.rejected})
    return {
        "teacher": teacher.origin(),
        "url": teacher.config.address,
        "models": dict(Counter(answer.model for answer in answers.values())),
        "terms_of_use": teacher.config.terms_of_use,
        "lines": {name: counts[name] for name in ("translated", *PROBLEMS)},
        "spent": journal.spent.values(teacher.config),
        "dropped": examples,
    }
