"""What goes wrong around the web page, in a real browser: keys, connections, answers, clicks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from playwright.sync_api import Page, Route, expect
from web_site import Site, arrive, files, refuse, upload, visit


def test_fields_may_have_the_value_of_a_button(page: Page, site: Site) -> None:
    visit(page, site, "cancel", source="de", target="en")
    page.locator("#glossary-button").click()
    page.fill("#term-source", "cancel")
    page.locator("#term-source").click()
    expect(page.locator("#glossary")).to_be_visible()
    page.get_by_role("button", name="Done").click()
    page.locator("#output .word").first.click()
    page.get_by_role("button", name="Suggest a correction").click()
    field = page.get_by_label("Better translation")
    field.fill("cancel")
    field.click()
    expect(field).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(field).to_be_hidden()


def test_a_key_that_cannot_be_sent_is_told(page: Page, site: Site) -> None:
    """As after copying it from a document, with a dash or an invisible space in it."""
    arrive(page, site)
    page.evaluate("localStorage.setItem('dragoman.key', '\"one\\u200btwo\"')")
    arrive(page, site)
    expect(page.locator("#key-problem")).to_contain_text("The API key has characters")
    page.get_by_role("button", name="Forget the key").click()
    expect(page.locator("#target-language")).to_have_attribute("value", "de")


def test_an_answer_of_somebody_else_is_told_in_words(page: Page, site: Site) -> None:
    visit(page, site)
    notice = page.locator("#notice-text")
    for at, body in enumerate(("<!doctype html>Log in", '{"ok": true}', "null", "[]")):
        refuse(page, "/v1/stream", 200, body=body)
        page.fill("#source", f"It rains {at}.")
        expect(notice).to_contain_text("The answer does not come from the server")
        page.unroute_all()
        page.fill("#source", "It rains.")
        expect(page.locator("#notice")).to_be_hidden()
    page.route("**/v1/languages", lambda route: route.fulfill(body='{"ok": true}'))
    arrive(page, site)
    expect(notice).to_contain_text("The answer does not come from the server")


def test_browsers_may_have_odd_languages(own_page: Page, site: Site) -> None:
    """As Chromium has in the locale C."""
    page = own_page
    odd = "Object.defineProperty(navigator, 'languages', { get: () => ['en-US@posix', 'fr'] })"
    page.add_init_script(odd)
    arrive(page, site)
    expect(page.locator("#target-language")).to_have_attribute("value", "fr")


def test_an_answer_that_breaks_off_is_asked_for_again(page: Page, site: Site) -> None:
    """Its head has come by then, so that it seemed to be a success."""
    broken = """() => {
        const { fetch } = window;
        const body = () => new ReadableStream({ start: (one) => one.error(new TypeError()) });
        window.fetch = async () => {
            window.fetch = fetch;
            return new Response(body());
        };
    }"""
    visit(page, site)
    page.evaluate(broken)
    page.fill("#source", "It rains.")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("The connection broke off. Trying again in 5 seconds.")
    notice.get_by_role("button", name="Try now").click()
    expect(page.locator("#output")).to_have_text("IT RAINS.de")


@pytest.mark.parametrize(
    ("wait", "told"),
    [("a while", "Trying again in 5 seconds."), (None, "Try again in 60 minutes.")],
)
def test_proxies_may_say_when_instead_of_how_long(
    page: Page, site: Site, wait: str | None, told: str
) -> None:
    visit(page, site)
    later = datetime.now(UTC) + timedelta(hours=1)
    headers = {"Retry-After": wait or format_datetime(later, usegmt=True)}
    answer = {"status": 503, "headers": headers, "body": "<h1>Service unavailable</h1>"}
    page.route("**/v1/stream", lambda route: route.fulfill(**answer))
    page.fill("#source", "It rains.")
    expect(page.get_by_role("alert")).to_contain_text(told)


def test_a_file_that_is_fetched_after_all_is_no_error(page: Page, site: Site) -> None:
    visit(page, site)
    files(page)
    upload(page, "a.txt")
    row = page.get_by_role("listitem")
    button = row.get_by_role("button", name="Download")
    body = json.dumps({"error": {"kind": "busy", "message": "not now"}})

    def refuse(route: Route) -> None:
        route.fulfill(status=503, body=body)

    page.route("**/result", refuse, times=1)
    button.click()
    expect(row).to_have_class("error")
    expect(row).to_contain_text("The server is busy.")
    with page.expect_download():
        button.click()
    expect(row).not_to_have_class("error")
    expect(row).to_contain_text("Done: ")
