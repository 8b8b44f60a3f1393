"""The command that leaves out the worst pairs of a corpus: filter."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import check_no_input, device_option, json_option
from dragoman.core.errors import ConfigError
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.techniques.corpus_filtering.scored_corpus import ScoredCorpus
    from dragoman.techniques.corpus_filtering.selection import FilterReport
    from dragoman.text.formats import AddPair, Format, Pair

_SHOWN_CHARACTERS = 60

filter_options = declare.options("""
    --reverse MODEL...: PATH
        Model of the opposite direction; several form an ensemble.  [default: MODEL, if it has
        learned both directions]
    --keep SHARE: 0 < number <= 1
        Keep this share of all pairs, such as 0.7: those with the highest scores.
    --above SCORE: 0 <= number < 1
        Keep the pairs with a higher score than this, between 0 and 1.
    --output FILE...: FILE
        Write the kept pairs to FILE, in the format of its suffix; for two plain files, give it
        twice, source first.
    --scores DIRECTORY: PATH
        Directory of all pairs with their scores, which another call with the same models
        reuses.  [default: FILE.scores]
    --source: text
        Column, key or language of the source.
    --target: text
        Column, key or language of the target.
    --format: FORMAT as file_format
        Format of the pairs, if the suffix does not determine it.
    --from LANGUAGE as source_language
        Language of the source, if models have several directions.
    --to LANGUAGE as target_language
        Language of the target, if models have several directions.
    --identify
        Drop pairs with a side that is clearly in another language.
    --no-lengths
        Score by the models alone, however unusual the length of a side is.
    --domain-lm MODEL: PATH
        Language model of the wanted domain, for the target side.
    --general-lm MODEL: PATH
        Language model of general text, to compare with --domain-lm.
    --workers N: 1 <= int <= 1024
        Processes that score, each on one core.  [default: this one, on all cores]
""")
"""The options that :func:`filter_pairs` reads."""


@click.command("filter")
@click.argument("paths", metavar="MODEL... FILE...", type=PATH, nargs=-1, required=True)
@filter_options
@json_option
@device_option
def filter_(paths: tuple[Path, ...], as_json: bool, device: str | None, **options: Any) -> None:
    """Drop the pairs that models of both directions score lowest, and write the others.

    FILE is one file with both sides (TSV with a header, JSONL, TMX, PO, XLIFF), or two plain files.
    The pairs are scored in both directions (dual conditional cross-entropy), shard by shard; the
    same command resumes, and with another --keep or --above it reuses the scores.

    \b
    Examples:
      dragoman filter runs/en-de web.en web.de --reverse runs/de-en --keep 0.7 \\
        --output clean.en --output clean.de
      dragoman filter runs/many web.tsv --from en --to de --above 0.05 --output clean.tsv
    """
    filter_pairs(paths, options, device=device, as_json=as_json)


def filter_pairs(
    paths: Sequence[Path], options: dict[str, Any], *, device: str | None, as_json: bool
) -> None:
    """Score the pairs of files, named behind the models, and write the best."""
    from dragoman.techniques.corpus_filtering.both_directions import scoring_models
    from dragoman.techniques.corpus_filtering.scored_corpus import score_corpus
    from dragoman.techniques.corpus_filtering.selection import Threshold, select
    from dragoman.workflows.material import Choice, find_part

    if (options["keep"] is None) == (options["above"] is None):
        raise click.UsageError("a filter needs either --keep SHARE or --above SCORE; name one")
    threshold = Threshold(options["keep"], options["above"])
    models, files = _models_and_files(paths)
    directory = _scores_directory(options)
    _check_beside(options["output"], directory)
    part, languages = find_part(
        files, Choice(options["source"], options["target"], options["file_format"])
    )
    form = _output_format(options["output"], part.inputs())
    scoring = scoring_models(
        models,
        options["reverse"],
        languages=(options["source_language"], options["target_language"]),
        sides=languages,
        identify=options["identify"],
        domain=options["domain_lm"],
        general=options["general_lm"],
        device=device,
    )
    corpus = score_corpus(
        scoring,
        part,
        directory,
        lengths=not options["no_lengths"],
        workers=options["workers"] or 1,
        progress=lambda done, total: counting("scoring", "pairs", total, done),
    )
    with _written(form, options["output"], languages) as add:
        report = select(corpus, threshold, lambda row: add(_pair(row)))
    if as_json:
        print_json(_values(report, corpus, options["output"]))
    else:
        sys.stdout.writelines(f"{line}\n" for line in _as_text(report))
    if corpus.tokens_per_second is not None:
        tell(f"scored {corpus.tokens_per_second:,.0f} target tokens/s; scores: {directory}")


def _models_and_files(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The paths divided into models, which are directories and come first, and files."""
    models = []
    for path in paths:
        if not path.is_dir():
            break
        models.append(path)
    files = list(paths[len(models) :])
    if not models or not files:
        raise click.UsageError(
            "name a MODEL, which is a directory, and then the pairs: one file with both sides, or "
            "two plain files, source first"
        )
    return models, files


