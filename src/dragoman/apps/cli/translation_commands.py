"""Commands that use models: translate and score."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.apps.cli.options import EXISTING, Number, device_option, json_option
from dragoman.apps.cli.system_options import open_translator, system_options
from dragoman.apps.cli.translated_lines import Remembered, formatted, objects, write_lines
from dragoman.apps.progress import counting
from dragoman.apps.results import print_json
from dragoman.core.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.translation.outputs import Translation
    from dragoman.translation.translator import Translator

log = logging.getLogger(__name__)

STANDARD_INPUT = "standard input"


@click.command()
@click.argument("models", metavar="[MODEL]...", type=EXISTING, nargs=-1)
@click.option(
    "--input",
    "inputs",
    metavar="FILE",
    type=EXISTING,
    multiple=True,
    help="Read FILE (compressed or not) instead of standard input; may be repeated.",
)
@click.option(
    "--output",
    metavar="FILE",
    type=EXISTING,
    help="Write to FILE, which appears when all is done, instead of standard output.",
)
@click.option(
    "--to",
    "language",
    metavar="LANGUAGE",
    help="Target language, such as de, of a model that was trained with several.",
)
@click.option(
    "--tag",
    "tags",
    metavar="TAG",
    multiple=True,
    help="Put a tag of the model in front of each line, such as <ui>; may be repeated.",
)
@click.option("--beam", type=click.IntRange(min=1), help="Width of the beam; 1 is greedy.")
@click.option(
    "--early-end",
    type=click.Choice(["exact", "quick"]),
    help="End beam search when nothing better can come, or sooner: quick may lose the best.",
)
@click.option(
    "--length-penalty",
    metavar="ALPHA",
    type=Number(min=0),
    help="0 prefers short translations, 1 long ones.",
)
@click.option(
    "--coverage-penalty",
    metavar="BETA",
    type=Number(min=0),
    help="Above 0, translations that leave out a part of the source lose.",
)
@click.option(
    "--nbest",
    metavar="N",
    type=click.IntRange(min=1),
    help="Print the N best as lines of: line number, score, text (tabs between).",
)
@click.option("--scores", is_flag=True, help="Print the score and a tab before each translation.")
@click.option("--sample", is_flag=True, help="Draw translations at random instead of searching.")
@click.option(
    "--temperature",
    type=Number(min=0, min_open=True),
    help="Of --sample: below 1 prefers likely pieces.",
)
@click.option(
    "--top-k",
    metavar="K",
    type=click.IntRange(min=1),
    help="Of --sample: draw from the K likeliest pieces.",
)
@click.option(
    "--top-p",
    metavar="P",
    type=Number(0, 1, min_open=True),
    help="Of --sample: draw from the likeliest pieces that together have P.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Of --sample: the same draws again.")
@click.option(
    "--buffer-lines",
    metavar="N",
    type=click.IntRange(min=1),
    help="Lines to read before translating; 1 answers each line at once.",
)
@json_option
@system_options
def translate(
    models: tuple[Path, ...],
    inputs: tuple[Path, ...],
    output: Path | None,
    scores: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Translate lines of text with a MODEL; several translate together, as an ensemble.

    MODEL is a model, run or checkpoint directory.  Lines stay in order, one for each line that
    is read; an empty line gives an empty line, and so does one that is too long, with a warning
    at once and exit code 3 when all the others are translated.  A language model continues each
    line instead, and begins a text where the line is empty.

    \b
    Examples:
      echo "one hundred euros" | dragoman translate runs/demo
      dragoman translate models/a models/b --input news.en --output news.de --beam 8
      dragoman translate runs/many --to de < input.txt
      dragoman translate models/a models/b --weight 0.7 --weight 0.3 < input.txt
      dragoman translate runs/demo --lm runs/lm --lm-weight 0.2 < input.txt
      dragoman translate runs/demo --nbest 5 < input.txt
      dragoman translate runs/demo --nbest 5 --json < input.txt > output.jsonl
      dragoman translate runs/demo --sample --top-p 0.9 --seed 7 < input.txt
      dragoman translate runs/demo --engine ctranslate2 --precision int8 < input.txt
    """
    search = _search_options(options)
    if as_json and scores:
        raise click.UsageError("--json has the scores; leave --scores out")
    _keep_sources(inputs, output)
    with open_translator(models, options, search) as translator, _lines(inputs) as given:
        lines, interactive = given
        prefix = _tags(models, translator, options)
        at_once = 1 if interactive and not options["buffer_lines"] else None
        refused, sources = _Refused(), Remembered(lines)
        with _progress(output, interactive) as progress:
            wanted = sources if as_json else lines
            found = translator.stream_nbest(
                _tagged(wanted, prefix), progress=progress, buffer_lines=at_once
            )
            translated = refused.watch(found)
            if as_json:
                written = objects(sources, translated)
            else:
                written = formatted(translated, numbered=bool(options["nbest"]), scores=scores)
            write_lines(output, written)
    refused.complain()


