"""Importing a model: read, checked, and only then written as a model of our own."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
import yaml

from dragoman.core.claims import new_output
from dragoman.core.config import parse, to_yaml
from dragoman.core.errors import ConfigError, DataError, MissingExtraError, SavedError
from dragoman.core.strict_yaml import load_yaml
from dragoman.exchange.architectures import architecture
from dragoman.exchange.hub import fetch, is_hub_name
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.toolkits import IMPORTERS
from dragoman.exchange.trimming import Trimming, trimmed
from dragoman.models.size import without_values
from dragoman.saved.directions import usage
from dragoman.saved.model import CONFIG_FILE, SHORTLIST_FILE, build_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.shortlist import write_shortlist
from dragoman.saved.weights import WEIGHTS_FILE, load_weights, weights_of
from dragoman.search import SearchConfig
from dragoman.text.examples import Direction
from dragoman.text.vocabularies import Vocabulary

log = logging.getLogger(__name__)

_LANGUAGE = re.compile(r"[A-Za-z0-9]+([-_][A-Za-z0-9]+)*")
_NO_LANGUAGE = "no language tag, such as en or pt-BR"


@dataclass(frozen=True)
class ImportReport:
    """An import, for the user."""

    toolkit: str
    """Its name in :data:`~dragoman.exchange.toolkits.IMPORTERS`."""
    origin: str
    """Toolkit, version and name."""
    source_language: str
    target_language: str
    parameters: int
    notes: tuple[str, ...]
    """Differences and omissions, a sentence each."""


def import_model(
    path: Path,
    output: Path,
    *,
    toolkit: str | None = None,
    languages: Languages = (None, None),
    trimming: Trimming | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> ImportReport:
    """Write a model of another toolkit as a model directory of our own.

    Args:
        path: a directory or file as the toolkit leaves it, or a name on the Hugging Face Hub, such
            as ``hf:org/name``, which is fetched.
        output: a directory that does not exist.
        toolkit: its name in :data:`~dragoman.exchange.toolkits.IMPORTERS`; recognised if not
            given.
        languages: of source and target, where the files do not say them; they win.
        trimming: text whose pieces alone the model keeps; all pieces if not given.
        tell: called with a line about what is being done.
    """
    for language in languages:
        if language is not None and not _LANGUAGE.fullmatch(language):
            raise ConfigError(f"{language!r:.80} is {_NO_LANGUAGE}")
    if trimming is not None:
        trimming.check()
    with new_output(output, "name a directory that does not"):
        fetched = fetch(str(path), tell) if is_hub_name(path) else None
        path = path if fetched is None else fetched.path
        importer = importer_of(path) if toolkit is None else importer_from(toolkit)
        if not path.exists():
            raise DataError(f"{path}: no such file or directory")
        tell(f"reading {path} as a model of {importer.name}")
        found = importer.read(path, languages)
        if fetched is not None:
            origin = f"{found.origin}, from hf:{fetched.name} at revision {fetched.revision}"
            found = replace(found, origin=origin, licence=found.licence or fetched.licence)
        if trimming is not None:
            tell(f"trimming to the pieces of {', '.join(map(str, trimming.text))}")
            found = trimmed(found, trimming)
        return _write(found, path, output, importer.name)


def importer_from(toolkit: str) -> Importer:
    """The importer of a toolkit's models, by its name."""
    return IMPORTERS.find(toolkit)()


def importer_of(path: Path) -> Importer:
    """The importer that recognises a directory or file by the names of its files."""
    if not path.exists():
        raise DataError(f"{path}: no such file or directory")
    found = _recognising(path, IMPORTERS.built_in) or _recognising(path, IMPORTERS.added())
    if not found:
        if (path / CONFIG_FILE).is_file() and (path / WEIGHTS_FILE).is_file():
            raise DataError(f"{path}: a model of Dragoman already; there is nothing to import")
        if (kind := architecture(path)) is not None:
            raise DataError(
                f"{path}: this is {kind}, which is not imported; models of these toolkits are: "
                f"{', '.join(IMPORTERS.names())}"
            )
        raise DataError(
            f"{path}: not recognised as a model of another toolkit; if it is one, say which with "
            f"--from: {', '.join(IMPORTERS.names())}"
        )
    if len(found) > 1:
        names = ", ".join(importer.name for importer in found)
        raise ConfigError(f"{path}: may be a model of {names}; say which with --from")
    return found[0]