def _scores_directory(options: dict[str, Any]) -> Path:
    if options["scores"] is not None:
        return Path(options["scores"])
    if not options["output"]:
        raise click.UsageError(
            "a filter needs --output FILE for the kept pairs, or --scores DIRECTORY for the scores "
            "alone; name one"
        )
    first: Path = options["output"][0]
    return first.with_name(f"{first.name}.scores")


def _check_beside(outputs: Sequence[Path], directory: Path) -> None:
    """Check that nothing is written over the scores, which take long to make."""
    scores = directory.resolve()
    for output in outputs:
        if scores in (output.resolve(), *output.resolve().parents):
            raise ConfigError(
                f"--output {output}: in the directory of the scores; choose a file apart from it"
            )


def _output_format(outputs: Sequence[Path], inputs: Sequence[Path]) -> Format | None:
    """The format of the kept pairs; None if nothing is written."""
    from dragoman.text.formats import FORMATS, format_of

    if not outputs:
        return None
    for output in outputs:
        check_no_input(output, inputs)
    if len(outputs) == 2 and outputs[0] != outputs[1]:
        return FORMATS["plain"]
    if len(outputs) != 1:
        raise ConfigError(
            "--output: give one file with both sides, or two plain files, source first"
        )
    form = format_of(outputs[0])
    if not form.one_file:
        raise ConfigError(f"--output {outputs[0]}: a {form.name} file has one side; give two files")
    return form


@contextmanager
def _written(
    form: Format | None, outputs: Sequence[Path], sides: tuple[str, str]
) -> Iterator[AddPair]:
    """A function that writes a pair; the files appear when the block ends without an error."""
    if form is None:
        yield lambda pair: None
        return
    with form.write(outputs, sides) as add:
        yield add


def _pair(row: dict[str, Any]) -> Pair:
    from dragoman.text.formats import Pair

    return Pair(row["source"], row["target"], row["line"])


def _values(report: FilterReport, corpus: ScoredCorpus, outputs: Sequence[Path]) -> dict[str, Any]:
    return {
        "output": [str(path) for path in outputs],
        "scores": str(corpus.path),
        "tokens_per_second": corpus.tokens_per_second,
        **asdict(report),
    }


def _as_text(report: FilterReport) -> Iterator[str]:
    yield f"{report.kept:,} of {report.read:,} pairs are kept ({report.kept / report.read:.1%})"
    for reason, count in report.dropped.items():
        yield f"  {count:>9,}  dropped, {reason}"
    yield (
        f"cross-entropy per token: {report.forward:.3f} nats forward, {report.reverse:.3f} "
        f"reverse; lowest score kept: {report.lowest_kept:.4g}"
    )
    titles = {
        "worst": "the worst",
        "last_dropped": "dropped, next to the threshold",
        "first_kept": "kept, next to the threshold",
    }
    for name, rows in report.examples.items():
        if rows:
            yield f"\n{titles[name]}:"
        for row in rows:
            sides = (_cut(row["source"]), _cut(row["target"]))
            yield f"  {row['score']:.4g}  line {row['line']}: {sides[0]}  |  {sides[1]}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