@click.command()
@click.argument("paths", metavar="MODEL... [SOURCE] TARGET", type=EXISTING, nargs=-1, required=True)
@json_option
@device_option
def score(paths: tuple[Path, ...], as_json: bool, device: str | None) -> None:
    """Say how likely each line of TARGET is as the translation of its line of SOURCE.

    Prints the log-probability (natural logarithm) and the number of pieces, end symbol counted,
    with a tab between; and the perplexity of all on standard error.  A language model reads no
    SOURCE: it says how likely TARGET is by itself.

    \b
    Examples:
      dragoman score runs/demo test.en test.de
      dragoman score runs/language-model test.de
    """
    from dragoman.evaluation.metrics import perplexity
    from dragoman.text.corpus import CorpusPart, read_pairs
    from dragoman.translation.outputs import total
    from dragoman.translation.translator import Translator

    models, source, target = _scored_paths(paths)
    part = CorpusPart(source=None if source is None else str(source), target=str(target))
    pairs = list(read_pairs(part))
    sources = [pair.source for pair in pairs] if part.has_source else None
    scored = Translator.load(*models, device=device).score(sources, [pair.target for pair in pairs])
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
        f"{summary['log_probability_per_token']:.4f} nats a token, "
        f"perplexity {summary['perplexity']:.3f}",
        err=True,
    )


def _tags(
    models: tuple[Path, ...], translator: Translator, options: dict[str, Any]
) -> tuple[str, ...]:
    """What --to and --tag put in front of each line."""
    language, tags = options["language"], options["tags"]
    if language is None and not tags:
        return ()
    from dragoman.saved.directions import tags_for
    from dragoman.saved.model import CONFIG_FILE, home_of, model_directory, read_config
    from dragoman.saved.system import read_system

    first, *_ = models or read_system(options["system_file"]).models
    config = read_config(home_of(model_directory(first)) / CONFIG_FILE)
    return tags_for(config, translator.vocabularies.source, language, tags)


def _tagged(lines: Iterable[str], tags: tuple[str, ...]) -> Iterator[str]:
    """Lines with tags in front; an empty one stays empty."""
    prefix = "".join(f"{tag} " for tag in tags)
    return (prefix + line if line.strip() else line for line in lines)


def _scored_paths(paths: tuple[Path, ...]) -> tuple[tuple[Path, ...], Path | None, Path]:
    """Models, which are directories, then one or two files: source, if there is one, and target."""
    *before, target = paths
    source = before.pop() if len(before) > 1 and not before[-1].is_dir() else None
    if not before:
        raise click.UsageError("name at least one MODEL and a TARGET")
    return tuple(before), source, target


def _search_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of the command line as values of SearchConfig; None is left to the model."""
    names = (
        "beam",
        "early_end",
        "length_penalty",
        "coverage_penalty",
        "nbest",
        "buffer_lines",
    )
    search = {name: options[name] for name in names}
    draws = {name: options[name] for name in ("temperature", "top_k", "top_p", "seed")}
    given = {name: value for name, value in draws.items() if value is not None}
    if given and not options["sample"]:
        flag = "--" + next(iter(given)).replace("_", "-")
        raise ConfigError(f"{flag} is about sampling; add --sample or leave it out")
    if options["sample"]:
        if options["beam"]:
            raise ConfigError("--beam searches and --sample draws; leave one of them out")
        search["sampling"] = given
    return search


class _Refused:
    """Lines that cannot be translated: told of when they come, and again when all is done."""

    def __init__(self) -> None:
        self._count, self._first = 0, ""

    def watch(self, translated: Iterable[list[Translation]]) -> Iterator[list[Translation]]:
        """Pass translations on."""
        for translations in translated:
            if (reason := translations[0].refused) is not None:
                log.warning("%s; its translation is left empty", reason)
                self._count, self._first = self._count + 1, self._first or reason
            yield translations

    def complain(self) -> None:
        """End the command as one that failed, if there were any.

        Raises:
            DataError: there were.
        """
        if self._count:
            raise DataError(
                f"all is translated but {self._count:,} lines that cannot be and are empty in the "
                f"output; the first is {self._first}"
            )


def _keep_sources(inputs: tuple[Path, ...], output: Path | None) -> None:
    """See to it that no text is replaced by its own translation.

    Raises:
        ConfigError: it would be.
    """
    if output is None or not output.exists():
        return
    read = [path.stat() for path in inputs if path.exists()]
    if not inputs:
        with suppress(OSError, ValueError):  # standard input may be no file
            read.append(os.fstat(sys.stdin.fileno()))
    if any(os.path.samestat(output.stat(), one) for one in read):
        raise ConfigError(
            f"--output {output}: is what is to be translated, and would be replaced; name another "
            "file"
        )


@contextmanager
def _lines(inputs: tuple[Path, ...]) -> Iterator[tuple[Iterator[str], bool]]:
    """What is to be translated, and whether a person is typing it."""
    from dragoman.text.corpus import read_lines, stream_lines

    if inputs:
        yield (line for path in inputs for line in read_lines(path)), False
        return
    stream = sys.stdin.buffer
    yield stream_lines(stream, STANDARD_INPUT), stream.isatty()


@contextmanager
def _progress(output: Path | None, interactive: bool) -> Iterator[Callable[[int], None] | None]:
    """What counts translated lines, unless people see them come."""
    if interactive or (output is None and sys.stdout.isatty()):
        yield None
        return
    with counting("translating", "lines") as count:
        yield count
