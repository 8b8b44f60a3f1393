"""Languages, other translations, ways back and narrow windows of the web page."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Browser, Page, Route, expect
from web_site import PHONE, Site, arrive, barriers, choose, cut_off, files, upload, visit

CODES = ["ar", "cs", "de", "en", "es", "fr", "he", "hu", "ja", "nl", "pt-BR", "tr", "zh-Hant"]


def many_languages(page: Page, codes: list[str] = CODES) -> None:
    """Let the server have these languages."""
    found = [
        {"code": one, "name": one, "targets": [other for other in codes if other != one]}
        for one in codes
    ]
    body = json.dumps({"languages": found})
    page.route("**/v1/languages", lambda route: route.fulfill(body=body))


def test_a_long_menu_is_searched(page: Page, site: Site) -> None:
    many_languages(page)
    visit(page, site)
    button = page.get_by_role("button", name="Translate into: German")
    button.focus()
    page.keyboard.press("ArrowDown")
    field = page.get_by_role("combobox", name="Search languages")
    expect(field).to_be_focused()
    expect(page.locator(".menu .active")).to_have_text("German Deutsch")
    assert barriers(page) == []
    active = page.get_by_role("option")
    # In English, by its own name, in the visitor's language, without accents, by code.
    for typed, name in (
        ("spa", "Spanish"),
        ("türkç", "Turkish"),
        ("Ungar", "Hungarian"),
        ("cestina", "Czech"),
        ("NL", "Dutch"),
        ("日本", "Japanese"),
    ):
        field.fill(typed)
        expect(active.first).to_contain_text(name)
        chosen = field.get_attribute("aria-activedescendant")
        assert active.first.get_attribute("id") == chosen
    field.fill("klingon")
    expect(active).to_have_count(0)
    expect(page.locator(".menu [role=status]").last).to_have_text("No languages")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    page.keyboard.type("spa")
    expect(field).to_have_value("spa")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Translate into: Spanish")).to_be_focused()
    expect(field).to_be_hidden()


def test_a_short_menu_goes_by_letters(page: Page, site: Site) -> None:
    visit(page, site)
    page.locator("#target-language").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("listbox")).to_be_focused()
    page.keyboard.press("f")
    page.keyboard.press("Enter")
    expect(page.locator("#target-language")).to_have_attribute("value", "fr")
    page.locator("#source-language").click()
    expect(page.get_by_role("listbox")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".menu:popover-open .active")).to_contain_text("German")
    page.keyboard.press("Tab")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(page.locator("body:focus")).to_have_count(0)
    page.locator("#source-language").click()
    page.locator("#source").click()
    expect(page.get_by_role("listbox")).to_be_hidden()


def test_a_detected_language_is_named_once(page: Page, site: Site) -> None:
    visit(page, site, "It rains.", source="")
    menu = page.locator("#source-language")
    expect(menu).to_have_text("English (detected)")
    menu.click()
    names = page.get_by_role("option").all_inner_texts()
    assert [name.splitlines()[0] for name in names] == [
        "Detect language",
        "Arabic",
        "English",
        "German",
    ]


def test_the_first_target_is_the_visitors(page: Page, site: Site) -> None:
    many_languages(page)
    arrive(page, site)
    target = page.locator("#target-language")
    expect(target).to_have_attribute("value", "de")  # the browser's
    choose(page, "#source-language", "German")
    expect(target).to_have_attribute("value", "en")
    choose(page, "#source-language", "Detect language")
    choose(page, "#target-language", "French")
    arrive(page, site)
    expect(target).to_have_attribute("value", "fr")  # the last one
    choose(page, "#source-language", "French")
    expect(target).to_have_attribute("value", "de")


def same_language(page: Page) -> list[dict[str, Any]]:
    """Let every text be in the language that is asked for; the requests."""
    sent: list[dict[str, Any]] = []

    def answer(route: Route) -> None:
        sent.append(json.loads(route.request.post_data or ""))
        target = sent[-1]["target"]
        body = json.dumps({"kind": "start", "source": target, "target": target})
        route.fulfill(body=f'{body}\n{{"kind": "end"}}\n')

    page.route("**/v1/stream", answer)
    return sent


def test_another_target_is_suggested_for_a_text_that_is_in_it(page: Page, site: Site) -> None:
    visit(page, site, source="", target="de")
    sent = same_language(page)
    page.fill("#source", "der Hund")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("This text is already in German.")
    expect(page.locator("#output")).to_have_text("")
    page.unroute_all()
    notice.get_by_role("button", name="Into English").click()
    expect(page.locator("#target-language")).to_have_attribute("value", "en")
    expect(page.locator("#output .word").first).to_be_visible()
    assert len(sent) == 1


def test_a_target_that_nobody_chose_gives_way_once(page: Page, site: Site) -> None:
    """With another target, the same text may seem to be in that language."""
    arrive(page, site)
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    sent = same_language(page)
    page.fill("#source", "Hotel")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("This text is already in English.")
    assert [one["target"] for one in sent] == ["de", "en"]


def answer_alternatives(page: Page, words: list[str], sentences: list[str]) -> None:
    """Let there be these translations of a word and of its sentence."""

    def answer(route: Route) -> None:
        found = words if '"prefix"' in (route.request.post_data or "") else sentences
        each = [
            {"text": text, "confidence": 0.5, "links": [], "from_memory": False} for text in found
        ]
        sentence = {"source": "", "start": 0, "target_start": 0, "renderings": each}
        route.fulfill(body=json.dumps({"translations": [{"sentences": [sentence]}]}))

    page.route("**/v1/translate", answer)


def test_alternatives_are_words_first_and_each_once(page: Page, site: Site) -> None:
    visit(page, site, "It rains.")
    answer_alternatives(
        page,
        ["IT RAINS.de", "IT Rains!", "IT pours.", "IT pours down.", "IT\u200b pours."],
        ["IT RAINS.de", "IT pours.", "Rain falls.", "Rain  falls.", "Rain falls."],
    )
    page.get_by_role("button", name="RAINS").click()
    lists = page.locator("#alternatives .options")
    expect(lists.nth(1).get_by_role("listitem")).to_have_text(["Rain falls.50 %"])
    expect(lists.nth(0).get_by_role("listitem")).to_have_text(["pours IT pours.50 %"])
    lists.nth(0).get_by_role("button").click()
    expect(page.locator("#output")).to_have_text("IT pours.")


def test_alternatives_from_right_to_left_are_at_the_right(page: Page, site: Site) -> None:
    visit(page, site, "It rains.", target="ar")
    answer_alternatives(page, [], ["إنها تمطر.", "PC تمطر."])
    page.locator("#output .word").first.click()
    options = page.locator("#alternatives .option")
    for at in (0, 1):
        text, button = (
            options.nth(at).locator("span").bounding_box(),
            options.nth(at).bounding_box(),
        )
        assert text and button
        assert button["x"] + button["width"] - text["x"] - text["width"] < 20
        assert options.nth(at).locator("span").evaluate("one => one.matches(':dir(rtl)')")


def test_text_is_written_in_the_direction_of_its_language(page: Page, site: Site) -> None:
    visit(page, site, "It rains.", target="ar")
    page.get_by_role("button", name="Glossary").click()
    expect(page.locator("#term-source")).to_have_attribute("dir", "ltr")
    expect(page.locator("#term-target")).to_have_attribute("dir", "rtl")
    page.keyboard.press("Escape")
    visit(page, site, "PC مطر", source="ar", target="en")
    page.locator("#output .word").first.click()
    page.get_by_role("button", name="Suggest a correction").click()
    expect(page.locator("#correction-source")).to_have_attribute("dir", "rtl")
    page.keyboard.press("Escape")
    page.route("**/v1/stream", lambda route: None)  # so that nothing is detected any more
    choose(page, "#source-language", "Detect language")
    field = page.locator("#source")
    expect(field).to_have_attribute("dir", "rtl")
    page.fill("#source", "PC مطر مطر")
    expect(field).to_have_attribute("dir", "rtl")
    page.fill("#source", "Rain")
    expect(field).to_have_attribute("dir", "auto")


def test_clearing_and_swapping_can_be_undone(page: Page, site: Site) -> None:
    visit(page, site, "It rains.", source="")
    field, output = page.locator("#source"), page.locator("#output")
    calls = len(site.service.calls)
    page.get_by_role("button", name="Clear the text").click()
    expect(field).to_have_value("")
    page.get_by_role("button", name="Undo clearing").click()
    expect(field).to_have_value("It rains.")
    expect(output).to_have_text("IT RAINS.de")
    expect(page.locator("#source-language")).to_have_text("English (detected)")
    page.get_by_role("button", name="Clear the text").click()
    page.keyboard.press("Control+z")
    expect(output).to_have_text("IT RAINS.de")
    assert len(site.service.calls) == calls  # nothing is charged again
    page.get_by_role("button", name="Swap languages").click()
    expect(field).to_have_value("IT RAINS.de")
    page.get_by_role("button", name="Undo swapping").click()
    expect(field).to_have_value("It rains.")
    expect(page.locator("#source-language")).to_have_text("English (detected)")
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    expect(output).to_have_text("IT RAINS.de")
    page.get_by_role("button", name="Clear the text").click()
    field.press_sequentially("Hello")
    expect(page.locator("#undo")).to_be_hidden()


def test_removed_terms_and_unsent_corrections_come_back(page: Page, site: Site) -> None:
    visit(page, site, "It rains.")
    page.get_by_role("button", name="Glossary").click()
    for term in ("rain", "sun"):
        page.fill("#term-source", term)
        page.fill("#term-target", "x")
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Remove rain").click()
    undo = page.get_by_role("dialog").get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    undo.click()
    expect(page.locator("#terms li")).to_have_text(["sunx", "rainx"])
    page.keyboard.press("Escape")
    expect(page.locator("#output")).to_have_text("IT RAINS.de")
    for _ in range(2):
        page.locator("#output .word").first.click()
        page.get_by_role("button", name="Suggest a correction").click()
        draft = page.locator("#correction-text").input_value()
        page.fill("#correction-text", "Es regnet.")
        page.keyboard.press("Escape")
    assert draft == "Es regnet."


def test_nothing_is_cut_off_on_a_phone(browser: Browser, site: Site) -> None:
    context = browser.new_context(has_touch=True, is_mobile=True, locale="de-DE")
    page = context.new_page()
    many_languages(page)
    visit(page, site, source="pt-BR", target="zh-Hant")
    for width in (320, 360, 390):
        page.set_viewport_size({"width": width, "height": PHONE[1]})
        assert cut_off(page) == [], width
        page.locator("#target-language").tap()
        expect(page.get_by_role("listbox")).to_be_focused()  # no keyboard hides it
        assert cut_off(page) == [], width
        page.keyboard.press("Escape")
        files(page)
        upload(page, "Quarterly_report_of_the_harbour_administration_2026.png")
        assert cut_off(page) == [], width
        page.get_by_role("tab", name="Text").tap()
    expect(page.locator("#hint")).to_have_text(
        "Tap a word of the translation for other wordings.", use_inner_text=True
    )
    context.close()


def test_a_mouse_is_told_to_point(page: Page, site: Site) -> None:
    arrive(page, site)
    expect(page.locator("#hint")).to_contain_text("point at it", use_inner_text=True)
    expect(page.get_by_role("link", name="API for programs")).to_have_attribute("href", "v1/docs")
