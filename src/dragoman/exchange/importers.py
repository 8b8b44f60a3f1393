"""The toolkits that models are imported from; what one of them needs is imported for it alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from dragoman.core.errors import ConfigError, DataError, MissingExtraError
from dragoman.exchange.architectures import architecture
from dragoman.exchange.importer import Importer
from dragoman.saved.model import CONFIG_FILE
from dragoman.saved.weights import WEIGHTS_FILE

IMPORTERS = {
    "huggingface-marian": ("huggingface_marian_importer", "HuggingfaceMarianImporter"),
    "fairseq": ("fairseq_importer", "FairseqImporter"),
    "joeynmt": ("joeynmt_importer", "JoeynmtImporter"),
    "opennmt": ("opennmt_importer", "OpennmtImporter"),
    "sockeye": ("sockeye_importer", "SockeyeImporter"),
    "argos": ("argos_importer", "ArgosImporter"),
}
"""Module of :mod:`dragoman.exchange` and class, by the name in the command line."""


def importer_from(toolkit: str) -> Importer:
    """The importer of a toolkit's models.

    Args:
        toolkit: one of :data:`IMPORTERS`.

    Raises:
        ConfigError: there is none of that name.
        MissingExtraError: a package that it needs is not installed.
    """
    if toolkit not in IMPORTERS:
        raise ConfigError(f"no import from {toolkit}; choose one of: {', '.join(IMPORTERS)}")
    module, name = IMPORTERS[toolkit]
    importer: Importer = getattr(import_module(f"dragoman.exchange.{module}"), name)()
    return importer


def importer_of(path: Path) -> Importer:
    """The importer that recognises a directory or file by the names of its files.

    Raises:
        ConfigError: several do, so that the user must choose.
        DataError: nothing is there, or nobody recognises it.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file or directory")
    found = [importer for importer in _usable() if importer.recognises(path)]
    if not found:
        if (path / CONFIG_FILE).is_file() and (path / WEIGHTS_FILE).is_file():
            raise DataError(f"{path}: a model of Dragoman already; there is nothing to import")
        if (kind := architecture(path)) is not None:
            raise DataError(
                f"{path}: this is {kind}, which is not imported; models of these toolkits are: "
                f"{', '.join(IMPORTERS)}"
            )
        raise DataError(
            f"{path}: not recognised as a model of another toolkit; if it is one, say which with "
            f"--from: {', '.join(IMPORTERS)}"
        )
    if len(found) > 1:
        names = ", ".join(importer.name for importer in found)
        raise ConfigError(f"{path}: may be a model of {names}; say which with --from")
    return found[0]


def _usable() -> Iterator[Importer]:
    """Those whose packages are installed: what one of them lacks does not hurt the others."""
    for toolkit in IMPORTERS:
        with suppress(MissingExtraError):
            yield importer_from(toolkit)
