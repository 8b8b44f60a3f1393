"""Options declared in one call each, and the fields that they set."""

from __future__ import annotations

from typing import Any

import click
import pytest

from dragoman.cli import declare


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
