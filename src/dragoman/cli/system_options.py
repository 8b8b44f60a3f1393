"""Options that describe a translation system, and the system that they make."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.options import check_description, check_no_input, device_option
from dragoman.cli.search_options import check_mbr, draws, given_search, saved_search, unread
from dragoman.core.errors import ConfigError, DragomanError
from dragoman.saved.installed_models import found_model

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem
    from dragoman.translation.dispatch import Dispatcher
    from dragoman.translation.translator import Translator

_write_system = declare.options("""
    --write-system FILE: FILE
        Also write these models and options to FILE, to be read with --system.
""")
described_without_workers = declare.Options(
    declare.options("""
        --system FILE: PATH as system_file
            Read models and options from FILE, a YAML description; options given here override it.
        --weight W...: 0 < number as weights -> weights
            Weight of a MODEL in an ensemble; give one per MODEL, in order.  [default: 1]
        --ensemble: linear | log-linear -> ensemble
            Mean of the probabilities of several MODELs, or of their log-probabilities.  [default:
            linear]
        --lm PATH: PATH as language_model -> language_model.path
            Language model whose weighted log-probabilities are added to those of MODEL.
        --lm-weight W: 0 <= number -> language_model.weight
            Weight of the language model.  [default: 0.2]
        --adapter [DOMAIN=]FILE... as adapters
            Adapter of MODEL, or the run that it was trained in.  With DOMAIN, it is for lines that
            begin with the tag <DOMAIN>, and may be repeated.
        --to LANGUAGE as target_language -> target_language
            Target language, such as de, of a MODEL that was trained on several.
        --from LANGUAGE as source_language -> source_language
            Source language; refuse MODEL if it was not trained to translate from it.  With auto the
            language of each line decides: see --route and --via.
        --route LANGUAGE=MODEL... as routes
            With --from auto: MODEL for lines in LANGUAGE; may be repeated.  Other lines, and those
            whose language is uncertain, go to the first MODEL.  With --then, the MODEL of a route
            translates into the language of --via, as the first one does.
        --identify MODEL: MODEL as identifier -> identifier.classifier
            With --from auto: classifier that identifies languages.  [default: py3langid]
        --via LANGUAGE -> pivot.language
            Translate into this third language first, then its hypotheses into the language of --to.
        --then MODEL...: MODEL as onward
            With --via: model that translates from that language; several form an
            ensemble.  [default: MODEL]
        --then-tag TAG... as onward_tags
            With --then: tag known to that model; may be repeated.
        --via-nbest N: 1 <= int <= 1000 -> pivot.nbest
            With --via: number of hypotheses in that language to translate on.  [default: 4]
        --tag TAG... as tags -> tags
            Prepend a tag that the model knows, such as <ui>, to each line; may be repeated.
        --glossary-mode: hard | learned | both -> terms.mode
            With --glossary: constrain the search; annotate terms in the source, for a MODEL trained
            on such text; or both.  [default: hard]
        --prefix TEXT -> prefix
            Force every translation to begin with TEXT.
        --glossary FILE...: PATH -> terms.glossary
            Translate terms as FILE says: term, tab, translation (several separated by |); or TBX.
            May be repeated; the first that has a term decides.
        --keep FILE...: PATH -> terms.keep
            Copy the names in FILE, one per line, unchanged; may be repeated.
        --keep-pattern REGEX... as keep_patterns -> terms.keep_patterns
            Copy whatever matches REGEX unchanged; may be repeated.
        --protect KIND,...
            Copy strings of these kinds unchanged, and invent none: placeholders, tags, urls,
            numbers.  With none, nothing is protected.  [default: all of them]
        --engine: ENGINE -> engine
            Inference engine; ctranslate2 is an optional extra and converts MODEL on first use.
            auto begins with pytorch, and changes to ctranslate2 after 1,000 lines if that gives the
            same text faster.  [default: auto]
        --precision: float32 | bfloat16 | int8 | auto -> precision
            Number type of the weights: lower is faster and changes a few translations.  int8 is for
            the CPU; auto is bfloat16 where the hardware has it.  [default: float32]
        --shortlist
            Search only among the likeliest pieces of each line, which 'dragoman shortlist' has
            listed beside MODEL: faster with large vocabularies.
        --shortlist-file FILE: PATH
            As --shortlist, with the shortlist in FILE, of a model with the same vocabularies.
        --own-pieces SHARE: 0 <= number <= 1 -> own_pieces
            Keep outputs of a multilingual model in the target language: write only pieces whose
            frequency in its training text is at least SHARE (such as 0.1) of that in any other
            language's.
    """),
    device_option,
)
"""The options that :func:`described` reads, except for ``--workers``."""
_workers = declare.options("""
    --workers N: 1 <= int <= 1024 -> workers
        Processes (ctranslate2: threads) to share the lines among.
