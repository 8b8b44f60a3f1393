"""The program ``dragoman-client``: texts and documents to a server, without Python code."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from dragoman.client.asynchronous import AsyncClient
from dragoman.client.piped_lines import LineRequest, LineSource, translated_parts
from dragoman.client.progress_line import ProgressLine
from dragoman.client.synchronous import Client
from dragoman.client.text_calls import TranslateOptions
from dragoman.core.errors import ConfigError, DataError, DragomanError, StorageError
from dragoman.core.version import __version__

_INTERRUPTED, _READER_GONE = 130, 141
_BLOCK = 2**20  # bytes
_EXAMPLES = """examples:
  dragoman-client translate --server http://localhost:5000 --to de < in.txt > out.txt
  dragoman-client translate --to de --from en --glossary terms.tsv < in.txt
  dragoman-client document report.docx film.srt --to de
  dragoman-client languages

The server is that of --server, or of the environment variable DRAGOMAN_SERVER; the key that it may
require is that of --key-file or DRAGOMAN_KEY.  Exit codes: 0 done, 2 wrong use, 3 a text or file
cannot be read, 6 a write was refused, 12 the server refuses or cannot be reached, 130 interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    given = parser().parse_args(arguments)
    try:
        given.run(given)
        sys.stdout.flush()
    except DragomanError as error:
        print(f"dragoman-client: error: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python would complain when it ends
        return _READER_GONE
    except KeyboardInterrupt:
        print("dragoman-client: interrupted", file=sys.stderr)
        return _INTERRUPTED
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of all commands."""
    program = argparse.ArgumentParser(
        "dragoman-client",
        description="Translate by a Dragoman server.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program.add_argument("--version", action="version", version=f"dragoman-client {__version__}")
    commands = program.add_subparsers(required=True, metavar="COMMAND")
    _add_translate(commands.add_parser("translate", help="Translate lines, from a pipe to a pipe."))
    _add_document(commands.add_parser("document", help="Translate files such as .docx and .srt."))
    languages = commands.add_parser("languages", help="List the languages of the server.")
    languages.add_argument("--json", action="store_true", help="Print JSON.")
    languages.set_defaults(run=_languages)
    _add_server(languages)
    return program


def _add_translate(parser: argparse.ArgumentParser) -> None:
    parser.description = "Translate each line of standard input into one line."
    _add_direction(parser)
    parser.add_argument("--format", choices=["text", "html", "xml"], help="What the lines are.")
    parser.add_argument(
        "--split",
        choices=["sentences", "flowing", "paragraphs", "none"],
        help="Where a line is divided.  Default: at its sentences.",
    )
    parser.add_argument("--tag", action="append", help="A tag of the model; may be repeated.")
    parser.add_argument(
        "--skip", type=int, default=0, metavar="N", help="Go on after N lines, as after an error."
    )
    parser.set_defaults(run=_translate)
    _add_server(parser)


def _add_document(parser: argparse.ArgumentParser) -> None:
    parser.description = "Translate files; the translation of report.docx is report.de.docx."
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    _add_direction(parser)
    parser.add_argument(
        "--output", metavar="FILE", help="The translation, or a directory, which ends in /."
    )
    parser.add_argument("--force", action="store_true", help="Replace existing translations.")
    parser.set_defaults(run=_documents)
    _add_server(parser)


def _add_direction(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", required=True, metavar="LANGUAGE", help="Such as de.")
    parser.add_argument("--from", dest="source", metavar="LANGUAGE", help="Default: detected.")
    parser.add_argument(
        "--glossary",
        metavar="FILE|ID",
        help="Terms and translations, separated by a tab; or a glossary of the server.",
    )
    parser.add_argument("--quiet", action="store_true", help="Show no progress.")


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", metavar="URL", help="Default: http://127.0.0.1:5000.")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="A file with the key.")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="Of a request. Default: 60."
    )


def _server(given: argparse.Namespace) -> tuple[str, str | None, float]:
    """Address, key and time, from options or the environment."""
    url = given.server or os.environ.get("DRAGOMAN_SERVER") or "http://127.0.0.1:5000"
    key = os.environ.get("DRAGOMAN_KEY")
    if given.key_file is not None:
        key = _read(given.key_file).decode("utf-8", "replace")
    return url, key, given.timeout


def _translate(given: argparse.Namespace) -> None:
    if given.skip < 0:
        raise ConfigError(f"--skip: expected a number of lines, found {given.skip}")
    written = given.skip
    source = sys.stdin.buffer
    progress = ProgressLine("lines", _lines_ahead(source, given.skip), quiet=given.quiet)

    async def work() -> None:
        nonlocal written
        url, key, timeout = _server(given)
        request = LineRequest(given.to, given.source, _options(given))
        async with AsyncClient(url, key, timeout=timeout) as client:
            lines = LineSource(source, "standard input", given.skip)
            async for part in translated_parts(client, lines, request, given.skip + 1):
                _write_lines(part)
                written += len(part)
                progress.show(written - given.skip)

    try:
        asyncio.run(work())
    except (DragomanError, KeyboardInterrupt):
        progress.end()
        if written:
            print(f"{written:,} lines are done; go on with --skip {written}", file=sys.stderr)
        raise
    progress.end()


def _write_lines(lines: Sequence[str]) -> None:
    try:
        sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StorageError(f"standard output: cannot be written: {error.strerror}") from error


def _lines_ahead(stream: BinaryIO, skip: int) -> int | None:
    """The number of lines to translate, if the input is a file; None for a pipe."""
    try:
        place = stream.tell()
        if not stream.seekable():
            return None
    except OSError:
        return None
    count = 0
    while block := stream.read(_BLOCK):
        count += block.count(b"\n")
    stream.seek(place)
    return max(0, count - skip)


def _options(given: argparse.Namespace) -> TranslateOptions:
    options: TranslateOptions = {}
    if given.format:
        options["format"] = given.format
    if given.split:
        options["split"] = given.split
    if given.tag:
        options["tags"] = given.tag
    if given.glossary:
        options["glossary"] = _glossary(given.glossary)
    return options


def _glossary(given: str) -> dict[str, str] | str:
    """The terms of a file, or the ``id`` of a glossary that the server keeps.

    Raises:
        DataError: a line of the file is no pair.
    """
    path = Path(given)
    if not path.is_file():
        return given
    terms = {}
    for number, line in enumerate(_read(path).decode("utf-8-sig", "replace").splitlines(), 1):
        if not line.strip():
            continue
        term, tab, translation = line.partition("\t")
        if not (term.strip() and tab and translation.strip()):
            raise DataError(f"{path}:{number}: expected a term, a tab and its translation")
        terms[term.strip()] = translation.partition("\t")[0].strip()
    return terms


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def _documents(given: argparse.Namespace) -> None:
    """Translate the files; the others too if one is refused.

    Raises:
        DragomanError: the error of the first file that was refused.
    """
    first: DragomanError | None = None
    glossary = _glossary(given.glossary) if given.glossary else None
    url, key, timeout = _server(given)
    with Client(url, key, timeout=timeout) as client:
        for path in given.files:
            progress = ProgressLine("", 1.0, quiet=given.quiet)
            try:
                output = _output_of(path, given)
                client.translate_file(
                    path,
                    output,
                    target=given.to,
                    source=given.source,
                    glossary=glossary,
                    progress=progress.show,
                )
                progress.end()
                print(output)
            except DragomanError as error:
                progress.end()
                if len(given.files) > 1:
                    print(f"dragoman-client: {path}: {error}", file=sys.stderr)
                first = first or error
    if first is not None:
        raise first


def _output_of(path: Path, given: argparse.Namespace) -> Path:
    """The file that a translation is written to.

    Raises:
        ConfigError: it exists, or several files would go into one.
    """
    name = f"{path.stem}.{given.to}{path.suffix}"
    output = path.with_name(name)
    if given.output:
        output = Path(given.output)
        if given.output.endswith(("/", os.sep)) or output.is_dir():
            output = output / name
        elif len(given.files) > 1:
            raise ConfigError(
                f"--output {given.output}: one file for {len(given.files)}; name a directory, "
                "which ends in /"
            )
    if output.exists() and not given.force:
        raise ConfigError(f"{output}: exists already; --force replaces it, --output names another")
    return output


def _languages(given: argparse.Namespace) -> None:
    url, key, timeout = _server(given)
    with Client(url, key, timeout=timeout) as client:
        languages = client.languages()
    if given.json:
        listed = [
            {"code": one.code, "name": one.name, "targets": one.targets, "tags": dict(one.tags)}
            for one in languages
        ]
        print(json.dumps(listed, ensure_ascii=False))
        return
    for one in languages:
        print(f"{one.code}\t{one.name}\t{' '.join(one.targets)}")
