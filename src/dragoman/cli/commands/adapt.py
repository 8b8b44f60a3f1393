"""The command that adapts a trained model to the text of a domain: adapt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import MODEL, PATH
from dragoman.cli.options import json_option, pairs_options, set_option, unreviewed_option
from dragoman.cli.tracker_options import chosen_trackers, tracker_options

if TYPE_CHECKING:
    from dragoman.techniques.adaptation.domain import Domain
    from dragoman.techniques.adaptation.general import GeneralChoice
    from dragoman.techniques.adaptation.parent import ParentModel
    from dragoman.text.corpora.corpus_part import CorpusPart

_RECIPES = {".yaml", ".yml"}


@click.command()
@click.argument("model", metavar="MODEL", type=MODEL)
@click.argument("files", metavar="CONFIG|FILES|FOLDERS...", type=PATH, nargs=-1, required=True)
@pairs_options
@unreviewed_option
@declare.options("""
    --dev ...: PATH
        In-domain dev set, in the same form as FILES.  [default: split off from 200 pairs or more;
        fewer serve as the dev set themselves]
    --test ...: PATH
        In-domain test set, in the same form as FILES.  [default: none]
    --general ...: PATH
        General pairs to mix in and to monitor, in the same form as FILES.  [default: the training
        text of the model's run]
    --replay SOURCE: PATH
        Instead of --general: lines in the source language, which the model translates itself.
    --general-dev ...: PATH
        General dev set.  [default: split off --general or --replay; without these, the dev sets of
        the model's run]
    --may-lose CHRF: 0 <= number <= 100
        Maximum loss of chrF on the general dev set.  [default: 1; 10 with --replay and without
        --general-dev]
    --ratio R: 0 <= number <= 1000 = 1.0
        Weight of general text relative to the in-domain text; 0 excludes it from training.
    --method: full | ewc | lora = full
        Train all weights; all, with elastic weight consolidation; or a low-rank adapter.
    --vocabulary: auto | keep | extend = auto
        Keep the vocabulary, or extend it by pieces of the new text; auto extends it only if the
        text needs this.
    --any-language
        Continue even if most of FILES seems to be in another language than the model's.
    --run DIRECTORY: PATH as run_directory
        Run directory.  [default: MODEL-NAME beside MODEL, for a first file NAME.tsv]
""")
@set_option
@tracker_options
@json_option
def adapt(
    model: Path,
    files: tuple[Path, ...],
    *,
    run_directory: Path | None,
    settings: tuple[str, ...],
    may_lose: float | None,
    ratio: float,
    method: Any,
    vocabulary: Any,
    any_language: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Adapt MODEL to in-domain pairs, from one correction to thousands, without breaking it.

    Trains a copy in a run of its own; MODEL stays as it is.  General text is mixed in, and training
    stops before its chrF falls by more than --may-lose.  FILES are files with both sides, two plain
    ones, or folders with the translations of a project; CONFIG is a recipe with data and any other
    values to change.

    \b
    Examples: a few corrections; a project; a domain; without the text that the model was trained on
      dragoman adapt runs/general corrections.tsv
      dragoman adapt runs/general locale/ --source en --target de
      dragoman adapt runs/general ui.en ui.de --may-lose 0.5 --run runs/ui
      dragoman adapt models/general ui.tsv --replay news.en
    """
    from dragoman.techniques.adaptation.flow import Adaptation
    from dragoman.techniques.adaptation.parent import ParentModel
    from dragoman.workflows.results import print_json
    from dragoman.workflows.runs import CommandLineHost, check_one_process, run_values, show_use

    tracking = chosen_trackers(given)
    check_one_process("adapt trains")
    parent = ParentModel.open(model)
    domain = _domain(parent, files, settings, given)
    adapted = Adaptation(
        model,
        domain,
        run_directory or _beside(model, files[0].name.partition(".")[0] or "domain"),
        _general(parent, domain.train[0], given),
        may_lose,
        ratio,
        method,
        any_language,
        vocabulary,
    ).carry_out(CommandLineHost(tracking))
    if as_json:
        values = run_values(adapted.experiment, None)
        print_json({**values, "adaptation": adapted.report.to_json()})
        return
    click.echo(adapted.report.table())
    for note in adapted.report.notes:
        click.echo(f"Note: {note}.")
    click.echo(f"\n{adapted.report.outcome()}.")
    show_use(adapted.experiment.run)


def _beside(model: Path, name: str) -> Path:
    """A directory beside a run or model, never in it: ``runs/x-NAME`` for ``runs/x/model``.

    A checkpoint counts as its run.
    """
    from dragoman.saved.model import CONFIG_FILE, home_of

    place = home_of(model).resolve()
    if (place.parent / CONFIG_FILE).is_file():
        place = place.parent
    beside = place.with_name(f"{place.name}-{name}")
    here = Path.cwd()
    return beside.relative_to(here) if beside.is_relative_to(here) else beside


def _domain(
    parent: ParentModel, files: tuple[Path, ...], settings: tuple[str, ...], given: dict[str, Any]
) -> Domain:
    from dragoman.core.config import override
    from dragoman.recipe import relocated
    from dragoman.techniques.adaptation.domain import DOMAIN, Domain, read_domain
    from dragoman.workflows.pile import find_materials

    of_files = ("source", "target", "file_format", "dev", "test", "unreviewed")
    if len(files) == 1 and files[0].suffix in _RECIPES:
        unread = [f"--{name.removeprefix('file_')}" for name in of_files if given[name]]
        if unread:
            raise click.UsageError(f"CONFIG says what its text is; leave out {', '.join(unread)}")
        return read_domain(files[0], parent, settings)
    choices = {name: given[name] for name in of_files}
    if any(path.is_dir() for path in files) and len(parent.directions) == 1:
        (own,) = parent.directions
        choices["source"] = choices["source"] or own.source_language
        choices["target"] = choices["target"] or own.target_language
    materials = find_materials(files, **choices)
    if len(materials) > 1:
        raise click.UsageError("--target: an adaptation is for one language; name one")
    (material,) = materials
    languages = material.source_language, material.target_language

    def told(part: CorpusPart) -> CorpusPart:
        return parent.directed(part, languages)

    return Domain(
        tuple(map(told, material.train)),
        {} if material.dev is None else {DOMAIN: told(material.dev)},
        {} if material.test is None else {"test": told(material.test)},
        relocated(override({}, list(settings)), Path.cwd()),
    )


def _general(parent: ParentModel, domain: CorpusPart, given: dict[str, Any]) -> GeneralChoice:
    """The choice of general text, to be mixed with text of the domain."""
    from dragoman.core.errors import DataError
    from dragoman.techniques.adaptation.general import GeneralChoice
    from dragoman.workflows.material import Choice, find_part

    if given["general"] and given["replay"] is not None:
        raise click.UsageError("--general and --replay: general text comes from one of them")
    replay = given["replay"]
    if replay is not None and not replay.is_file():
        raise DataError(f"--replay {replay}: no such file; give a file of source lines")

    def part(name: str) -> CorpusPart | None:
        if not given[name]:
            return None
        form = _format_told(given[name], given["file_format"])
        sides = given["source"], given["target"]
        if sides == (None, None):
            sides = _general_sides(given[name], form, parent, domain)
        found, languages = find_part(given[name], Choice(*sides, form))
        return parent.directed(found, languages)

    pairs = part("general")
    return GeneralChoice(
        () if pairs is None else (pairs,),
        None if replay is None else replay.absolute(),
        part("general_dev"),
    )


def _general_sides(
    files: tuple[Path, ...], form: str | None, parent: ParentModel, domain: CorpusPart
) -> tuple[str | None, str | None]:
    """The sides of general text, recognised by names that FILES or the model have.

    Columns are called like those of FILES, or after languages of the model.  Two plain files whose
    suffixes name no languages are in the languages of FILES.
    """
    from dragoman.text.language_codes import is_language_tag
    from dragoman.text.lines import language_of_file
    from dragoman.workflows.material import offered_sides

    languages = domain.source_language, domain.target_language
    if len(files) == 2:
        suffixes = [language_of_file(path) or "" for path in files]
        return (None, None) if all(map(is_language_tag, suffixes)) else languages
    offered = offered_sides(files[0], form)
    known = [(domain.source, domain.target), languages]
    known += [
        (direction.source_language, direction.target_language) for direction in parent.directions
    ]
    fitting = (pair for pair in known if offered.issuperset(pair))
    # Of more than two languages, en may be called en-US.
    return next(fitting, languages if len(offered) > 2 else (None, None))


def _format_told(files: tuple[Path, ...], told: str | None) -> str | None:
    """The format of general text: that of FILES, unless a suffix gives another."""
    from dragoman.text.formats import FormatError, format_named, format_of

    if told is None or format_named(told).one_file != (len(files) == 1):
        return None
    if len(files) > 1:
        return told
    try:
        format_of(files[0])
    except FormatError:
        return told
    return None
