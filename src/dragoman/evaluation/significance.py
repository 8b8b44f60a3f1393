"""Tests whether one system is better than another by more than chance.

Paired bootstrap resampling (Koehn, "Statistical Significance Tests for Machine Translation
Evaluation", 2004) and paired approximate randomisation (Riezler and Maxwell, "On Some Pitfalls in
Automatic Evaluation and Significance Testing for MT", 2005), as in sacrebleu.  The p-values of both
are two-sided.  sacrebleu's bootstrap counts how often ``|d*| - mean |d*|`` is above ``|d|``, which
is one tail of the differences ``d*`` in resamples: its p is doubled here.  Its randomisation does
not count trials whose difference equals the observed one, unlike the paper's; where few lines
differ, most trials do, and p would be tiny: they count here.  Resamples of a few lines hardly
differ from one another, so that the bootstrap would find every difference significant: its p here
is at least that of an exact randomisation.  sacrebleu's own p is reported beside it.  The seed is
fixed (12345, or SACREBLEU_SEED) and is part of the signature, to which a mark of our own is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import DataError
from dragoman.core.html_tables import html_table
from dragoman.evaluation.metrics import (
    SEED,
    EvaluationConfig,
    MetricName,
    SourceSide,
    build_metric,
    check_parallel,
    resampling_seed,
)

if TYPE_CHECKING:
    from sacrebleu.significance import Result


_ROUNDING = 1e-9
"""Scores that differ by less are equal: sums of the same numbers in another order."""

MARK = "p:two-sided"
"""Added to sacrebleu's signature, since its p-value under the same signature is another."""


class SignificanceConfig(Config):
    """How systems are compared with the baseline."""

    test: Literal["bootstrap", "randomization"] = "bootstrap"
    """Paired bootstrap resampling, or paired approximate randomisation: slower, and by Riezler
    and Maxwell less prone to find differences where there are none."""

    samples: int = Field(default=0, ge=0, le=100_000)
    """Number of resamples or trials; 0 for the usual number, 1000 resamples or 10000 trials."""


@dataclass(frozen=True)
class SignificanceTest:
    """One system against the baseline by one metric."""

    system: str
    metric: str
    value: float
    baseline_value: float
    p_value: float
    """The probability of so large a difference, in either direction, if both were equally good."""
    signature: str
    """sacrebleu's, with :data:`MARK`."""
    sacrebleu_p_value: float
    """The p-value that ``sacrebleu --paired-bs`` or ``--paired-ar`` prints."""

    @property
    def difference(self) -> float:
        """How much higher the system's score is than the baseline's."""
        return self.value - self.baseline_value

    def is_significant(self, level: float = 0.05) -> bool:
        """Whether the difference is unlikely to be due to chance at this level."""
        return self.p_value < level

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return asdict(self) | {"difference": self.difference}

    def __str__(self) -> str:
        return (
            f"{self.system}: {self.metric} {self.value:.2f} ({self.difference:+.2f}, "
            f"p = {self.p_value:.4f}, sacreBLEU's {self.sacrebleu_p_value:.4f}) [{self.signature}]"
        )


class Comparisons(list[SignificanceTest]):
    """Comparisons with a baseline; a notebook shows them as a table, and pandas takes them in."""

    def _repr_html_(self) -> str:
        columns = ("system", "metric", "value", "baseline_value", "difference", "p_value")
        return html_table([one.to_json() for one in self], columns)


def compare_systems(
    baseline: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    evaluation: EvaluationConfig | None = None,
    config: SignificanceConfig | None = None,
    *,
    source: SourceSide | None = None,
) -> Comparisons:
    """Compare translations of several systems, by name, with those of a baseline.

    Metrics of terms, placeholders and numbers need the source.

    Returns:
        For each system, in the order given, a comparison for each metric, in their order.

    Raises:
        DataError: lines are missing or their numbers differ, or there is nothing to compare.
        ConfigError: SACREBLEU_SEED is no seed.
    """
    from sacrebleu.significance import PairedTest

    evaluation = evaluation or EvaluationConfig()
    config = config or SignificanceConfig()
    if not systems:
        raise DataError("no system to compare with the baseline; give the output of at least one")
    check_parallel(baseline, references, "baseline")
    for name, hypotheses in systems.items():
        check_parallel(hypotheses, references, name)

    seed = resampling_seed()
    metrics = dict.fromkeys(evaluation.metrics)
    test: Any = PairedTest(
        [("baseline", baseline), *systems.items()],
        {name: build_metric(name, evaluation, source) for name in metrics},
        references,
        test_type="bs" if config.test == "bootstrap" else "ar",
        n_samples=config.samples,
    )
    run = _randomised if config.test == "randomization" else test._fn
    test._fn = partial(_with_seed, run, seed)
    signatures, results = test()
    return Comparisons(
        _comparison(
            system,
            title,
            results[title][0],
            results[title][row],
            str(signatures[title]),
            least=_least_p(baseline, systems[system]),
        )
        for row, system in enumerate(systems, start=1)
        for title in signatures  # sacrebleu's names of the metrics
    )


