"""The techniques: one entry each in docs/techniques.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from dragoman.core.config import Config, parse, read_yaml

TECHNIQUES_FILE = Path(__file__).parents[2] / "docs" / "techniques.yaml"

Verdict = Literal["gains", "mixed", "no gain here", "loses here", "no score"]


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
        chance = f" [{self.interval}]" if self.interval else f" (p {self.p})" if self.p else ""
        return f"{self.figure} {self.metric}{chance.replace('(p <', '(p < ')}"


class Technique(Config):
    """One technique, as its box and the summary of the results show it."""

    name: str
    page: str
    """Its page in docs/; several techniques may share one."""
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