""")
described_options = declare.Options(described_without_workers, _workers)
"""The options that :func:`described` reads."""
system_options = declare.Options(described_options, _write_system)
"""Options that describe a translation system, and the option that writes the description."""


def open_translator(
    models: tuple[Path, ...], options: dict[str, Any], written: Mapping[str, Path | None]
) -> Translator | Dispatcher:
    """Build the system that the command line describes; write its description if requested.

    Args:
        options: those of :data:`system_options` and, if the command has them, of search.
        written: further files that the command writes, by option.
    """
    from dragoman.saved.system import write_system
    from dragoman.translation.domains import DomainRouter
    from dragoman.translation.routing import Router
    from dragoman.translation.translator import Translator

    check_description(options["write_system"], "--write-system")
    file = options["system_file"]
    _check_kept(written, [] if file is None else [file])
    system = described(models, options)
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
    """Refuse to overwrite a file that the system reads, such as a glossary."""
    for option, path in written.items():
        if path is not None:
            check_no_input(path, read, option)


def described(models: tuple[Path, ...], options: dict[str, Any]) -> TranslationSystem:
    """The system that the command line describes; arguments as of :func:`open_translator`."""
    from dragoman.core.config import parse
    from dragoman.saved.system import TranslationSystem, read_values

    file = options["system_file"]
    if bool(models) == (file is not None):
        raise click.UsageError("name at least one MODEL or --system FILE, but not both")
    values: dict[str, Any] = {"models": models} if file is None else read_values(file)
    search = given_search(options)
    samples = options.get("sample") or search.get("mbr") or draws(values.get("search"))
    fields = {**described_options.set_fields(options), "search": search}
    pivot = fields.pop("pivot", {})
    lay_over(values, fields)
    values |= _switched(values, options, "confidence", "calibration")
    values |= _switched(values, options, "shortlist", "shortlist_file")
    values |= _adapters(options["adapters"])
    _lay_over_pivot(values, options, pivot)
    first_leg = values.get("pivot") if options["onward"] else None
    protected = _kinds(options["protect"])
    lay_over(values, {"routes": _routes(options["routes"], first_leg)})
    lay_over(values, {"terms": {} if protected is None else {"protect": protected}})
    fusion = values.get("language_model")
    if options["lm_weight"] is not None and isinstance(fusion, dict) and "path" not in fusion:
        raise ConfigError("--lm-weight needs a language model; name one with --lm")
    system = parse(TranslationSystem, values, file or "translate")
    if search.get("sampling") and not samples and not draws(saved_search(system.models[0])):
        flag = "--" + next(iter(search["sampling"])).replace("_", "-")
        raise ConfigError(f"{flag} needs --sample or --mbr; add one, or leave out {flag}")
    check_mbr(search.get("mbr"), system)
    return _respelt(system)


def _respelt(system: TranslationSystem) -> TranslationSystem:
    """The system with its languages spelt as its models spell them: ``pt_BR`` for ``pt-BR``."""
    from dragoman.saved.directions import respelt
    from dragoman.saved.model import config_of

    asked = {"source_language": system.source_language, "target_language": system.target_language}
    asked = {name: one for name, one in asked.items() if one not in {None, "auto"}}
    if not asked or system.chooses_route:
        return system
    legs = system.legs()
    models = {"source_language": legs[0].models[0], "target_language": legs[-1].models[0]}
    changed: dict[str, str] = {}
    for side, (name, model) in enumerate(models.items()):
        language = asked.get(name)
        if language is None:
            continue
        with suppress(DragomanError):  # a model that cannot be read is refused when it is opened
            changed[name] = respelt(config_of(model), language, side)
    return system.model_copy(update=changed)


def _switched(
    values: dict[str, Any], options: dict[str, Any], field: str, file: str
) -> dict[str, Any]:
    """A field that a flag of its name turns on, and another option sets to a certain file."""
    if options.get(file) is not None:
        return {field: options[file]}
    return {field: values.get(field) or True} if options.get(field) else {}


def _kinds(given: tuple[str, ...]) -> list[str] | None:
    """The kinds that values of ``--protect`` name; None without any value."""
    if "none" not in given:
        return list(given) or None
    if len(given) > 1:
        raise click.UsageError(
            f"--protect {','.join(given)}: none goes with no other kind; leave out one of them"
        )
    return []


def _lay_over_pivot(values: dict[str, Any], options: dict[str, Any], given: dict[str, Any]) -> None:
    """Override the settings of the pivot, the translation through a third language.

    With --then, MODEL translates into that language: its models, weights and tags are the pivot's.
    """
    onward = options["onward"]
    if onward and options["system_file"] is not None:
        raise ConfigError("--then names models, as --system FILE does; name them there, or here")
    if options["onward_tags"] and not onward:
        raise ConfigError("--then-tag needs models of their own; name them with --then")
    for option, name in (("--then", "onward"), ("--via-nbest", "via_nbest")):
        if options[name] and "language" not in given and not values.get("pivot"):
            raise ConfigError(f"{option} needs the language in between; name it with --via")
    if onward:
        for name in ("models", "weights", "tags"):
            if name in values:
                given[name] = values.pop(name)
        values |= {"models": onward, "tags": options["onward_tags"]}
    lay_over(values, {"pivot": given})


def _routes(given: tuple[str, ...], pivot: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The values that differ for the lines of each language: its model, as the first MODEL.

    Args:
        pivot: the section of the first leg, whose models are then replaced; None without --then.
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
    """The adapter of all lines and those of domains, which values of ``--adapter`` name."""
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
    values: dict[str, Any] = {} if usual is None else {"adapter": usual}
    return {**values, "adapters": adapters} if adapters else values


def lay_over(values: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """Override fields of a description; sections, also nested ones, key by key.

    ``parse`` reports values that should be sections and are not.
    """
    for name, given in fields.items():
        present = values.get(name) or {}
        if not isinstance(given, dict):
            values[name] = given
        elif given and isinstance(present, dict):
            values[name] = {**present, **given}
            for key, value in given.items():
                if isinstance(value, dict) and isinstance(present.get(key), dict):
                    values[name][key] = {**present[key], **value}
