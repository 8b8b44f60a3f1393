"""The command ``dragoman serve``."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dragoman.cli import declare
from dragoman.cli.option_types import MODEL
from dragoman.cli.options import database_option, json_option
from dragoman.core.errors import MissingExtraError, StorageError
from dragoman.core.files import atomic_write
from dragoman.workflows.progress import is_quiet, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.server.server_config import ServerConfig
    from dragoman.translation.service.interface import Pairing

log = logging.getLogger(__name__)

_PACKAGES = {
    "alembic": "alembic",
    "babel": "babel",
    "fastapi": "fastapi",
    "prometheus_client": "prometheus-client",
    "python_multipart": "python-multipart",
    "sentencex": "sentencex",
    "sqlalchemy": "sqlalchemy",
    "uvicorn": "uvicorn",
}
"""Modules that a server needs, and the packages that have them."""


@click.command()
@click.argument("models", metavar="[MODEL]...", type=MODEL, nargs=-1)
@declare.options("""
    --config FILE: PATH
        Read everything from FILE, a YAML configuration; MODELs and options override it.
    --host: text
        Address to listen on; 0.0.0.0 for all.  [default: 127.0.0.1]
    --port: 0 <= int <= 65535
        Port to listen on; 0 for any that is free.  [default: 5000]
    --workers N: 1 <= int <= 64
        Translate in N processes of one thread each; for small models, one per core is best.
""")
@database_option
@declare.options(
    """
    --require-key
        Refuse requests without a key.
    --set KEY=VALUE... as settings
        Override a value of the configuration, such as limits.characters=5000; may be repeated.
    --log-format: plain | json
        Log each request as a line to read, or as a JSON object.  [default: plain]
    --address-file FILE: PATH
        Write the address to FILE once the server answers, for a health check.  [default:
        $DRAGOMAN_ADDRESS_FILE]
    --check
        Open all models and the database, and end.
    """,
    address_file={"envvar": "DRAGOMAN_ADDRESS_FILE"},
)
@json_option
def serve(
    models: tuple[Path, ...],
    config: Path | None,
    settings: tuple[str, ...],
    *,
    require_key: bool,
    address_file: Path | None,
    check: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Translate for other people and programs, over HTTP.

    MODEL is a model or run directory, an installed model, or the YAML file of a system (see
    'dragoman translate --write-system').  Clients of LibreTranslate and DeepL can use the server as
    it is; there is a web page, too.  SIGTERM or Ctrl-C stops it once running requests are
    answered; a second one stops it at once.

    \b
    Examples: on this machine; in two processes; for others, who need a key; from a file
      dragoman serve models/en-de models/de-en
      dragoman serve models/small --workers 2
      dragoman keys add office
      dragoman serve models/en-de --host 0.0.0.0 --require-key
      dragoman serve --config server.yaml --check
    """
    read = _configured(models, config, settings, {**options, "require_key": require_key or None})
    from dragoman.server import serving
    from dragoman.server.request_log import log_to_standard_error

    if check:
        directions = serving.check(read)
        if as_json:
            print_json({"directions": [pair._asdict() for pair in directions]})
        else:
            click.echo(_languages(directions))
        return
    log_to_standard_error(read.log_format, logging.WARNING if is_quiet() else logging.INFO)

    def ready(address: str, directions: Sequence[Pairing]) -> None:
        if address_file is not None:
            _write_address(address, address_file)
        if as_json:
            page = f"{address}/" if read.web else None
            pairs = [pair._asdict() for pair in directions]
            print_json({"address": address, "page": page, "directions": pairs})
            return
        tell(f"translating at {address} (Ctrl-C stops)")
        tell(_languages(directions))
        if read.web:
            tell(f"web page: {address}/")
        if not read.require_key and read.host not in {"127.0.0.1", "::1", "localhost"}:
            tell("whoever reaches this port may use it without a key (--require-key)")

    serving.serve_until_stopped(read, ready)


def _configured(
    models: Sequence[Path], file: Path | None, settings: Sequence[str], options: dict[str, Any]
) -> ServerConfig:
    from importlib.util import find_spec

    if not models and file is None:
        raise click.UsageError("name at least one MODEL, or --config FILE")
    if missing := [package for name, package in _PACKAGES.items() if find_spec(name) is None]:
        raise MissingExtraError.of(" and ".join(missing), *missing)
    from dragoman.server.server_config import read_server, system_at

    changes = {name: value for name, value in options.items() if value is not None}
    if models:
        changes["systems"] = [system_at(model) for model in models]
    read = read_server(file, changes, settings)
    source = click.get_current_context().get_parameter_source("database")
    if file is not None and source is ParameterSource.ENVIRONMENT:
        changes.pop("database")
        if read_server(file, changes, settings).database not in (None, read.database):
            # Neither is shown, as a URL may have a password.
            log.warning(
                "%s: its database is not used, as DRAGOMAN_DATABASE names another one; remove one "
                "of them",
                file,
            )
    return read


def _write_address(address: str, file: Path) -> None:
    """Write the address of the server to a file; failure to write does not stop the server."""
    try:
        with atomic_write(file) as stream:
            stream.write(f"{address}\n")
    except StorageError as error:
        log.warning("a health check will not find the server: %s", error)


def _languages(directions: Sequence[Pairing]) -> str:
    """The directions as ``de to en, fr; en to de``."""
    targets = defaultdict(list)
    for source, target in directions:
        targets[source].append(target)
    return "; ".join(f"{source} to {', '.join(into)}" for source, into in targets.items())
