"""Measured results: one file for each topic in docs/results/data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field

from dragoman.core.config import Config, parse, read_yaml
from dragoman.core.errors import ConfigError
from studies.pages.written_figures import read_figure

MACHINES_FILE = "machines.yaml"


class Plot(Config):
    """Columns of a table that are drawn as a forest plot, side by side."""

    columns: tuple[int, ...] = Field(min_length=1)
    """Columns with figures, counted from 0."""
    names: tuple[str, ...]
    """What each panel shows: ``test2016, BLEU``."""
    labels: tuple[int, ...] = (0,)
    """The columns that name the rows."""
    skip: int = 0
    """First rows that are left out, such as a baseline beside differences."""


class ResultTable(Config):
    """A table of measured rows, and how they were measured."""

    title: str
    text: str = ""
    """What the rows are, in a sentence or two."""
    head: tuple[str, ...]
    align: str
    """``l`` or ``r`` for each column."""
    rows: tuple[tuple[str, ...], ...] = Field(min_length=1)
    date: str
    machine: str
    """Keys of the table of machines, with commas; ``-`` for what others published."""
    seeds: str = "1"
    beside: str = "other work"
    """What else the machine did."""
    command: str = ""
    """What repeats it, if it is not that of the page."""
    picture: str = ""
    """A picture from docs/images that was drawn otherwise."""
    plot: Plot | None = None
    findings: tuple[str, ...] = ()

    def conflicts(self) -> Iterator[str]:
        """Rows of another length than the head, and plots of columns without figures."""
        width = len(self.head)
        if len(self.align) != width or set(self.align) - {"l", "r"}:
            yield f"align: {self.align} is not l or r for each of {width} columns"
        for number, row in enumerate(self.rows, start=1):
            if len(row) != width:
                yield f"rows: row {number} has {len(row)} cells instead of {width}: {row[0]}"
        if self.plot is not None:
            yield from self._conflicts_of_plot(self.plot, width)

    def _conflicts_of_plot(self, plot: Plot, width: int) -> Iterator[str]:
        if len(plot.columns) != len(plot.names):
            yield f"plot: {len(plot.columns)} columns and {len(plot.names)} names"
        for column in plot.columns:
            if not 0 <= column < width:
                yield f"plot: there is no column {column}"
            elif not any(read_figure(row[column]) for row in self.rows if len(row) == width):
                yield f"plot: column {column} has no figure"


class ResultTopic(Config):
    """What one page of results shows."""

    title: str
    about: tuple[str, ...] = ()
    """Pages of docs/ that explain what was measured."""
    lead: str
    """The verdict, in two sentences."""
    command: str = ""
    tables: tuple[ResultTable, ...] = Field(min_length=1)
    not_measured: str = ""


def read_topics(folder: Path) -> dict[str, ResultTopic]:
    """All topics by the name of their page.

    Raises:
        ConfigError: a file is no such data, or names a machine that the table of machines lacks.
    """
    machines = read_machines(folder)
    topics = {}
    for path in sorted(folder.glob("*.yaml")):
        if path.name == MACHINES_FILE:
            continue
        topic = topics[path.stem] = parse(ResultTopic, read_yaml(path), path)
        for table in topic.tables:
            _check(table, machines, path)
    return topics


def read_machines(folder: Path) -> dict[str, str]:
    """What the machines are, by key."""
    return {str(key): str(text) for key, text in read_yaml(folder / MACHINES_FILE).items()}


def _check(table: ResultTable, machines: Mapping[str, str], path: Path) -> None:
    for key in table.machine.split(", "):
        if key not in {*machines, "-"}:
            raise ConfigError(f"{path}: {table.title}: machine {key} is none of {MACHINES_FILE}")
