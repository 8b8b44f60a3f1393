from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dragoman.core.errors import ConfigError
from dragoman.server.app import create_app
from dragoman.server.server_config import ServerConfig, read_server
from dragoman.server.serving import StoppableServer


def test_paths_of_a_file_are_relative_to_its_folder(tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text("models: [a, b]\nweights: [1, 2]\n")
    file = tmp_path / "server.yaml"
    file.write_text(
        "systems:\n"
        "  - models/en-de\n"
        "  - both.yaml\n"
        "  - {models: [/srv/de-en], terms: {glossary: terms.tsv}}\n"
        "limits: {items: 7}\n"
    )
    read = read_server(file, {"port": 80}, ["limits.seconds=3"])
    assert [system.models for system in read.systems] == [
        (tmp_path / "models/en-de",),
        (tmp_path / "a", tmp_path / "b"),
        (Path("/srv/de-en"),),
    ]
    assert read.systems[2].terms is not None
    assert read.systems[2].terms.glossary == (tmp_path / "terms.tsv",)
    assert (read.port, read.limits.items, read.limits.seconds) == (80, 7, 3)


def test_a_file_may_name_installed_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "installed"
    monkeypatch.setenv("DRAGOMAN_MODELS", str(installed))
    for folder in (installed / "en-de", installed / "both", tmp_path / "both"):
        folder.mkdir(parents=True)
    file = tmp_path / "server.yaml"
    file.write_text(
        "systems:\n"
        "  - en-de\n"
        "  - both\n"
        "  - missing\n"
        "  - {models: [en-de], adapter: ui}\n"
        "  - {models: [sub/en-de]}\n"
    )
    read = read_server(file, {})
    assert [system.models for system in read.systems] == [
        (installed / "en-de",),
        (tmp_path / "both",),  # what is there comes first
        (tmp_path / "missing",),
        (installed / "en-de",),
        (tmp_path / "sub/en-de",),
    ]
    assert read.systems[3].adapter == tmp_path / "ui"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("server.sqlite", "{folder}/server.sqlite"),
        ("../data/x.sqlite", "{folder}/../data/x.sqlite"),
        ("/var/lib/x.sqlite", "/var/lib/x.sqlite"),
        ("~/x.sqlite", "{home}/x.sqlite"),
        ("postgresql://user@host/name", "postgresql://user@host/name"),
        ("sqlite:////srv/x.sqlite", "sqlite:////srv/x.sqlite"),
        ("' '", " "),
        ("null", None),
    ],
)
def test_the_database_of_a_file_is_relative_to_its_folder(
    given: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    file = folder / "server.yaml"
    file.write_text(f"systems: [x]\ndatabase: {given}\n")
    wanted = expected and expected.format(folder=folder, home=tmp_path)
    assert read_server(file, {}).database == wanted
    assert read_server(file, {"database": "other.sqlite"}).database == "other.sqlite"


def test_workers_translate_with_each_system_and_as_many_batches_at_once() -> None:
    systems = [{"models": ["a"]}, {"models": ["b"], "workers": 3}]
    read = read_server(None, {"systems": systems, "workers": 2})
    assert [system.workers for system in read.systems] == [2, 3]
    assert read.batching.batches_at_once == 3
    read = read_server(None, {"systems": systems, "workers": 2}, ["batching.batches_at_once=5"])
    assert read.batching.batches_at_once == 5
    assert read_server(None, {"systems": systems}).batching.batches_at_once == 3
    assert read_server(None, {"systems": systems[:1]}).batching.batches_at_once == 1
    with pytest.raises(ConfigError, match="workers"):
        read_server(None, {"systems": systems, "workers": 0})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("systems: []", "systems"),
        ("systems: models/en-de", "systems"),
        ("systems: [5]", "systems.0"),
        ("systems: [{modles: [x]}]", "modles"),
        ("systems: [nowhere.yaml]", "nowhere.yaml: no such configuration file"),
        ("systems: [x]\nhots: 0.0.0.0", "unknown key 'hots'; did you mean 'host'?"),
        ("systems: [x]\nport: http", "port"),
        ("systems: [x]\nlimits: {seconds: .inf}", "limits.seconds"),
        ("systems: [x]\nlog_format: xml", "log_format"),
        ("systems: [x]\ntrusted_proxies: [nonsense]", "'nonsense' is no address or network"),
        ("systems: [x]\ntrusted_proxies: [172.16.0.1/12]", "has host bits set"),
        ("systems: [x]\ntrusted_proxies: ['*', 10.0.0.5]", "'*' is all addresses; name it alone"),
        ("- x", "expected a mapping"),
        ("systems: [x", "server.yaml:1: not valid YAML"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_error(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_server(file, {})
    assert said in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("given", [(), ("*",), ("10.0.0.5", "172.16.0.0/12", "::1", "fd00::/8")])
def test_proxies_are_addresses_and_networks(given: tuple[str, ...]) -> None:
    read = read_server(None, {"systems": [{"models": ["a"]}], "trusted_proxies": given})
    assert read.trusted_proxies == given


@pytest.mark.parametrize(
    ("given", "client", "is_believed"),
    [
        (None, "127.0.0.1", True),
        (None, "::1", True),
        (None, "::ffff:127.0.0.1", True),
        (None, "::ffff:127.0.0.2", False),
        (("172.16.0.0/12",), "::ffff:172.17.0.1", True),
        (("172.16.0.0/12",), "::ffff:172.32.0.1", False),
        (("172.16.0.0/12",), "172.17.0.1", True),
        (("172.16.0.0/12",), "127.0.0.1", False),
        (("fd00::/8",), "fd00::1", True),
        (("*",), "::ffff:203.0.113.9", True),
        ((), "127.0.0.1", False),
    ],
)
def test_a_proxy_is_known_by_whatever_socket_it_reaches(
    given: tuple[str, ...] | None, client: str, is_believed: bool
) -> None:
    values: dict[str, Any] = {} if given is None else {"trusted_proxies": given}
    config = read_server(None, {"systems": [{"models": ["a"]}], **values})
    server = StoppableServer(create_app([]), config)
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["client"][0])

    server.config.load()
    assert isinstance(server.config.loaded_app, ProxyHeadersMiddleware)
    proxied: Any = server.config.loaded_app
    proxied.app = app
    headers = [(b"x-forwarded-for", b"198.51.100.7")]
    scope = {"type": "http", "client": (client, 1), "headers": headers}
    asyncio.run(proxied(scope, None, None))
    assert seen == ["198.51.100.7" if is_believed else client]


def test_a_resolved_configuration_can_be_read_again() -> None:
    first = read_server(None, {"systems": [{"models": ["x"]}]})
    assert ServerConfig.model_validate(first.model_dump()) == first
