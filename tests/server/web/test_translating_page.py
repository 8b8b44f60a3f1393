"""Text on the web page, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Dialog, Page, Route, expect
from web_site import PHONE, Site, arrive, choose, opened, refuse, running_site, visit

from dragoman.server.server_config import LimitsConfig


def mark(page: Page) -> list[str]:
    """What is marked in the source."""
    return page.locator("#mirror mark").all_inner_texts()


def offered(page: Page) -> list[str]:
    """The targets that the menu offers."""
    page.locator("#target-language").click()
    names = page.get_by_role("option").all_inner_texts()
    page.keyboard.press("Escape")
    return [name.splitlines()[0] for name in names]


def test_translates_as_one_types_and_says_which_language_it_is(page: Page, site: Site) -> None:
    arrive(page, site)
    page.locator("#source").press_sequentially("Hello you.")
    expect(page.locator("#output")).to_have_text("HELLO YOU.de")
    expect(page.locator("#source-language")).to_have_text("English (detected)")
    expect(page.locator("#state")).to_have_text("Translated from English")
    page.fill("#source", "der Hund")
    expect(page.locator("#source-language")).to_have_text("German (detected)")


def test_white_space_between_sentences_is_kept(page: Page, site: Site) -> None:
    visit(page, site, "Hello you.  It rains.\n\n😀 Good night!\n")
    output = page.locator("#output").evaluate("element => element.textContent")
    assert output == "HELLO YOU.de  IT RAINS.de\n\n😀 GOOD NIGHT!de\n"


def test_waits_for_a_pause_in_typing(own_page: Page, site: Site) -> None:
    page = own_page
    page.clock.install()
    arrive(page, site)
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    page.clock.pause_at("2040-01-01")
    page.locator("#source").press_sequentially("Hello")
    page.clock.run_for(300)
    page.locator("#source").press_sequentially(" you.")
    page.clock.run_for(300)
    assert site.service.calls == []
    page.clock.run_for(300)
    expect(page.locator("#output")).to_have_text("HELLO YOU.de")
    assert len(site.service.calls) == 1


def test_a_request_ends_the_one_before(page: Page, site: Site) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    arrive(page, site)
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    page.route("**/v1/stream", hold, times=1)
    with page.expect_event("requestfailed") as failed:
        with page.expect_request("**/v1/stream"):
            page.fill("#source", "Hello you.")
        page.fill("#source", "Good night.")
    assert "Hello you." in (failed.value.post_data or "")
    expect(page.locator("#output")).to_have_text("GOOD NIGHT.de")


def test_a_word_shows_what_it_translates(page: Page, site: Site) -> None:
    visit(page, site, "Hello you. 😀 Rain falls 😀 again.")
    page.get_by_role("button", name="FALLS").hover()
    assert mark(page) == ["falls"]
    assert page.locator("#mirror").inner_text().strip() == "Hello you. 😀 Rain falls 😀 again."
    page.locator("#source").hover()
    assert mark(page) == []


def test_marks_are_where_the_words_are(page: Page, site: Site) -> None:
    visit(page, site, " ".join(["Some rather long text about nothing"] * 9) + " stops.")
    word = page.get_by_role("button", name="STOPS")
    word.hover()
    field, mirror = page.locator("#source"), page.locator("#mirror")
    height = "element => [element.clientWidth, element.scrollHeight]"
    width, lines = field.evaluate(height)
    assert mirror.evaluate(height) == [width, lines]
    assert field.evaluate("element => element.scrollHeight <= element.clientHeight")


def test_another_sentence_can_be_chosen(page: Page, site: Site) -> None:
    visit(page, site, "Hello you. It rains.")
    page.get_by_role("button", name="RAINS").click()
    options = page.locator("#alternatives")
    expect(options.get_by_role("heading")).to_have_text(
        ["Instead of “RAINS”", "The whole sentence"]
    )
    expect(options.get_by_role("button", name="IT RAINS.de 2")).to_be_visible()
    assert "IT RAINS.de" not in options.locator(".option span").all_inner_texts()
    options.get_by_role("button", name="IT RAINS.de 3").click()
    expect(page.locator("#output")).to_have_text("HELLO YOU.de IT RAINS.de 3")
    expect(options).to_be_hidden()
    asked = [request for call in site.service.calls for request in call][-2:]
    assert {(one.text, one.prefix) for one in asked} == {("It rains.", "IT"), ("It rains.", "")}
    assert all(one.nbest == 8 and one.split == "none" for one in asked)


def test_another_word_begins_a_new_end_of_the_sentence(page: Page, site: Site) -> None:
    visit(page, site, "It rains.")
    answer = '{"error": {"kind": "busy", "message": "not now"}}'
    page.route(
        "**/v1/translate",
        lambda route: (
            route.fulfill(status=503, body=answer)
            if '"prefix"' not in (route.request.post_data or "")
            else route.continue_()
        ),
    )
    page.get_by_role("button", name="RAINS").click()
    page.locator("#alternatives").get_by_role("button", name="ITIT RAINS.de").click()
    expect(page.locator("#output")).to_have_text("ITIT RAINS.de")


def test_alternatives_are_inside_the_window(page: Page, site: Site) -> None:
    visit(page, site, "\n".join(["It rains."] * 9))
    page.set_viewport_size({"width": 900, "height": 420})
    for nth in (0, 12, 26):
        page.locator("#output .word").nth(nth).click()
        expect(page.locator("#alternatives .option")).to_have_count(6 if nth % 3 else 5)
        box = page.locator("#alternatives").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 900
        assert box["y"] + box["height"] <= 420
        page.keyboard.press("Escape")


def test_a_choice_stays_while_one_types_on(page: Page, site: Site) -> None:
    visit(page, site, "It rains.")
    page.get_by_role("button", name="RAINS").click()
    page.get_by_role("button", name="IT RAINS.de 2").click()
    page.locator("#source").press_sequentially(" Hello.")
    page.fill("#source", "It rains. Hello.")
    expect(page.locator("#output")).to_have_text("IT RAINS.de 2 HELLO.de")


def test_words_are_reached_and_opened_by_keys(page: Page, site: Site) -> None:
    visit(page, site, "Hello you. It rains.")
    focused = page.locator(":focus")
    page.keyboard.press("Alt+Shift+O")
    expect(focused).to_have_text("HELLO")
    for key, word in (("ArrowRight", "YOU"), ("ArrowDown", "IT"), ("End", "de"), ("Home", "HELLO")):
        page.keyboard.press(key)
        expect(focused).to_have_text(word)
    assert mark(page) == ["Hello"]
    page.keyboard.press("Tab")
    expect(focused).to_have_id("share")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".option").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.locator("#alternatives")).to_be_hidden()
    expect(focused).to_have_text("HELLO")


def test_shortcuts_do_what_is_listed(page: Page, site: Site) -> None:
    visit(page, site, "It rains.")
    page.keyboard.press("Alt+Shift+K")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.locator("dt")).to_have_count(11)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("Alt+Shift+X")
    expect(page.locator("#source-language")).to_have_attribute("value", "de")
    page.locator("#output .word").first.focus()
    page.keyboard.press("Alt+Shift+S")
    expect(page.locator("#source")).to_be_focused()


def test_copies_the_translation(page: Page, site: Site) -> None:
    visit(page, site, "Hello you. It rains.")
    page.get_by_role("button", name="Copy the translation").click()
    expect(page.locator("#state")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "HELLO YOU.de IT RAINS.de"


def test_swaps_languages_and_texts(page: Page, site: Site) -> None:
    visit(page, site, "It rains.", source="")
    page.get_by_role("button", name="Swap languages").click()
    expect(page.locator("#source")).to_have_value("IT RAINS.de")
    expect(page.locator("#source-language")).to_have_attribute("value", "de")
    expect(page.locator("#target-language")).to_have_attribute("value", "en")
    expect(page.locator("#output")).to_have_text("IT RAINS.enDEen")
    choose(page, "#source-language", "English")
    choose(page, "#target-language", "French")
    expect(page.get_by_role("button", name="Swap languages")).to_be_disabled()


def test_only_directions_that_exist_can_be_chosen(page: Page, site: Site) -> None:
    visit(page, site, source="de", target="en")
    assert offered(page) == ["English"]
    choose(page, "#source-language", "English")
    expect(page.locator("#target-language")).not_to_have_attribute("value", "en")
    assert offered(page) == ["Arabic", "French", "German"]


def test_the_address_has_languages_and_text(page: Page, site: Site, browser: Browser) -> None:
    visit(page, site, "Rain & <b>sun</b>?", target="fr")
    page.get_by_role("button", name="Copy a link to this text").click()
    expect(page.locator("#state")).to_have_text("Link copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(site.address) and "#source=en&target=fr&text=Rain" in link
    with opened(browser, site) as other:
        other.goto(link)
        expect(other.locator("#source")).to_have_value("Rain & <b>sun</b>?")
        expect(other.locator("#target-language")).to_have_attribute("value", "fr")
        expect(other.locator("#output .word").first).to_be_visible()


def test_a_text_too_long_for_an_address_is_left_out(page: Page, site: Site) -> None:
    visit(page, site, "It rains. " * 500)
    page.get_by_role("button", name="Copy a link to this text").click()
    expect(page.locator("#state")).to_contain_text("too long for a link")
    assert page.evaluate("navigator.clipboard.readText()").endswith("#source=en&target=de")


def test_text_is_never_markup(page: Page, site: Site) -> None:
    dialogs: list[Dialog] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog)
        dialog.dismiss()

    page.on("dialog", dismiss)
    text = "<img src=x onerror=alert(1)> <script>alert(2)</script>"
    visit(page, site, text)
    page.locator("#output .word").first.click()
    expect(page.locator(".option").first).to_be_visible()
    page.locator("#correct").click()
    expect(page.locator("#correction-source")).to_contain_text("<img src=x")
    assert page.locator("main img, main script, dialog img, dialog script").count() == 0
    assert dialogs == []
    page.remove_listener("dialog", dismiss)


def test_terms_of_the_glossary_are_kept_and_sent(page: Page, site: Site) -> None:
    visit(page, site, "It rains.", source="")
    page.get_by_role("button", name="Glossary").click()
    dialog = page.get_by_role("dialog", name="Glossary: English to German")
    dialog.get_by_label("Term", exact=True).fill("rains")
    dialog.get_by_label("Its translation").fill("regnet")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("listitem")).to_have_text("rainsregnet")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Glossary (1 term)")).to_be_visible()
    page.reload()
    expect(page.locator("#output .word").first).to_be_visible()
    last = site.service.calls[-1][0]
    assert last.glossary is not None
    assert [(term.source, term.targets) for term in last.glossary.terms] == [("rains", ("regnet",))]
    page.get_by_role("button", name="Glossary").click()
    page.get_by_role("button", name="Remove rains").click()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("button", name="Glossary", exact=True)).to_be_visible()


def test_a_correction_is_sent_and_shown(page: Page, site: Site) -> None:
    visit(page, site, "Hello you. It rains.")
    page.get_by_role("button", name="RAINS").click()
    page.get_by_role("button", name="Suggest a correction").click()
    field = page.get_by_label("Better translation")
    expect(field).to_have_value("IT RAINS.de")
    field.fill("Es regnet.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#output")).to_have_text("HELLO YOU.de Es regnet.")
    expect(page.locator("#state")).to_contain_text("Thank you")
    found = [(one.source, one.target, one.state) for one in site.store.corrections()]
    assert found == [("It rains.", "Es regnet.", "pending")]


def test_a_refused_correction_is_not_lost(page: Page, site: Site) -> None:
    visit(page, site, "It rains.")
    page.get_by_role("button", name="RAINS").click()
    page.get_by_role("button", name="Suggest a correction").click()
    page.get_by_label("Better translation").fill("Es regnet.")
    body = '{"error": {"kind": "busy", "message": "the database is away"}}'
    page.route("**/v1/corrections", lambda route: route.fulfill(status=503, body=body))
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#correction .problem")).to_have_text("The server is busy.")
    expect(page.get_by_label("Better translation")).to_have_value("Es regnet.")


def test_languages_from_right_to_left(page: Page, site: Site) -> None:
    visit(page, site, "Hello you.", target="ar")
    output = page.locator("#output")
    expect(output).to_have_attribute("dir", "rtl")
    expect(output).to_have_attribute("lang", "ar")
    expect(page.locator("#source")).to_have_attribute("dir", "ltr")
    page.locator("#output .word").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(":focus")).to_have_text("YOU")
    page.get_by_role("button", name="Swap languages").click()
    expect(page.locator("#source")).to_have_attribute("dir", "rtl")
    expect(output).to_have_attribute("dir", "ltr")


def test_the_theme_is_the_systems_unless_one_is_chosen(browser: Browser, site: Site) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    with opened(browser, site, scheme="dark") as page:
        arrive(page, site)
        dark = page.evaluate(ground)
        switch = page.get_by_role("button", name="Dark theme")
        expect(switch).to_have_attribute("aria-pressed", "true")
        switch.click()
        light = page.evaluate(ground)
        assert light != dark
        page.reload()
        assert page.evaluate(ground) == light
        switch.click()
        assert page.evaluate("localStorage.getItem('dragoman.theme')") is None
        page.emulate_media(color_scheme="light")
        assert page.evaluate(ground) == light


def test_used_up_characters_are_told_and_not_asked_for_again(page: Page, site: Site) -> None:
    visit(page, site)
    body = '{"error": {"kind": "quota_exceeded", "message": "no characters are left"}}'
    page.route("**/v1/stream", lambda route: route.fulfill(status=429, body=body))
    page.fill("#source", "It rains.")
    expect(page.locator("#notice-text")).to_contain_text("used up its characters")


def test_a_busy_server_is_asked_again(own_page: Page, site: Site) -> None:
    page = own_page
    page.clock.install()
    arrive(page, site)
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    page.clock.pause_at("2040-01-01")
    body = '{"error": {"kind": "busy", "message": "too many texts are waiting"}}'
    answer = {"status": 503, "headers": {"Retry-After": "20"}, "body": body}
    page.route("**/v1/stream", lambda route: route.fulfill(**answer), times=1)
    page.fill("#source", "It rains.")
    page.clock.run_for(1_000)
    expect(page.get_by_role("alert")).to_contain_text("busy. Trying again in 20 seconds.")
    page.clock.fast_forward(19_000)
    assert site.service.calls == []
    page.clock.fast_forward(2_000)
    expect(page.locator("#output")).to_have_text("IT RAINS.de")
    expect(page.locator("#notice")).to_be_hidden()


def test_goes_on_when_the_connection_is_back(page: Page, site: Site) -> None:
    visit(page, site)
    page.context.set_offline(True)
    page.fill("#source", "It rains.")
    expect(page.get_by_role("alert")).to_contain_text("You are offline. Trying again")
    page.context.set_offline(False)
    expect(page.locator("#output")).to_have_text("IT RAINS.de")
    expect(page.locator("#notice")).to_be_hidden()


def test_begins_when_the_server_is_there(page: Page, site: Site) -> None:
    page.route("**/v1/languages", lambda route: route.abort(), times=1)
    arrive(page, site)
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_direction_that_does_not_exist(page: Page, site: Site) -> None:
    visit(page, site, "It rains.", source="", target="fr")
    refuse(page, "/v1/stream", 400, "unsupported", times=1)
    page.fill("#source", "der Hund")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("text in German cannot be translated into French here")
    assert page.locator("#output").inner_text() == ""
    notice.get_by_role("button", name="Into English").click()
    expect(page.locator("#output")).to_have_text("DER HUNDen")


def test_a_text_in_the_target_language_takes_another_target(page: Page, site: Site) -> None:
    arrive(page, site)
    page.fill("#source", "der Hund")
    expect(page.locator("#output")).to_have_text("DER HUNDen")
    expect(page.locator("#target-language")).to_have_attribute("value", "en")


def test_a_server_with_a_key_and_bounds(browser: Browser, tmp_path: Path) -> None:
    with (
        running_site(tmp_path, LimitsConfig(characters=12), require_key=True) as strict,
        opened(browser, strict, PHONE) as page,
    ):
        _, key = strict.store.create_key("visitor")
        page.goto(strict.address)
        page.get_by_label("Key", exact=True).fill(key)
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#target-language")).to_have_attribute("value", "de")
        page.fill("#source", "Es regnet.")
        expect(page.locator("#output .word").first).to_be_visible()
        assert key not in page.url
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
        page.reload()
        expect(page.locator("#output .word").first).to_be_visible()
        calls = len(strict.service.calls)
        page.fill("#source", "It rains 😀 all day.")
        expect(page.get_by_role("alert")).to_contain_text("longer than the 12 characters")
        expect(page.locator("#count")).to_have_text("19 / 12")
        assert len(strict.service.calls) == calls
        page.get_by_role("button", name="API key").click()
        page.get_by_role("button", name="Forget the key").click()
        expect(page.get_by_label("Key", exact=True)).to_be_focused()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("button", name="Enter a key")).to_be_visible()


def test_narrow_windows_need_no_sideways_scrolling(page: Page, site: Site) -> None:
    visit(page, site, "It rains. " + "Donaudampfschifffahrtsgesellschaft" * 4)
    for width, height in (PHONE, (390, 844), (768, 1024)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator("#output .word").first.click()
        expect(page.locator(".option").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.keyboard.press("Escape")
        small = page.evaluate(
            """[...document.querySelectorAll("button, select")].filter((one) => {
                const { width, height } = one.getBoundingClientRect();
                return one.checkVisibility() && Math.min(width, height) < 36;
            }).map((one) => one.outerHTML)"""
        )
        assert small == []


def test_a_mouse_that_marks_text_opens_nothing(page: Page, site: Site) -> None:
    visit(page, site, "Hello you. It rains.")
    page.get_by_role("button", name="YOU").dblclick()
    page.keyboard.press("Escape")
    expect(page.locator("#alternatives")).to_be_hidden()
    first, last = page.get_by_role("button", name="HELLO"), page.get_by_role("button", name="RAINS")
    first.hover(position={"x": 1, "y": 9})
    page.mouse.down()
    last.hover()
    page.mouse.up()
    assert re.search("YOU", page.evaluate("String(getSelection())"))
    expect(page.locator("#alternatives")).to_be_hidden()


def held_translation(page: Page) -> list[Route]:
    """The next request for a translation is kept, until the test lets it go on."""
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    page.route("**/v1/stream", keep, times=1)
    return held


def test_a_text_that_is_not_yet_translated_outlasts_swapping(page: Page, site: Site) -> None:
    visit(page, site, "Hello.")
    held_translation(page)
    with page.expect_request("**/v1/stream"):
        page.fill("#source", "Hello. It rains.")
    page.get_by_role("button", name="Swap languages").click()
    expect(page.locator("#source-language")).to_have_attribute("value", "de")
    expect(page.locator("#source")).to_have_value("Hello. It rains.")


def test_browsers_that_refuse_addresses_translate_all_the_same(own_page: Page, site: Site) -> None:
    """Firefox and Safari raise an error for too many in a short time, as while a key is held."""
    page = own_page
    refuse = "() => { throw new DOMException('too many', 'SecurityError'); }"
    page.add_init_script(f"History.prototype.replaceState = {refuse}")
    visit(page, site, "Hello you.")
    page.fill("#source", "It rains.")
    expect(page.locator("#output")).to_have_text("IT RAINS.de")


def test_typing_hides_no_remedy(page: Page, site: Site) -> None:
    page.route("**/v1/languages", lambda route: route.abort(), times=1)
    arrive(page, site)
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    page.fill("#source", "It rains.")
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#output")).to_have_text("IT RAINS.de")


def test_terms_of_two_windows_are_kept(own_page: Page, site: Site) -> None:
    other = own_page.context.new_page()
    for page in (own_page, other):
        visit(page, site, "It rains.")
    for page, term in ((own_page, "rains"), (other, "it"), (own_page, "sun")):
        page.get_by_role("button", name="Glossary").click()
        page.fill("#term-source", term)
        page.fill("#term-target", "x")
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
    kept = "Object.keys(JSON.parse(localStorage.getItem('dragoman.glossary'))['en>de'])"
    assert own_page.evaluate(kept) == ["rains", "it", "sun"]


def test_text_can_be_dragged_into_the_field(page: Page, site: Site) -> None:
    visit(page, site)
    drop = """kind => {
        const dataTransfer = new DataTransfer();
        if (kind === "text") dataTransfer.setData("text/plain", "Hello");
        else dataTransfer.items.add(new File(["Hello"], "a.txt"));
        const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
        return document.querySelector("#source").dispatchEvent(event);
    }"""
    assert page.evaluate(drop, "text")
    assert not page.evaluate(drop, "file"), "which would replace the page"


def test_a_choice_is_for_the_sentence_that_it_was_offered_for(page: Page, site: Site) -> None:
    visit(page, site, "Hello you.")
    held = held_translation(page)
    with page.expect_request("**/v1/stream"):
        page.fill("#source", "It rains.")
    page.get_by_role("button", name="YOU").click()
    page.locator("#alternatives").get_by_role("button", name="HELLO YOU.de 3").focus()
    held[0].continue_()
    expect(page.locator("#output")).to_have_text("IT RAINS.de")
    expect(page.locator("#alternatives")).to_be_hidden()
    expect(page.locator(":focus")).to_have_text("IT")


def test_a_correction_that_comes_late_is_for_its_sentence(page: Page, site: Site) -> None:
    visit(page, site, "Hello you.")
    held = held_translation(page)
    with page.expect_request("**/v1/stream"):
        page.fill("#source", "It rains.")
    page.get_by_role("button", name="YOU").click()
    page.get_by_role("button", name="Suggest a correction").click()
    page.get_by_label("Better translation").fill("Guten Tag.")
    held[0].continue_()
    expect(page.locator("#output")).to_have_text("IT RAINS.de")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#state")).to_contain_text("Thank you")
    expect(page.locator("#output")).to_have_text("IT RAINS.de")
    sent = [one.source for one in site.store.corrections() if one.target == "Guten Tag."]
    assert sent == ["Hello you."]
