"""The command ``dragoman keys``: the API keys of a server."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.options import database_option, json_option
from dragoman.core.errors import DataError, MissingExtraError
from dragoman.core.text_tables import terminal_table
from dragoman.workflows.progress import tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.server.database.records import ApiKey, Usage
    from dragoman.server.database.server_store import ServerStore

_LARGEST = 2**31 - 1  # that every database can hold


@click.group()
def keys() -> None:
    """Make, list and revoke the keys of a server's clients.

    Keys take effect within seconds, also in servers that are running.  Only a hash of each key is
    stored.

    \b
    Example: a key for a program, with a limit of its own
      dragoman keys add weblate --characters-per-month 2000000
      dragoman serve models/en-de --require-key
    """


@keys.command()
@click.argument("name")
@declare.options(
    """
    --requests-per-minute N
        Maximum requests per minute.  [default: that of the server]
    --characters-per-month N: 1 <= int <= 9223372036854775807
        Maximum characters per calendar month.  [default: that of the server]
    """,
    requests_per_minute={"type": click.IntRange(1, _LARGEST)},
)
@database_option
@json_option
def add(
    name: str,
    requests_per_minute: int | None,
    characters_per_month: int | None,
    database: str | None,
    as_json: bool,
) -> None:
    """Make a key called NAME and print its secret, which is shown only now.

    \b
    Examples:
      dragoman keys add weblate
      dragoman keys add website --requests-per-minute 60 > website.key
    """
    with open_store(database) as store:
        key, secret = store.create_key(
            name,
            requests_per_minute=requests_per_minute,
            characters_per_month=characters_per_month,
        )
        if as_json:
            print_json({**_values(key), "secret": secret})
            return
        tell(f"key {key.name!r} is in {store.name}; this is its secret, shown only now:")
        click.echo(secret)


@keys.command("list")
@database_option
@json_option
def list_(database: str | None, as_json: bool) -> None:
    """List all keys, with their limits and what they have used in this month (UTC).

    \b
    Example:
      dragoman keys list --json | jq '.keys[] | select(.revoked == null) | .name'
    """
    with open_store(database, create=False) as store:
        known, usage = store.keys(), store.usage()
    if as_json:
        listed = [{**_values(key), **_used(usage, key.id)} for key in known]
        print_json({"keys": listed, "without_key": _used(usage, None)})
        return
    if not known:
        tell("there are no keys; make one with 'dragoman keys add NAME'")
    rows = [_HEADER, *(_row(key, _used(usage, key.id)) for key in known)]
    click.echo(terminal_table(rows, "llllrrr"))


@keys.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@database_option
@json_option
def revoke(names: tuple[str, ...], database: str | None, as_json: bool) -> None:
    """Revoke keys by NAME, or by how their secret begins; they are refused from now on.

    \b
    Example:
      dragoman keys revoke weblate
    """
    with open_store(database, create=False) as store:
        chosen = [_named(name, store.keys()) for name in names]
        revoked = [store.revoke_key(key.id) for key in chosen]
    if as_json:
        print_json({"revoked": [_values(key) for key in revoked]})
        return
    for key in revoked:
        tell(f"key {key.name!r} ({key.prefix}...) is revoked")


def open_store(database: str | None, *, create: bool = True) -> ServerStore:
    """The database of a server.

    Args:
        database: file or URL; None: the default one.
    """
    try:
        from dragoman.server.database.server_store import ServerStore
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"sqlalchemy", "alembic"}:
            raise
        raise MissingExtraError.of("the database", "sqlalchemy", "alembic") from error
    return ServerStore(database, create=create)


def _named(name: str, known: list[ApiKey]) -> ApiKey:
    from dragoman.text.normalization import normalize

    meant = [key for key in known if normalize(name) in {key.name, key.prefix}]
    if not meant:
        raise DataError(f"there is no key {name!r}; see 'dragoman keys list'")
    alive = [key for key in meant if key.revoked is None]
    if not alive:
        raise DataError(f"key {name!r} was revoked already, on {_day(meant[-1].revoked)}")
    return alive[0]


def _values(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "prefix": key.prefix,
        "created": key.created.isoformat(),
        "revoked": None if key.revoked is None else key.revoked.isoformat(),
        "requests_per_minute": key.requests_per_minute,
        "characters_per_month": key.characters_per_month,
    }


def _used(usage: dict[int | None, Usage], key: int | None) -> dict[str, int]:
    used = usage.get(key)
    return {
        "characters": used.characters if used else 0,
        "requests": used.requests if used else 0,
    }


_HEADER = ["name", "secret", "made", "revoked", "per minute", "used", "per month"]


def _row(key: ApiKey, used: dict[str, int]) -> list[str]:
    def number(limit: int | None) -> str:
        return "-" if limit is None else f"{limit:,}"

    return [
        key.name,
        f"{key.prefix}...",
        _day(key.created),
        _day(key.revoked),
        number(key.requests_per_minute),
        f"{used['characters']:,}",
        number(key.characters_per_month),
    ]


def _day(moment: datetime | None) -> str:
    return "-" if moment is None else moment.date().isoformat()
