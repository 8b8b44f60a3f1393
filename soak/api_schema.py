"""Schemathesis against all doors of a server: valid, broken and absurd requests after its pages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from soak.part import Allowance, Tried
from soak.served import ServerProcess, serving, teach

_SECONDS = 10.0  # that a request may take
_SETTINGS = {"web": False, "reload_seconds": 0, "limits": {"seconds": _SECONDS}}
_DEEPL = Path(__file__).with_name("deepl.yaml")
_KEPT = 20  # failures in the report
_PLACES = 5  # of each

# What a schema cannot say: which languages there are, and that a key is not needed everywhere.
_LEFT_OUT = ("positive_data_acceptance", "ignored_auth")
# What a door that takes more than it describes cannot keep: it answers other methods, too.
_LENIENT = ("negative_data_rejection", "unsupported_method", "allow_header_conformance")
_CONFIGURATION = """\
[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
"""


class _Door(NamedTuple):
    """A protocol, and the description of its requests."""

    name: str
    description: str
    """Path at the server, or a file."""
    lenient: bool = False
    """Whether it takes more than it describes, as the service does that it stands in for."""


_DOORS = (
    _Door("/v1", "/v1/openapi.json"),
    _Door("LibreTranslate's", "/spec", lenient=True),
    _Door("DeepL's", str(_DEEPL), lenient=True),
)


class ApiSchema:
    """The part; see :class:`soak.part.Part`."""

    about = "schemathesis against all doors: no error of the server, answers as described"
    share = 1.0

    def run(self, allowance: Allowance) -> list[Tried]:
        """Try until the time is over, and tell."""
        if find_spec("schemathesis") is None:
            return [Tried("schema", 0, skipped="schemathesis is not installed (extra soak)")]
        folder = allowance.folder
        taught = teach(folder / "models")
        database = f"sqlite:///{folder / 'server.sqlite'}"
        server = ServerProcess(folder / "server", taught.first, database, **_SETTINGS)
        with serving(server):
            return [
                _checked(door, server, allowance, allowance.left / (len(_DOORS) - number))
                for number, door in enumerate(_DOORS)
            ]


def _checked(door: _Door, server: ServerProcess, allowance: Allowance, seconds: float) -> Tried:
    """What schemathesis finds behind a door."""
    folder = allowance.folder / Path(door.description).stem
    folder.mkdir()
    settings = folder / "schemathesis.toml"
    settings.write_text(_CONFIGURATION, encoding="utf-8")
    is_file = Path(door.description).is_file()
    where = door.description if is_file else server.address + door.description
    left_out = [*_LEFT_OUT, *(_LENIENT if door.lenient else [])]
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", settings),
        *("run", where, "--url", server.address, "--seed", allowance.seed),
        *("--max-time", max(10, round(seconds)), "--request-timeout", 2 * _SECONDS),
        *("--continue-on-failure", "--no-shrink", "--exclude-checks", ",".join(left_out)),
        *("--report", "json", "--report-json-path", folder / "report.json"),
    ]
    with (folder / "log").open("wb") as log:
        subprocess.run(list(map(str, command)), stdout=log, stderr=log, check=False, cwd=folder)
    report = folder / "report.json"
    if not report.is_file():
        end = (folder / "log").read_text("utf-8", "replace")[-1500:]
        return Tried(f"door {door.name}", 0, failures=(f"no report: {end}",))
    found: Mapping[str, Any] = json.loads(report.read_text("utf-8"))
    return _row(door, found, folder / "log")


def _row(door: _Door, found: Mapping[str, Any], log: Path) -> Tried:
    """A row of what a report says."""
    failures = [_told(one, log) for one in found["failures"]]
    failures += [f"schemathesis: {one}; see {log}" for one in found["errors"]]
    cases, operations = found["test_cases"], found["operations"]
    if operations["tested"] < operations["selected"] or operations["errored"]:
        failures.append(f"not all operations were tried: {operations}")
    return Tried(
        f"door {door.name}",
        cases["generated"],
        {"operations": operations["tested"], "kinds of failures": len(found["failures"])},
        tuple(failures[:_KEPT]),
    )


def _told(failure: Mapping[str, Any], log: Path) -> str:
    """One kind of failure; the log has requests that show it."""
    places = ", ".join(failure["operations"][:_PLACES])
    return f"{failure['title']}, {failure['count']} times: {places}; see {log}"


PART = ApiSchema()
