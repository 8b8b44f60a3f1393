"""Translating a dev set with every setting, and choosing the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

from dragoman.core.errors import ConfigError
from dragoman.core.text_tables import terminal_table
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    Score,
    check_references,
    is_better,
    score_corpus,
)
from dragoman.evaluation.significance import SignificanceTest, compare_systems
from dragoman.saved.system import TranslationSystem
from dragoman.saved.system_parts import UNPROTECTED
from dragoman.search import FusedScorer, Scorer
from dragoman.translation.opening import OpenSystem, changed_search, open_system
from dragoman.translation.translator import Translator
from dragoman.validation import source_side
from dragoman.workflows.tuning.dev_text import DevText
from dragoman.workflows.tuning.grid import (
    LM_WEIGHT,
    SEARCH,
    Grid,
    Values,
    combinations,
    search_of,
    system_with,
)

_SHARED = {
    *("models", "weights", "ensemble", "language_model", "target_language", "tags", "prefix"),
    *("search", "precision", "device"),
}
"""Settings that translators of the same open models support."""


@dataclass(frozen=True)
class Trial:
    """A setting and its score and time."""

    values: Values
    score: Score
    seconds: float
    """Time of translating the dev set."""
    translations: list[str] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the translations."""
        return {
            "values": self.values,
            "score": self.score.to_json(),
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Tuned:
    """The results of tuning."""

    text: DevText
    trials: list[Trial]
    """The first has the system's current settings."""
    best: Trial
    """The best trial; the first if no other is better."""
    comparison: SignificanceTest | None
    """The best trial compared with the first; None if they are the same."""
    system: TranslationSystem
    """The system with the best settings."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "text": self.text.name,
            "lines": len(self.text.references),
            "trials": [trial.to_json() for trial in self.trials],
            "best": self.best.values,
            "comparison": None if self.comparison is None else self.comparison.to_json(),
            "system": self.system.plain(),
        }


class Tuning:
    """Settings to be tried with one system, on one text.

    Args:
        system: the system to tune.  Its current settings are tried as well, and others are
            compared with them.
        evaluation: settings of scoring; its first metric decides.

    Raises:
        ConfigError: a value is out of range, or does not fit the models or other settings.
        DataError: the longest line is too long for the models.
    """

    def __init__(
        self, system: TranslationSystem, grid: Grid, text: DevText, evaluation: EvaluationConfig
    ) -> None:
        self._system, self._text = system, text
        metric = evaluation.metrics[0]
        self._evaluation = evaluation.model_copy(update={"metrics": (metric,)})
        self._source = source_side(text.own_sources, evaluation, text.languages)
        # Now rather than after the first trial.
        for references in text.scored:
            check_references(references, self._evaluation, self._source)
        with self._translator(self._own_weight) as translator:
            if not translator.reads_source:
                raise ConfigError(
                    f"{system.models[0]}: a language model translates nothing; name a model that "
                    "reads a source, and this one with --lm"
                )
            search = translator.search
            if search.sampling is not None or search.mbr is not None:
                raise ConfigError(
                    f"{system.models[0]}: it samples, and tuning is for search; leave out "
                    "sampling and mbr"
                )
            present = {
                key: self._own_weight if key == LM_WEIGHT else getattr(search, _name(key))
                for key in grid
            }
            self.settings = combinations(grid, present)
            """Values of each trial."""
            self._check(translator, present)

    def _check(self, translator: Translator, present: Values) -> None:
        """Try each setting on the longest line: an error after hours would cost earlier trials.

        What the models and the engine cannot do is known only when they translate.
        """
        for values in self.settings:
            system_with(self._system, values)
            changed_search(translator.search, search_of(values), "--try: search")
            for key, value in values.items():
                if value is None and present[key] is not None:
                    raise ConfigError(
                        f"--try {key}=null: this would leave the present {present[key]} as it is; "
                        "name a value"
                    )
        number, longest = max(enumerate(self._text.sources), key=lambda one: len(one[1]))
        for values in self.settings:
            translator.translate([longest], numbers=[number], **search_of(values))

    @property
    def lines(self) -> int:
        """Number of lines that all trials translate together."""
        return len(self.settings) * len(self._text.sources)

    def carry_out(self, progress: Callable[[int], object] = lambda done: None) -> Tuned:
        """Try all settings."""
        trials: dict[int, Trial] = {}
        by_weight: dict[float, list[int]] = {}
        for number, values in enumerate(self.settings):
            weight = float(values.get(LM_WEIGHT, self._own_weight))  # it may be given as a text
            by_weight.setdefault(weight, []).append(number)
        for weight, numbers in by_weight.items():
            with self._translator(weight) as translator:
                for number in numbers:
                    done = len(trials) * len(self._text.sources)
                    trials[number] = self._try(
                        translator,
                        self.settings[number],
                        lambda lines, before=done: progress(before + lines),  # type: ignore[misc]
                    )
        return self._chosen([trials[number] for number in range(len(self.settings))])

    def _try(
        self, translator: Translator, values: Values, progress: Callable[[int], object]
    ) -> Trial:
        started = perf_counter()
        translations = translator.translate(
            self._text.sources, progress=progress, **search_of(values)
        )
        seconds = perf_counter() - started
        (score,) = score_corpus(translations, self._text.scored, self._evaluation, self._source)
        return Trial(values, score, seconds, translations)

    def _chosen(self, trials: list[Trial]) -> Tuned:
        (metric,) = self._evaluation.metrics
        first, *others = trials
        best = first
        for trial in others:
            if is_better(metric, trial.score.value, best.score.value):
                best = trial
        comparison = None
        if best is not first:
            (comparison,) = compare_systems(
                first.translations,
                {"best": best.translations},
                self._text.scored,
                self._evaluation,
                source=self._source,
            )
        return Tuned(self._text, trials, best, comparison, system_with(self._system, best.values))

    @property
    def _own_weight(self) -> float:
        """The weight of the system's own language model; 0 without one."""
        fused = self._system.language_model
        return 0.0 if fused is None else fused.weight

    @cached_property
    def _opened(self) -> OpenSystem:
        """The models in memory, fused with the language model if the system has one."""
        system = self._system
        if system.language_model is not None and not system.language_model.weight:
            system = system_with(system, {LM_WEIGHT: 1.0})
        return open_system(system, "search")

    def _translator(self, weight: float) -> Translator:
        """A translator with this weight of the language model, to be closed.

        Models are loaded once, unless the system has settings that this method ignores, such as
        worker processes or another engine.
        """
        system = self._system
        scorer = None if system.plain().keys() - _SHARED else self._scorer(weight)
        if scorer is None:
            if system.terms is None:
                system = system.model_copy(update={"terms": UNPROTECTED})
            return Translator.of(system_with(system, {LM_WEIGHT: weight}), "search")
        return Translator(
            self._opened.models,
            self._opened.vocabularies,
            self._opened.search,
            scorer=scorer,
            prefix=system.prefix,
            tags=self._opened.tags,
            context=self._opened.context,
            inline_tags=self._opened.inline_tags,
        )

    def _scorer(self, weight: float) -> Scorer | None:
        """The open models with this weight; None if they are combined in a way unknown here."""
        scorer = self._opened.scorer
        if self._system.language_model is None:
            return scorer
        if not isinstance(scorer, FusedScorer):
            return None
        if not weight:
            return scorer.translation
        return FusedScorer(scorer.translation, scorer.language_model, weight)


def _name(key: str) -> str:
    return key.removeprefix(SEARCH)


def table(tuned: Tuned) -> str:
    """A row for each setting with its score, the 95 % interval and the time, and the verdict."""
    first = tuned.trials[0]
    keys = list(first.values)
    rows = [[*keys, first.score.name, "seconds", ""]]
    rows += [_cells(trial, tuned) for trial in tuned.trials]
    aligned = terminal_table(rows, "r" * (len(keys) + 2) + "l")
    text = f"{len(tuned.text.references):,} lines of {tuned.text.name} [{first.score.signature}]"
    return "\n".join([text, "", aligned, "", verdict(tuned), *edges(tuned)])


def _cells(trial: Trial, tuned: Tuned) -> list[str]:
    score = trial.score
    margin = "" if score.confidence is None else f" ± {score.confidence.margin:.2f}"
    mark = "as it is" if trial is tuned.trials[0] else ""
    if trial is tuned.best:
        mark = f"{mark}, best".removeprefix(", ")
    values = [str(value) for value in trial.values.values()]
    return [*values, f"{score.value:.2f}{margin}", f"{trial.seconds:.1f}", mark]


def verdict(tuned: Tuned) -> str:
    """The best setting, and whether the difference is more than chance."""
    if tuned.comparison is None:
        return "Best: the present settings"
    chance = "" if tuned.comparison.is_significant() else ", which may be chance"
    name = tuned.best.score.name
    return (
        f"Best: {described(tuned.best.values)}: {tuned.comparison.difference:+.2f} {name} "
        f"(p = {tuned.comparison.p_value:.4f}{chance})\n"
        "It was chosen on these very lines, so its advantage elsewhere is smaller: confirm it on a "
        "test set"
    )


def edges(tuned: Tuned) -> Iterator[str]:
    """The best settings that are the largest or smallest of three or more values tried."""
    for key, value in tuned.best.values.items():
        tried = {trial.values[key] for trial in tuned.trials}
        if len(tried) < 3 or any(type(other) not in {int, float} for other in tried):
            continue
        if value == max(tried):
            yield f"{key}={value} is the largest that was tried; try larger ones, too"
        elif value == min(tried) > 0:
            yield f"{key}={value} is the smallest that was tried; try smaller ones, too"


def described(values: Values) -> str:
    """Settings in words, such as ``search.beam=8``."""
    return " ".join(f"{key}={value}" for key, value in values.items())
