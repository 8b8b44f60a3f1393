"""All apis of one server over real models, through the clients that people use."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deepl
import httpx
import pytest
from libretranslatepy import LibreTranslateAPI
from served_models import ServedModels, serving_models
from tiny_model import save_tiny_model

import dragoman
from dragoman.saved.system import TranslationSystem
from dragoman.server.server_config import ServerConfig
from dragoman.text.examples import Direction

Ask = Callable[[str, str], str]
"""Translates an English text into a language, through one door."""

TEXTS = ["a b c d e", "b a", "d e a b"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models whose translations differ: from English into German, and onwards into French."""
    folder = tmp_path_factory.mktemp("models")
    pairs = {"de": ("en", 2), "fr": ("de", 4)}
    return {
        target: save_tiny_model(
            folder / f"{source}-{target}",
            seed=seed,
            directions=(Direction(source_language=source, target_language=target),),
        )
        for target, (source, seed) in pairs.items()
    }


@pytest.fixture(scope="module")
def server(
    models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedModels]:
    config = ServerConfig(
        systems=tuple(TranslationSystem(models=(str(one),)) for one in models.values()),
        pivots=("de",),
    )
    with serving_models(config, tmp_path_factory.mktemp("store") / "server.sqlite") as one:
        yield one


@pytest.fixture(scope="module")
def expected(models: dict[str, Path]) -> dict[tuple[str, str], str]:
    """What the models translate texts into German, and one of them onwards into French, as."""
    with dragoman.load(models["de"]) as first, dragoman.load(models["fr"]) as second:
        found = {
            (text, "de"): translation for text in TEXTS for translation in first.translate([text])
        }
        [found[TEXTS[0], "fr"]] = second.translate([found[TEXTS[0], "de"]])
    assert all(found.values())
    return found


def ask_libretranslate(address: str) -> Ask:
    client = LibreTranslateAPI(address)

    def ask(text: str, target: str) -> str:
        found: str = client.translate(text, "en", target)
        return found

    return ask


def ask_deepl(address: str) -> Ask:
    client = deepl.DeepLClient("any", server_url=address)

    def ask(text: str, target: str) -> str:
        code = {"en": "EN-US"}.get(target, target.upper())
        found = client.translate_text(text, source_lang="EN", target_lang=code)
        assert isinstance(found, deepl.TextResult)
        return found.text

    return ask


def ask_own(address: str) -> Ask:
    async def asked(text: str, target: str) -> str:
        async with dragoman.Client(address) as client:
            return await client.translate(text, source="en", target=target)

    return lambda text, target: asyncio.run(asked(text, target))


DOORS = pytest.mark.parametrize("door", [ask_libretranslate, ask_deepl, ask_own])


@DOORS
def test_each_door_gives_the_translations_of_the_models(
    server: ServedModels, expected: dict[tuple[str, str], str], door: Callable[[str], Ask]
) -> None:
    ask = door(server.address)
    assert {(text, target): ask(text, target) for text, target in expected} == expected


def test_each_door_lists_the_same_directions(server: ServedModels) -> None:
    with httpx.Client(base_url=server.address) as http:
        libre = {one["code"]: one["targets"] for one in http.get("/languages").json()}
        own = {one["code"]: one["targets"] for one in http.get("/v1/languages").json()["languages"]}
    translator = deepl.DeepLClient("any", server_url=server.address)
    assert libre == {"en": ["de", "en", "fr"], "de": ["de", "fr"], "fr": ["fr"]}
    assert own == {"en": ["de", "fr"], "de": ["fr"]}
    assert {one.code for one in translator.get_source_languages()} == {"DE", "EN"}
    assert {one.code.partition("-")[0] for one in translator.get_target_languages()} == {"DE", "FR"}


def test_nobody_gets_what_another_asked_for(server: ServedModels) -> None:
    asks = [door(server.address) for door in (ask_libretranslate, ask_deepl, ask_own)]

    def marks(number: int) -> list[str]:
        text = f"a b [X{number}X]. c\n\nd [X{number + 1000}X]"
        answer = asks[number % 3](text, ("de", "fr")[number % 2])
        assert "\n\n" in answer
        return re.findall(r"\[X\d+X\]", answer)

    with ThreadPoolExecutor(9) as pool:
        found = list(pool.map(marks, range(18)))
    assert found == [[f"[X{number}X]", f"[X{number + 1000}X]"] for number in range(18)]


