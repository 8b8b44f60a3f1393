"""What a table of results consists of: one YAML file beside the recipes that it compares.

``tests`` are texts, ``stages`` are commands of Dragoman that make models or other files, and each
row of a section says how it translates the section's tests, in arguments of ``dragoman translate``.

Arguments may name places in braces: ``{NAME}`` is the directory of the stage NAME, ``{here}`` the
folder of the file, and ``{corpora}`` the folder of public corpora.  What a stage or a row needs
follows from the stages that it names.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from dragoman.core.config import Config, parse, read_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.relocation import TextPath
from dragoman.evaluation.metrics import BleuTokenizer, EvaluationConfig
from dragoman.evaluation.significance import SignificanceConfig
from dragoman.run.scores_file import SCORES_FILE
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.public_corpora import from_folder
from studies.tables.seeds import with_seeds

TABLE_FILE = "table.yaml"
"""The usual name of such a file."""
HERE, CORPORA = "here", "corpora"
OWN_NAMES = {"logs", "records", "text", "translations", HERE, CORPORA, "table"}
"""What the output directory holds besides stages, and places that are none."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_PLACE = re.compile(r"\{([^{}]*)\}")


class TestText(CorpusPart):
    """A text that rows translate: a part of a corpus, as in a recipe."""

    __test__ = False  # pytest would take it for a class of tests

    bleu_tokenize: BleuTokenizer | None = None
    """Tokeniser of BLEU for this text; by default that of `evaluation`."""
    glossary: TextPath | None = None
    """Glossary of the metric terms for this text; by default that of `evaluation`."""

    def conflicts(self) -> Iterator[str]:
        """Those of a part, and a text without a source."""
        yield from super().conflicts()
        if not self.gives_source:
            yield "a test has two sides; name its source"


class Stage(Config):
    """One command of Dragoman, and the file that shows that it is done."""

    train: str | None = None
    """A recipe to train, relative to the file of the table, or the `config.yaml` of another stage;
    `dragoman resume` continues it."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings that override the recipe's, such as `{seed: 2}`."""
    command: str | None = None
    """Any other command, without the word dragoman, such as `tune {parallel} --output
    {tuned}/system.yaml`, or that of a study, `python -m studies.NAME ...`. It must name the
    directory of its own stage, and is repeated where it was interrupted."""
    done: str = SCORES_FILE
    """The file in the directory of the stage that the command writes last; `scores.json` is of a
    run, which writes its model after it."""
    needs: tuple[str, ...] = ()
    """Stages that it needs and does not name."""
    seeds: tuple[int, ...] = ()
    """Make it once for each of these seeds."""

    def conflicts(self) -> Iterator[str]:
        """Neither or both kinds, and settings of a stage that trains nothing."""
        if (self.train is None) == (self.command is None):
            yield "a stage has either train or command"
        elif self.command is not None:
            yield from _unsplit("command", self.command)
            if self.settings:
                yield "settings are read with train; write --set into the command"
        elif self.done != SCORES_FILE:
            yield f"done: a training writes {SCORES_FILE} last; remove it"
        yield from _bad_seeds(self.seeds)

    def names(self) -> Iterator[str]:
        """The places that it names."""
        yield from self.needs
        yield from _places([self.train, self.command, self.settings])


class Row(Config):
    """One system of a section."""

    label: str
    """What it is, in words."""
    translate: str | dict[str, str] = Field(default_factory=dict)
    """Arguments of `dragoman translate` for every test of the section, or for each by name; none
    for figures from elsewhere. Those that begin with `embed translate` are of that command, and
    with `python -m studies.NAME` of that study. Where `evaluation.metrics` are of labels, they are
    of `dragoman classify`."""
    published: str | dict[str, str] = ""
    """What was published beside it and where, for every test or by name."""
    baseline: str | None = None
    """The row that it is compared with; by default that of the section."""
    seeds: tuple[int, ...] = ()
    """Make it once for each of these seeds, with the stages of that seed, and compare each with the
    baseline of that seed."""
    group: str = ""
    """Rows of the same group are shown as one, by their mean and spread; `seeds` makes one."""

    def conflicts(self) -> Iterator[str]:
        """Arguments that a shell could not read, and a row that says nothing."""
        for key, arguments in self.by_test(["translate"]).items():
            yield from _unsplit(key, arguments)
        if not self.translate and not self.published:
            yield "a row has translate, or at least published"
        yield from _bad_seeds(self.seeds)

    def by_test(self, tests: Iterable[str]) -> dict[str, str]:
        """Arguments of ``dragoman translate`` for each of the tests that it translates."""
        if isinstance(self.translate, dict):
            return dict(self.translate)
        return dict.fromkeys(tests, self.translate)

    def published_for(self, test: str) -> str:
        """What was published beside a test; may be empty."""
        if isinstance(self.published, dict):
            return self.published.get(test, "")
        return self.published


class Section(Config):
    """Rows that translate the same tests."""

    title: str
    tests: tuple[str, ...] = Field(min_length=1)
    """Names of tests, in the order of the table."""
    baseline: str | None = None
    """The row that the others are compared with."""
    note: str = ""
    """A sentence or two below the title."""
    tests_beside: bool = False
    """Whether a row is one line, with its tests beside one another, rather than one for each."""
    rows: dict[str, Row] = Field(min_length=1)
    """Rows by name, the most telling first: this is the order of the work."""


