"""Whole documents on the command line: `dragoman translate MODEL FILE`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.document_places import DocumentPlaces, named_document
from dragoman.cli.option_types import STREAM
from dragoman.cli.options import check_description, check_no_input, refuse_options
from dragoman.cli.search_options import check_read
from dragoman.cli.system_options import described
from dragoman.cli.translated_lines import worded_faults
from dragoman.cli.tree_places import document_places
from dragoman.core.errors import (
    ConfigError,
    DataError,
    DragomanError,
    MissingExtraError,
    StorageError,
)
from dragoman.core.files import is_of_one_path
from dragoman.core.wording import listed, shown
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.documents.file_translation import Flaw, TranslatedFile
    from dragoman.saved.system import TranslationSystem
    from dragoman.translation.service.interface import Pairing, RefusedError
    from dragoman.translation.service.model_service import ModelService

log = logging.getLogger(__name__)

_Refused = dict[Path, DragomanError]
"""Untranslated documents, with the reasons."""
_SECONDS = 24 * 3600.0
"""Seconds allowed for a part of a document: enough for any model."""
_SHOWN = 60
"""Characters of a text that messages show."""
_WARNED = 5
"""Number of a document's flawed translations that get a warning each."""
_LINES_ONLY = (
    *("inputs", "prefix", "nbest", "scores", "token_scores", "confidence", "calibration"),
    *(
        "repair",
        "repair_share",
        "repair_below",
        "repair_settings",
        "flag_below",
        "alignment",
        "buffer_lines",
        "grammar",
        "routes",
        "identifier",
    ),
)
"""Options for lines."""


def separated(paths: Sequence[Path], form: str | None) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The arguments MODEL... FILE..., divided: a document is ``-``, or has a document's suffix.

    Args:
        form: of ``--format``, with which any file is a document.
    """
    models: list[Path] = []
    documents: list[Path] = []
    neither: dict[Path, str] = {}
    for path in paths:
        is_file = path.exists() and not path.is_dir()
        problem = "a directory" if path.is_dir() else _no_document(path)
        if path == STREAM or (is_file and form is not None) or not problem:
            documents.append(path)
        elif is_file:
            neither[path] = problem
            documents.append(path)
        elif documents:
            raise click.UsageError(f"{path}: name MODELs first, and FILEs behind them")
        else:
            models.append(path)
    if neither and len(neither) == len(documents):
        path, problem = next(iter(neither.items()))
        raise DataError(
            f"{path}: neither a model, which is a directory, nor a document: {problem}, or say "
            "by --format which of them it is like"
        )
    if len(models) > 1 and not documents and _is_folder_of_files(models[-1]):
        raise click.UsageError(
            f"{models[-1]}: neither a model nor a document; to translate the files of a project, "
            "write --tree in front of its folder"
        )
    return tuple(models), tuple(documents)


def _is_folder_of_files(path: Path) -> bool:
    """Whether it is a folder that has nothing of a model, a run or a checkpoint."""
    parts = ("config.yaml", "checkpoints", "model", "model.safetensors")
    return path.is_dir() and not any((path / name).exists() for name in parts)


def _no_document(path: Path) -> str:
    """The reason why a file is not a document, by its name; empty for a document."""
    from dragoman.documents.filetypes import document_format

    try:
        document_format(path.name)
    except DataError as error:
        return str(error)
    return ""


def warn_of_documents(inputs: Sequence[Path]) -> None:
    """Warn of inputs that are read line by line although their names are those of documents."""
    for path in inputs:
        if path.suffix.lower() != ".txt" and not _no_document(path):
            log.warning(
                "--input %s: each of its lines is translated as it stands; to translate it as a "
                "document, name it without --input",
                path,
            )


def translate_documents(
    models: tuple[Path, ...],
    documents: tuple[Path, ...],
    output: str | None,
    options: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Translate documents; a refused document is not written, and does not stop the others.

    Args:
        output: file or directory to write to, which ends in a slash or exists, or ``-``; None:
            beside the documents.
    """
    from dragoman.saved.system import write_system

    refuse_options(_LINES_ONLY, options, "{option} is for lines, not for documents; leave it out")
    detects, file = options["source_language"] == "auto", options["system_file"]
    if detects:
        options = {**options, "source_language": None}
    system = described(models, options)
    read = [*system.paths(), *([] if file is None else [file])]
    places = document_places(system, documents, output, options, read)
    if as_json and places.writes_stream:
        raise click.UsageError("--json and the document would mix; name another --output")
    if system.chooses_adapter or system.chooses_route:
        raise ConfigError(
            "a document is translated by one system; name its MODEL, and at most one --adapter "
            "without DOMAIN"
        )
    check_read(options, system, str(file or "search options"))
    _check_languages(system)
    if options["write_system"] is not None:
        check_no_input(options["write_system"], documents, "--write-system")
        check_description(options["write_system"], "--write-system")
        write_system(options["write_system"], system)
    done, refused = asyncio.run(
        _translated(system, places, detects=detects, splitter=options["splitter"])
    )
    if as_json:
        print_json(
            {
                "documents": [document.summary() for document in done],
                "refused": [
                    {"document": str(path), "error": str(error)} for path, error in refused.items()
                ],
            }
        )
    _complain(done, refused)