def _with_seed(run: Callable[..., Any], seed: int | None, *given: Any) -> Any:
    """Run a test with this seed: the last of what sacrebleu gives, which takes 0 for none."""
    return run(*given[:-1], seed)


def _least_p(baseline: Sequence[str], system: Sequence[str]) -> float:
    """The smallest p that so many different lines can give.

    Swapping the outputs of each has ``2 ** lines`` results, two of which, that observed and its
    reverse, differ by as much as was observed.
    """
    different = sum(one != other for one, other in zip(baseline, system, strict=True))
    return min(1.0, 2.0 ** (1 - different))


@dataclass
class _Chance:
    """A system's score, and the share of trials that differ by as much, and by more."""

    score: float
    p_value: float
    sacrebleu_p_value: float


def _randomised(
    baseline: Mapping[str, tuple[Any, Result]], name: str, *given: Any
) -> tuple[str, dict[str, _Chance]]:
    """The randomisation test of sacrebleu, with its draws; equal differences count as well.

    Args:
        baseline: statistics of its lines, and its score, by metric.
        name: of the system.
        given: the arguments of sacrebleu's own function: the system's translations, the references,
            the metrics by name, the number of trials, one number that does not matter, the seed.

    Returns:
        The name, and score and p-values by metric.
    """
    import numpy as np

    hypotheses, references, metrics, trials, _, seed = given
    swapped = np.random.default_rng(seed).integers(2, size=(trials, len(hypotheses)), dtype=bool)
    results = {}
    for metric, measure in metrics.items():
        statistics, known = baseline[metric]
        own = np.array(measure._extract_corpus_statistics(hypotheses, references))
        theirs = np.zeros_like(own)  # labels that only this system gives are in further columns
        theirs[:, : len(statistics[0])] = statistics
        score = measure._compute_score_from_stats(own.sum(0).tolist()).score
        one, other = (
            [measure._compute_score_from_stats(sums).score for sums in both.tolist()]
            for both in (swapped @ own + ~swapped @ theirs, ~swapped @ own + swapped @ theirs)
        )
        differences = np.abs(np.subtract(one, other))
        observed = abs(score - known.score)
        counts = (differences >= observed - _ROUNDING, differences > observed)
        results[metric] = _Chance(score, *((int(one.sum()) + 1) / (trials + 1) for one in counts))
    return name, results


def difference_interval(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[Sequence[str]],
    evaluation: EvaluationConfig | None = None,
    *,
    metric: MetricName = "bleu",
    samples: int = 1000,
    source: SourceSide | None = None,
) -> tuple[float, float]:
    """The 95 % interval of how much higher a system scores than the baseline.

    Paired bootstrap resampling (Koehn 2004): both systems are scored on the same resamples of the
    test set, and the interval runs from the 2.5th to the 97.5th percentile of the differences.
    Metrics of terms, placeholders and numbers need the source.

    Raises:
        DataError: lines are missing or their numbers differ.
    """
    import numpy as np

    check_parallel(baseline, references, "baseline")
    check_parallel(system, references, "system")
    # sacrebleu's own tests read the statistics of sentences in this way, too.
    measure: Any = build_metric(metric, evaluation or EvaluationConfig(), source)
    statistics = [
        np.array(measure._extract_corpus_statistics(lines, references), dtype=float)
        for lines in (baseline, system)
    ]
    rng = np.random.default_rng(SEED)
    differences = []
    for _ in range(samples):
        drawn = rng.integers(len(system), size=len(system))
        before, after = (
            measure._compute_score_from_stats(one[drawn].sum(0).tolist()).score
            for one in statistics
        )
        differences.append(after - before)
    low, high = np.percentile(differences, [2.5, 97.5])
    return float(low), float(high)


def _comparison(
    system: str,
    metric: str,
    baseline: str | Result,
    found: str | Result | _Chance,
    signature: str,
    *,
    least: float,
) -> SignificanceTest:
    """One cell of sacrebleu's table; a :class:`_Chance` is of the randomisation.

    ``least`` is the smallest p of a bootstrap.
    """
    # sacrebleu's table also has a column of names; these are the columns of metrics.
    assert not isinstance(baseline, str) and not isinstance(found, str)
    assert found.p_value is not None
    if isinstance(found, _Chance):
        p_value, theirs = found.p_value, found.sacrebleu_p_value
    else:
        theirs = float(found.p_value)
        p_value = max(least, min(1.0, 2 * theirs))
    # The bootstrap counts only differences larger than the observed one, so equal scores would get
    # the smallest p instead of the largest.
    return SignificanceTest(
        system=system,
        metric=metric,
        value=float(found.score),
        baseline_value=float(baseline.score),
        p_value=1.0 if found.score == baseline.score else p_value,
        signature=f"{signature}|{MARK}",
        sacrebleu_p_value=theirs,
    )
