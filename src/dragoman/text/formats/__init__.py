"""File formats of sentence pairs: one class each, and the table of all.

A built-in format is a module here and a line in :data:`FORMATS`.  Another package adds one by an
entry point of the group ``dragoman.formats`` (see :mod:`dragoman.core.plugins`), which leads to a
subclass of :class:`Format`::

    class Semicolons(Format):
        name = "semicolons"
        suffixes = (".scsv",)

        def read(self, files, sides):
            for number, line in enumerate(read_lines(files[0]), 1):
                yield Pair(*line.split(";", maxsplit=1), number)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path

from dragoman.core.errors import ConfigError
from dragoman.core.plugins import Registry, are_suffixes, installed
from dragoman.text.formats.csv_tables import Csv
from dragoman.text.formats.interface import AddPair, Format, Sides, instead
from dragoman.text.formats.jsonl import Jsonl
from dragoman.text.formats.plain import Plain
from dragoman.text.formats.po import Po
from dragoman.text.formats.projects.bilingual_projects import (
    CsvProject,
    JsonlProject,
    QtProject,
    TmxProject,
    TsvProject,
    XcstringsProject,
    XliffProject,
)
from dragoman.text.formats.projects.gettext_project import GettextProject
from dragoman.text.formats.projects.project_folder import ProjectFolder
from dragoman.text.formats.projects.string_projects import (
    AndroidProject,
    AppleProject,
    FluentProject,
    JsonProject,
    PlainProject,
    PropertiesProject,
    ResxProject,
    YamlProject,
)
from dragoman.text.formats.qt import Qt
from dragoman.text.formats.sgm import Sgm
from dragoman.text.formats.tmx import Tmx
from dragoman.text.formats.trees import Trees
from dragoman.text.formats.tsv import Tsv
from dragoman.text.formats.wmt_xml import WmtXml
from dragoman.text.formats.xcstrings import Xcstrings
from dragoman.text.formats.xliff import Xliff
from dragoman.text.lines import COMPRESSIONS
from dragoman.text.pairs import Pair

__all__ = [
    "FORMATS",
    "GROUP",
    "AddPair",
    "Format",
    "FormatError",
    "Pair",
    "Sides",
    "file_formats",
    "format_named",
    "format_names",
    "format_of",
    "format_of_two",
    "project_formats",
]

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Plain(),
        Tsv(),
        Jsonl(),
        Tmx(),
        Po(),
        Xliff(),
        Xcstrings(),
        Qt(),
        Csv(),
        Trees(),
        Sgm(),
        WmtXml(),
        GettextProject(),
        JsonProject(),
        YamlProject(),
        AndroidProject(),
        AppleProject(),
        PropertiesProject(),
        ResxProject(),
        FluentProject(),
        XcstringsProject(),
        XliffProject(),
        QtProject(),
        TmxProject(),
        TsvProject(),
        CsvProject(),
        JsonlProject(),
        PlainProject(),
    )
}
"""The formats that come with Dragoman, by name."""

GROUP = "dragoman.formats"
"""Group of the entry points by which other packages add formats."""

REGISTRY: Registry[Format] = Registry(
    GROUP, "dragoman.text.formats.interface:Format", FORMATS, "format", named=True
)


class FormatError(ConfigError, ValueError):
    """An unknown format, or one that cannot be loaded.

    It is also a ``ValueError``, so that pydantic reports it with the key that names it.
    """


def format_named(name: str) -> Format:
    """The format with this name in configurations.

    Raises:
        FormatError: the name is unknown, or the package that adds it is broken.
    """
    if (form := FORMATS.get(name)) is not None:
        return form
    if name in REGISTRY.added():
        loaded = _loaded(name, *installed(GROUP)[name])
        if isinstance(loaded, FormatError):
            raise FormatError(str(loaded))
        return loaded
    known = instead(name[:80], format_names(), "formats")
    raise FormatError(
        f"no format {name!r:.80}{known} (formats of other packages must be installed)"
    )


def format_of(path: Path) -> Format:
    """The format of files with the suffix of ``path``, without a suffix of compression.

    Built-in formats come first.

    Raises:
        FormatError: the suffix belongs to no format, or to several.
    """
    suffix = path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix
    for form in FORMATS.values():
        if suffix in form.suffixes:
            return form
    added = list(_all_added())
    others = [form for form in added if isinstance(form, Format) and suffix in form.suffixes]
    if len(others) == 1:
        return others[0]
    if others:
        names = " and ".join(form.name for form in others)
        raise FormatError(f"the suffix of {path.name} is of the formats {names}; set format")
    *names_but_last, last = file_formats()
    raise FormatError(
        f"the suffix of {path.name} does not tell its format; set format to "
        f"{', '.join(names_but_last)} or {last}, or give two plain files as source and target"
        + "".join(f"; {problem}" for problem in added if isinstance(problem, FormatError))
    )


def format_of_two(path: Path) -> Format:
    """The format of two files, from one of them: plain unless its suffix is of another such one."""
    suffix = path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix
    others = (form for form in FORMATS.values() if not form.one_file and suffix in form.suffixes)
    return next(others, FORMATS["plain"])


def format_names() -> list[str]:
    """Names of all formats, built-in ones first, without loading any package."""
    return REGISTRY.names()


def file_formats() -> list[str]:
    """Names of formats with both sides in one file. Formats of other packages count as such."""
    return [
        name
        for name in format_names()
        if name not in FORMATS or (FORMATS[name].one_file and not FORMATS[name].is_folder)
    ]


def project_formats() -> list[ProjectFolder]:
    """Formats of folders, built-in ones first. Those of broken packages are left out."""
    formats = (*FORMATS.values(), *_all_added())
    return [one for one in formats if isinstance(one, ProjectFolder)]


def _all_added() -> Iterator[Format | FormatError]:
    return (_loaded(name, *installed(GROUP)[name]) for name in REGISTRY.added())


@cache
def _loaded(name: str, *_: EntryPoint) -> Format | FormatError:
    """The format that another package adds as ``name``, or the error of loading it.

    It is cached for the entry points that are installed.
    """
    try:
        form = REGISTRY.load_added(name)()
    except ConfigError as error:
        return FormatError(str(error))
    except TypeError as error:  # a method is missing
        return FormatError(f"{GROUP}: {name}: {error}; correct the package")
    if not are_suffixes(form.suffixes):
        return FormatError(
            f"{GROUP}: {name}: its class must have suffixes such as ('.{name}',); correct the "
            "package"
        )
    return form
