"""A browser and a server for the tests of one file.

Playwright's loop belongs to the thread of the tests as long as it runs, so neither outlives a file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from web_site import WIDE, Site, Watch, new_page, opened, running_browser, running_site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(scope="module")
def window(browser: Browser) -> tuple[Page, Watch]:
    """One page for many tests, since each new one takes a process."""
    page = new_page(browser)
    return page, Watch(page)


@pytest.fixture
def page(window: tuple[Page, Watch], site: Site) -> Iterator[Page]:
    site.service.calls.clear()
    page, watch = window
    yield page
    watch.check(site)
    page.unroute_all()
    page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    page.emulate_media(color_scheme="light")


@pytest.fixture
def own_page(browser: Browser, site: Site) -> Iterator[Page]:
    """For tests that change what a page cannot have back, such as its clock."""
    site.service.calls.clear()
    with opened(browser, site) as found:
        yield found
