"""The texts of a back-translation, chosen before any training: mistakes show at once.

``text/`` has a copy of the chosen lines, so later changes to a file have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from dragoman.core.errors import DataError, SavedError
from dragoman.core.files import atomic_directory, read_json, write_json
from dragoman.recipe import ExperimentConfig
from dragoman.techniques.backtranslation.directory import (
    BackTranslationPlan,
    is_begun,
    recorded_rounds,
)
from dragoman.techniques.backtranslation.monolingual import ChosenLines, choose_lines
from dragoman.techniques.backtranslation.parts import count_real_pairs
from dragoman.techniques.backtranslation.reversal import real_parts
from dragoman.techniques.backtranslation.selection_reports import TextReport
from dragoman.techniques.host import Host
from dragoman.text.corpora.corpus import kept_pairs
from dragoman.text.formats import Pair
from dragoman.text.lines import read_lines

_REAL_FILE = "real.json"
_TARGET_FILE, _SOURCE_FILE = "target.jsonl.gz", "source.jsonl.gz"
_FILES = frozenset([_REAL_FILE, _TARGET_FILE, _SOURCE_FILE, "target.json", "source.json"])


@dataclass(frozen=True)
class _Lines:
    """The lines of a file as targets, which can be read repeatedly."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the text in its report."""
        return self.path.name

    def __iter__(self) -> Iterator[Pair]:
        return (Pair("", line, number) for number, line in enumerate(read_lines(self.path), 1))


@dataclass(frozen=True)
class _Targets:
    """The targets of the real pairs that a recipe keeps, numbered through all parts."""

    recipe: ExperimentConfig
    name: str = "real sources"

    def __iter__(self) -> Iterator[Pair]:
        pairs = (pair for part in real_parts(self.recipe) for pair in kept_pairs(part))
        return (pair._replace(source="", line=number) for number, pair in enumerate(pairs, 1))


def prepare_texts(plan: BackTranslationPlan, host: Host) -> int:
    """Count the real pairs and choose the lines to translate, if that is not done.

    Returns:
        The number of real pairs.

    Raises:
        DataError: a text cannot be read, or no line is fit.
        SavedError: a file of an earlier call is damaged.
    """
    if not is_begun(plan.directory):
        with atomic_directory(plan.text, _FILES) as folder:
            _count(plan, folder, host)
            _choose(plan, folder, host)
    elif plan.settings.rounds > 1 and recorded_rounds(plan.directory) == 1:
        # Even if an interrupted call has chosen some, as it may have been given another text.
        _choose_source(plan, plan.text, _real_pairs(plan.text), host)
    return _real_pairs(plan.text)


def target_lines(plan: BackTranslationPlan) -> ChosenLines:
    """The chosen lines in the target language, the same in all rounds."""
    return ChosenLines(plan.text / _TARGET_FILE)


def source_lines(plan: BackTranslationPlan) -> ChosenLines:
    """The chosen lines in the source language, the same in all rounds from the second."""
    return ChosenLines(plan.text / _SOURCE_FILE)


def pairs_limit(plan: BackTranslationPlan, real_pairs: int) -> int | None:
    """The maximum number of synthetic pairs; None for no limit."""
    ratio = plan.settings.ratio
    return None if ratio is None else max(1, int(round(ratio * real_pairs, 6)))


def _count(plan: BackTranslationPlan, folder: Path, host: Host) -> None:
    with host.counting("counting", "real pairs") as count:
        found = count_real_pairs(plan.recipe, count)
    if not found:
        raise DataError("data.train: cleaning leaves no real pair; back-translation needs some")
    write_json(folder / _REAL_FILE, {"pairs": found})


def _real_pairs(folder: Path) -> int:
    file = folder / _REAL_FILE
    try:
        return int(read_json(file)["pairs"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SavedError(f"{file}: missing or damaged; choose another --run") from error


def _choose(plan: BackTranslationPlan, folder: Path, host: Host) -> None:
    text, real_pairs = _Lines(plan.settings.monolingual), _real_pairs(folder)
    report = _choose_lines(plan, text, plan.recipe, folder / _TARGET_FILE, real_pairs)
    host.tell(str(report))
    if plan.settings.rounds > 1:
        _choose_source(plan, folder, real_pairs, host)


def _choose_source(plan: BackTranslationPlan, folder: Path, real_pairs: int, host: Host) -> None:
    """Choose the lines that are translated for the second round's reverse model."""
    output = folder / _SOURCE_FILE
    assert plan.reverse_recipe is not None, "a plan of several rounds has one"
    given = plan.settings.monolingual_source
    # A second translation of the sources of real pairs also helps: data diversification (Nguyen et
    # al. 2020, arXiv:1911.01986).
    text = _Targets(plan.reverse_recipe) if given is None else _Lines(given)
    host.tell(str(_choose_lines(plan, text, plan.reverse_recipe, output, real_pairs)))


def _choose_lines(
    plan: BackTranslationPlan,
    text: _Lines | _Targets,
    learner: ExperimentConfig,
    output: Path,
    real_pairs: int,
) -> TextReport:
    limit = pairs_limit(plan, real_pairs)
    if limit is not None:  # more, so that enough are left
        limit = ceil(limit / (1 - plan.settings.drop_worst))
    choice, seed = plan.settings.choice, plan.settings.seed
    return choose_lines(text, text.name, learner, output, limit=limit, choice=choice, seed=seed)
