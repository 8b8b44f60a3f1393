"""The choice among several translations of a line: by agreement, by a reference, or by a model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.evaluation.similarity import Closest, PairwiseSimilarity
from dragoman.saved.directions import told_languages
from dragoman.saved.model import config_of
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.teachers.teacher_config import TeacherConfig
from dragoman.text.examples import Direction
from dragoman.translation.outputs import Scored, Unscored
from dragoman.translation.translator import Translator


class Choosable(NamedTuple):
    """A line with its translations, at least one."""

    source: str
    candidates: tuple[str, ...]
    reference: str = ""
    """A human translation; empty if there is none."""


class CandidateChoice(ABC):
    """Chooses a translation of each line; of equals, the first.  It is open within a block."""

    name: str
    """The way of choosing in a few words."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Release what is open, by default nothing."""
        return

    @abstractmethod
    def __call__(self, lines: Sequence[Choosable]) -> list[str]:
        """The chosen translations, in the order of the lines."""


class ChoiceByAgreement(CandidateChoice):
    """Chooses the translation that agrees most with the others.

    It is minimum Bayes risk by chrF (Kumar and Byrne 2004): each candidate counts as a sample.
    """

    name = "agreement by chrF"

    @override
    def __call__(self, lines: Sequence[Choosable]) -> list[str]:
        return [self._chosen(line.candidates) for line in lines]

    def _chosen(self, candidates: tuple[str, ...]) -> str:
        if len(candidates) <= 2:
            return candidates[0]
        agreement = PairwiseSimilarity("chrf")(candidates, candidates).mean(axis=1)
        return candidates[int(agreement.round(9).argmax())]


class ChoiceByReference(ChoiceByAgreement):
    """Chooses the translation that is most similar to a reference; without one, by agreement."""

    def __init__(self, closest: Closest) -> None:
        self._closest = closest
        self.name = f"closest by {closest.name}"

    @override
    def __call__(self, lines: Sequence[Choosable]) -> list[str]:
        return [
            line.candidates[self._closest(line.candidates, line.reference)]
            if line.reference
            else self._chosen(line.candidates)
            for line in lines
        ]


class ChoiceByScorer(CandidateChoice):
    """Chooses the translation whose pieces a model finds likeliest on average.

    Args:
        path: a model, run or checkpoint that translates in ``direction``.
        direction: the languages of the lines and their translations.
    """

    name = "likeliest by the scorer"

    def __init__(self, path: Path, direction: Direction) -> None:
        self._path, self._direction = path, direction
        self._translator: Translator | None = None

    @override
    def __enter__(self) -> Self:
        """Open the model.

        Raises:
            ConfigError: it does not translate in the direction.
            SavedError: it is missing or damaged.
        """
        languages = self._direction.source_language, self._direction.target_language
        told = told_languages(config_of(self._path), *languages)
        try:
            self._translator = Translator.of(TranslationSystem(models=(self._path,), **told))
        except ConfigError as error:
            raise ConfigError(f"scorer {self._path}: {error}") from error
        return self

    @override
    def __exit__(self, *error: object) -> None:
        if self._translator is not None:
            self._translator.close()
            self._translator = None

    @override
    def __call__(self, lines: Sequence[Choosable]) -> list[str]:
        assert self._translator is not None, "the scorer is used within its block"
        several = [line for line in lines if len(line.candidates) > 1]
        pairs = [(line.source, one) for line in several for one in line.candidates]
        scored = self._translator.score_fit([one for one, _ in pairs], [one for _, one in pairs])
        scores = map(_score, scored)
        chosen = []
        for line in lines:
            best = 0
            if len(line.candidates) > 1:
                of_line = [next(scores) for _ in line.candidates]
                best = of_line.index(max(of_line))
            chosen.append(line.candidates[best])
        return chosen


def _score(scored: Scored | Unscored) -> float:
    """The mean log-probability of a piece; pairs that the model cannot read come last."""
    if isinstance(scored, Unscored) or not math.isfinite(scored.log_probability):
        return -math.inf
    return scored.log_probability / scored.tokens


def choice_of(
    config: TeacherConfig, direction: Direction, closest: Closest | None = None
) -> CandidateChoice:
    """The choice that a teacher's settings ask for.

    Raises:
        ConfigError: the settings name a scorer, and ``closest`` chooses, too.
    """
    if config.scorer is None:
        return ChoiceByAgreement() if closest is None else ChoiceByReference(closest)
    if closest is not None:
        raise ConfigError(
            "scorer: the translation closest to the reference is asked for, too; leave out one of "
            "them"
        )
    return ChoiceByScorer(config.scorer, direction)