class TableConfig(Config):
    """A table of results."""

    title: str
    note: str = ""
    """What all rows have in common, such as the budget."""
    evaluation: EvaluationConfig = EvaluationConfig(confidence_samples=1000)
    """Scores; the first has the interval and is compared with the baseline's."""
    significance: SignificanceConfig = SignificanceConfig(test="randomization")
    """How differences are tested."""
    difference_samples: int = Field(0, ge=0, le=100_000)
    """Resamples for the 95 % interval of each difference, such as 1000; 0 shows none."""
    show_seconds: bool = False
    """Whether a column shows the seconds that translating took, loading of models included."""
    tests: dict[str, TestText] = Field(min_length=1)
    stages: dict[str, Stage] = Field(default_factory=dict)
    sections: tuple[Section, ...] = Field(min_length=1)

    def conflicts(self) -> Iterator[str]:
        """Names that are no names, name nothing, or nothing needs; circles of stages."""
        if not self.evaluation.metrics:
            yield "evaluation.metrics: name at least one"
        elif "terms" in self.evaluation.metrics and self.evaluation.glossary is None:
            for name, test in self.tests.items():
                if test.glossary is None:
                    yield f"tests.{name}: the metric terms needs a glossary; name it"
        yield from self._bad_names()
        known = {*self.stages, HERE, CORPORA}
        for name, stage in self.stages.items():
            for unknown in {*stage.names()} - known:
                yield f"stages.{name}: there is no stage {unknown}"
            if stage.command is not None and name not in _places(stage.command):
                yield f"stages.{name}: command must name its own directory, {{{name}}}"
        yield from self._bad_rows(known)
        yield from self._circles()
        named = {name for row in self.rows().values() for name in _places(row.translate)}
        for name in sorted({*self.stages} - self.closure(named)):
            yield f"stages.{name}: no row needs it; remove it"

    def rows(self) -> dict[str, Row]:
        """All rows by name, in the order of the work."""
        return {name: row for section in self.sections for name, row in section.rows.items()}

    def closure(self, names: Iterable[str]) -> set[str]:
        """These stages and all that they need."""
        found: set[str] = set()
        waiting = [name for name in names if name in self.stages]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [one for one in self.stages[name].names() if one in self.stages]
        return found

    def _bad_names(self) -> Iterator[str]:
        rows = [name for section in self.sections for name in section.rows]
        for kind, names in (("tests", self.tests), ("stages", self.stages), ("rows", rows)):
            for name in names:
                if not _NAME.fullmatch(name):
                    yield f"{kind}: {name!r:.80} is not made of letters, digits, _ and -"
        for name in sorted(OWN_NAMES & self.stages.keys()):
            yield f"stages.{name}: this name is taken; choose another"
        for name in sorted({name for name in rows if rows.count(name) > 1}):
            yield f"rows: {name} is there twice; give one another name"
        titles = [section.title for section in self.sections]
        for title in sorted({title for title in titles if titles.count(title) > 1}):
            yield f"sections: the title {title!r:.80} is there twice; give one another"

    def _bad_rows(self, known: set[str]) -> Iterator[str]:
        for section in self.sections:
            for test in {*section.tests} - self.tests.keys():
                yield f"{section.title}: there is no test {test}"
            if section.baseline is not None and section.baseline not in section.rows:
                yield f"{section.title}: baseline: there is no row {section.baseline}"
            for name, row in section.rows.items():
                if section.tests_beside and (row.seeds or row.group):
                    yield f"rows.{name}: a section with tests_beside shows no means; remove one"
                if row.baseline is not None and row.baseline not in section.rows:
                    yield f"rows.{name}: baseline: there is no row {row.baseline}"
                published = row.published if isinstance(row.published, dict) else {}
                for test in {*row.by_test(section.tests), *published} - {*section.tests}:
                    yield f"rows.{name}: {test} is not among the tests of its section"
                for unknown in {*_places(row.translate)} - known:
                    yield f"rows.{name}: there is no stage {unknown}"

    def _circles(self) -> Iterator[str]:
        for name, stage in self.stages.items():
            if name in self.closure({*stage.names()} - {name}):
                yield f"stages.{name}: needs itself; break the circle"


def read_table(path: Path) -> TableConfig:
    """Read the file of a table; texts are found as in a recipe.

    Raises:
        ConfigError: the file is missing, or wrong; one line names the key and the remedy.
    """
    folder = Path(os.path.realpath(path)).parent
    values = from_folder(folder).of(TableConfig, read_yaml(path))
    if "data" in values:
        raise ConfigError(f"{path}: a recipe, not a table of results; see studies/README.md")
    return parse(TableConfig, with_seeds(values), path)


def expanded(value: Any, places: dict[str, Path]) -> Any:
    """Text, or values that hold text, with every ``{NAME}`` replaced by its place."""
    if isinstance(value, str):
        return _PLACE.sub(lambda found: str(places[found[1]]), value)
    if isinstance(value, dict):
        return {key: expanded(one, places) for key, one in value.items()}
    return [expanded(one, places) for one in value] if isinstance(value, list) else value


def named_places(text: str) -> list[str]:
    """The places that a text names, in its order."""
    return list(dict.fromkeys(_places(text)))


def _places(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _PLACE.findall(value)
    elif isinstance(value, dict):
        yield from _places(list(value.values()))
    elif isinstance(value, list):
        for one in value:
            yield from _places(one)


def _bad_seeds(seeds: tuple[int, ...]) -> Iterator[str]:
    """What is left of seeds that no rows and stages could be made of."""
    if seeds:
        yield "seeds are different whole numbers, such as [1, 2, 3]"


def _unsplit(key: str, arguments: str) -> Iterator[str]:
    try:
        shlex.split(arguments)
    except ValueError as error:
        yield f"{key}: {arguments!r:.80}: {str(error).lower()}"
