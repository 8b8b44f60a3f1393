"""Making what a table lacks: its stages, then the translations of its rows."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.files import atomic_write, content_digest, write_json
from dragoman.evaluation.metrics import metrics_of
from dragoman.text.corpora.corpus import evaluation_examples
from dragoman.workflows.progress import duration
from studies.tables.named_files import described, other_files
from studies.tables.plan import expanded
from studies.tables.running import CommandRunner, FailedCommandError
from studies.tables.workplace import (
    STAGES,
    TRANSLATIONS,
    BusyPlaceError,
    State,
    Workplace,
    is_study,
    problem_of,
    same,
    shell,
)

BUSY = "another process is making {}"

_LINE_BREAK = re.compile(r"\r?\n|\r\Z")
_TRANSLATED = (0, 3)
"""Exit codes of a command that has translated: the second if lines lack or invent placeholders."""
TEXT = "the text of a test"
"""A name that no stage can have."""
WORD_BY_WORD = ["embed", "translate"]
"""How arguments begin that are not of ``dragoman translate`` but of this command."""


class Cell(NamedTuple):
    """A row and one of its tests."""

    row: str
    test: str
    arguments: str
    """As the file of the table has them."""

    @property
    def name(self) -> str:
        """Its name among files."""
        return f"{self.row}.{self.test}"


class Text(NamedTuple):
    """A test as plain files, one line a sentence."""

    source: Path
    reference: Path


@dataclass
class Work:
    """What is done towards a table, and what keeps the rest from being done."""

    place: Workplace
    runner: CommandRunner
    tell: Callable[[str], object]
    problems: dict[str, str] = field(default_factory=dict)
    """Why cells cannot be done, by name."""
    failures: dict[str, str] = field(default_factory=dict)
    """Errors by stage or cell."""
    busy: dict[str, str] = field(default_factory=dict)
    """What another process was making when it was needed, by stage or cell: it may be there now."""
    _texts: dict[str, Text] = field(default_factory=dict)
    _locks: defaultdict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    """Of stages, so that of several rows that need one the others wait; and of what is shared."""

    def carry_out(self, rows: Iterable[str], row_done: Callable[[], object]) -> None:
        """Make everything that these rows need, in their order, as many at once as the runner runs.

        Args:
            rows: their names.
            row_done: called after each row.

        Raises:
            StoppedError: the time is over, or a signal came.
        """
        wanted = [list(cells(self.place, row)) for row in rows]
        if self.runner.jobs == 1:
            for row in wanted:
                for cell in row:
                    self._make_cell(cell)
                row_done()
            return
        stages = self._stages_of(cell for row in wanted for cell in row)
        # A thread for each, since most wait for what they share; the runner has jobs at once.
        with ThreadPoolExecutor(max(1, len(stages) + sum(map(len, wanted)))) as pool:
            for stage in stages:
                pool.submit(self._make_with_needs, stage)
            made = [[pool.submit(self._make_cell, cell) for cell in row] for row in wanted]
            try:
                for row_made in made:
                    for one in row_made:
                        one.result()
                    row_done()
            except BaseException:
                self.runner.stop()  # else the pool would wait for all that is left
                raise

    def _stages_of(self, wanted: Iterable[Cell]) -> list[str]:
        """All stages that cells need, each once, in the order of the work."""
        needed = (stage for cell in wanted for stage in self.place.stages_of(cell.arguments))
        return list(dict.fromkeys(needed))

    def _make_with_needs(self, stage: str) -> None:
        """Make a stage as soon as what it needs itself is there, whatever else its rows need."""
        for need in self.place.stages_of(f"{{{stage}}}"):
            if not self._make_stage(need):
                return

    def _make_cell(self, cell: Cell) -> None:
        for stage in self.place.stages_of(cell.arguments):
            if not self._make_stage(stage):
                if stage in self.failures:
                    self.problems[cell.name] = self.failures[stage]
                else:
                    self.busy[cell.name] = stage
                return
        self._attempt(cell.name, lambda: self._translate(cell))
        if cell.name in self.failures:
            self.problems[cell.name] = self.failures[cell.name]

    def _make_stage(self, name: str) -> bool:
        """Whether a stage is done now."""
        with self._locks[name]:
            return name not in self.failures and self._attempt(name, lambda: self._make(name))

    def _attempt(self, name: str, make: Callable[[], None]) -> bool:
        try:
            make()
        except BusyPlaceError:
            if name not in self.busy:
                self.tell(f"{name}: {BUSY.format('it')}; going on with the rest")
            self.busy[name] = name
        except DragomanError as error:
            self.failures[name] = f"{name}: {problem_of(error)}"
            self.tell(self.failures[name])
        else:
            return True
        return False

    def _make(self, name: str) -> None:
        place = self.place
        state = place.state(name)
        if state is State.DONE:
            return
        if state is State.CHANGED:
            raise changed(place, name)
        # The turn comes first: what only waits for one is left to other processes.
        with self.runner.turn(), place.held(STAGES, name):
            if place.state(name) is State.DONE:  # by another process, a moment ago
                return
            taken = self._run_stage(name)
            state = place.state(name)
            if state is State.CHANGED:
                raise changed(place, name)
            if missing := place.missing_end(name):
                raise DataError(f"the command ended without writing {missing}")
            self.tell(f"{name}: done in {duration(taken)}")

    def _run_stage(self, name: str) -> float:
        """Run the command of a stage, and return the seconds that it took."""
        place, arguments = self.place, self.place.command(name)
        place.begin(name)
        self.tell(f"{name}: {shell(arguments)}")
        begun = self.runner.clock()
        try:
            self.runner.run(arguments, place.output / "logs" / f"{name}.log")
        finally:
            taken = self.runner.clock() - begun
            place.add_seconds(name, taken)
        return taken

    def _translate(self, cell: Cell) -> None:
        place, output = self.place, translations(self.place, cell)
        text = self._text(cell.test)
        if is_translated(place, cell):
            return
        with self.runner.turn(), place.held(TRANSLATIONS, cell.name):
            if is_translated(place, cell):  # by another process, meanwhile
                return
            wanted, files = _made_from(place, cell), place.files(cell.arguments)
            read = {"files": described(files)} if files else {}
            arguments = translation_command(place, cell, text)
            self.tell(f"{cell.name}: {shell(arguments)}")
            log = place.output / "logs" / f"{cell.name}.log"
            output.unlink(missing_ok=True)
            seconds = self.runner.run(arguments, log, fine=_TRANSLATED)
            if not output.is_file():  # what could not be read has the same code
                raise FailedCommandError(f"nothing was translated (log: {log})")
            written = {"translations": content_digest(output), "seconds": round(seconds, 3)}
            write_json(place.record_file(TRANSLATIONS, cell.name), {**wanted, **read, **written})

    def _text(self, test: str) -> Text:
        """A test as plain files, read from its corpus once."""
        with self._locks[TEXT]:
            if test not in self._texts:
                self._texts[test] = write_text(self.place, test)
            return self._texts[test]


def cells(place: Workplace, row: str) -> Iterator[Cell]:
    """The cells of a row, in the order of its section's tests."""
    for section in place.table.sections:
        if row in section.rows:
            arguments = section.rows[row].by_test(section.tests)
            for test in section.tests:
                if arguments.get(test):
                    yield Cell(row, test, arguments[test])


