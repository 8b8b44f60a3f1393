"""Declaration of options: one call each, with the configuration field that the option sets.

Types and ranges are those that ``--help`` shows.  They are not read from the classes of the
configuration, which would import pydantic and PyTorch before ``--help`` could answer;
``tests/cli/test_declare.py`` checks that the two agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import click

AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])


class Declared:
    """An option; a decorator that adds it to a command."""

    def __init__(self, name: str, sets: str | None, attributes: dict[str, Any], flag: str) -> None:
        self.name = name
        """Its key among the options of a command."""
        self.sets = sets
        """The field that the option sets, such as ``search.beam``; None: no single field."""
        self.attributes = attributes
        self.flag = flag

    def hidden(self) -> Declared:
        """The same, without a line in ``--help``."""
        return Declared(self.name, self.sets, {**self.attributes, "hidden": True}, self.flag)

    def __call__(self, command: AnyCommand) -> AnyCommand:
        """Add the option."""
        return click.option(self.flag, self.name, **self.attributes)(command)


def option(
    usage: str, text: str, kind: Any = str, *, name: str = "", sets: str | None = None, **more: Any
) -> Declared:
    """An option with a value.

    Args:
        usage: as in a manual: the flag, a placeholder, if any, and ``...`` if it may be repeated,
            such as ``--tag TAG...``.
        text: for ``--help``.  A default among ``more`` is shown behind it.
        kind: type of the value.
        name: key among the options of a command, by default that of the flag.
        sets: field of a configuration that it sets.
        more: other arguments of :func:`click.option`.
    """
    flag, _, placeholder = usage.partition(" ")
    if more.get("default") is not None:
        more.setdefault("show_default", True)
    if placeholder.endswith("..."):
        more["multiple"] = True
    metavar = placeholder.removesuffix("...") or None
    attributes = {"metavar": metavar, "type": kind, "help": text, **more}
    return Declared(name or _key(flag), sets, attributes, flag)


def flag(usage: str, text: str, *, name: str = "", **more: Any) -> Declared:
    """An option without a value; arguments as of :func:`option`."""
    return Declared(name or _key(usage), None, {"is_flag": True, "help": text, **more}, usage)


def _key(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


class Options:
    """Options, or groups of options, in their order; a decorator that adds them to a command."""

    def __init__(self, *members: Callable[[AnyCommand], AnyCommand]) -> None:
        self._members = members

    def __iter__(self) -> Iterator[Declared]:
        """All options, those of groups among them."""
        for member in self._members:
            if isinstance(member, Options):
                yield from member
            elif isinstance(member, Declared):
                yield member

    def __call__(self, command: AnyCommand) -> AnyCommand:
        """Add the options."""
        for member in reversed(self._members):
            command = member(command)
        return command

    def hidden(self) -> Options:
        """The same, without a line in ``--help``."""
        return Options(*(declared.hidden() for declared in self))

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
