"""Declaration of options: a text like a manual page, with the configuration fields that they set.

::

    --beam: 1 <= int -> search.beam
        Beam size; 1 is greedy search.
    --tag TAG... as tags -> tags
        Prepend a tag that the model knows, such as <ui>, to each line; may be repeated.

The line of an option has its flag, a placeholder, and ``...`` if it may be repeated.  ``TAG,...``
is a list: its values may be separated by commas, given one by one, or both.  These may follow, in
this order:

- ``: KIND``: type of the value, by default text: one of :data:`KINDS`, a number and perhaps its
  bounds, such as ``0 < number <= 1``, or the choices, such as ``exact | quick``
- ``= DEFAULT``, which ``--help`` shows
- ``as NAME``: key among the options of a command, by default that of the flag
- ``-> FIELD``: field of a configuration that the option sets
- ``required``

Without placeholder and kind, an option has no value.  The indented lines are for ``--help``.

Kinds are not read from the classes of the configuration, which would import pydantic and PyTorch
before ``--help`` could answer; ``tests/cli/test_declare.py`` checks that the two agree.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from dragoman.cli.option_types import (
    FILE,
    METRIC,
    MODEL,
    OUTPUT,
    PATH,
    TOKENIZER,
    FormatName,
    KnownName,
    Number,
)

AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])

KINDS: dict[str, Any] = {
    "text": str,
    "ENGINE": KnownName("dragoman.saved.engine_names:ENGINES"),
    "EXPORTER": KnownName("dragoman.exchange.toolkits:EXPORTERS"),
    "FILE": FILE,
    "FORMAT": FormatName(),
    "IDENTIFIER": KnownName("dragoman.evaluation.identifiers:IDENTIFIERS"),
    "IMPORTER": KnownName("dragoman.exchange.toolkits:IMPORTERS"),
    "METRIC": METRIC,
    "MODEL": MODEL,
    "OUTPUT": OUTPUT,
    "PATH": PATH,
    "SPLITTER": KnownName("dragoman.text.splitters:SPLITTERS"),
    "TOKENIZER": TOKENIZER,
    "TRACKER": KnownName("dragoman.workflows.trackers:TRACKERS", "none"),
}
"""Types of values by their names."""
_LINE = re.compile(
    r"(?P<flag>--[\w-]+)(?: (?P<placeholder>[A-Z\[]\S*?))?(?P<repeated> ?\.\.\.)?"
    r"(?:: (?P<kind>.+?))?(?: = (?P<default>.+?))?"
    r"(?: as (?P<name>\w+))?(?: -> (?P<sets>[\w.]+))?(?P<required> required)?"
)
_NUMBER = re.compile(
    r"(?:(?P<min>\S+) (?P<above><=?) )?(?P<of>int|number)(?: (?P<below><=?) (?P<max>\S+))?"
)


@dataclass(frozen=True)
class Declared:
    """An option; a decorator that adds it to a command."""

    flag: str
    name: str
    """Its key among the options of a command."""
    sets: str | None
    """The field that the option sets, such as ``search.beam``; None: no single field."""
    attributes: dict[str, Any]
    """Arguments of :func:`click.option`."""

    @classmethod
    def read(cls, line: str, text: str) -> Declared:
        """Read the line of an option, whose text for ``--help`` is given."""
        match = _LINE.fullmatch(line)
        assert match is not None, line
        flag, placeholder, repeated, kind, default, name, sets, required = match.groups()
        attributes: dict[str, Any] = {"help": text}
        if placeholder or repeated or kind:
            attributes |= {"type": _type(kind or "text"), "metavar": placeholder}
            attributes |= {"multiple": bool(repeated), "required": bool(required)}
            if placeholder and placeholder.endswith(","):
                attributes |= {"metavar": f"{placeholder}...", "callback": listed}
        else:
            attributes["is_flag"] = True
        if default is not None:
            attributes |= {"default": default, "show_default": True}
        return cls(flag, name or flag.removeprefix("--").replace("-", "_"), sets, attributes)

    def having(self, **attributes: Any) -> Declared:
        """The same, with further arguments of :func:`click.option`."""
        return replace(self, attributes={**self.attributes, **attributes})

    def __call__(self, command: AnyCommand) -> AnyCommand:
        """Add the option."""
        return click.option(self.flag, self.name, **self.attributes)(command)


def listed(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """The values of a list, in their order and each once."""
    values = [part.strip() for value in given for part in value.split(",")]
    found = tuple(dict.fromkeys(filter(None, values)))
    if given and not found:
        raise click.BadParameter(f"{','.join(given)!r} names nothing; write it like one,another")
    return found


def _type(kind: str) -> Any:
    if " | " in kind:
        return click.Choice(kind.split(" | "))
    if (match := _NUMBER.fullmatch(kind)) is None:
        return KINDS[kind]
    bounds = {name: _number(match[name]) for name in ("min", "max") if match[name]}
    if match["of"] == "int":
        return click.IntRange(**bounds) if bounds else int
    return Number(**bounds, min_open=match["above"] == "<", max_open=match["below"] == "<")


def _number(text: str) -> Any:
    return int(text) if text.isdecimal() else float(text)


class Options:
    """Options, or groups of options, in their order; a decorator that adds them to a command."""

    def __init__(self, *members: Declared | Options) -> None:
        self._members = members

    def __iter__(self) -> Iterator[Declared]:
        """All options, those of groups among them."""
        for member in self._members:
            yield from member if isinstance(member, Options) else (member,)

    def __call__(self, command: AnyCommand) -> AnyCommand:
        """Add the options."""
        for declared in reversed(list(self)):
            command = declared(command)
        return command

    def hidden(self) -> Options:
        """The same, without a line in ``--help``."""
        return Options(*(declared.having(hidden=True) for declared in self))

    def set_fields(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that these options set, section by section; absent if not given."""
        values: dict[str, Any] = {}
        for declared in self:
            value = given.get(declared.name)
            if declared.sets is None or value is None or value == ():
                continue
            *sections, field = declared.sets.split(".")
            place = values
            for section in sections:
                place = place.setdefault(section, {})
            place[field] = value
        return values


def options(text: str, **more: Mapping[str, Any]) -> Options:
    """The options that a text declares, as described above.

    Args:
        more: further arguments of :func:`click.option`, by the name of the option.
    """
    declared = []
    for block in re.split(r"\n(?=--)", inspect.cleandoc(text)):
        line, *help_lines = block.split("\n")
        option = Declared.read(line, " ".join(help_line.strip() for help_line in help_lines))
        declared.append(option.having(**more.get(option.name, {})))
    return Options(*declared)
