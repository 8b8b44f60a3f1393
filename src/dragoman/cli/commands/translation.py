"""Commands that use models: translate and score."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from dragoman.cli import declare
from dragoman.cli.commands.filter import filter_, filter_options, filter_pairs
from dragoman.cli.option_types import MODEL, PATH, PATH_AS_TYPED, STREAM
from dragoman.cli.options import (
    device_option,
    input_lines,
    input_option,
    is_directory,
    json_option,
    refuse_options,
)
from dragoman.cli.repaired_lines import repair_lines, repair_options
from dragoman.cli.search_options import (
    buffer_option,
    check_sampling,
    output_options,
    sampling_options,
    search_options,
)
from dragoman.cli.system_options import open_translator, system_options
from dragoman.cli.translated_documents import separated, translate_documents, warn_of_documents
from dragoman.cli.translated_lines import (
    AlignmentOutput,
    LineReport,
    PrintedFields,
    json_line,
    text_lines,
    write_lines,
)
from dragoman.core.errors import ConfigError
from dragoman.workflows.progress import counting
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.translation.line_stream import TranslatedLine

log = logging.getLogger(__name__)

_REPAIRS = ("repair_share", "repair_below", "repair_settings")
"""Options that only ``--repair`` reads."""


@click.command()
@click.argument("paths", metavar="[MODEL]... [FILE]...", type=MODEL, nargs=-1)
@input_option
@declare.options(
    """
    --output FILE as place
        Write to FILE, which appears once everything is done, or - for standard output.  For
        documents: a file, a directory (a new one must end in /), or -.  [default: standard output;
        for documents, a file beside each]
    --format SUFFIX as document_format
        For documents: format of FILE, such as md, whatever its suffix; needed for standard input.
    --to-format FORMAT
        For documents: write the translation as XLIFF, for review in a translation tool; 'dragoman
        convert' turns the reviewed file into the document.
    --force
        For documents: replace existing translations.
    --splitter: SPLITTER
        For documents: program that divides texts into sentences.  [default: sentencex]
    --tree DIRECTORY: PATH
        Translate the strings of a project, such as locale/, into its files for the language of
        --to; existing translations stay.
    """,
    place={"type": PATH_AS_TYPED},
    to_format={"type": click.Choice(["xliff"])},
)
@search_options
@output_options
@declare.options("""
    --scores
        Print the score and a tab before each translation.
    --token-scores
        With --json: also the log-probability of each piece and of the end symbol.
    --confidence
        Print, before each translation, the probability that it is right (after the score, if any)
        and a tab. Calibrate MODEL first: 'dragoman calibrate'.
    --calibration FILE: PATH
        With --confidence, --flag-below or --json: read the calibration from FILE, as written by
        'dragoman calibrate --output FILE'.
    --flag-below P: 0 <= number <= 1
        Warn of each line whose translation has a lower confidence than P, such as 0.5.
    --alignment FILE: FILE
        Also write the word alignment of each line and its translation, by attention, in Pharaoh
        format (0-0 1-2); words are separated by spaces.