@dataclass(frozen=True)
class _Done:
    """A document that has been written."""

    path: Path
    output: Path
    file: TranslatedFile
    target: str
    seconds: float
    untranslated: list[tuple[str, str]] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        return {
            "document": str(self.path),
            "output": str(self.output),
            "source_language": self.file.source or None,
            "target_language": self.target,
            "texts": self.file.texts,
            "characters": self.file.characters,
            "seconds": round(self.seconds, 3),
            "untranslated": [
                {"text": text, "reason": reason} for text, reason in self.untranslated
            ],
            "missing": [
                {"text": flaw.text, "terms": list(flaw.missing)}
                for flaw in self.file.flaws
                if flaw.missing
            ],
            "invented": [
                {"text": flaw.text, "strings": list(flaw.invented)}
                for flaw in self.file.flaws
                if flaw.invented
            ],
            "faults": [
                {"text": flaw.text, "faults": list(flaw.faults)}
                for flaw in self.file.flaws
                if flaw.faults
            ],
        }


def _check_languages(system: TranslationSystem) -> None:
    """Check that the languages of a system have names, which decide how text is divided."""
    from dragoman.saved.directions import language_pairs
    from dragoman.saved.model import config_of

    path = system.models[0]
    pairs = language_pairs(config_of(path))
    named = ("source", "--from", system.source_language), ("target", "--to", system.target_language)
    nameless = [
        option
        for place, (name, option, language) in enumerate(named)
        if language is None and any(pair[place] == name for pair in pairs)
    ]
    if nameless:
        raise ConfigError(
            f"{path}: the model does not say which languages it translates; name them by "
            f"{' and '.join(nameless)}"
        )


async def _translated(
    system: TranslationSystem, places: DocumentPlaces, *, detects: bool, splitter: str | None
) -> tuple[list[_Done], _Refused]:
    """The documents that are written, and those that are refused."""
    from dragoman.translation.service.model_service import ModelService, ServiceOptions

    if system.target_language is not None:
        # before the model is loaded, which takes a while
        refused = places.check(system.target_language)
        if len(refused) == len(places.documents):
            return [], refused
    options = ServiceOptions(
        pivots=(), seconds=_SECONDS, reload_seconds=0, confidence=places.is_review
    )
    if splitter is not None:
        options = replace(options, splitter=splitter)
    async with await ModelService.open([system], options) as service:
        target, sources = _direction(service.directions(), system)
        refused = places.check(target)
        likely = sources[0] if len(sources) == 1 and not detects else None
        done: list[_Done] = []
        for document in places.documents:
            if document in refused:
                continue
            try:
                done.append(
                    await _translate_one(service, places, document, system, (target, likely))
                )
            except (ConfigError, DataError, MissingExtraError, StorageError) as error:
                if isinstance(error, StorageError) and not is_of_one_path(error):
                    _warn_of_refused(refused)
                    raise
                refused[document] = error
            except BaseException:
                _warn_of_refused(refused)
                raise
    return done, refused


def _direction(directions: Sequence[Pairing], system: TranslationSystem) -> tuple[str, list[str]]:
    """The target language, and the possible source languages."""
    targets = sorted({pair.target for pair in directions})
    if len(targets) > 1:
        raise ConfigError(
            f"{system.models[0]}: translates into {', '.join(targets)}; choose one by --to"
        )
    return targets[0], sorted({pair.source for pair in directions})


