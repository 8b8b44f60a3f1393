"""A browser and a server for the tests of one file.

Playwright's loop belongs to the thread of the tests as long as it runs, so neither outlives a file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from web_site import Site, opened, running_browser, running_site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    site.service.calls.clear()
    with opened(browser) as found:
        yield found
