"""Options declared as text, and the fields that they set."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import click
import pytest
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from dragoman.cli import declare
from dragoman.cli.main import commands
from dragoman.cli.search_options import (
    buffer_option,
    output_options,
    sampling_options,
    search_options,
)
from dragoman.cli.system_options import described_options
from dragoman.core.config import Config
from dragoman.core.sections import OneName, members
from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig


def made(declared: declare.Declared | declare.Options) -> list[click.Option]:
    """The parameters of a command with these options."""

    def command(**_: Any) -> None: ...

    declared(command)
    return list(reversed(command.__click_params__))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "metavar", "repeated"),
    [
        ("--beam: int", None, False),
        ("--length-penalty ALPHA", "ALPHA", False),
        ("--adapter [DOMAIN=]FILE... as adapters", "[DOMAIN=]FILE", True),
        ("--dev ...: PATH", None, True),
        ("--rendezvous HOST:PORT", "HOST:PORT", False),
    ],
)
def test_usage(line: str, metavar: str | None, repeated: bool) -> None:
    (option,) = made(declare.options(f"{line}\n    Help on\n    two lines."))
    assert (option.opts, option.metavar) == (
        [line.split(":", maxsplit=1)[0].split(maxsplit=1)[0]],
        metavar,
    )
    assert (option.multiple, option.is_flag) == (repeated, False)
    assert option.help == "Help on two lines."


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("int", -1, "0.5"),
        ("1 <= int <= 3", 3, "4"),
        ("0 < number < 1", 0.5, "1"),
        ("0 < number <= 1", 1.0, "0"),
        ("1e-6 <= number", 1e-6, "inf"),
        ("exact | quick", "quick", "slow"),
    ],
)
def test_kinds_of_values(kind: str, good: object, bad: str) -> None:
    (option,) = made(declare.options(f"--of: {kind}"))
    assert option.type.convert(str(good), option, None) == good
    with pytest.raises(click.BadParameter):
        option.type.convert(bad, option, None)


def test_an_option_without_placeholder_and_kind_has_no_value() -> None:
    (option,) = made(declare.options("--sample\n    Sample."))
    assert (option.is_flag, option.required) == (True, False)


def test_a_default_is_shown_unless_it_is_added() -> None:
    options = declare.options(
        """
        --layers N: int = 6
        --gpus G: int required
        """,
        gpus={"default": 0},
    )
    assert [option.show_default for option in made(options)] == [True, None]
    assert [option.required for option in made(options)] == [False, True]


def test_groups_keep_their_order() -> None:
    inner = declare.options("--b\n    B.\n--c TEXT as other")
    options = declare.Options(declare.options("--a"), inner, declare.options("--d"))
    assert [option.name for option in made(options)] == ["a", "b", "other", "d"]
    assert [declared.name for declared in options] == ["a", "b", "other", "d"]
    assert all(option.hidden for option in made(options.hidden()))


def test_options_set_the_fields_that_they_name() -> None:
    options = declare.options(
        """
        --beam: int -> search.beam
        --weight W...: number as weights -> weights
        --lm PATH -> language_model.path
        --lm-weight W: number -> language_model.weight
        --json
        """
    )
    given = {"beam": 4, "weights": (), "lm": None, "lm_weight": 0.0, "json": True}
    assert options.set_fields(given) == {"search": {"beam": 4}, "language_model": {"weight": 0.0}}
    assert options.set_fields({}) == {}


def field_of(path: str) -> FieldInfo:
    """The field of a translation system with this path."""
    kind: type[Config] = TranslationSystem
    *sections, name = path.split(".")
    for section in sections:
        kind = (
            SearchConfig if section == "search" else members(kind.model_fields[section], Config)[0]
        )
    return kind.model_fields[name]


def types_in(annotation: Any) -> list[Any]:
    """The alternatives of an annotation, such as of ``int | None``."""
    return list(get_args(annotation)) if get_origin(annotation) is UnionType else [annotation]


SETTINGS = [
    declared
    for declared in declare.Options(
        described_options, search_options, output_options, buffer_option, sampling_options
    )
    if declared.sets is not None
]


@pytest.mark.parametrize("declared", SETTINGS, ids=lambda declared: declared.name)
def test_an_option_agrees_with_the_field_that_it_sets(declared: declare.Declared) -> None:
    """The command line states types itself, so that ``--help`` need not import the classes."""
    field, (option,) = field_of(declared.sets or ""), made(declared)
    types = types_in(field.annotation)
    assert option.multiple == any(get_origin(kind) is tuple for kind in types)
    choices = [{*get_args(kind)} for kind in types if get_origin(kind) is Literal]
    choices += [{*mark.names()} for mark in field.metadata if isinstance(mark, OneName)]
    given = [{*option.type.choices}] if isinstance(option.type, click.Choice) else []
    assert given == choices
    if isinstance(option.type, (click.IntRange, click.FloatRange)) and not option.multiple:
        kind: Any = Annotated[field.annotation, field]
        adapter = TypeAdapter(kind)
        bounds = ((option.type.min, option.type.min_open), (option.type.max, option.type.max_open))
        for bound, is_open in bounds:
            if bound is not None and not is_open:
                adapter.validate_python(bound)


def walked(command: click.Command) -> list[tuple[str, click.Option]]:
    """All options of a command, and of those below it."""
    found = [(command.name or "", one) for one in command.params if isinstance(one, click.Option)]
    for below in getattr(command, "commands", {}).values():
        found += walked(below)
    return found


def test_every_list_may_be_separated_by_commas_or_given_one_by_one() -> None:
    """Or else the last value would win, silently."""
    names, values = set(), ["1", "2", "3"]
    for command, option in walked(commands):
        flag, said = option.opts[0], option.help or ""
        assert "separated by commas" not in said or option.multiple, (command, flag)
        if not (option.metavar or "").endswith(",...") or "=" in (option.metavar or ""):
            continue
        names.add(f"{command} {flag}")
        for given in (["1,2,3"], values, ["1, 2", "3"], []):
            arguments = [part for value in given for part in (flag, value)]
            context = click.Command("any", params=[option]).make_context("any", arguments)
            found = [*map(str, context.params[option.name or ""])]
            assert found == (values if given else []), (command, flag)
    # Files, whose names may have commas.
    files = {f"{command} {one.opts[0]}" for command, one in walked(commands) if one.multiple}
    assert {"translate --glossary", "translate --keep", "check --glossary"} <= files
    assert {"translate --protect", "tune --protect", "evaluate --among"} <= names
    assert {"evaluate --bounds", "classify --py3langid", "import --languages"} <= names