def translations(place: Workplace, cell: Cell) -> Path:
    """The file of a row's translations of a test."""
    return place.output / "translations" / cell.name


def text_of(place: Workplace, test: str) -> Text:
    """Where a test lies as plain files."""
    folder = place.output / "text"
    return Text(folder / f"{test}.source", folder / f"{test}.reference")


def write_text(place: Workplace, test: str) -> Text:
    """Write a test as plain files, unless they are there with the same lines.

    Line breaks within a text, which some formats can hold, become spaces.

    Raises:
        DataError: the corpus is missing or unfit.
        StorageError: the disk refuses.
    """
    part, text = place.table.tests[test], text_of(place, test)
    found = [one for one in evaluation_examples(part) if one.tagged_source and one.target]
    if not found:
        raise DataError(f"{part.name}: no pair of {test} has both sides filled")
    sides = [one.tagged_source for one in found], [one.target for one in found]
    for path, texts in zip(text, sides, strict=True):
        content = "".join(f"{_LINE_BREAK.sub(' ', one)}\n" for one in texts)
        if not (path.is_file() and path.read_bytes() == content.encode("utf-8")):
            with atomic_write(path) as stream:
                stream.write(content)
    return text


def translation_command(place: Workplace, cell: Cell, text: Text) -> list[str]:
    """How a cell is translated or labelled, as arguments of ``dragoman`` or a study."""
    given = [expanded(one, place.places) for one in shlex.split(cell.arguments)]
    output = translations(place, cell)
    return [*_command(place, given), *given, "--input", str(text.source), "--output", str(output)]


def _command(place: Workplace, given: list[str]) -> list[str]:
    """What the arguments of a cell are of."""
    if given[:2] == WORD_BY_WORD or is_study(given):
        return []
    metrics = place.table.evaluation.metrics
    labels = metrics_of("labels", metrics) == [*metrics]
    return ["classify", "--labels"] if labels else ["translate"]


def is_translated(place: Workplace, cell: Cell) -> bool:
    """Whether a cell's translations are there, of its stages, text and files as they are now."""
    output = translations(place, cell)
    record, files = place.record(TRANSLATIONS, cell.name), place.files(cell.arguments)
    if not (record and output.is_file() and same(record, _made_from(place, cell))):
        return False
    before = record.get("files", {})
    if not files.keys() <= before.keys() or any(other_files(before, files)):
        return False
    return bool(record.get("translations") == content_digest(output))


def _made_from(place: Workplace, cell: Cell) -> Mapping[str, object]:
    source = text_of(place, cell.test).source
    return {
        "arguments": cell.arguments,
        "stages": place.digests(cell.arguments),
        "source": content_digest(source) if source.is_file() else None,
    }


def changed(place: Workplace, name: str) -> DataError:
    """What is wrong with a stage that was made by another recipe or command."""
    what = ", ".join(place.differences(name))
    return DataError(
        f"{place.places[name]} was made otherwise than the table says now ({what}); move it away "
        "to make it again, or change the recipe back"
    )
