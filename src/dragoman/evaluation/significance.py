"""Whether one system is better than another, or just lucky with the test set.

Paired bootstrap resampling (Koehn, "Statistical Significance Tests for Machine Translation
Evaluation", 2004) and paired approximate randomisation (Riezler and Maxwell, "On Some Pitfalls in
Automatic Evaluation and Significance Testing for MT", 2005), by sacrebleu's own implementation.
The p-values of both are two-sided.  sacrebleu's bootstrap counts how often ``|d*| - mean |d*|`` is
above ``|d|``, which is one tail of the differences ``d*`` in resamples: its p is doubled here.  The
seed is fixed (12345, or SACREBLEU_SEED) and is part of the signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import DataError
from dragoman.evaluation.metrics import EvaluationConfig, build_metric, check_parallel

if TYPE_CHECKING:
    from sacrebleu.significance import Result


class SignificanceConfig(Config):
    """How systems are compared with the baseline."""

    test: Literal["bootstrap", "randomization"] = "bootstrap"
    """Paired bootstrap resampling, or paired approximate randomisation: slower, and by Riezler
    and Maxwell less prone to find differences where there are none."""

    samples: int = Field(default=0, ge=0, le=100_000)
    """Number of resamples or trials; 0 for the usual number, 1000 resamples or 10000 trials."""


@dataclass(frozen=True)
class SignificanceTest:
    """One system against the baseline by one metric.

    ``p_value`` is the probability of a difference as large as this one, in either direction, if
    both systems were equally good.
    """

    system: str
    metric: str
    value: float
    baseline_value: float
    p_value: float
    signature: str

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
            f"p = {self.p_value:.4f}) [{self.signature}]"
        )


def compare_systems(
    baseline: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    evaluation: EvaluationConfig | None = None,
    config: SignificanceConfig | None = None,
) -> list[SignificanceTest]:
    """Compare translations of several systems with those of a baseline.

    Args:
        baseline: its translations.
        systems: translations of each of the others, by the name of the system.
        references: sets of reference translations.
        evaluation: the metrics to compare by.
        config: the test.

    Returns:
        For each system, in the order given, a comparison for each metric.

    Raises:
        DataError: lines are missing or their numbers differ, or there is nothing to compare.
        MissingExtraError: the tokenizer for Japanese or Korean is not installed.
    """
    from sacrebleu.significance import PairedTest

    evaluation = evaluation or EvaluationConfig()
    config = config or SignificanceConfig()
    if not systems:
        raise DataError("no system to compare with the baseline; give the output of at least one")
    check_parallel(baseline, references, "baseline")
    for name, hypotheses in systems.items():
        check_parallel(hypotheses, references, name)

    test = PairedTest(
        [("baseline", baseline), *systems.items()],
        {name: build_metric(name, evaluation) for name in evaluation.metrics},
        references,
        test_type="bs" if config.test == "bootstrap" else "ar",
        n_samples=config.samples,
    )
    signatures, results = test()
    return [
        _comparison(
            system,
            metric,
            results[metric][0],
            results[metric][row],
            str(signature),
            tails=2 if config.test == "bootstrap" else 1,
        )
        for row, system in enumerate(systems, start=1)
        for metric, signature in signatures.items()
    ]


def _comparison(
    system: str,
    metric: str,
    baseline: str | Result,
    found: str | Result,
    signature: str,
    *,
    tails: int,
) -> SignificanceTest:
    """One cell of sacrebleu's table, whose p is that of one of ``tails`` equal tails."""
    # sacrebleu's table also has a column of names; these are the columns of metrics.
    assert not isinstance(baseline, str) and not isinstance(found, str)
    assert found.p_value is not None
    # It counts only differences larger than the observed one, so equal scores would get the
    # smallest p instead of the largest.
    p_value = 1.0 if found.score == baseline.score else min(1.0, tails * float(found.p_value))
    return SignificanceTest(
        system=system,
        metric=metric,
        value=float(found.score),
        baseline_value=float(baseline.score),
        p_value=p_value,
        signature=signature,
    )
