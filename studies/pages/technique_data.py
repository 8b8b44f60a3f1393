"""The techniques: one entry each in docs/techniques.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from dragoman.core.config import Config, parse, read_yaml

TECHNIQUES_FILE = Path(__file__).parents[2] / "docs" / "techniques.yaml"

Verdict = Literal["gains", "mixed", "no gain here", "loses here", "no score"]
Group = Literal[
    "A first model",
    "Your domain",
    "Strings and documents",
    "Little or no parallel text",
    "Many languages",
    "Better training",
    "A trained model",
    "Other outputs",
]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Situations in the order of docs/choose.md."""


class Gain(Config):
    """A measured gain of a technique."""

    figure: str
    """The difference, or a score by itself, as it is shown: ``+4.40``."""
    metric: str
    interval: str = ""
    """95 % interval of the figure: ``+3.71, +5.05``."""
    p: str = ""
    what: str
    """The text and the baseline."""
    link: str
    """The page with the rows, from docs/."""

    def text(self) -> str:
        """Figure, metric and what chance could do: ``+4.40 chrF [+3.71, +5.05]``."""
        return f"{self.figure} {self.metric}{self._chance()}"

    def linked(self) -> str:
        """The same in Markdown, with the figure as a link to its rows."""
        return f"[{self.figure} {self.metric}]({self.link}){self._chance()}"

    def _chance(self) -> str:
        if self.interval:
            return f" [{self.interval}]"
        return f" (p {self.p})".replace("(p <", "(p < ") if self.p else ""


class Technique(Config):
    """One technique, as its box and the summary of the results show it."""

    name: str
    page: str
    """Its page in docs/; several techniques may share one."""
    group: Group
    """The part of docs/choose.md that shows it."""
    when: str
    command: str
    gained: tuple[Gain, ...] = Field(min_length=1)
    """The most telling figure first."""
    costs: str
    not_for: str
    verdict: Verdict


def read_techniques(path: Path = TECHNIQUES_FILE) -> dict[str, Technique]:
    """All techniques by name.

    Raises:
        ConfigError: the file is no such data; the message names the entry.
    """
    return {
        name: parse(Technique, entry, f"{path}: {name}") for name, entry in read_yaml(path).items()
    }
