"""Options declared in one call each, and the fields that they set."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import click
import pytest
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from dragoman.cli import declare
from dragoman.cli.search_options import (
    buffer_option,
    output_options,
    sampling_options,
    search_options,
)
from dragoman.cli.system_options import described_options
from dragoman.core.config import Config
from dragoman.core.sections import members
from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig


def made(declared: declare.Declared | declare.Options) -> list[click.Parameter]:
    """The parameters of a command with these options."""

    def command(**_: Any) -> None: ...

    declared(command)
    return list(reversed(command.__click_params__))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("usage", "opts", "metavar", "repeated"),
    [
        ("--beam", "--beam", None, False),
        ("--length-penalty ALPHA", "--length-penalty", "ALPHA", False),
        ("--adapter [DOMAIN=]FILE...", "--adapter", "[DOMAIN=]FILE", True),
        ("--dev ...", "--dev", None, True),
    ],
)
def test_usage(usage: str, opts: str, metavar: str | None, repeated: bool) -> None:
    (option,) = made(declare.option(usage, "Help."))
    assert isinstance(option, click.Option)
    assert (option.opts, option.metavar, option.multiple) == ([opts], metavar, repeated)
    assert option.help == "Help."


def test_a_default_is_shown_unless_the_text_says_it() -> None:
    shown = declare.option("--layers N", "Layers.", int, default=6)
    told = declare.option("--gpus G", "None.", int, default=0, show_default=False)
    assert [option.show_default for option in made(declare.Options(shown, told))] == [True, False]  # type: ignore[attr-defined]


def test_groups_keep_their_order() -> None:
    inner = declare.Options(declare.flag("--b", ""), declare.option("--c", "", name="other"))
    options = declare.Options(declare.option("--a", ""), inner, declare.option("--d", ""))
    assert [option.name for option in made(options)] == ["a", "b", "other", "d"]
    assert [declared.name for declared in options] == ["a", "b", "other", "d"]


def test_options_set_the_fields_that_they_name() -> None:
    options = declare.Options(
        declare.option("--beam", "", int, sets="search.beam"),
        declare.option("--weight W...", "", float, name="weights", sets="weights"),
        declare.option("--lm PATH", "", sets="language_model.path"),
        declare.option("--lm-weight W", "", float, sets="language_model.weight"),
        declare.flag("--json", ""),
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
    assert isinstance(option, click.Option)
    types = types_in(field.annotation)
    assert option.multiple == any(get_origin(kind) is tuple for kind in types)
    choices = [{*get_args(kind)} for kind in types if get_origin(kind) is Literal]
    given = [{*option.type.choices}] if isinstance(option.type, click.Choice) else []
    assert given == choices
    if isinstance(option.type, (click.IntRange, click.FloatRange)) and not option.multiple:
        kind: Any = Annotated[field.annotation, field]
        adapter = TypeAdapter(kind)
        bounds = ((option.type.min, option.type.min_open), (option.type.max, option.type.max_open))
        for bound, is_open in bounds:
            if bound is not None and not is_open:
                adapter.validate_python(bound)
