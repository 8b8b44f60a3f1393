"""Machines made of network namespaces: each has its own network, and cables that can be pulled."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_ADDRESS = "10.77.0.{}"


def missing() -> str:
    """Why there can be no machines here; empty if there can."""
    if not sys.platform.startswith("linux") or shutil.which("ip") is None:
        return "needs Linux and the program ip (iproute2)"
    if os.geteuid() != 0:
        return "needs root, to make network namespaces"
    name = f"dgm{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True, text=True)
    if made.returncode:
        return f"no network namespaces here: {made.stderr.strip()}"
    _ip("netns", "del", name)
    return ""


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Machine:
    """One machine; its processes end when it does.

    Args:
        number: from 1 on.
        prefix: of the names of namespaces.
    """

    def __init__(self, number: int, prefix: str) -> None:
        self.address = _ADDRESS.format(number)
        self._name, self._hub, self._port = f"{prefix}-{number}", f"{prefix}-hub", f"port{number}"

    def connect(self) -> None:
        """Make the machine, with a cable to the hub."""
        _ip("netns", "add", self._name)
        other = ["type", "veth", "peer", "name", "eth0", "netns", self._name]
        _ip("link", "add", self._port, "netns", self._hub, *other)
        _ip("-n", self._hub, "link", "set", self._port, "master", "bridge", "up")
        _ip("-n", self._name, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            _ip("-n", self._name, "link", "set", device, "up")

    def pull_cable(self) -> None:
        """Cut the machine off; nothing that runs on it is told."""
        _ip("-n", self._hub, "link", "set", self._port, "down")

    def plug_cable(self) -> None:
        """Connect the machine again."""
        _ip("-n", self._hub, "link", "set", self._port, "up")

    def start(self, command: Sequence[str], output: Path) -> subprocess.Popen[bytes]:
        """Start a program on the machine, which writes to a file."""
        with output.open("ab") as stream:
            return subprocess.Popen(
                ["ip", "netns", "exec", self._name, *command], stdout=stream, stderr=stream
            )

    def processes(self, word: str = "") -> list[int]:
        """The ids of what runs on the machine, with this word in its command line."""
        found = []
        listed = subprocess.run(
            ["ip", "netns", "pids", self._name], capture_output=True, text=True, check=True
        )
        for number in map(int, listed.stdout.split()):
            with suppress(OSError):
                if word in Path(f"/proc/{number}/cmdline").read_bytes().decode(errors="replace"):
                    found.append(number)
        return found

    def kill(self, word: str = "") -> None:
        """Kill with -9 what runs on the machine and has this word in its command line."""
        for number in self.processes(word):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def remove(self) -> None:
        """End everything on the machine, and the machine."""
        for _ in range(50):
            self.kill()
            if not self.processes():
                break
            time.sleep(0.1)
        _ip("netns", "del", self._name)


@contextmanager
def machines(count: int) -> Iterator[list[Machine]]:
    """Several machines on one hub; they are removed after the block, whatever happens in it."""
    prefix = f"dgm{os.getpid()}"
    hub, made = f"{prefix}-hub", [Machine(number, prefix) for number in range(1, count + 1)]
    connected = []
    _ip("netns", "add", hub)
    try:
        _ip("-n", hub, "link", "add", "bridge", "type", "bridge")
        _ip("-n", hub, "link", "set", "bridge", "up")
        for machine in made:
            connected.append(machine)
            machine.connect()
        yield made
    finally:
        for machine in connected:
            with suppress(subprocess.CalledProcessError):  # it was not even made
                machine.remove()
        _ip("netns", "del", hub)