""")
@repair_options
@sampling_options
@buffer_option
@json_option
@system_options
def translate(
    paths: tuple[Path, ...],
    inputs: tuple[Path, ...],
    place: str | None,
    scores: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Translate lines of text, or documents, with a MODEL; several form an ensemble.

    MODEL is a model, run or checkpoint directory.  FILE is a document of a format such as .md or
    .srt, or - with --format; the translation of report.md is report.de.md beside it.  Tags,
    placeholders, code and layout are kept; FILE itself stays unchanged.

    Without FILE, each input line gives one output line, in order.
    An empty line gives an empty line, and so does one that is too long, with an immediate warning
    and exit code 3 once all others are translated.  A language model continues each line instead,
    and starts a new text where the line is empty.  Search options default to those of MODEL.

    \b
    Examples:
      echo "one hundred euros" | dragoman translate runs/demo
      dragoman translate models/a models/b --input news.en --output news.de --beam 8
      dragoman translate runs/demo README.md film.srt
      dragoman translate runs/many --to de manual.md --output manual-german.md
      dragoman translate runs/demo manual.md --to-format xliff
      dragoman translate runs/many --tree locale/ --from en --to fr
      dragoman translate runs/many --to de < input.txt
      dragoman translate runs/many --from de --via en --to fr < input.txt
      dragoman translate runs/de-en --via en --then runs/en-fr < input.txt
      dragoman translate models/a models/b --weight 0.7 --weight 0.3 < input.txt
      dragoman translate runs/demo --lm runs/lm --lm-weight 0.2 < input.txt
      dragoman translate runs/general --adapter runs/ui < input.txt
      dragoman translate runs/general --adapter ui=runs/ui --adapter news=runs/news < input.txt
      dragoman translate runs/demo --nbest 5 < input.txt
      dragoman translate runs/demo --nbest 5 --json < input.txt > output.jsonl
      dragoman translate runs/demo --json --token-scores < input.txt > output.jsonl
      dragoman translate runs/demo --confidence --flag-below 0.5 < input.txt
      dragoman translate runs/my --input in.txt --output out.txt --repair http://localhost:8000/v1
      dragoman translate runs/demo --alignment output.align < input.txt > output.txt
      dragoman translate runs/demo --sample --top-p 0.9 --seed 7 < input.txt
      dragoman translate runs/demo --mbr 32 --utility chrf < input.txt
      dragoman translate runs/demo --engine ctranslate2 --precision int8 < input.txt
    """
    check_sampling(options)
    models, documents = separated(paths, options["document_format"])
    if documents or options["tree"] is not None:
        options |= {"inputs": inputs, "scores": scores}
        translate_documents(models, documents, place, options, as_json=as_json)
        return
    problem = "{option} is for documents; name a FILE to translate"
    refuse_options(("document_format", "to_format", "force", "splitter"), options, problem)
    warn_of_documents(inputs)
    output = None if place in {None, str(STREAM)} else Path(place)
    if place is not None and is_directory(place) and not Path(place).is_dir():
        raise ConfigError(f"--output {place}: this names a directory; name a file for the lines")
    if options["repair"] is not None:
        keep_texts(inputs, {"output": output})
        repair_lines(models, inputs, output, {**options, "scores": scores, "as_json": as_json})
        return
    refuse_options(_REPAIRS, options, "{option} needs --repair; add it, or leave out {option}")
    if options["token_scores"] and not as_json:
        raise click.UsageError("--token-scores needs --json")
    if as_json and scores:
        raise click.UsageError("--json includes the scores; leave out --scores")
    beside = {name: options[name] for name in ("write_system", "alignment")}
    keep_texts(inputs, {"output": output, **beside})
    report = LineReport(options["flag_below"])
    uses = options["confidence"], report.flags, as_json, options["write_system"] is not None
    if options["calibration"] is not None and not any(uses):
        raise click.UsageError(
            "--calibration is read with --confidence, --flag-below or --json; add one of them"
        )
    confidence, options["confidence"] = options["confidence"], options["confidence"] or report.flags
    places = {"--output": output, "--alignment": options["alignment"]}
    lines, interactive = lines_of(inputs)
    with open_translator(models, options, places) as translator, ExitStack() as stack:
        links = None
        if (path := options["alignment"]) is not None:
            links = stack.enter_context(AlignmentOutput.open(path, translator))
        shown = PrintedFields(
            nbest=bool(options["nbest"]) or translator.search.nbest > 1,
            scores=scores,
            confidence=translator.has_confidence if as_json else confidence,
            token_scores=options["token_scores"],
        )
        if shown.token_scores and not translator.has_token_scores:
            raise ConfigError(
                "--token-scores: the engine ctranslate2 gives no scores of tokens; choose --engine "
                "pytorch"
            )

        def written(translated: Iterable[TranslatedLine]) -> Iterator[str]:
            for result in translated:
                report.add(result)
                if links is not None:
                    links.add(result)
                if as_json:
                    yield json_line(result, report, shown)
                else:
                    yield from text_lines(result, shown)

        with shown_progress(output, interactive) as progress:
            at_once = 1 if interactive and not options["buffer_lines"] else None
            translated = translator.stream_lines(lines, progress=progress, buffer_lines=at_once)
            write_lines(output, written(translated))
    report.conclude()


