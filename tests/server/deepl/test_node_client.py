"""DeepL's own client for Node, unchanged; skipped where Node does not find the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_server import deepl_server
from echo_service import EchoService

SCRIPT = Path(__file__).with_name("deepl_node_client.cjs")
NODE = shutil.which("node")


def has_client() -> bool:
    """Whether Node finds the package, such as in the folder that NODE_PATH names."""
    if NODE is None:
        return False
    look = subprocess.run(
        [NODE, "-e", "require('deepl-node')"], cwd=SCRIPT.parent, capture_output=True, check=False
    )
    return look.returncode == 0


pytestmark = pytest.mark.skipif(
    not has_client(), reason="Node does not find deepl-node; npm install it, and set NODE_PATH"
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """What came of each call, by its name."""
    folder = tmp_path_factory.mktemp("node")
    service = EchoService(("de", "en"), ("de", "fr"), ("en", "de"), ("en", "fr"), ("fr", "de"))
    environment = {name: os.environ[name] for name in ("PATH", "NODE_PATH") if name in os.environ}
    assert NODE is not None
    with deepl_server(folder, service) as server:
        done = subprocess.run(
            [NODE, str(SCRIPT), server.address, str(folder)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    yield {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}


def result(found: dict[str, dict[str, Any]], name: str) -> Any:
    assert "result" in found[name], found[name]
    return found[name]["result"]


def dictionaries(info: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [
        (one["sourceLangCode"], one["targetLangCode"], one["entryCount"])
        for one in info["dictionaries"]
    ]


def test_texts(found: dict[str, dict[str, Any]]) -> None:
    assert [one["detectedSourceLang"] for one in result(found, "list")] == ["de", "en"]
    assert result(found, "options")["text"] == "COME INde"
    assert result(found, "options")["modelTypeUsed"] == "quality_optimized"
    assert result(found, "options")["billedCharacters"] == len("Come in")
    assert result(found, "preferred formality")["text"] == "HELLOfr"
    assert result(found, "lax")["text"] == "<a>Xde<b></a>"
    assert result(found, "ignored")["text"] == "GO <x>on</x>de"


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("no formality", "DeepLError", "'formality' is not supported for given 'target_lang'"),
        ("unknown target", "DeepLError", "target_lang"),
        ("unknown source", "DeepLError", "source_lang"),
        ("deleted", "GlossaryNotFoundError", "not found"),
        ("deleted glossary", "GlossaryNotFoundError", "not found"),
        ("empty entries", "DeepLError", "entries"),
        ("same language", "DocumentTranslationError", "Source and target language are equal"),
        ("invalid file", "DocumentTranslationError", "Invalid file"),
        ("no document", "DeepLError", "Not found"),
        ("rephrase", "DeepLError", "Not supported by this server"),
        ("style rules", "DeepLError", "Not supported by this server"),
        ("memories", "DeepLError", "Not supported by this server"),
    ],
)
def test_errors(found: dict[str, dict[str, Any]], name: str, error: str, said: str) -> None:
    line = found[name]
    assert said in line["message"]
    assert line["error"] == error


def test_the_account(found: dict[str, dict[str, Any]]) -> None:
    assert result(found, "usage") == "Usage this billing period:"
    assert {one["code"] for one in result(found, "sources")} == {"de", "en", "fr"}
    targets = {one["code"]: one["supportsFormality"] for one in result(found, "targets")}
    assert targets == {"de": True, "en-GB": False, "en-US": False, "fr": False}
    assert result(found, "pairs") == 5


def test_glossaries_of_one_direction(found: dict[str, dict[str, Any]]) -> None:
    made = result(found, "glossary")
    assert (made["sourceLang"], made["targetLang"], made["entryCount"]) == ("en", "de", 3)
    assert result(found, "entries") == {"Apple": "Apfel", "A%=&": "B&=%", "Δ": "深"}
    assert result(found, "listed") is True
    assert result(found, "csv")["entryCount"] == 2
    assert result(found, "delete") is None


def test_glossaries_of_several_directions(found: dict[str, dict[str, Any]]) -> None:
    made = result(found, "dictionaries")
    assert dictionaries(made) == [("fr", "de", 1), ("en", "de", 2)]
    assert dictionaries(result(found, "no dictionaries")) == []
    assert dictionaries(result(found, "csv dictionary")) == [("en", "de", 2)]
    assert dictionaries(result(found, "update")) == [("fr", "de", 2), ("en", "de", 2)]
    assert dictionaries(result(found, "update csv")) == [("fr", "de", 2), ("en", "de", 3)]
    assert result(found, "rename") == "New"
    assert result(found, "replace")["entryCount"] == 1
    assert result(found, "dictionary entries") == {"dog": "Köter"}
    assert result(found, "used")["text"] == "A DOGde"
    assert result(found, "delete dictionary") is None
    left = {"dictionaries": result(found, "left")}
    assert dictionaries(left) == [("en", "de", 1)]
    assert result(found, "listed dictionaries") is True
    assert result(found, "delete glossary") is None


def test_documents(found: dict[str, dict[str, Any]]) -> None:
    assert result(found, "document") == "HELLO YOUde"
