"""One comparison for each of several seeds, and a table of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dragoman.core.errors import ConfigError
from dragoman.core.files import atomic_write, write_json
from dragoman.core.text_tables import markdown_table
from dragoman.evaluation.over_seeds import SeedDifference, paired_difference, spread
from dragoman.workflows.compare.comparison import Comparison
from dragoman.workflows.compare.plan import BUDGET_FILE

_JSON_FILE, _TABLE_FILE = "seeds.json", "seeds.md"


def place_of(output: Path, seed: int) -> Path:
    """The directory of one seed's comparison."""
    return output / f"seed-{seed}"


def check_output(output: Path) -> None:
    """Refuse the directory of a comparison of one seed."""
    if (output / BUDGET_FILE).exists():
        raise ConfigError(
            f"{output}: a comparison with one seed was begun here; choose another --output"
        )


@dataclass(frozen=True)
class SeedScores:
    """One system by one metric."""

    metric: str
    signature: str
    values: list[float]
    """By seed."""
    mean: float
    deviation: float
    """Standard deviation over all seeds, estimated from these."""
    difference: SeedDifference | None
    """From the first system; None for itself."""


@dataclass(frozen=True)
class SeedComparison:
    """All systems over all seeds."""

    seeds: list[int]
    budget: str
    test: str
    sentences: int
    systems: dict[str, list[SeedScores]]
    """By name: the scores by each metric."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def over_seeds(comparisons: Mapping[int, Comparison]) -> SeedComparison:
    """The comparisons of two or more seeds as one."""
    first = next(iter(comparisons.values()))
    values: dict[str, list[list[float]]] = {
        row.name: [
            [comparison.rows[at].scores[metric].value for comparison in comparisons.values()]
            for metric in range(len(row.scores))
        ]
        for at, row in enumerate(first.rows)
    }
    baseline = values[first.rows[0].name]
    systems = {
        row.name: [
            SeedScores(
                score.name,
                score.signature,
                own,
                fmean(own),
                spread(own),
                None if row is first.rows[0] else paired_difference(own, other),
            )
            for score, own, other in zip(row.scores, values[row.name], baseline, strict=True)
        ]
        for row in first.rows
    }
    return SeedComparison(list(comparisons), first.budget, first.test, first.sentences, systems)


def write_seeds(comparison: SeedComparison, output: Path) -> list[Path]:
    """Write figures and table."""
    write_json(output / _JSON_FILE, comparison.to_json())
    with atomic_write(output / _TABLE_FILE) as stream:
        stream.write(seed_table(comparison) + "\n")
    return [output / _JSON_FILE, output / _TABLE_FILE]


def seed_table(comparison: SeedComparison) -> str:
    """Markdown: how it was measured, and a row for each system."""
    first = next(iter(comparison.systems.values()))
    head = ["system"]
    for one in first:
        head += [f"{one.metric}, mean ± deviation", f"{one.metric} to the first [95 %] (p)"]
    head += [f"seed {seed}" for seed in comparison.seeds]
    rows = [
        [name, *(cell for one in scores for cell in _cells(one)), *_each(scores)]
        for name, scores in comparison.systems.items()
    ]
    notes = (
        f"{comparison.sentences:,} sentences of {comparison.test}; {comparison.budget}; "
        f"{len(comparison.seeds)} seeds, whose {first[0].metric} is in the last columns. The "
        "deviation is that of single seeds. Intervals and p are of the mean difference over all "
        "seeds, by the paired t-test, * below 0.05. They do not cover the choice of sentences, as "
        f"the table of each seed does. {'; '.join(one.signature for one in first)}"
    )
    return f"{notes}\n\n{markdown_table(head, rows, 'l' + 'r' * (len(head) - 1))}"


def _cells(scores: SeedScores) -> list[str]:
    mean = f"{scores.mean:.2f} ± {scores.deviation:.2f}"
    if (found := scores.difference) is None:
        return [mean, ""]
    star = "*" if found.p_value < 0.05 else ""
    low, high = found.mean - found.margin, found.mean + found.margin
    return [mean, f"{found.mean:+.2f}{star} [{low:+.2f}, {high:+.2f}] ({found.p_value:.3f})"]


def _each(scores: Sequence[SeedScores]) -> list[str]:
    return [f"{value:.2f}" for value in scores[0].values]
