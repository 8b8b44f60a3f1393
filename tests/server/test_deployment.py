"""What the files for Docker and systemd name exists: commands, options, files, settings."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from configparser import RawConfigParser
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from echo_service import EchoService
from fastapi import FastAPI
from running_server import running

from dragoman.cli.main import commands
from dragoman.cli.options import database_option
from dragoman.server.database.database_engine import database_url
from dragoman.server.monitoring import Monitoring, Readiness, operations_router
from dragoman.server.server_config import LimitsConfig, ServerConfig, read_server

ROOT = Path(__file__).parents[2]
PORT = ServerConfig.model_fields["port"].default
SHUTDOWN_SECONDS = ServerConfig.model_fields["shutdown_seconds"].default


def instructions() -> Iterator[tuple[str, str]]:
    """Each instruction of the Dockerfile, and what follows it."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


def of(wanted: str) -> list[str]:
    return [rest for name, rest in instructions() if name == wanted]


def check_command(arguments: list[str]) -> None:
    """Whether the options of a command line exist."""
    command = commands.commands[arguments[0]]
    assert isinstance(command, click.Command)
    known = {option for parameter in command.params for option in parameter.opts}
    given = {one for one in arguments[1:] if one.startswith("--")}
    assert given <= known


def database_variable() -> str:
    @click.command()
    @database_option
    def command(database: str) -> None: ...

    variable = command.params[0].envvar
    assert isinstance(variable, str)
    return variable


def test_the_image_is_built_from_what_exists() -> None:
    allowed = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    ]
    for copied in of("COPY"):
        sources = copied.split()[:-1]
        if sources[0].startswith("--from"):
            continue
        for source in sources:
            assert (ROOT / source).exists()
            assert any(fnmatch(source.removeprefix("./"), one) for one in allowed), source
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    for extra in extras.split(","):
        assert re.search(rf"^{extra} = \[", text, re.MULTILINE)


def test_the_image_serves_as_a_user_without_rights() -> None:
    (entry,), (command,) = of("ENTRYPOINT"), of("CMD")
    # As the first process, a server that still loads its models would never be ended by SIGTERM.
    init, *_, program = json.loads(entry)
    assert any(re.search(rf"install .*\b{init}\b", line) for line in of("RUN"))
    assert program == "dragoman"
    check_command(json.loads(command))
    (user,) = of("USER")
    assert not user.startswith(("0", "root"))
    assert of("EXPOSE") == [str(PORT)]
    assert any(f"{database_variable()}=" in line for line in of("ENV"))


def health_check(address: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the image's health check where a server has written this address."""
    (check,) = of("HEALTHCHECK")
    _, *arguments = json.loads(check[check.index("[") :])
    (variables,) = (line for line in of("ENV") if "ADDRESS_FILE" in line)
    (name,) = re.findall(r"(\w+ADDRESS_FILE)=/tmp/", variables)
    option = next(one for one in commands.commands["serve"].params if one.name == "address_file")
    assert option.envvar == name
    file = folder / "address"
    file.write_text(f"{address}\n")
    with closing(socket.create_server(("127.0.0.1", 0))) as nobody:
        proxy = f"http://127.0.0.1:{nobody.getsockname()[1]}"  # accepts, and never answers
        proxies = dict.fromkeys(["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"], proxy)
        return subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, **proxies, name: str(file)},
            capture_output=True,
            text=True,
            check=False,
        )


def test_the_health_check_asks_the_server_wherever_it_listens(tmp_path: Path) -> None:
    readiness = Readiness()
    app = FastAPI()
    app.include_router(operations_router(EchoService(), Monitoring(), readiness=readiness))
    with running(app) as address:
        found = health_check(address, tmp_path)
        assert found.returncode == 0, found.stderr
        readiness.drain()
        found = health_check(address, tmp_path)
        assert found.returncode != 0 and "503" in found.stderr
    assert health_check(address, tmp_path).returncode != 0


def test_the_image_has_the_python_that_its_page_says() -> None:
    (default,) = (one.partition("=")[2] for one in of("ARG") if one.startswith("PYTHON="))
    assert of("FROM") == [f"python:${{PYTHON}}-slim{name}" for name in (" AS build", "")]
    page = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    assert re.findall(r"^The image has Python (\S+) ", page, re.MULTILINE) == [default]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"Programming Language :: Python :: {default}"' in project


def test_a_container_has_time_to_answer_what_it_has_begun() -> None:
    text = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    (seconds,) = re.findall(r"^docker run (?:.*\\\n)*?.*--stop-timeout (\d+)", text, re.MULTILINE)
    assert int(seconds) > SHUTDOWN_SECONDS


