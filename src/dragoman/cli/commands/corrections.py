"""The command ``dragoman corrections``: corrections proposed by clients of a server."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.keys import open_store
from dragoman.cli.option_types import PATH
from dragoman.cli.options import database_option, json_option
from dragoman.core.claims import new_outputs
from dragoman.core.errors import ConfigError, DataError
from dragoman.workflows.progress import tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.server.database.records import Correction, CorrectionState
    from dragoman.server.database.server_store import ServerStore

_LARGEST = 2**31 - 1


@click.group()
def corrections() -> None:
    """Review the corrections that clients of a server send, and use them.

    Accepted ones answer exact repeats at once, even in running servers, and can be exported for
    'dragoman adapt'.

    \b
    Example: look, decide, learn
      dragoman corrections list
      dragoman corrections accept 3 4 7
      dragoman corrections export corrections/
    """


_language_options = declare.options("""
    --from LANGUAGE as source_language
        Only those from this language.
    --to LANGUAGE as target_language
        Only those into this language.
""")


@corrections.command("list")
@declare.options("""
    --state: pending | accepted | rejected | all = pending
        Only corrections in this state.
""")
@_language_options
@declare.options("""
    --limit N: 1 <= int = 50
        Maximum number to list, the oldest first.
""")
@database_option
@json_option
def list_(
    *,
    state: str,
    source_language: str | None,
    target_language: str | None,
    limit: int,
    database: str | None,
    as_json: bool,
) -> None:
    """List corrections, each with its number, source and translation.

    \b
    Example:
      dragoman corrections list --state all --from en --to de
    """
    with open_store(database, create=False) as store:
        chosen = _chosen(store, _state(state), source_language, target_language)
        names = _key_names(store)
    shown = chosen[:limit]
    if as_json:
        values = [_values(correction, names) for correction in shown]
        print_json({"corrections": values, "more": len(chosen) - len(shown)})
        return
    if not chosen:
        tell("there are none" if state == "all" else f"no correction is {state}")
    for correction in shown:
        click.echo(f"{correction.id:>6}  {_heading(correction, names)}")
        click.echo(f"{'':>8}{' '.join(correction.source.split())}")
        click.echo(f"{'':>8}{' '.join(correction.target.split())}")
    if len(chosen) > len(shown):
        tell(f"{len(chosen) - len(shown):,} more; list them with --limit {len(chosen)}")


@corrections.command()
@click.argument("numbers", metavar="NUMBER...", nargs=-1, required=True, type=click.IntRange(1))
@database_option
@json_option
def show(numbers: tuple[int, ...], database: str | None, as_json: bool) -> None:
    """Show corrections in full, with their line breaks and what the memory answers at present.

    \b
    Example:
      dragoman corrections show 3
    """
    with open_store(database, create=False) as store:
        every = {correction.id: correction for correction in store.corrections()}
        missing = [str(number) for number in numbers if number not in every]
        if missing:
            raise DataError(
                f"there is no correction {', '.join(missing)}; see 'dragoman corrections list'"
            )
        chosen = [every[number] for number in numbers]
        names = _key_names(store)
        answers = {correction.id: _remembered(store, correction) for correction in chosen}
    if as_json:
        values = [
            {**_values(correction, names), "memory": answers[correction.id]}
            for correction in chosen
        ]
        print_json({"corrections": values})
        return
    for correction in chosen:
        answer = answers[correction.id]
        click.echo(f"{correction.id}  {_heading(correction, names)}")
        click.echo(f"source: {correction.source}")
        click.echo(f"correction: {correction.target}")
        click.echo("memory: -" if answer is None else f"memory: {answer}")


_numbers_argument = click.argument("numbers", metavar="NUMBER...", nargs=-1, type=click.IntRange(1))
_review_options = declare.Options(
    declare.options("""
        --all as every
            All pending corrections.
    """),
    _language_options,
    database_option,
    json_option,
)


@corrections.command()
@_numbers_argument
@_review_options
def accept(**options: Any) -> None:
    """Accept corrections: the memory answers with them from now on, and export writes them.

    If several are accepted for one source, the last one counts.

    \b
    Examples:
      dragoman corrections accept 3 4 7
      dragoman corrections accept --all --from en --to de
    """
    _review("accepted", **options)


@corrections.command()
@_numbers_argument
@_review_options
def reject(**options: Any) -> None:
    """Reject corrections, including accepted ones.

    \b
    Example:
      dragoman corrections reject 5
    """
    _review("rejected", **options)


@corrections.command()
@click.argument("directory", type=PATH)
@_language_options
@declare.options("""
    --format: FORMAT = tsv as file_format
        Format of the files.
