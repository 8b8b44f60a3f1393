"""The command that finds terms and their translations in parallel text: terms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import (
    check_apart,
    check_no_input,
    device_option,
    json_option,
    model_and_files,
    model_language_option,
    pairs_options,
)
from dragoman.cli.translated_lines import write_lines
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.text.corpora.corpus_part import CorpusPart
    from dragoman.text.terms.term_extraction import CandidateTerm
    from dragoman.text.word_alignment import Aligned
    from dragoman.workflows.candidate_glossary import ReadPairs


@click.command()
@click.argument("paths", metavar="[MODEL] FILES|FOLDERS...", type=PATH, nargs=-1, required=True)
@pairs_options
@model_language_option
@declare.options("""
    --output FILE: OUTPUT
        Write the glossary to FILE instead of standard output.
    --details FILE: FILE
        Also write a table with counts, shares, other translations and inconsistent terms.
    --except GLOSSARY...: PATH as without
        Leave out the terms of this glossary; may be repeated.
    --stop-words FILE: PATH
        Words, one a line, that no term begins or ends with.  [default: those of the source
        language]
    --minimum-count N: 2 <= int = 5
        Minimum occurrences of a term, and of its translation.
    --maximum-words N: 1 <= int <= 10 = 4
        Maximum words of a term.
    --minimum-share SHARE: 0 <= number <= 1 = 0.5
        Leave out terms if a smaller share of their occurrences has the main translation.
    --inconsistent SHARE: 0 <= number <= 1 = 0.2
        Minimum share of a second translation that makes a term inconsistent.
""")
@device_option
@json_option
def terms(paths: tuple[Path, ...], output: Path | None, as_json: bool, **options: Any) -> None:
    """Find terms and their translations in parallel text: a candidate glossary.

    FILES are files with both sides (TSV with a header, JSONL, TMX, PO, XLIFF), two plain files,
    source first, or folders with the translations of a project.  Their words are aligned by the
    attention of MODEL, a model or run directory, or, without MODEL, by an aligner that learns from
    FILES alone.  Candidates are ranked by C-value; check them before you use them with 'dragoman
    translate --glossary'.

    \b
    Examples:
      dragoman terms train.tsv --source en --target de --output terms.tsv --details details.tsv
      dragoman terms train.en train.de --minimum-count 10 > terms.tsv
      dragoman terms locale/ --source en --target de > terms.tsv
      dragoman terms runs/my train.tsv --source en --target de --json
    """
    from dragoman.text.lines import read_lines
    from dragoman.text.normalization import normalize
    from dragoman.text.terms.glossary import Glossary
    from dragoman.text.terms.term_extraction import TermLimits
    from dragoman.workflows.candidate_glossary import detail_lines, find_terms, glossary_lines
    from dragoman.workflows.material import Choice
    from dragoman.workflows.pile import find_parts

    model, files = model_and_files(paths, options["target_language"], options["device"])
    choice = Choice(options["source"], options["target"], options["file_format"])
    parts, languages = find_parts(files, choice)
    stops = options["stop_words"]
    read = [*files, *options["without"], *([] if stops is None else [stops])]
    for option, written in (("--output", output), ("--details", options["details"])):
        if written is not None:
            check_no_input(written, read, option)
    check_apart(output, options["details"], "--details")
    limits = TermLimits(
        options["minimum_count"],
        options["maximum_words"],
        options["minimum_share"],
        options["inconsistent"],
    )
    without = [Glossary.read(path, languages) for path in options["without"]]
    stopped = None
    if stops is not None:  # as the words of the pairs, which are cleaned
        stopped = frozenset(normalize(word).casefold() for word in read_lines(stops))
    corpus, aligned = _aligned(model, parts, options)
    candidates = find_terms(
        corpus, aligned, languages[0], limits=limits, without=without, stops=stopped
    )
    if options["details"] is not None:
        write_lines(options["details"], detail_lines(candidates))
    if output is not None:
        write_lines(output, glossary_lines(candidates))
    _report(candidates, corpus)
    if as_json:
        print_json(
            {
                "output": None if output is None else str(output),
                "pairs": len(corpus.lines),
                "pairs_left_out": corpus.left_out,
                "terms": [term.to_json() for term in candidates],
            }
        )
    elif output is None:
        write_lines(None, glossary_lines(candidates))


def _aligned(
    model: Path | None, parts: list[CorpusPart], options: dict[str, Any]
) -> tuple[ReadPairs, list[Aligned]]:
    from dragoman.text.word_alignment import ROUNDS
    from dragoman.workflows.candidate_glossary import (
        aligned_alone,
        aligned_by_model,
        prepared_for,
        read_corpus,
    )

    if model is None:
        corpus = read_corpus(parts)
        with counting("aligning", "rounds", 2 * ROUNDS) as progress:
            return corpus, aligned_alone(corpus, progress)
    from dragoman.translation.forced import check_attention
    from dragoman.translation.translator import Translator

    language = options["target_language"]
    with Translator.load(model, device=options["device"], target_language=language) as translator:
        check_attention(translator.models)
        corpus = read_corpus(parts, prepared_for(translator))
        with counting("aligning", "pairs", len(corpus.lines)) as progress:
            return corpus, aligned_by_model(translator, corpus, progress)


def _report(candidates: list[CandidateTerm], corpus: ReadPairs) -> None:
    inconsistent = sum(term.is_inconsistent for term in candidates)
    left_out = f"; {corpus.left_out:,} left out" if corpus.left_out else ""
    tell(
        f"{len(candidates):,} terms from {len(corpus.lines):,} pairs{left_out}; {inconsistent:,} "
        "of them are translated inconsistently"
    )