def _recognising(path: Path, toolkits: Iterable[str]) -> list[Importer]:
    """Those that recognise a model; what one of them lacks does not hurt the others."""
    found = []
    for toolkit in toolkits:
        try:
            importer = importer_from(toolkit)
        except MissingExtraError:
            continue
        except ConfigError as error:
            log.warning("%s", error)
            continue
        if importer.recognises(path):
            found.append(importer)
    return found


def _write(found: ForeignModel, path: Path, output: Path, toolkit: str) -> ImportReport:
    """Check a model that was read from ``path``, and write it."""
    config = _with_symbols(_with_direction(found.config), found.vocabularies.target)
    for language, side in ((config.source_language, "from"), (config.target_language, "to")):
        if not _LANGUAGE.fullmatch(language):
            raise DataError(
                f"{path}: by its files, a language is {language!r:.80}, which is {_NO_LANGUAGE}; "
                f"name the right one with --{side}-language"
            )
    _check_usable(config, path)
    weights = _checked(found, path)
    parameters = sum(tensor.numel() for tensor in weights.values())
    report = ImportReport(
        toolkit=toolkit,
        origin=found.origin,
        source_language=config.source_language,
        target_language=config.target_language,
        parameters=parameters,
        notes=found.notes,
    )
    card = _card(config, found, report)
    with tempfile.TemporaryDirectory(prefix="dragoman-import-") as folder:
        kept = []
        if found.shortlist is not None:
            kept = [Path(folder) / SHORTLIST_FILE]
            write_shortlist(kept[0], found.shortlist)
        save_model(output, config, found.vocabularies, weights, card=card, kept=kept)
    return report


def _with_direction(config: SavedConfig) -> SavedConfig:
    """With the only direction that it translates, unless the files name several."""
    if config.directions:
        return config
    direction = Direction(
        source_language=config.source_language, target_language=config.target_language
    )
    return config.model_copy(update={"directions": (direction,)})


def _with_symbols(config: SavedConfig, target: Vocabulary) -> SavedConfig:
    """Allow tags in outputs, if the toolkit has some among its ordinary pieces.

    They are user-defined symbols of a sentencepiece model, such as ``<br>``.  Language tags are
    only read.  An importer decides for tags that it has added.
    """
    if len(target.tags) == len(target.language_tags):
        return config
    return config.model_copy(update={"search": {"allow_tags": True, **config.search}})


def _check_usable(config: SavedConfig, path: Path) -> None:
    """Refuse what can be written into ``config.yaml`` and never be opened again."""
    try:
        parse(SearchConfig, config.search, "its settings of search")
        load_yaml(to_yaml(config.model_dump()))
    except (ConfigError, yaml.YAMLError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise DataError(f"{path}: cannot be kept: {problem}; correct its files") from error


def _checked(found: ForeignModel, path: Path) -> dict[str, torch.Tensor]:
    """The weights that a model of this configuration has, in its order."""
    # Shapes alone: a large model is in memory once.
    model = without_values(partial(build_model, found.config.model, found.vocabularies))
    try:
        load_weights(model, found.weights, path)
    except SavedError as error:
        raise DataError(f"{error}; its files do not belong together") from error
    return {name: found.weights[name].detach() for name in weights_of(model)}


def _card(config: SavedConfig, found: ForeignModel, report: ImportReport) -> str:
    """The ``README.md`` of an imported model, as Markdown."""
    title = f"# {config.source_language} to {config.target_language}"
    use = usage("MODEL", config)
    licence = found.licence or "not stated in its files; look it up before you share the model"
    parts = [
        title,
        f"A translation model of the family `{config.model.family}` with {report.parameters:,} "
        f"parameters, imported by Dragoman from {report.toolkit}.",
        f"Origin: {found.origin}.",
        f"```\n{use}\n```",
        f"Licence: {licence}.",
    ]
    if found.notes:
        notes = "\n".join(f"- {note}" for note in found.notes)
        parts.append(f"## What is different here\n\n{notes}")
    return "\n\n".join(parts) + "\n"
