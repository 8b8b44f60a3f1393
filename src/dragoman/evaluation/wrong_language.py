"""The rate of translations in the wrong language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.evaluation.evaluation_config import EvaluationConfig
from dragoman.evaluation.languages import ExpectedLanguage, check_identifier, identifier_version
from dragoman.evaluation.metric import SourceSide, Statistics, SummedMetric


class WrongLanguage(SummedMetric):
    """The percentage of translations in another language; those without letters do not count."""

    name, title, label = "wrong_language", "wrong language", "wrong language, %"
    progress = "wrong language {:.2f} %"
    higher_is_better = False

    def __init__(self, config: EvaluationConfig, source: SourceSide | None = None) -> None:
        super().__init__(config, source)
        if config.language is None:
            raise ConfigError("wrong_language: name the language that translations should be in")
        self._expected = ExpectedLanguage.of(config.language, config.candidate_languages)

    @override
    @classmethod
    def check(cls, config: EvaluationConfig) -> None:
        if config.language is None:  # that of each set
            check_identifier()
        else:
            super().check(config)

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        missed = map(self._expected.misses, hypotheses)
        return [[int(one is True), int(one is not None)] for one in missed]

    @override
    def value(self, sums: Sequence[float]) -> float:
        wrong, judged = map(int, sums)
        return 100 * wrong / judged if judged else 0.0

    @override
    def details(self, references: int) -> dict[str, Any]:
        return {
            "nrefs": None,
            "language": self._expected.code,
            "among": "+".join(sorted(self._expected.candidates)) or "all",
            "identifier": identifier_version(),
        }
