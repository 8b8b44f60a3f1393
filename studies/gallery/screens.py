"""Pictures of pages in a browser: the web page of a server, and the report of a run."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.core.files import atomic_write

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_PATIENCE = 120  # seconds for the server and for a translation


@dataclass(frozen=True)
class Screen:
    """A window of the web page."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]


SCREENS = (
    Screen("page-light", 1100, 480, "light"),
    Screen("page-dark", 1100, 480, "dark"),
    Screen("page-phone", 390, 700, "light"),
)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser of this machine, without a window.

    Raises:
        MissingExtraError: playwright is not installed.
        ConfigError: there is no Chromium on the PATH.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise MissingExtraError.of("playwright", "playwright") from error
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        raise ConfigError(f"no browser on the PATH; install one of {', '.join(_BROWSERS)}")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"] if root else []
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(model: Path, port: int) -> Iterator[str]:
    """The address of a server of a model, with a database that is gone afterwards."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "DRAGOMAN_DATABASE": f"sqlite:///{folder}/server.sqlite"}
        command = [sys.executable, "-m", "dragoman", "serve", str(model)]
        server = subprocess.Popen([*command, "--port", str(port)], env=environment)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(server, f"{address}/ready")
            yield address
        finally:
            server.terminate()
            server.wait()


def _wait(server: subprocess.Popen[bytes], address: str) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except urllib.error.URLError:
            time.sleep(0.2)
    raise ConfigError(f"{address} does not answer; the server says above why")


def draw_page(browser: Browser, address: str, text: str, folder: Path) -> None:
    """Pictures of the web page with a text and its translation, one for each of the screens."""
    for screen in SCREENS:
        context = browser.new_context(
            viewport={"width": screen.width, "height": screen.height},
            color_scheme=screen.scheme,
            locale="en-GB",
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.goto(address)
        page.fill("#source", text)
        page.wait_for_selector("#copy:not([disabled])", timeout=1000 * _PATIENCE)
        page.wait_for_timeout(3000)  # the other sentences, and their alternatives
        _keep(page, folder / f"{screen.name}.webp")
        context.close()


def draw_report(browser: Browser, report: Path, folder: Path) -> None:
    """A picture of the first screens of a run's report."""
    page = browser.new_page(viewport={"width": 1000, "height": 1400})
    page.goto(report.resolve().as_uri())
    page.wait_for_timeout(500)
    _keep(page, folder / "report.webp")


def _keep(page: Page, path: Path) -> None:
    from PIL import Image

    buffer = io.BytesIO()
    Image.open(io.BytesIO(page.screenshot())).save(buffer, "WEBP", quality=85)
    with atomic_write(path, "wb") as stream:
        stream.write(buffer.getvalue())