def test_what_compose_mounts_belongs_to_the_user_of_the_image() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    (home,) = re.findall(r"--home-dir (\S+)", " ".join(of("RUN")))
    (options,) = (
        options
        for place, _, options in (one.partition(":") for one in services["server"]["tmpfs"])
        if place == home
    )
    user, group = of("USER")[0].split(":")
    assert {f"uid={user}", f"gid={group}"} < set(options.split(","))


def test_compose_gives_the_server_its_database() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    server, database = services["server"], services["database"]
    given = re.sub(r"\$\{\w+:[^}]*\}", "secret", server["environment"][database_variable()])
    url = database_url(given)
    assert (url.host, url.password) == ("database", "secret")
    assert url.username == database["environment"]["POSTGRES_USER"]
    assert url.database == database["environment"]["POSTGRES_DB"]
    assert server["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert int(server["stop_grace_period"].rstrip("s")) > SHUTDOWN_SECONDS
    assert server["depends_on"].keys() < services.keys()
    # Until the first start has made the database, PostgreSQL answers at its socket alone.
    assert "--host=127.0.0.1" in database["healthcheck"]["test"]


@pytest.fixture(scope="module")
def replicas() -> dict[str, Any]:
    text = (ROOT / "deploy" / "compose.replicas.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_replicas_have_one_database_and_trust_the_balancer(replicas: dict[str, Any]) -> None:
    services = replicas["services"]
    server = services["first"]
    assert services["second"] == services["third"] == server
    check_command([part.partition("=")[0] for part in server["command"]])
    settings = [one.removeprefix("--set=") for one in server["command"] if "--set=" in one]
    config = read_server(None, {"systems": [{"models": ["x"]}]}, settings)
    (subnet,) = replicas["networks"]["default"]["ipam"]["config"]
    assert config.trusted_proxies == (subnet["subnet"],)
    grace = int(server["stop_grace_period"].rstrip("s"))
    assert grace > config.drain_seconds + config.shutdown_seconds
    alone = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("environment", "depends_on", "read_only", "cap_drop", "security_opt", "tmpfs"):
        assert server[name] == alone["server"][name]
    assert services["database"] == alone["database"]


def test_the_balancer_knows_its_servers_before_one_ends(replicas: dict[str, Any]) -> None:
    text = (ROOT / "deploy" / "haproxy.cfg").read_text(encoding="utf-8")
    services = replicas["services"]
    given = services["balancer"]["environment"]
    assert set(re.findall(r'"\$\{(\w+)-', text)) == given.keys()
    servers = [value for name, value in given.items() if name != "DRAGOMAN_BIND"]
    assert sorted(servers) == sorted(
        f"{name}:{PORT}" for name in services if name not in {"balancer", "database"}
    )
    mounted = services["balancer"]["volumes"][0].split(":")[0]
    assert (ROOT / mounted).read_text(encoding="utf-8") == text
    (page,) = re.findall(r"http-check send meth GET uri (\S+)", text)
    router = operations_router(EchoService(), Monitoring())
    assert page in {getattr(route, "path", None) for route in router.routes}
    seconds, fails = map(int, re.findall(r"check inter (\d+)s .* fall (\d+)", text)[0])
    (drain,) = re.findall(r"drain_seconds=(\d+)", str(services["first"]["command"]))
    assert int(drain) > seconds * fails
    (patience,) = re.findall(r"timeout server (\d+)s", text)
    assert int(patience) > LimitsConfig().seconds
    assert int(services["balancer"]["stop_grace_period"].rstrip("s")) > int(patience)


def test_the_balancer_logs_nothing_that_follows_a_question_mark() -> None:
    """Such as keys, secrets of files, and texts."""
    lines = (ROOT / "deploy" / "haproxy.cfg").read_text(encoding="utf-8").splitlines()
    settings = [line.partition(" #")[0].strip() for line in lines]
    assert not any(re.match(r"option (http|tcp|https)log", line) for line in settings)
    (form,) = (line for line in settings if line.startswith("log-format"))
    assert "%HPO" in form
    assert not re.search(r"%(\{\S+\})?(r|HU|HQ)\b", form)


@pytest.fixture(scope="module")
def unit() -> RawConfigParser:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(ROOT / "deploy" / "dragoman.service", encoding="utf-8")
    return parser


def test_the_unit_runs_a_command_that_exists(unit: RawConfigParser) -> None:
    service = unit["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    assert Path(program).name == "dragoman"
    check_command(arguments)
    assert service["User"] == "dragoman"
    assert int(service["TimeoutStopSec"]) > SHUTDOWN_SECONDS
    assert "ProcSubset" not in service  # PyTorch must be able to read /proc/cpuinfo
    text = (ROOT / "deploy" / "dragoman.service").read_text(encoding="utf-8")
    assert f"Environment={database_variable()}=/var/lib/{service['StateDirectory']}/" in text
