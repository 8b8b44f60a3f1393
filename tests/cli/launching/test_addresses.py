"""Where machines reach one another."""

from __future__ import annotations

import socket

import pytest

from dragoman.cli.launching.addresses import (
    interface_of,
    is_here,
    own_address,
    split_address,
    wait_until_reachable,
)
from dragoman.core.errors import ConfigError


def test_an_address_has_a_host_and_a_port() -> None:
    assert split_address("node1:29400") == ("node1", 29400)
    assert split_address("[::1]:1") == ("::1", 1)
    for wrong in ("node1", ":1", "node1:", "node1:0", "node1:65536", "node1:x"):
        with pytest.raises(ConfigError, match="expected HOST:PORT"):
            split_address(wrong)


def test_this_machine_is_here() -> None:
    assert is_here("127.0.0.1")
    assert is_here("localhost")
    assert not is_here("192.0.2.1")
    assert own_address("127.0.0.1", 1) == "127.0.0.1"
    assert interface_of("192.0.2.1") is None


def test_waiting_for_who_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert wait_until_reachable("127.0.0.1", port, 0)
    assert not wait_until_reachable("127.0.0.1", port, 0)
