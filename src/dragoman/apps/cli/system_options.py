"""The options of 'dragoman translate' that describe what translates: a TranslationSystem."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.apps.cli.options import EXISTING, Number, device_option
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem
    from dragoman.translation.translator import Translator

_options = (
    click.option(
        "--system",
        "system_file",
        metavar="FILE",
        type=EXISTING,
        help="Take models and options from FILE, a description in YAML; those given here count "
        "more.",
    ),
    click.option(
        "--write-system",
        metavar="FILE",
        type=EXISTING,
        help="Also write such a description of these models and options to FILE.",
    ),
    click.option(
        "--weight",
        "weights",
        metavar="W",
        type=Number(min=0, min_open=True),
        multiple=True,
        help="Of each MODEL of an ensemble, in their order: as many as there are.  [default: 1]",
    ),
    click.option(
        "--lm",
        "language_model",
        metavar="PATH",
        type=EXISTING,
        help="Add the log-probabilities of this language model to those of MODEL.",
    ),
    click.option(
        "--lm-weight",
        metavar="W",
        type=Number(min=0),
        help="What the language model's are multiplied by.  [default: 0.2]",
    ),
    click.option("--prefix", metavar="TEXT", help="Let every translation begin with TEXT."),
    click.option(
        "--engine",
        type=click.Choice(["pytorch", "ctranslate2"]),
        help="What searches; ctranslate2 is an extra, and converts MODEL once.  [default: pytorch]",
    ),
    click.option(
        "--precision",
        type=click.Choice(["float32", "bfloat16", "int8", "auto"]),
        help="Of weights: less is faster and changes a few translations. int8 is ctranslate2's, "
        "auto takes bfloat16 where the hardware has it.  [default: float32]",
    ),
    click.option(
        "--workers",
        metavar="N",
        type=click.IntRange(1, 1024),
        help="Processes (ctranslate2: threads) that share the lines.",
    ),
    device_option,
)
_VALUES = ("engine", "precision", "workers", "device", "prefix", "weights")


def system_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let people say on the command line what translates."""
    for option in reversed(_options):
        option(command)
    return command


def open_translator(
    models: tuple[Path, ...], options: dict[str, Any], search: dict[str, Any]
) -> Translator:
    """Build what the command line describes, and write the description where that is asked for.

    Args:
        models: as given.
        options: those of :func:`system_options`.
        search: settings of search; None where one is not given.

    Raises:
        DragomanError: it makes no sense, or a model cannot be opened.
    """
    from dragoman.saved.system import write_system
    from dragoman.translation.translator import Translator

    system = _described(models, options, search)
    translator = Translator.of(system)
    if options["write_system"] is not None:
        write_system(options["write_system"], system)
    return translator


def _described(
    models: tuple[Path, ...], options: dict[str, Any], search: dict[str, Any]
) -> TranslationSystem:
    from dragoman.core.config import parse
    from dragoman.saved.system import TranslationSystem, read_values

    file = options["system_file"]
    if bool(models) == (file is not None):
        raise click.UsageError("name at least one MODEL, or --system FILE, and not both")
    values: dict[str, Any] = {"models": models} if file is None else read_values(file)
    values.update({name: options[name] for name in _VALUES if options[name] not in {None, ()}})
    _lay_over(values, "search", {k: v for k, v in search.items() if v is not None})
    fused = {"path": options["language_model"], "weight": options["lm_weight"]}
    _lay_over(values, "language_model", {k: v for k, v in fused.items() if v is not None})
    fusion = values.get("language_model")
    if options["lm_weight"] is not None and isinstance(fusion, dict) and "path" not in fusion:
        raise ConfigError("--lm-weight is about a language model; name one with --lm")
    return parse(TranslationSystem, values, file or "translate")


def _lay_over(values: dict[str, Any], section: str, given: dict[str, Any]) -> None:
    """Lay what is given over a section; one that is no section is left for ``parse`` to tell."""
    present = values.get(section) or {}
    if given and isinstance(present, dict):
        values[section] = {**present, **given}
