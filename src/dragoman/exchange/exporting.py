"""Exporting a model: checked, written, compared, and only then put in its place."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, StorageError
from dragoman.core.files import atomic_directory, read_json
from dragoman.core.text_tables import markdown_table
from dragoman.exchange.interface import Exporter, ExportReport
from dragoman.exchange.toolkits import EXPORTERS
from dragoman.saved.adapter import read_adapter
from dragoman.saved.directions import language_pairs, tags_between
from dragoman.saved.model import load_for_search
from dragoman.saved.saved_config import SavedConfig, SavedModel
from dragoman.saved.weights import weights_digest

QUANTISED = ("ctranslate2",)
"""Those whose weights can be written in fewer bits."""

NOTE_FILE = "dragoman_export.json"
"""Says that Dragoman wrote the directory, from which weights, and which files are its own."""
CARD_FILE = "README.md"


def export_model(
    model: Path,
    target: str,
    output: Path,
    *,
    adapter: Path | None = None,
    quantisation: str | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> ExportReport:
    """Write a model for another program, and compare its results there.

    The directory appears when everything is written and compared.  It may replace an earlier
    export, but nothing else.

    Args:
        model: a model, run or checkpoint.
        target: its name in :data:`~dragoman.exchange.toolkits.EXPORTERS`.
        output: directory to write.
        adapter: is merged into the weights: its file, or the run that it was trained in.
        quantisation: type of the weights, such as ``int8``; float32 by default.
        tell: called with a line about what is being done.
    """
    exporter = exporter_to(target, quantisation)
    ours = _own_files(output)
    adapted = None if adapter is None else read_adapter(adapter)
    saved = load_for_search(model, "cpu", adapter=adapted)
    check_exportable(saved, exporter)
    exporter.check(saved)
    with atomic_directory(output, ours) as directory:
        tell(f"writing {model} for {target}, and comparing it")
        report = exporter.write(saved, directory)
        card = _card(saved, exporter, report, adapted is not None)
        (directory / CARD_FILE).write_text(card, encoding="utf-8")
        files = tuple(sorted([*os.listdir(directory), NOTE_FILE]))
        report = replace(report, files=files)
        note: dict[str, Any] = {"to": target, "weights": weights_digest(saved.path)}
        note |= {"files": files, "inside": _inside(directory, files), "report": asdict(report)}
        text = json.dumps(note, ensure_ascii=False, indent=2)
        (directory / NOTE_FILE).write_text(text + "\n", encoding="utf-8")
    return report


def check_exportable(saved: SavedModel, exporter: Exporter) -> None:
    """Refuse models that do not translate, or whose outputs need a grammar."""
    config = saved.config
    if not config.model.reads_source or config.model.writes_labels or not config.translates:
        kind = "an encoder alone"
        if config.translates:
            kind = "a classifier" if config.model.writes_labels else "a language model"
        raise ConfigError(
            f"{saved.path}: {kind}; 'dragoman export --to {exporter.name}' writes models that "
            "translate"
        )
    grammar = saved.search.get("grammar", "any")
    if grammar != "any":
        raise ConfigError(
            f"{saved.path}: search.grammar: {grammar} keeps its outputs well-formed, which no "
            "other program does; leave the model with Dragoman"
        )


def _own_files(output: Path) -> set[str]:
    """The names that an earlier export left in a directory, none without its note."""
    note = output / NOTE_FILE
    if not note.is_file():
        return set()
    try:
        read = read_json(note)
        own, inside = {NOTE_FILE, *map(str, read["files"])}, {*map(str, read["inside"])}
        strangers = sorted({*_inside(output, own)} - inside)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{note}: damaged, so that it does not say which files are of an export; move "
            f"{output} away or choose another directory"
        ) from error
    if strangers:
        raise StorageError(
            f"{output}: holds {strangers[0]}, which Dragoman did not put there; move it away or "
            "choose another directory"
        )
    return own


def _inside(directory: Path, names: Iterable[str]) -> list[str]:
    """The files in those of some names that are folders, relative to their directory."""
    folders = (directory / name for name in names if Path(name).name == name)
    files = (path for folder in folders for path in folder.rglob("*") if not path.is_dir())
    return sorted(path.relative_to(directory).as_posix() for path in files)


def said(report: ExportReport) -> str:
    """Quantities compared and their differences, one sentence."""
    figures = []
    if report.difference is not None:
        figures.append(f"largest difference {report.difference:.1e}")
    if report.equal_texts is not None:
        figures.append("{} of {} equal".format(*report.equal_texts))
    return f"{report.compared}: {', '.join(figures)}"


def _card(saved: SavedModel, exporter: Exporter, report: ExportReport, adapted: bool) -> str:
    """The ``README.md`` of an export, as Markdown."""
    config = saved.config
    names = ", ".join(f"{source} to {target}" for source, target in language_pairs(config))
    weights = weights_digest(saved.path)
    parts = [
        f"# {names}, for {exporter.name}",
        f"A model of Dragoman (family `{config.model.family}`, weights `{weights[:12]}`"
        f"{', with an adapter merged in' if adapted else ''}), written by "
        f"`dragoman export --to {exporter.name}`. The licence of the text that it was trained on "
        "applies to it; the model's own card states it.",
    ]
    if guide := exporter.guide(saved):
        parts.append(f"## Use\n\n{guide}")
    if tags := _tags(saved, exporter):
        parts.append(f"## Tags\n\n{tags}")
    parts.append(f"## Search\n\n{_search(config)}")
    parts.append(f"## Compared\n\n{said(report)}.")
    if report.differences:
        rows = "\n".join(f"- {text}" for text in report.differences)
        parts.append(f"## What is different\n\n{rows}")
    return "\n\n".join(parts) + "\n"


def _tags(saved: SavedModel, exporter: Exporter) -> str:
    """Which tags each direction needs in front of a text, as they are written there."""
    if not exporter.reads_tags(saved):
        return ""
    written = exporter.written_tags(saved)
    rows, pieces = [], False
    for source, target in language_pairs(saved.config):
        try:
            tags = tags_between(saved.config, saved.vocabularies.source, source, target)
        except ConfigError:  # none of them asks for it
            continue
        if tags:
            pieces = pieces or not all(tag in written for tag in tags)
            in_front = " ".join(written.get(tag, tag) for tag in tags)
            rows.append([f"{source} to {target}", f"`{in_front}`"])
    if not rows:
        return ""
    how = "In front of each text, followed by a space, write:"
    if pieces:
        how = (
            "What splits text into pieces does not give the tags as the model reads them: split "
            "each text without them, and put these pieces in front of its own:"
        )
    return f"{how}\n\n{markdown_table(['', ''], rows)}"


def _search(config: SavedConfig) -> str:
    """The search that the model was validated with."""
    beam = config.search.get("beam", 4)
    penalty = config.search.get("length_penalty", 0.6)
    return (
        f"It was validated with a beam of {beam} and the length penalty `((5 + length) / 6) ^ "
        f"{penalty}` (Wu et al. 2016), which other programs may define otherwise."
    )


def exporter_to(target: str, quantisation: str | None = None) -> Exporter:
    """The exporter to another program."""
    kind: Callable[..., Exporter] = EXPORTERS.find(target)
    if quantisation is None:
        return kind()
    if target not in QUANTISED:
        raise ConfigError(
            f"an export to {target} is in float32; leave out --quantisation, or export to: "
            + ", ".join(QUANTISED)
        )
    return kind(quantisation)
