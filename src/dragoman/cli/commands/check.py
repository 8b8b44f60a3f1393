"""The command that looks for errors in translations, as in continuous integration: check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.inspection import LEVELS
from dragoman.cli.option_types import PATH
from dragoman.cli.options import check_no_input, json_option, pairs_options
from dragoman.core.errors import DataError
from dragoman.workflows.progress import tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.translation.checking.findings import FindingKind
    from dragoman.workflows.checked_files import CheckReport

_KINDS = (
    "empty | placeholders | tags | urls | numbers | terms | untranslated | wrong_language | "
    "repeated | too_short | too_long | inconsistent"
)


@click.command()
@click.argument("paths", metavar="FILES...", type=PATH, nargs=-1, required=True)
@pairs_options
@declare.options(f"""
    --glossary GLOSSARY...: PATH as glossaries
        Terms and their translations, as for 'dragoman translate'; may be repeated.
    --only KIND...: {_KINDS}
        Look for errors of this kind alone; may be repeated.
    --except KIND...: {_KINDS} as without
        Look for no errors of this kind; may be repeated.
    --strict
        Count warnings as errors.
    --sarif FILE: OUTPUT
        Also write the errors to FILE as SARIF, which code hosts show beside the lines.
""")
@json_option
def check(
    paths: tuple[Path, ...], *, strict: bool, sarif: Path | None, as_json: bool, **options: Any
) -> None:
    """Look for errors in translations, without a model: for continuous integration.

    FILES have both sides each (PO, XLIFF, TMX, TSV with a header, JSONL), are two plain files,
    source first, or the folder of a project, of which all languages are checked.  Errors are
    placeholders, tags and addresses that are not those of the source, terms that are not as in a
    glossary, and translations that are empty, equal to their source or repeat themselves; the exit
    code is then 3.  Warnings are other numbers than in the source, another language, a far too
    short or long translation, and several for one source.

    \b
    Examples:
      dragoman check locale/
      dragoman check app.de.xlf --glossary terms.tsv --except inconsistent --sarif check.sarif
      dragoman check strings.tsv --source en --target ko --only placeholders --only numbers
    """
    from dragoman.workflows.checked_files import check_files, write_sarif
    from dragoman.workflows.material import Choice

    if sarif is not None:
        check_no_input(sarif, paths, "--sarif")
    choice = Choice(options["source"], options["target"], options["file_format"])
    kinds = _chosen(options["only"], options["without"])
    report = check_files(paths, choice, glossaries=options["glossaries"], kinds=kinds)
    if sarif is not None:
        write_sarif(report, sarif)
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)
    number = len(report.findings) if strict else report.errors
    if number:
        errors = "1 error" if number == 1 else f"{number:,} errors"
        raise DataError(f"the translations have {errors}; see above")


def _chosen(only: tuple[FindingKind, ...], without: tuple[FindingKind, ...]) -> set[FindingKind]:
    from dragoman.translation.checking.findings import FINDING_KINDS

    return set(only or FINDING_KINDS) - set(without)


def _print(report: CheckReport) -> None:
    from dragoman.translation.checking.findings import KIND_TITLES
    from dragoman.workflows.checked_files import told_pair

    for one in report.findings:
        level = click.style(one.finding.level, fg=LEVELS[one.finding.level])
        kind = KIND_TITLES[one.finding.kind]
        click.echo(f"{one.pair.place}: {level}: {kind}: {one.finding.message}")
        click.echo(f"    {told_pair(one.pair)}")
    for kind_unchecked, reason in report.unchecked.items():
        tell(f"not checked: {KIND_TITLES[kind_unchecked]}: {reason}")
    counts = ", ".join(f"{KIND_TITLES[kind]} {number:,}" for kind, number in report.counts.items())
    tell(f"{report.pairs:,} translations checked: {counts or 'no errors found'}")
