"""Answers of a server to the requests of ``requests.yaml``."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template
from typing import Any

import yaml

from soak.outputs.workplace import Workplace

_REQUESTS = Path(__file__).with_name("requests.yaml")
_PATIENCE = 120.0  # seconds until a server is ready, or a document translated
_PAUSE = 0.2  # seconds
_LEFT_OUT = {"date", "server", "x-request-id", "content-length", "connection"}
_BOUNDARY = "b0undary"


def record(place: Workplace) -> None:
    """Start each server of the list, and record what it answers."""
    for name, listed in yaml.safe_load(_REQUESTS.read_text("utf-8")).items():
        place.write(f"{name}.yaml", {"port": 0, "database": f"{name}.sqlite", **listed["settings"]})
        with _serving(place, name) as address:
            known: dict[str, str] = {}
            for number, request in enumerate(listed["requests"], 1):
                answer = _answer(address, request, known)
                method, path = request["do"].split(" ", 1)
                shown = re.sub(r"\W+", "-", f"{method} {path}").strip("-").lower()[:60]
                known |= {
                    key: match[1]
                    for key, pattern in request.get("keep", {}).items()
                    if (match := re.search(pattern, answer))
                }
                for key, value in known.items():
                    place.names[value] = key.upper()
                text = f"{yaml.safe_dump(request, sort_keys=False, allow_unicode=True)}\n{answer}"
                place.keep(f"server/{name}/{number:03}-{shown}.txt", text)


@contextmanager
def _serving(place: Workplace, name: str) -> Iterator[str]:
    """A server that runs until the end; its address."""
    written, log = place.folder / f"{name}.address", place.folder / f"{name}.log"
    command = ["serve", "--config", f"{name}.yaml", "--address-file", written.name]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "dragoman", *command],
            cwd=place.folder,
            env=place.environment,
            stdout=stream,
            stderr=stream,
        )
    try:
        end = time.monotonic() + _PATIENCE
        while not written.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"no server: {log.read_text('utf-8')}")
            time.sleep(_PAUSE)
        yield written.read_text("utf-8").strip()
    finally:
        process.terminate()
        process.wait()


def _answer(address: str, request: dict[str, Any], known: dict[str, str]) -> str:
    """The answer as text, repeated until it has what ``until`` says."""
    time.sleep(request.get("after", 0))
    end = time.monotonic() + _PATIENCE
    while True:
        answer = _sent(address, request, known)
        if request.get("until", "") in answer or time.monotonic() > end:
            return answer
        time.sleep(_PAUSE)


def _sent(address: str, request: dict[str, Any], known: dict[str, str]) -> str:
    method, path = Template(request["do"]).safe_substitute(known).split(" ", 1)
    body, kind = _body(request, known)
    headers = {**({"Content-Type": kind} if kind else {}), **request.get("headers", {})}
    headers = {name: Template(value).safe_substitute(known) for name, value in headers.items()}
    sent = urllib.request.Request(f"{address.rstrip('/')}{path}", body, headers, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=_PATIENCE) as response:
            return _shown(response.status, response.headers, response.read(), path)
    except urllib.error.HTTPError as error:
        return _shown(error.code, error.headers, error.read(), path)


def _body(request: dict[str, Any], known: dict[str, str]) -> tuple[bytes | None, str]:
    """The body of a request and its type."""
    if "json" in request:
        text = json.dumps(request["json"], ensure_ascii=False)
        return Template(text).safe_substitute(known).encode(), "application/json"
    if "raw" in request:
        return request["raw"].encode(), "application/json"
    if "file" in request:
        fields = "".join(
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in request.get("form", {}).items()
        )
        name, content = request["file"]
        file = (
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        )
        text = f"{fields}{file}\r\n{content}\r\n--{_BOUNDARY}--\r\n"
        return text.encode(), f"multipart/form-data; boundary={_BOUNDARY}"
    if "form" in request:
        text = urllib.parse.urlencode(request["form"], doseq=True, safe="$")
        form = Template(text).safe_substitute(known)
        return form.encode(), "application/x-www-form-urlencoded"
    return None, ""


def _shown(status: int, headers: Any, body: bytes, path: str) -> str:
    kept = sorted(
        f"{name.lower()}: {value}"
        for name, value in headers.items()
        if name.lower() not in _LEFT_OUT
    )
    if body[:2] == b"\x1f\x8b":
        body = gzip.decompress(body)
    text = body.decode("utf-8", "backslashreplace")
    if path == "/metrics":
        text = re.sub(r"(?m)^([^#].*) [-+.\deE]+$", r"\1 N", text)
    return "\n".join([f"status {status}", *kept, "", text, ""])
