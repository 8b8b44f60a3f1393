"""The distribution ``dragoman-client``: the same code, without the rest of Dragoman."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from api_server import ApiServer

from dragoman.client.command import parser

ROOT = Path(__file__).parents[2]
ABSENT = ("dragoman", "torch", "numpy", "pydantic", "regex", "click")
"""Packages that it must do without."""
ABSENT_ON_WINDOWS = ("fcntl", "grp", "pwd", "resource", "termios")
USE = """
import sys
for name in {absent}:
    sys.modules[name] = None
from pathlib import Path
import dragoman_client
from dragoman_client import AsyncClient, Client, ServiceError
assert "httpx" not in sys.modules
with Client(sys.argv[1]) as client:
    assert client.translate("Hello.", target="de") == "HELLO.de"
    client.translate_file("a.txt", "b.txt", target="de", source="en")
    try:
        client.translate("Hello.", target="xx")
    except ServiceError as error:
        print(error.kind, Path("b.txt").read_text().strip(), dragoman_client.__file__)
"""


COMMAND = re.compile(r"^    (?:.* )?dragoman-client (.+?)(?: < .*)?$", re.MULTILINE)


@pytest.mark.parametrize("page", ["client/README.md", "docs/calling.md"])
def test_commands_of_the_pages_are_understood(page: str) -> None:
    commands = COMMAND.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(commands) >= 3
    for command in commands:
        parser().parse_args(shlex.split(command))


@pytest.fixture(scope="module")
def assembled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package is built from."""
    spec = importlib.util.spec_from_file_location("client_setup", ROOT / "client" / "setup.py")
    assert spec is not None and spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    assemble: Callable[[Path, Path], None] = setup.assemble
    folder = tmp_path_factory.mktemp("assembled")
    assemble(ROOT / "src" / "dragoman", folder)
    return folder


def imported(path: Path) -> Iterator[str]:
    """Packages that a module imports when it is used; not for type checkers alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def test_it_imports_nothing_but_httpx_and_the_standard_library(assembled: Path) -> None:
    found = {name for path in assembled.rglob("*.py") for name in imported(path)}
    assert found - sys.stdlib_module_names == {"dragoman_client", "httpx"}
    assert not found & set(ABSENT_ON_WINDOWS)


def test_it_has_all_files_of_the_client_and_few_others(assembled: Path) -> None:
    package = assembled / "dragoman_client"
    found = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    own = {path.name for path in (ROOT / "src" / "dragoman" / "client").glob("*.py")}
    assert found == own | {
        "py.typed",
        *(f"core/{name}.py" for name in ("__init__", "arguments", "errors", "version", "wording")),
        "translation/__init__.py",
        *(f"translation/service/{name}.py" for name in ("__init__", "translated_text")),
    }


@pytest.mark.parametrize("absent", [ABSENT, (*ABSENT, *ABSENT_ON_WINDOWS)])
def test_it_works_without_the_rest(
    assembled: Path, server: ApiServer, tmp_path: Path, absent: tuple[str, ...]
) -> None:
    (tmp_path / "a.txt").write_text("Hello.\n")
    done = subprocess.run(
        [sys.executable, "-c", USE.format(absent=absent), server.address],
        cwd=tmp_path,
        env={"PYTHONPATH": str(assembled)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.split() == [
        "unsupported",
        "HELLO.de",
        str(assembled / "dragoman_client" / "__init__.py"),
    ]


def test_the_program_works_without_the_rest(assembled: Path, server: ApiServer) -> None:
    command = [sys.executable, "-m", "dragoman_client", "translate", "--to", "de"]
    done = subprocess.run(
        [*command, "--server", server.address],
        env={"PYTHONPATH": str(assembled)},
        input=b"one\ntwo\n",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ONEde\nTWOde\n", b"")