async def _translate_one(
    service: ModelService,
    places: DocumentPlaces,
    document: Path,
    system: TranslationSystem,
    languages: tuple[str, str | None],
) -> _Done:
    from dragoman.documents.document_format import FileLanguages
    from dragoman.documents.file_translation import translate_file
    from dragoman.documents.review.review_files import review_file
    from dragoman.translation.service.interface import RefusedError, TextRequest

    begin = time.monotonic()
    target, likely = languages
    untranslated: list[tuple[str, str]] = []

    def report(text: str, reason: str) -> None:
        untranslated.append((text, reason))
        log.warning(
            "%s: %r: %s; it is left as it is", named_document(document), text[:_SHOWN], reason
        )

    with ExitStack() as stack:
        shown: list[Callable[[int], None]] = []

        def progress(count: int, total: int) -> None:
            if not shown:
                shown.append(stack.enter_context(counting("translating", "texts", total)))
            shown[0](count)

        try:
            file = await translate_file(
                service,
                places.name(document),
                content := places.read(document),
                TextRequest("", target=target, source=system.source_language),
                progress=progress,
                likely_source=likely,
                untranslatable=report,
                known=places.known(document),
            )
        except RefusedError as error:
            raise _explained(document, error) from error
    _warn_of_flaws(document, file.flaws)
    output = places.output(document, target)
    if places.is_review:
        asked = FileLanguages(system.source_language, target)
        places.write(output, review_file(places.name(document), content, file, asked))
    elif places.is_written(file.texts):
        places.write(output, file.content)
    seconds = time.monotonic() - begin
    if output != STREAM:
        speed = f", {file.texts / seconds:,.1f} texts/s" if file.texts else ""
        where = "" if output == document else f": {output}"
        tell(f"{named_document(document)}: {_texts(file.texts)} in {seconds:,.1f} s{speed}{where}")
    return _Done(document, output, file, target, seconds, untranslated)


def _warn_of_flaws(document: Path, flaws: Sequence[Flaw]) -> None:
    """Warn of translations to be reviewed: the first ones, and the number of the others."""
    for flaw in flaws[:_WARNED]:
        problems = []
        if flaw.missing:
            problems.append(f"lacks {', '.join(map(shown, flaw.missing))}")
        if flaw.invented:
            problems.append(f"invents {', '.join(map(shown, flaw.invented))}")
        if flaw.faults:
            problems.append(worded_faults(flaw.faults))
        log.warning(
            "%s: %r: the translation %s; check it",
            named_document(document),
            flaw.text[:_SHOWN],
            " and ".join(problems),
        )
    if len(flaws) > _WARNED:
        log.warning(
            "%s: %s more like these; --json lists all of them",
            named_document(document),
            f"{len(flaws) - _WARNED:,}",
        )


def _explained(document: Path, error: RefusedError) -> ConfigError | DataError:
    """A service's refusal as the error of a command."""
    kind = ConfigError if error.kind == "unsupported" else DataError
    return kind(f"{named_document(document)}: {error}")


def _warn_of_refused(refused: _Refused) -> None:
    """Name the documents that were refused before something ended the command."""
    for error in refused.values():
        log.warning("%s", error)


def _complain(done: Sequence[_Done], refused: _Refused) -> None:
    """Fail the command if a document or a text could not be translated."""
    problems = [str(error) for error in refused.values()]
    left = [(document.path, *text) for document in done for text in document.untranslated]
    if left:
        path, text, reason = left[0]
        problems.append(
            f"{_texts(len(left))} could not be translated and stayed in the source language; the "
            f"first is {named_document(path)}: {text[:_SHOWN]!r}: {reason}"
        )
    if not problems:
        return
    others = ""
    if refused and done:
        what = "document is" if len(done) == 1 else f"{len(done):,} documents are"
        others = f"; the other {what} translated"
    kind = type(next(iter(refused.values()), DataError()))
    raise kind(f"{listed(problems)}{others}")


def _texts(number: int) -> str:
    return "1 text" if number == 1 else f"{number:,} texts"
