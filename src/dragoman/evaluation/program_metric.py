"""A metric whose scores a program of another environment gives, such as COMET."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any

from typing_extensions import override

from dragoman.evaluation.metric import Statistics, SummedMetric
from dragoman.evaluation.metric_commands import MetricCommand
from dragoman.evaluation.program_scores import program_scores


class ProgramMetric(SummedMetric):
    """The mean of a program's scores of lines."""

    @classmethod
    @abstractmethod
    def program(cls) -> MetricCommand:
        """How its program is run."""

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        lines: list[dict[str, Any]] = [{"hypothesis": hypothesis} for hypothesis in hypotheses]
        if self.reads_source and self.source is not None:
            for line, source in zip(lines, self.source.lines, strict=True):
                line["source"] = source
        if self.program().references:
            for line, *several in zip(lines, *references, strict=True):
                line["references"] = several
        factor = self.program().factor
        return [[factor * score, 1.0] for score in program_scores(self.name, self.program(), lines)]

    @override
    def value(self, sums: Sequence[float]) -> float:
        total, count = sums
        return total / count if count else 0.0

    @override
    def details(self, references: int) -> dict[str, Any]:
        program = self.program()
        found: dict[str, Any] = {"model": program.signature or None}
        if not program.references:
            found["nrefs"] = None
        return found


@cache
def program_metric(name: str, command: MetricCommand) -> type[ProgramMetric]:
    """The class of a metric that a program computes."""

    class Found(ProgramMetric):
        """The metric of one program."""

        title = command.title or name
        label = command.title or name
        progress = f"{command.title or name} {{:.4g}}"
        higher_is_better = command.higher_is_better
        reads_source = command.source

        @classmethod
        @override
        def program(cls) -> MetricCommand:
            return command

    Found.name = name
    Found.__name__ = Found.__qualname__ = f"Program_{name}"
    return Found
