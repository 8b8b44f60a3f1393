from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.server.database.server_store import ServerStore


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "server.sqlite"
    monkeypatch.setenv("DRAGOMAN_DATABASE", str(path))
    return path


def test_a_key_is_made_listed_and_revoked(dragoman: CommandLine, database: Path) -> None:
    made = dragoman("keys", "add", "web  site", "--requests-per-minute", 60)
    assert made.code == 0
    secret = made.out.strip()
    assert made.out == f"{secret}\n"  # alone, so that a script can read it
    assert "'web site'" in made.err and secret not in made.err
    with ServerStore(str(database)) as store:
        key = store.find_key(secret)
        assert key is not None and key.requests_per_minute == 60
        store.charge(key.id, 1234)
    listed = dragoman("keys", "list").out
    assert secret not in listed
    header, row = listed.splitlines()
    assert header.split()[:4] == ["name", "secret", "made", "revoked"]
    assert "web site" in row and "1,234" in row and secret[:9] in row
    assert dragoman("keys", "revoke", "web site").code == 0
    with ServerStore(str(database)) as store:
        assert store.find_key(secret) is None
    assert str(store.keys()[0].revoked.date()) in dragoman("keys", "list").out  # type: ignore[union-attr]


def test_a_key_is_revoked_by_its_name_as_it_was_given(
    dragoman: CommandLine, database: Path
) -> None:
    for name in ("web  site", "Cafe\u0301"):  # kept as "web site" and "Café"
        assert dragoman("keys", "add", name).code == 0
        assert dragoman("keys", "revoke", name).code == 0


def test_results_for_scripts(dragoman: CommandLine, database: Path) -> None:
    made = json.loads(dragoman("keys", "add", "one", "--characters-per-month", 5, "--json").out)
    assert made["name"] == "one" and made["secret"].startswith(made["prefix"])
    assert made["characters_per_month"] == 5 and made["requests_per_minute"] is None
    with ServerStore(str(database)) as store:
        store.charge(None, 7)
        store.charge(1, 3)
    listed = json.loads(dragoman("keys", "list", "--json").out)
    del made["secret"]
    assert listed == {
        "keys": [{**made, "characters": 3, "requests": 1}],
        "without_key": {"characters": 7, "requests": 1},
    }
    revoked = json.loads(dragoman("keys", "revoke", made["prefix"], "--json").out)["revoked"]
    assert revoked[0]["name"] == "one" and revoked[0]["revoked"]


def test_the_option_wins_over_the_environment(
    dragoman: CommandLine, database: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.sqlite"
    assert dragoman("keys", "add", "one", "--database", other).code == 0
    assert other.exists() and not database.exists()


def test_bad_input(dragoman: CommandLine, database: Path, tmp_path: Path) -> None:
    assert "no such database" in one_error(dragoman("keys", "list"), 4)
    assert "no such database" in one_error(dragoman("keys", "revoke", "x"), 4)
    assert not database.exists()
    assert dragoman("keys", "add", "one").code == 0
    assert "there is a key called 'one'" in one_error(dragoman("keys", "add", "one"), 2)
    assert "name" in one_error(dragoman("keys", "add", " "), 2)
    assert "no key 'two'" in one_error(dragoman("keys", "revoke", "one", "two"), 3)
    assert dragoman("keys", "revoke", "one").code == 0
    assert "was revoked already, on 20" in one_error(dragoman("keys", "revoke", "one"), 3)
    for limit in ("0", "-1", "x", str(2**31)):
        one_error(dragoman("keys", "add", "two", "--requests-per-minute", limit), 2)
    for wrong in ("mysql://h/d", "", "sqlite://"):
        one_error(dragoman("keys", "add", "two", "--database", wrong), 2)
    missing = one_error(dragoman("keys", "add", "two", "--database", tmp_path / "a" / "b"), 6)
    assert "make it" in missing
    text = tmp_path / "text"
    text.write_text("not a database " * 100)
    assert "damaged" in one_error(dragoman("keys", "list", "--database", text), 4)


def test_a_name_without_limits_of_storage(dragoman: CommandLine, database: Path) -> None:
    assert dragoman("keys", "list", "--quiet").code == 4
    assert dragoman("keys", "add", "Übersetzer 漢字", "--quiet").err == ""
    assert "Übersetzer 漢字" in dragoman("keys", "list").out


def test_without_sqlalchemy(
    dragoman: CommandLine, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.startswith("dragoman.server.database.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    error = one_error(dragoman("keys", "list"), 7)
    assert "pip install sqlalchemy alembic" in error
