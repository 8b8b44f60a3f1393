"""The options of commands that describe what translates: a TranslationSystem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.options import (
    FILE,
    MODEL,
    PATH,
    Number,
    check_description,
    check_no_input,
    device_option,
)
from dragoman.cli.search_checks import check_mbr, draws, saved_search, unread
from dragoman.core.errors import ConfigError
from dragoman.saved.installed_models import found_model

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem
    from dragoman.translation.dispatch import Dispatcher
    from dragoman.translation.translator import Translator

_write_system = declare.option(
    "--write-system FILE",
    "Also write these models and options to FILE, to be read with --system.",
    FILE,
)
_options = (
    declare.option(
        "--system FILE",
        "Read models and options from FILE, a YAML description; options given here override it.",
        PATH,
        name="system_file",
    ),
    declare.option(
        "--weight W...",
        "Weight of a MODEL in an ensemble; give one per MODEL, in order.  [default: 1]",
        Number(min=0, min_open=True),
        name="weights",
    ),
    declare.option(
        "--ensemble",
        "Mean of the probabilities of several MODELs, or of their log-probabilities.  "
        "[default: linear]",
        click.Choice(["linear", "log-linear"]),
    ),
    declare.option(
        "--lm PATH",
        "Language model whose weighted log-probabilities are added to those of MODEL.",
        PATH,
        name="language_model",
    ),
    declare.option("--lm-weight W", "Weight of the language model.  [default: 0.2]", Number(min=0)),
    declare.option(
        "--adapter [DOMAIN=]FILE...",
        "Adapter of MODEL, or the run that it was trained in.  With DOMAIN, it is for lines "
        "that begin with the tag <DOMAIN>, and may be repeated.",
        name="adapters",
    ),
    declare.option(
        "--to LANGUAGE",
        "Target language, such as de, for a model that was trained on several.",
        name="target_language",
    ),
    declare.option(
        "--from LANGUAGE",
        "Source language; refuse MODEL if it was not trained to translate from it.  With auto "
        "the language of each line decides: see --route and --via.",
        name="source_language",
    ),
    declare.option(
        "--route LANGUAGE=MODEL...",
        "With --from auto: MODEL for lines in LANGUAGE; may be repeated.  Other lines, and "
        "those whose language is uncertain, go to the first MODEL.  With --then, the MODEL of a "
        "route translates into the language of --via, as the first one does.",
        name="routes",
    ),
    declare.option(
        "--identify MODEL",
        "With --from auto: classifier that identifies languages.  [default: py3langid]",
        MODEL,
        name="identifier",
    ),
    declare.option(
        "--via LANGUAGE",
        "Translate into this third language first, then its hypotheses into the language of --to.",
    ),
    declare.option(
        "--then MODEL...",
        "With --via: model that translates from that language; several form an ensemble.  "
        "[default: MODEL]",
        MODEL,
        name="onward",
    ),
    declare.option(
        "--then-tag TAG...",
        "With --then: tag known to that model; may be repeated.",
        name="onward_tags",
    ),
    declare.option(
        "--via-nbest N",
        "With --via: number of hypotheses in that language to translate on.  [default: 4]",
        click.IntRange(1, 1000),
    ),
    declare.option(
        "--tag TAG...",
        "Prepend a tag that the model knows, such as <ui>, to each line; may be repeated.",
        name="tags",
    ),
    declare.option(
        "--glossary-mode",
        "With --glossary: constrain the search; annotate terms in the source, for a MODEL "
        "trained on such text; or both.  [default: hard]",
        click.Choice(["hard", "learned", "both"]),
    ),
    declare.option("--prefix TEXT", "Force every translation to begin with TEXT."),
    declare.option(
        "--glossary FILE",
        "Translate terms as FILE says: term, tab, translation (several separated by |); or TBX.",
        PATH,
    ),
    declare.option(
        "--keep FILE...", "Copy the names in FILE, one per line, unchanged; may be repeated.", PATH
    ),
    declare.option(
        "--keep-pattern REGEX...",
        "Copy whatever matches REGEX unchanged; may be repeated.",
        name="keep_patterns",
    ),
    declare.option(
        "--protect KINDS",
        "Copy strings of these kinds unchanged: placeholders, tags, urls, numbers; several "
        "are separated by commas.",
    ),
    declare.option(
        "--engine",
        "Inference engine; ctranslate2 is an optional extra and converts MODEL on first use.  "
        "[default: pytorch]",
        click.Choice(["pytorch", "ctranslate2"]),
    ),
    declare.option(
        "--precision",
        "Number type of the weights: lower is faster and changes a few translations.  int8 "
        "is for the CPU; auto is bfloat16 where the hardware has it.  [default: float32]",
        click.Choice(["float32", "bfloat16", "int8", "auto"]),
    ),
    declare.flag(
        "--shortlist",
        "Search only among the likeliest pieces of each line, by the shortlist that 'dragoman "
        "shortlist' has built beside MODEL: faster with large vocabularies.",
    ),
    declare.option(
        "--shortlist-file FILE",
        "As --shortlist, with the shortlist in FILE, of a model with the same vocabularies.",
        PATH,
    ),
    declare.option(
        "--own-pieces SHARE",
        "Keep outputs of a multilingual model in the target language: write only pieces at "
        "least SHARE (such as 0.1) times as frequent in its training text as in any other's.",
        click.FloatRange(0, 1),
    ),
    device_option,
)
_workers = declare.option(
    "--workers N",
    "Processes (ctranslate2: threads) to share the lines among.",
    click.IntRange(1, 1024),
)
_VALUES = (
    "engine",
    "own_pieces",
    "precision",
    "workers",
    "device",
    "source_language",
    "target_language",
    "tags",
    "prefix",
    "weights",
    "ensemble",
)


def system_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that describe a translation system to a command, and one that writes it."""
    return described_options(_write_system(command))


