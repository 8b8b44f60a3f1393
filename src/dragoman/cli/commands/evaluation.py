"""The command that scores translations: evaluate."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dragoman.cli import declare
from dragoman.cli.length_options import by_length, check_by_length
from dragoman.cli.named_test_set import NamedTestSet, test_set_options
from dragoman.cli.option_types import PATH
from dragoman.cli.options import input_lines, is_given, json_option, rising_numbers
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.evaluation.metrics import EvaluationConfig, Score, SourceSide
    from dragoman.evaluation.significance import SignificanceTest
    from dragoman.workflows.reports.score_tables import LengthReport

_SAMPLE = 2_000  # references whose script is looked at

log = logging.getLogger(__name__)


@click.command()
@click.argument("hypotheses", type=PATH)
@click.argument("references", metavar="[REFERENCE]...", type=PATH, nargs=-1)
@declare.options(
    """
    --metric ...: METRIC as metrics
        Metric to compute; may be repeated.
    --tokenize: TOKENIZER = 13a
        Tokeniser of BLEU: none for text that is already tokenised; flores200 for spBLEU, whose
        model is downloaded once; ja-mecab and ko-mecab need sacrebleu[ja] and sacrebleu[ko].
    --lowercase
        Ignore case.
    --language LANGUAGE
        Also report the percentage of HYPOTHESES in another language than this, such as fr.
    --among LANGUAGE,...
        With --language: languages to choose from, such as de,en,fr.  [default: all that the
        identifier knows]
    --source FILE: PATH as source_text
        Source text of HYPOTHESES, for the metrics terms, placeholders and numbers, and for those of
        other programs.
    --glossary FILE: PATH
        Also report the percentage of this glossary's terms in --source that HYPOTHESES use.
    --from LANGUAGE as glossary_from
        Source language, such as en, of --glossary; needed for TBX.
    --to LANGUAGE as glossary_to
        Target language, such as de, of --glossary; needed for TBX.
    --confidence N: 0 <= int
        Add 95% confidence intervals from N bootstrap resamples, such as 1000.
    --baseline FILE: PATH
        Translations by another system; test whether the difference to them is significant.
    --test: bootstrap | randomization = bootstrap
        Significance test for --baseline.
    --by-length SOURCE: PATH as sources
        Source text of HYPOTHESES; adds a table of the first metric by source length.
    --beside FILE...: PATH
        With --by-length: another system's translations to add to the table; may be repeated.
    --bounds N,...
        With --by-length: upper bound of each row but the last.  [default: five rows of similar
        size]
    --pieces MODEL: PATH as vocabulary
        With --by-length: count pieces of this model or run instead of words.
    --picture FILE.svg: FILE
        With --by-length: draw the table.
    --evalb
        HYPOTHESES and REFERENCE are trees: print the table of the program EVALB instead.
    --sacrebleu-json
        Print JSON as 'sacrebleu --format json' does, for programs that read that.
    """,
    metrics={"show_default": True, "default": ("bleu", "chrf")},
    confidence={"default": 0, "show_default": False},
    bounds={"callback": rising_numbers},
)
@test_set_options
@json_option
def evaluate(
    hypotheses: Path,
    references: tuple[Path, ...],
    baseline: Path | None,
    test: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Score the translations in HYPOTHESES against one or more REFERENCE files.

    HYPOTHESES may be - for standard input.  Scores come with sacrebleu's signatures.

    \b
    Examples:
      dragoman translate runs/demo < test.en | dragoman evaluate - test.de
      dragoman evaluate new.de test.de --metric chrf --baseline old.de
      dragoman evaluate new.de test.de --source test.en --glossary terms.tsv --metric placeholders
      dragoman evaluate new.de test.de --by-length test.en --beside old.de --picture lengths.svg
      dragoman evaluate runs/demo --test-set wmt22 --language-pair en-de
      dragoman evaluate parsed.trees gold.trees --metric bracketing_f1 --confidence 1000
    """
    if baseline is None and is_given("test"):
        raise click.UsageError("--test is of the difference to a --baseline; name one")
    if options["evalb"]:
        _refuse_beside_evalb({*options, "baseline", "test"} - {"evalb"})
        _print_evalb(hypotheses, references, as_json)
        return
    check_by_length(options)
    if options["sacrebleu_json"] and (as_json or baseline or options["sources"]):
        raise click.UsageError(
            "--sacrebleu-json prints scores alone; leave out --json, --baseline and --by-length"
        )
    named = NamedTestSet.chosen(options, references)
    if named is None and not references:
        raise click.MissingParameter(param_hint="'REFERENCE...'", param_type="argument")
    from dragoman.core.config import parse
    from dragoman.evaluation.metrics import EvaluationConfig, exact_match, metrics_of, score_corpus
    from dragoman.text.terms.terminology import nothing_to_count

    config = parse(EvaluationConfig, _evaluation_values(options), "evaluate")
    read_system = _read if named is None else named.translations
    lines = read_system(hypotheses)
    read = _trees if metrics_of("trees", config.metrics) else _read
    sets = [read(path) for path in (references if named is None else named.files.references)]
    source = _source_side(options)
    if source is not None:
        for metric in nothing_to_count(source.lines, source.counters, config.metrics):
            log.warning("--source has no %s, so their rate of 100%% says nothing", metric)
    _warn_of_tokenizer(sets, config)
    if options["sacrebleu_json"]:
        from dragoman.evaluation.sacrebleu_json import sacrebleu_json

        click.echo(sacrebleu_json(lines, sets, config, source))
        return
    scores = score_corpus(lines, sets, config, source)
    comparisons = []
    if baseline:
        other, systems = read_system(baseline), {str(hypotheses): lines}
        comparisons = _compare(other, systems, sets, config, test, source=source)
    exact = exact_match(lines, sets[0]) if len(sets) == 1 else None
    table = by_length({hypotheses: lines}, sets, config, options, source)
    results = _Results(scores, exact, comparisons, table)
    if as_json:
        print_json(results.to_json())
    else:
        click.echo(results.as_text())


