"""Addresses at which machines that train together reach one another."""

from __future__ import annotations

import fcntl
import socket
import struct
import time
from contextlib import suppress

from dragoman.core.errors import ConfigError

_CONNECT_SECONDS = 2.0
_PAUSE_SECONDS = 0.5
_LOOPBACK = ("127.", "::1")
_ASK_FOR_ADDRESS = 0x8915  # SIOCGIFADDR of Linux


def split_address(text: str) -> tuple[str, int]:
    """``HOST:PORT`` as its two parts."""
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal() and 0 < int(port) < 65536):
        raise ConfigError(
            f"--rendezvous {text}: expected HOST:PORT, the name or address of one of the machines "
            "and a port that is free there, such as node1:29400"
        )
    return host.strip("[]"), int(port)


def own_address(host: str, port: int) -> str | None:
    """The address at which machines near ``host`` reach this machine; None if it is unknown.

    The name of a machine often resolves, on that machine, to a loopback address, which others
    cannot reach.  The address from which it would send to them is reachable for them.
    """
    with suppress(OSError):
        kind, _, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(kind, socket.SOCK_DGRAM) as probe:
            probe.connect(target)  # sends nothing
            address = str(probe.getsockname()[0])
        if not address.startswith(_LOOPBACK) or host == "localhost" or host.startswith(_LOOPBACK):
            return address
    return None


def interface_of(address: str) -> str | None:
    """The network interface with this IPv4 address; None if it does not exist or outside Linux."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with suppress(OSError):  # this one has no address
                answer = fcntl.ioctl(probe.fileno(), _ASK_FOR_ADDRESS, request)
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    return None


def is_here(host: str) -> bool:
    """Whether ``host`` is this machine."""
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise ConfigError(
            f"--rendezvous {host}: {error.strerror or error}; is the name right?"
        ) from error
    own = own_address(next(iter(addresses)), 1)
    return own in addresses or any(address.startswith(_LOOPBACK) for address in addresses)


def wait_until_reachable(host: str, port: int, seconds: float) -> bool:
    """Wait until a server listens there; False if none did within ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(OSError), socket.create_connection((host, port), _CONNECT_SECONDS):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