def test_an_accepted_suggestion_is_what_each_door_answers(server: ServedModels) -> None:
    ask = [door(server.address) for door in (ask_libretranslate, ask_deepl, ask_own)]
    body = {"q": "e e e", "s": "Besser so & <b>", "source": "en", "target": "de"}
    before = {one("e e e", "de") for one in ask}
    assert httpx.post(f"{server.address}/suggest", json=body).json() == {"success": True}
    assert {one("e e e", "de") for one in ask} == before != {"Besser so & <b>"}
    (kept,) = server.store.corrections("pending")
    server.store.review_correction(kept.id, "accepted")
    assert {one("e e e", "de") for one in ask} == {"Besser so & <b>"}
    html = httpx.post(f"{server.address}/translate", json={**body, "format": "html"}).json()
    assert "<b>" not in html["translatedText"]


def test_markup_and_white_space_stay_through_each_door(server: ServedModels) -> None:
    page = '<p>a b <b>c</b> &lt;d&gt;</p>\n<script>a("b")</script>'
    with httpx.Client(base_url=server.address) as http:
        deepl = {"source_lang": "EN", "target_lang": "DE", "tag_handling": "html"}
        requests: dict[str, dict[str, Any]] = {
            "/translate": {"q": page, "source": "en", "target": "de", "format": "html"},
            "/v2/translate": {"text": [page], **deepl},
            "/v1/translate": {"text": page, "source": "en", "target": "de", "format": "html"},
        }
        key = {"Authorization": "DeepL-Auth-Key any"}
        answers = {
            path: http.post(path, json=body, headers=key if path.startswith("/v2") else None)
            for path, body in requests.items()
        }
    found = {
        answers["/translate"].json()["translatedText"],
        answers["/v2/translate"].json()["translations"][0]["text"],
        answers["/v1/translate"].json()["translations"][0]["text"],
    }
    for one in found:
        assert re.findall(r"</?\w+>", one.partition("\n")[0]) == ["<p>", "<b>", "</b>", "</p>"]
        assert one.endswith('\n<script>a("b")</script>')


@DOORS
def test_text_without_letters_and_the_language_itself_are_left_as_they_are(
    server: ServedModels, door: Callable[[str], Ask]
) -> None:
    ask = door(server.address)
    assert ask(" 😀 \n", "de") == " 😀 \n"
    assert ask("left\tas it is", "en") == "left\tas it is"


def test_files_come_back_with_their_line_ends(server: ServedModels, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"a b [X7X]\r\n\r\nb a")
    fields = {"source": "en", "target": "de"}
    with httpx.Client(base_url=server.address) as http:
        sent = http.post(
            "/translate_file", data=fields, files={"file": ("a.txt", file.read_bytes())}
        )
        libre = http.get(sent.json()["translatedFileUrl"]).content

    async def translate_file() -> None:
        async with dragoman.Client(server.address) as client:
            await client.translate_file(file, tmp_path / "own.txt", source="en", target="de")

    asyncio.run(translate_file())
    assert libre.count(b"\r\n\r\n") == libre.count(b"[X7X]") == 1
    assert (tmp_path / "own.txt").read_bytes() == libre


@pytest.mark.parametrize("kind", ["text", "html"])
def test_each_door_detects_each_text_of_a_list(server: ServedModels, kind: str) -> None:
    pytest.importorskip("py3langid")
    texts = ["Der Hund schläft.", "Where is it?", "Guten Abend!"]
    asked: dict[str, dict[str, Any]] = {
        "/translate": {"q": texts, "source": "auto", "target": "de", "format": kind},
        "/v1/translate": {"text": texts, "target": "de", "format": kind},
        "/v2/translate": {"text": texts, "target_lang": "DE"},
    }
    if kind == "html":
        asked["/v2/translate"]["tag_handling"] = "html"
    key = {"Authorization": "DeepL-Auth-Key any"}
    with httpx.Client(base_url=server.address, timeout=None) as http:
        answers = {
            path: http.post(path, json=body, headers=key if "v2" in path else None)
            for path, body in asked.items()
        }
    libre = answers["/translate"].json()
    own, theirs = (
        answers[path].json()["translations"] for path in ("/v1/translate", "/v2/translate")
    )
    found = {
        "/translate": [one["language"] for one in libre["detectedLanguage"]],
        "/v1/translate": [one["source"] for one in own],
        "/v2/translate": [one["detected_source_language"].lower() for one in theirs],
    }
    assert found == {path: ["de", "en", "de"] for path in asked}
    for written in (
        libre["translatedText"],
        [one["text"] for one in own],
        [one["text"] for one in theirs],
    ):
        assert (written[0], written[2]) == (texts[0], texts[2])
        assert written[1] != texts[1]