@click.command()
@click.argument("paths", metavar="MODEL... [SOURCE] TARGET", type=PATH, nargs=-1, required=True)
@declare.options(
    """
    --adapter FILE: PATH
        Adapter of MODEL, or the run that it was trained in.
    --filter as filters
        Old spelling of 'dragoman filter'.
    """,
    filters={"hidden": True},
)
@filter_options.hidden()
@json_option
@device_option
def score(
    paths: tuple[Path, ...],
    adapter: Path | None,
    filters: bool,
    as_json: bool,
    device: str | None,
    **options: Any,
) -> None:
    """Print how likely each line of TARGET is as the translation of the same line of SOURCE.

    Prints the log-probability (natural logarithm) and the number of pieces, including the end
    symbol, separated by a tab; the perplexity of all lines goes to standard error.  A language
    model reads no SOURCE and scores TARGET by itself.

    \b
    Examples:
      dragoman score runs/demo test.en test.de
      dragoman score runs/language-model test.de
    """
    if filters:
        if adapter is not None:
            raise click.UsageError(
                "--adapter does not go with --filter; make a model of both with 'dragoman merge'"
            )
        try:
            filter_pairs(paths, options, device=device, as_json=as_json)
        except click.UsageError as error:  # whose --help shows the options
            parent = click.get_current_context().parent
            error.ctx = click.Context(filter_, info_name=filter_.name, parent=parent)
            raise
        return
    refuse_options(options, options, "{option} needs --filter; add it, or leave out {option}")
    from dragoman.evaluation.metrics import perplexity
    from dragoman.text.corpora.corpus import read_pairs
    from dragoman.text.corpora.corpus_part import CorpusPart
    from dragoman.translation.outputs import total
    from dragoman.translation.translator import Translator

    models, source, target = _scored_paths(paths)
    part = CorpusPart(source=None if source is None else str(source), target=str(target))
    pairs = list(read_pairs(part))
    sources = [pair.source for pair in pairs] if part.has_source else None
    scored = Translator.load(*models, device=device, adapter=adapter).score(
        sources, [pair.target for pair in pairs]
    )
    log_probability, tokens = total(scored)
    summary = {
        "log_probability": log_probability,
        "tokens": tokens,
        "log_probability_per_token": log_probability / tokens,
        "perplexity": perplexity(log_probability, tokens),
    }
    if as_json:
        lines = [line._asdict() for line in scored]
        print_json({**summary, "lines": lines})
        return
    write_lines(None, (f"{line.log_probability:.4f}\t{line.tokens}" for line in scored))
    click.echo(
        f"{len(scored):,} lines, {tokens:,} tokens, "
        f"{summary['log_probability_per_token']:.4f} nats per token, "
        f"perplexity {summary['perplexity']:.3f}",
        err=True,
    )


def _scored_paths(paths: tuple[Path, ...]) -> tuple[tuple[Path, ...], Path | None, Path]:
    """Paths divided into models, which are directories, then the source, if any, and the target."""
    *before, target = paths
    source = before.pop() if len(before) > 1 and not before[-1].is_dir() else None
    if not before:
        raise click.UsageError("name at least one MODEL and a TARGET")
    return tuple(before), source, target


def keep_texts(inputs: tuple[Path, ...], written: dict[str, Path | None]) -> None:
    """Refuse to overwrite an input, or one output with another.

    Args:
        inputs: the files to translate; none: standard input.
        written: outputs by the names of their options, the translations first.
    """
    read, output = _files(inputs, sys.stdin), written["output"]
    beside: list[Path] = [] if output is None else [output]
    taken = _files(tuple(beside), sys.stdout)
    for name, path in written.items():
        if path is None:
            continue
        option = f"--{name.replace('_', '-')} {path}"
        if path.is_file() and _is_among(path, read):
            raise ConfigError(
                f"{option}: this is an input, which would be overwritten; name another file"
            )
        if name == "output" or (path.exists() and not path.is_file()):
            continue  # a device keeps all
        same = any(os.path.realpath(path) == os.path.realpath(other) for other in beside)
        if same or (path.exists() and _is_among(path, taken)):
            raise ConfigError(
                f"{option}: this is the output, which would be overwritten; name another file"
            )
        beside.append(path)


def _files(named: tuple[Path, ...], stream: TextIO) -> list[os.stat_result]:
    """The named files that exist; for ``-`` or without any, the stream's."""
    files = [path.stat() for path in named if path != STREAM and path.exists()]
    if not named or STREAM in named:
        with suppress(OSError, ValueError):  # the stream may not be a file
            files.append(os.fstat(stream.fileno()))
    return files


def _is_among(path: Path, files: list[os.stat_result]) -> bool:
    return any(os.path.samestat(path.stat(), status) for status in files)


def lines_of(inputs: tuple[Path, ...]) -> tuple[Iterator[str], bool]:
    """The lines to translate, and whether a person is typing them."""
    typing = STREAM in (inputs or (STREAM,)) and sys.stdin.isatty()
    return input_lines(inputs), typing


@contextmanager
def shown_progress(
    output: Path | None, interactive: bool, what: str = "translating"
) -> Iterator[Callable[[int], None] | None]:
    """A counter of finished lines, unless the user sees them appear."""
    if interactive or (output is None and sys.stdout.isatty()):
        yield None
        return
    with counting(what, "lines") as count:
        yield count