""")
@database_option
@json_option
def export(
    directory: Path,
    *,
    source_language: str | None,
    target_language: str | None,
    file_format: str,
    database: str | None,
    as_json: bool,
) -> None:
    """Write the accepted corrections of each direction into DIRECTORY, for 'dragoman adapt'.

    Files are called corrections.en-de.tsv.  Existing ones are never replaced.  Each source
    occurs once, with the correction that was accepted last, on one line.

    \b
    Example:
      dragoman corrections export corrections/
      dragoman adapt models/en-de corrections/corrections.en-de.tsv --source en --target de
    """
    with open_store(database, create=False) as store:
        wanted = {one.id for one in _chosen(store, "accepted", source_language, target_language)}
        found = [one for one in store.memory() if one.id in wanted]
    by_direction = defaultdict(list)
    for one in found:
        by_direction[one.source_language, one.target_language].append(one)
    if not found:
        raise DataError("no correction is accepted; see 'dragoman corrections list'")
    written = {one: _outputs(directory, one, file_format) for one in sorted(by_direction)}
    files = [path for paths in written.values() for path in paths]
    with new_outputs(files, "move it away or name another directory"):
        for direction, paths in written.items():
            _write(paths, direction, by_direction[direction], file_format)
    if as_json:
        print_json({"files": [_exported(*one, by_direction) for one in written.items()]})
        return
    for direction, paths in written.items():
        count = len(by_direction[direction])
        pairs = "1 pair" if count == 1 else f"{count:,} pairs"
        tell(f"{pairs} written to {' and '.join(map(str, paths))}")
        click.echo(shlex.join(_adapt_command(direction, paths)))


def _state(name: str) -> CorrectionState | None:
    return None if name == "all" else name  # type: ignore[return-value]


def _chosen(
    store: ServerStore,
    state: CorrectionState | None,
    source_language: str | None,
    target_language: str | None,
) -> list[Correction]:
    from dragoman.translation.service.interface import RefusedError

    try:
        return store.corrections(state, source_language, target_language)
    except RefusedError as error:
        raise ConfigError(str(error)) from error


def _review(
    state: CorrectionState,
    *,
    numbers: tuple[int, ...],
    every: bool,
    source_language: str | None,
    target_language: str | None,
    database: str | None,
    as_json: bool,
) -> None:
    languages = (source_language, target_language)
    if bool(numbers) == every:
        raise click.UsageError("name corrections by their numbers, or all that are pending: --all")
    if numbers and languages != (None, None):
        raise click.UsageError("--from and --to choose among --all; leave them out")
    if numbers and max(numbers) > _LARGEST:
        raise DataError(f"there is no correction {max(numbers)}")
    with open_store(database, create=False) as store:
        pending = () if numbers else _chosen(store, "pending", *languages)
        chosen = numbers or [correction.id for correction in pending]
        reviewed = store.review_corrections(chosen, state)
        names = _key_names(store)
        left = len(store.corrections("pending"))
    if as_json:
        values = [_values(correction, names) for correction in reviewed]
        print_json({"corrections": values, "pending": left})
        return
    tell(f"{len(reviewed):,} {state}; {left:,} pending")


def _outputs(directory: Path, direction: tuple[str, str], file_format: str) -> list[Path]:
    from dragoman.text.formats import format_named

    form = format_named(file_format)
    stem = f"corrections.{'-'.join(direction)}"
    endings = form.suffixes[:1] if form.one_file else [f".{language}" for language in direction]
    return [directory / f"{stem}{ending}" for ending in endings]


def _write(
    paths: list[Path], direction: tuple[str, str], chosen: list[Correction], file_format: str
) -> None:
    from dragoman.text.formats import format_named
    from dragoman.text.normalization import normalize
    from dragoman.text.pairs import Pair

    with format_named(file_format).write(paths, direction) as add_pair:
        for line, correction in enumerate(chosen, 1):
            add_pair(Pair(normalize(correction.source), normalize(correction.target), line))


def _adapt_command(direction: tuple[str, str], paths: list[Path]) -> Iterator[str]:
    yield from ("dragoman", "adapt", "MODEL", *map(str, paths))
    yield from ("--source", direction[0], "--target", direction[1])


def _exported(
    direction: tuple[str, str],
    paths: list[Path],
    by_direction: dict[tuple[str, str], list[Correction]],
) -> dict[str, Any]:
    return {
        "source_language": direction[0],
        "target_language": direction[1],
        "output": [str(path) for path in paths],
        "pairs": len(by_direction[direction]),
        "next": list(_adapt_command(direction, paths)),
    }


def _remembered(store: ServerStore, correction: Correction) -> str | None:
    """The answer that the memory gives for the source of a correction at present."""
    languages = correction.source_language, correction.target_language
    return store.remembered([correction.source], *languages).get(correction.source)


def _key_names(store: ServerStore) -> dict[int, str]:
    found = store.keys()
    return {key.id: key.name for key in found}


def _heading(correction: Correction, names: dict[int, str]) -> str:
    sender = "" if correction.key is None else f"  by {names[correction.key]}"
    made = correction.created.strftime("%Y-%m-%d %H:%M")
    direction = f"{correction.source_language}-{correction.target_language}"
    return f"{direction}  {correction.state}  {made}{sender}"


def _values(correction: Correction, names: dict[int, str]) -> dict[str, Any]:
    return {
        "number": correction.id,
        "state": correction.state,
        "source_language": correction.source_language,
        "target_language": correction.target_language,
        "source": correction.source,
        "correction": correction.target,
        "created": correction.created.isoformat(),
        "reviewed": None if correction.reviewed is None else correction.reviewed.isoformat(),
        "key": None if correction.key is None else names[correction.key],
    }
