"""Checks that training text has examples of short input: few words, capitals, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import regex

from dragoman.recipe import ExperimentConfig
from dragoman.text.tokens import words_of
from dragoman.text.transforms.casing import CaseConfig
from dragoman.workflows.doctor.findings import Finding, ok, warning
from dragoman.workflows.doctor.text_checks import ENOUGH_PAIRS, Texts

_FEW = 0.005
"""Share of the lines below which a model hardly learns from such lines."""
_SHORT = 3  # words
_CASED = regex.compile(r"\p{Lu}|\p{Ll}")
_SMALL = regex.compile(r"\p{Ll}")
_LETTER = regex.compile(r"\p{L}")
_DIGIT = regex.compile(r"\p{Nd}")


def check_short_lines(config: ExperimentConfig, texts: Texts) -> Iterator[Finding]:
    """Check the shares of short lines, of lines in capitals, and of numbers or codes.

    Those of which a transform makes examples are left out.
    """
    sources = [example.source for example in texts.translated_examples]
    if len(sources) < ENOUGH_PAIRS or config.model.writes_labels:
        return
    shares = {
        f"of at most {_SHORT} words": (_share(sources, _is_short), "{kind: segment}"),
        "in capitals": (_share(sources, _is_capital), "{kind: case, to: upper, sides: both}"),
        "of numbers or codes alone": (_share(sources, _is_number), "{kind: pass_through}"),
    }
    if not any(_CASED.search(source) for source in sources):
        del shares["in capitals"]
    made = _made(config)
    few = {
        name: (share, remedy)
        for name, (share, remedy) in shares.items()
        if share < _FEW and remedy not in made
    }
    if not few:
        yield ok("short", "the text has lines of few words, in capitals and of numbers")
        return
    lacking = ", ".join(f"{share:.1%} {name}" for name, (share, _) in few.items())
    remedies = ", ".join(remedy for _, remedy in few.values())
    yield warning(
        "short",
        f"few training sources are like short input: {lacking}; the model will do badly on such "
        f"lines: it may repeat itself or invent; add transforms with a share: {remedies} "
        "(docs/short-input.md)",
    )


def _share(lines: list[str], is_such: Callable[[str], bool]) -> float:
    return sum(map(is_such, lines)) / len(lines)


def _is_short(line: str) -> bool:
    return sum(word.is_word for word in words_of(line)) <= _SHORT and bool(_LETTER.search(line))


def _is_capital(line: str) -> bool:
    return bool(_CASED.search(line)) and not _SMALL.search(line)


def _is_number(line: str) -> bool:
    return bool(_DIGIT.search(line)) and not _SMALL.search(line) and len(line.split()) == 1


def _made(config: ExperimentConfig) -> set[str]:
    """The remedies that a training part has already."""
    found = set()
    for part in config.train_parts():
        for one in part.transforms:
            if one.kind in {"segment", "pass_through"}:
                found.add(f"{{kind: {one.kind}}}")
            if isinstance(one, CaseConfig) and one.to == "upper" and one.sides == "both":
                found.add("{kind: case, to: upper, sides: both}")
    return found