def _warn_of_tokenizer(references: Sequence[Sequence[str]], config: EvaluationConfig) -> None:
    """Warn if BLEU finds no words in the script of the references."""
    from collections import Counter

    from dragoman.evaluation.tokenizers import tokenizer_hint
    from dragoman.text.scripts import script_shares

    if "bleu" in config.metrics:
        shares = script_shares(Counter("".join(references[0][:_SAMPLE])))
        if (hint := tokenizer_hint(config.bleu_tokenize, shares, "--tokenize {}")) is not None:
            log.warning(hint)


class _Results(NamedTuple):
    """Everything that is printed."""

    scores: list[Score]
    exact: float | None
    comparisons: list[SignificanceTest]
    by_length: LengthReport | None

    def as_text(self) -> str:
        lines = [str(score) for score in self.scores]
        if self.exact is not None:
            lines.append(f"exact match = {self.exact:.1f}%")
        for comparison in self.comparisons:
            verdict = "more" if comparison.is_significant() else "no more"
            lines.append(f"against the baseline: {comparison}: {verdict} than chance (p < 0.05)")
        if self.by_length is not None:
            lines += ["", self.by_length.table()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {"scores": [score.to_json() for score in self.scores]}
        if self.exact is not None:
            values["exact_match"] = self.exact
        if self.comparisons:
            values["comparisons"] = [comparison.to_json() for comparison in self.comparisons]
        if self.by_length is not None:
            values["by_length"] = self.by_length.to_json()
        return values


def _refuse_beside_evalb(names: set[str]) -> None:
    """Refuse options that EVALB's table would ignore."""
    for option in click.get_current_context().command.params:
        if option.name in names and is_given(option.name):
            raise click.UsageError(
                f"{option.opts[0]}: --evalb prints the table of EVALB, which has nothing of this; "
                "leave one of them out"
            )


def _print_evalb(hypotheses: Path, references: tuple[Path, ...], as_json: bool) -> None:
    from dragoman.evaluation.bracketing import compare_all
    from dragoman.evaluation.evalb import table, to_json

    if len(references) != 1:
        raise click.UsageError("--evalb compares with one REFERENCE; name a single file")
    comparison = compare_all(_trees(hypotheses), _trees(references[0]))
    if as_json:
        print_json(to_json(comparison))
    else:
        click.echo(table(comparison))


def _evaluation_values(options: dict[str, Any]) -> dict[str, Any]:
    from dragoman.evaluation.metrics import metric_named

    metrics, language, among = options["metrics"], options["language"], options["among"]
    if language is not None:
        metrics = (*metrics, "wrong_language")
    elif "wrong_language" in metrics or among:
        needing = "--among" if among else "--metric wrong_language"
        raise click.UsageError(
            f"{needing} needs --language, the one that HYPOTHESES should be in; add it"
        )
    if options["glossary"] is not None:
        metrics = (*metrics, "terms")
    elif "terms" in metrics:
        raise click.UsageError("--metric terms needs --glossary, the terms that count; add it")
    _check_glossary_languages(options)
    of_source = [name for name in metrics if metric_named(name).reads_source]
    if (options["source_text"] is None) == bool(of_source):
        raise click.UsageError(
            f"{of_source[0]}: translations are compared with their sources; add --source"
            if of_source
            else "--source is read by --metric terms, placeholders or numbers, and by metrics of "
            "other programs; choose one"
        )
    _check_text_options(options, metrics)
    return {
        "metrics": list(dict.fromkeys(metrics)),
        "language": language,
        "candidate_languages": list(among),
        "bleu_tokenize": options["tokenize"],
        "lowercase": options["lowercase"],
        "glossary": None if options["glossary"] is None else str(options["glossary"]),
        "confidence_samples": options["confidence"],
    }


def _check_text_options(options: dict[str, Any], metrics: Sequence[str]) -> None:
    """Check that a metric reads the options for comparing text."""
    if is_given("tokenize") and "bleu" not in metrics:
        raise click.UsageError("--tokenize is read by --metric bleu; choose it, or leave it out")
    if options["lowercase"] and not {"bleu", "chrf"} & {*metrics}:
        raise click.UsageError(
            "--lowercase is read by --metric bleu and chrf; choose one, or leave it out"
        )


def _check_glossary_languages(options: dict[str, Any]) -> None:
    """Check that a glossary has the languages that it needs, and that a metric reads them."""
    from dragoman.text.terms.glossary_files import is_tbx

    glossary, named = options["glossary"], (options["glossary_from"], options["glossary_to"])
    if glossary is not None and is_tbx(glossary):
        if None in named:
            raise click.UsageError(
                f"--glossary {glossary}: TBX may have terms in many languages; name both of the "
                "translations, such as --from en --to de"
            )
    elif any(named) and (glossary is None or None in named):
        raise click.UsageError("--from and --to say the languages of --glossary; give all three")


def _source_side(options: dict[str, Any]) -> SourceSide | None:
    from dragoman.evaluation.metrics import SourceSide
    from dragoman.text.terms.terminology import counters

    if options["source_text"] is None:
        return None
    source, target = options["glossary_from"], options["glossary_to"]
    counted = counters(options["glossary"], (source, target) if source and target else None)
    return SourceSide(_read(options["source_text"]), counted)


def _read(path: Path) -> list[str]:
    """The lines of a file, or of standard input for ``-``."""
    return list(input_lines((path,)))


def _trees(path: Path) -> list[str]:
    """The trees of a file; lines that continue a tree are indented."""
    from dragoman.text.formats.trees import tree_lines

    lines = _read(path)
    is_indented = any(line.startswith((" ", "\t")) for line in lines)
    return tree_lines(lines, path) if is_indented else lines


def _compare(
    baseline: list[str],
    systems: dict[str, list[str]],
    references: list[list[str]],
    config: EvaluationConfig,
    test: str,
    *,
    source: SourceSide | None,
) -> list[SignificanceTest]:
    from dragoman.core.config import parse
    from dragoman.evaluation.significance import SignificanceConfig, compare_systems

    significance = parse(SignificanceConfig, {"test": test}, "evaluate --test")
    return compare_systems(baseline, systems, references, config, significance, source=source)