def described_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that :func:`described` reads to a command."""
    return described_without_workers(_workers(command))


def described_without_workers(command: Callable[..., None]) -> Callable[..., None]:
    """Add those options except for ``--workers``."""
    for option in reversed(_options):
        option(command)
    return command


def open_translator(
    models: tuple[Path, ...],
    options: dict[str, Any],
    search: dict[str, Any],
    written: Mapping[str, Path | None],
) -> Translator | Dispatcher:
    """Build the system that the command line describes; write its description if asked to.

    Args:
        models: as given.
        options: those of :func:`system_options`, and ``sample`` if the command can sample.
        search: search settings; None where not given.  Those of sampling alone change a system
            that samples, without ``sample`` among the options.
        written: by its option, each further file that the command writes.

    Raises:
        DragomanError: the options contradict one another, a model cannot be opened, or what says
            how to translate would be overwritten.
    """
    from dragoman.saved.system import write_system
    from dragoman.translation.domains import DomainRouter
    from dragoman.translation.routing import Router
    from dragoman.translation.translator import Translator

    check_description(options["write_system"], "--write-system")
    file = options["system_file"]
    _check_kept(written, [] if file is None else [file])
    system = described(models, options, search)
    _check_kept(written, system.paths())
    where = "search options" if file is None else f"{file}: search"
    translator: Translator | Dispatcher
    if system.chooses_adapter:
        translator = DomainRouter.of(system, where)
    else:
        translator = (Router if system.chooses_route else Translator).of(system, where)
    if problem := unread(options, translator.search):
        translator.close()
        raise ConfigError(problem)
    if options["write_system"] is not None:
        write_system(options["write_system"], system)
    return translator


def _check_kept(written: Mapping[str, Path | None], read: list[Path]) -> None:
    """Refuse to overwrite a file that says how to translate, such as a glossary.

    Raises:
        ConfigError: one would be overwritten.
    """
    for option, path in written.items():
        if path is not None:
            check_no_input(path, read, option)


def described(
    models: tuple[Path, ...], options: dict[str, Any], search: dict[str, Any]
) -> TranslationSystem:
    """The system that the command line describes; arguments as of :func:`open_translator`.

    Raises:
        ConfigError: the options contradict one another, or the file cannot be read.
    """
    from dragoman.core.config import parse
    from dragoman.saved.system import TranslationSystem, read_values

    file = options["system_file"]
    if bool(models) == (file is not None):
        raise click.UsageError("name at least one MODEL or --system FILE, but not both")
    values: dict[str, Any] = {"models": models} if file is None else read_values(file)
    values.update({name: options[name] for name in _VALUES if options[name] not in {None, ()}})
    if options.get("calibration") is not None:
        values["confidence"] = options["calibration"]
    elif options.get("confidence"):
        values["confidence"] = values.get("confidence") or True
    if options["shortlist"] or options["shortlist_file"] is not None:
        values["shortlist"] = options["shortlist_file"] or values.get("shortlist") or True
    for name, value in _adapters(options["adapters"]).items():
        values[name] = value
    _lay_over_pivot(values, options)
    if options.get("identifier") is not None:
        _lay_over(values, "identifier", {"classifier": options["identifier"]})
    first_leg = values.get("pivot") if options["onward"] else None
    _lay_over(values, "routes", _routes(options.get("routes") or (), first_leg))
    samples = options.get("sample") or search.get("mbr") or draws(values.get("search"))
    _lay_over(values, "search", {k: v for k, v in search.items() if v is not None})
    fused = {"path": options["language_model"], "weight": options["lm_weight"]}
    _lay_over(values, "language_model", {k: v for k, v in fused.items() if v is not None})
    protected = _kinds(options["protect"])
    terms = {name: options[name] for name in ("glossary", "keep", "keep_patterns")}
    terms |= {"protect": protected, "mode": options["glossary_mode"]}
    _lay_over(values, "terms", {name: value for name, value in terms.items() if value})
    fusion = values.get("language_model")
    if options["lm_weight"] is not None and isinstance(fusion, dict) and "path" not in fusion:
        raise ConfigError("--lm-weight needs a language model; name one with --lm")
    system = parse(TranslationSystem, values, file or "translate")
    if search.get("sampling") and not samples and not draws(saved_search(system.models[0])):
        flag = "--" + next(iter(search["sampling"])).replace("_", "-")
        raise ConfigError(f"{flag} needs --sample or --mbr; add one, or leave out {flag}")
    check_mbr(search.get("mbr"), system)
    return system


def _kinds(given: str | None) -> list[str]:
    """What ``--protect`` names.

    Raises:
        UsageError: it is given and names nothing, so that nothing would be protected.
    """
    kinds = [kind.strip() for kind in (given or "").split(",") if kind.strip()]
    if given is not None and not kinds:
        raise click.UsageError(f"--protect {given!r}: names nothing; write it like tags,numbers")
    return kinds


def _lay_over_pivot(values: dict[str, Any], options: dict[str, Any]) -> None:
    """Override what leads through a third language.

    With --then, MODEL translates into that language: its models, weights and tags are the pivot's.

    Raises:
        ConfigError: an option lacks another.
    """
    onward, via = options["onward"], options["via"]
    if onward and options["system_file"] is not None:
        raise ConfigError("--then names models, as --system FILE does; name them there, or here")
    if options["onward_tags"] and not onward:
        raise ConfigError("--then-tag needs models of their own; name them with --then")
    for option, name in (("--then", "onward"), ("--via-nbest", "via_nbest")):
        if options[name] and via is None and not values.get("pivot"):
            raise ConfigError(f"{option} needs the language in between; name it with --via")
    pivot = {"language": via, "nbest": options["via_nbest"]}
    given = {name: value for name, value in pivot.items() if value is not None}
    if onward:
        for name in ("models", "weights", "tags"):
            if name in values:
                given[name] = values.pop(name)
        values |= {"models": onward, "tags": options["onward_tags"]}
    _lay_over(values, "pivot", given)


def _routes(given: tuple[str, ...], pivot: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """By language, what differs for its lines: the model, as the first MODEL would be.

    Args:
        given: as on the command line.
        pivot: the section of the first leg, whose models are then replaced; None without --then.

    Raises:
        UsageError: a language or a model is missing, or a language has two.
    """
    routes: dict[str, dict[str, Any]] = {}
    for text in given:
        language, _, model = text.partition("=")
        if not language or not model:
            raise click.UsageError(f"--route {text!r}: write it like de=models/de-en")
        if language in routes:
            raise click.UsageError(f"--route {text!r}: {language} has a route already; name one")
        models = [str(found_model(Path(model)))]
        if pivot is None or language == pivot.get("language"):
            routes[language] = {"models": models, **({} if pivot is None else {"pivot": None})}
        else:
            shared = {name: value for name, value in pivot.items() if name != "weights"}
            routes[language] = {"pivot": {**shared, "models": models}}
    return routes


def _adapters(given: tuple[str, ...]) -> dict[str, Any]:
    """The adapter of all lines, and those of domains, by their names in a description.

    Args:
        given: as on the command line.

    Raises:
        UsageError: a domain or file is missing, or there are two for the same lines.
    """
    adapters: dict[str, str] = {}
    for text in given:
        domain, sign, file = text.partition("=")
        if not sign or Path(text).exists():
            domain, file = "", text
        elif not domain or not file:
            raise click.UsageError(f"--adapter {text!r}: write it like ui=runs/ui")
        if domain in adapters:
            lines = f"lines of the domain {domain}" if domain else "all other lines"
            raise click.UsageError(f"--adapter {text!r}: {lines} have an adapter already; name one")
        adapters[domain] = file
    usual = adapters.pop("", None)
    found: dict[str, Any] = {} if usual is None else {"adapter": usual}
    return {**found, "adapters": adapters} if adapters else found


def _lay_over(values: dict[str, Any], section: str, given: dict[str, Any]) -> None:
    """Override values of a section, and of a section in it, key by key.

    ``parse`` reports what should be a section and is not.
    """
    present = values.get(section) or {}
    if given and isinstance(present, dict):
        values[section] = {**present, **given}
        for name, value in given.items():
            inner = present.get(name)
            if isinstance(value, dict) and isinstance(inner, dict):
                values[section][name] = {**inner, **value}
