"""Lines of several domains: one model in memory, the adapter of each line's domain in it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import call, one_error
from tiny_model import save_tiny_adapter, save_tiny_model

import dragoman
from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, SavedError, UsageError
from dragoman.core.files import content_digest
from dragoman.saved.model import load_model
from dragoman.saved.system import TranslationSystem, read_system, write_system
from dragoman.saved.weights import WEIGHTS_FILE
from dragoman.translation.domains import DomainRouter, split_domain
from dragoman.translation.translator import Translator

LINES = ["a b c", "b a", "c d e", "", "e d c b", "d d"]
Models = dict[str, Path]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """A model that knows one of two domains' tags, and adapters that change its translations."""
    folder = tmp_path_factory.mktemp("models")
    model = save_tiny_model(folder / "model", tags=("<news>", "<2de>"))
    ui, news = (
        save_tiny_adapter(folder / f"{name}.safetensors", model, seed)
        for seed, name in ((2, "ui"), (3, "news"))
    )
    return {"model": model, "ui": ui, "news": news}


def by_adapter(models: Models, lines: list[str], adapter: str | None = None) -> list[str]:
    path = None if adapter is None else str(models[adapter])
    return Translator.load(models["model"], device="cpu", adapter=path).translate(lines)


def router(models: Models, **values: Any) -> DomainRouter:
    adapters = {"ui": str(models["ui"]), "news": str(models["news"])}
    return DomainRouter.load(models["model"], device="cpu", **{"adapters": adapters, **values})


def best(found: DomainRouter, lines: list[str], **options: Any) -> list[str]:
    return [one[0].text for one in found.translate_nbest(lines, **options)]


@pytest.mark.parametrize("buffer_lines", [1, 4, 100])
def test_each_line_gets_the_adapter_of_its_domain(models: Models, buffer_lines: int) -> None:
    """As if each adapter were loaded alone, however often they take turns."""
    plain, ui = by_adapter(models, LINES), by_adapter(models, LINES, "ui")
    news = by_adapter(models, [f"<news> {line}" for line in LINES], "news")
    assert len({tuple(plain), tuple(ui), tuple(news)}) == 3
    mixed, expected = [], []
    for number, line in enumerate(LINES):
        mixed += [f"<ui> {line}", line, f"<2de> <news> {line}", f"<news> {line}"]
        expected += [ui[number], plain[number], None, news[number]]
    found = best(router(models), mixed, buffer_lines=buffer_lines)
    assert [one for one, wanted in zip(found, expected, strict=True) if wanted is not None] == [
        one for one in expected if one is not None
    ]
    german = by_adapter(models, [f"<2de> <news> {line}" for line in LINES], "news")
    assert found[2::4] == german


def test_threads_do_not_exchange_one_anothers_adapters(models: Models) -> None:
    shared = router(models)
    lines = {name: [f"<{name}> {line}" for line in LINES * 5] for name in ("ui", "news")}
    expected = {name: best(shared, lines[name]) for name in lines}
    with ThreadPoolExecutor(2) as threads:
        for _ in range(5):
            found = {name: threads.submit(best, shared, lines[name]) for name in lines}
            assert {name: one.result() for name, one in found.items()} == expected


def test_a_glossary_is_for_all_lines_not_for_those_of_each_domain(
    models: Models, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["<ui> a b"] + ["c d"] * 25
    best(router(models), lines, glossary={"a": "b"}, buffer_lines=25)
    assert not [one for one in caplog.messages if "none of the" in one]
    best(router(models), lines, glossary={"e": "b"}, buffer_lines=25)
    (warning,) = [one for one in caplog.messages if "none of the" in one]
    assert warning.startswith("none of the 26 lines has a term")


def test_other_lines_may_have_an_adapter_or_a_domain_too(models: Models) -> None:
    adapters = {"ui": str(models["ui"])}
    usual = router(models, adapters=adapters, adapter=str(models["news"]))
    assert best(usual, ["<ui> a b c", "a b c"]) == [
        *by_adapter(models, ["a b c"], "ui"),
        *by_adapter(models, ["a b c"], "news"),
    ]
    tagged = router(models, tags=["<ui>"])  # the model does not know the tag
    assert best(tagged, LINES) == by_adapter(models, LINES, "ui")
    known = router(models, tags=["<news>"])  # which an empty line does not get
    read = [line and f"<news> {line}" for line in LINES]
    assert best(known, LINES) == by_adapter(models, read, "news")


def as_if(models: Models, *lines: tuple[str, str]) -> Any:
    """The log-probabilities of translations of lines, each read by one adapter."""
    found = []
    for line, adapter in lines:
        alone = Translator.load(models["model"], device="cpu", adapter=str(models[adapter]))
        found += [one.log_probability for one in alone.translate_nbest([line])[0]]
    return pytest.approx(found, rel=1e-4)


def log_probabilities(found: DomainRouter, lines: list[str]) -> list[float]:
    return [one[0].log_probability for one in found.translate_nbest(lines)]


def test_the_usual_domain_is_not_that_of_lines_with_their_own(models: Models) -> None:
    """Neither its adapter nor its tag, which would be read before theirs."""
    found = router(models, tags=["<news>"])
    lines = ["a b c", "<ui> a b c", "<news> a b c", "<2de> <ui> b a"]
    expected = [("<news> a b c", "news"), ("a b c", "ui")]
    expected += [("<news> a b c", "news"), ("<2de> b a", "ui")]
    assert log_probabilities(found, lines) == as_if(models, *expected)
    assert best(found, ["", "<ui>", "<ui> "]) == ["", "", ""]


def test_other_tags_are_for_all_lines_in_their_order(models: Models) -> None:
    found = router(models, tags=["<news>", "<2de>"])
    assert log_probabilities(found, ["a b c", "<ui> a b c", "<news> a b"]) == as_if(
        models, ("<news> <2de> a b c", "news"), ("<2de> a b c", "ui"), ("<2de> <news> a b", "news")
    )


def test_of_several_usual_domains_the_last_counts(models: Models) -> None:
    found = router(models, tags=["<news>", "<ui>"])
    assert log_probabilities(found, ["a b c", "<news> a b c"]) == as_if(
        models, ("a b c", "ui"), ("<news> a b c", "news")
    )


def test_weights_come_back_exactly(models: Models) -> None:
    found = router(models)
    own = load_model(models["model"], "cpu").model.state_dict()
    best(found, ["<ui> a b", "<news> b", "a"])
    present = found._others.models[0].state_dict()
    assert all(torch.equal(present[name], own[name]) for name in own)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<ui> Save", ("ui", "Save")),
        (" <ui>Save", ("ui", " Save")),
        ("<ui>", ("ui", "")),
        ("<2de> <ui> Save", ("ui", "<2de> Save")),
        ("<2de> <news> Save", ("news", "<2de> <news> Save")),
        ("Save <ui>", (None, "Save <ui>")),
        ("<b> <ui> Save", (None, "<b> <ui> Save")),  # a tag of the text
        ("< ui> Save", (None, "< ui> Save")),
        ("", (None, "")),
    ],
)
def test_the_domain_is_a_tag_in_front(text: str, found: tuple[str | None, str]) -> None:
    domains, known = frozenset(["ui", "news"]), frozenset(["<news>", "<2de>"])
    assert split_domain(text, domains, known) == found


def test_the_command_line(models: Models, tmp_path: Path) -> None:
    model, ui, news = models["model"], models["ui"], models["news"]
    lines = b"<ui> a b c\na b c\n"
    (plain,), (adapted,) = by_adapter(models, ["a b c"]), by_adapter(models, ["a b c"], "ui")
    written = tmp_path / "system.yaml"
    options = ["--device", "cpu", "--adapter", f"ui={ui}", "--adapter", f"news={news}"]
    found = call("translate", model, *options, "--write-system", written, stdin=lines)
    assert found.code == 0
    assert found.out.splitlines() == [adapted, plain]
    again = call("translate", "--system", written, stdin=lines)
    assert again.out == found.out
    alone = call("translate", model, "--device", "cpu", "--adapter", ui, stdin=b"a b c\n")
    assert alone.out.splitlines() == [adapted]
    source, target = tmp_path / "s.txt", tmp_path / "t.txt"
    source.write_text("a b c\n")
    target.write_text("b a\n")
    scores = [
        json.loads(call("score", model, source, target, "--json", *more).out)["log_probability"]
        for more in ([], ["--adapter", ui])
    ]
    scored = Translator.load(model, device="cpu", adapter=ui).score(["a b c"], ["b a"])
    assert scores[1] == pytest.approx(scored[0].log_probability)
    assert scores[0] != pytest.approx(scores[1])


@pytest.mark.parametrize("domain", ["", "ui="])
def test_an_adapter_of_another_model_is_one_clear_line(
    models: Models, tmp_path: Path, domain: str
) -> None:
    """Models of the same shape tell their adapters apart by their weights."""
    other = save_tiny_model(tmp_path / "other", seed=2, tags=("<news>", "<2de>"))
    foreign = save_tiny_adapter(tmp_path / "foreign.safetensors", other)
    before = content_digest(models["model"] / WEIGHTS_FILE)
    options = ["--device", "cpu", "--adapter", f"{domain}{foreign}"]
    outcome = call("translate", models["model"], *options, stdin=b"<ui> a b c\n")
    message = one_error(outcome, 4)
    assert "foreign.safetensors: an adapter of another model" in message
    assert "name the model that it was trained with" in message
    assert outcome.out == ""
    assert content_digest(models["model"] / WEIGHTS_FILE) == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["ui="], "write it like ui=runs/ui"),
        (["=x"], "write it like ui=runs/ui"),
        (["ui=a", "ui=b"], "lines of the domain ui have an adapter already"),
        (["a", "b"], "all other lines have an adapter already"),
    ],
)
def test_options_that_say_nothing_clear(models: Models, given: list[str], said: str) -> None:
    options = [word for one in given for word in ("--adapter", one)]
    assert said in one_error(call("translate", models["model"], *options), 2)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"models": ["a", "b"], "adapter": "x"}, "adapter: an adapter belongs to one model"),
        ({"adapters": {"u i": "x"}}, "'u i' cannot be a tag like <ui>"),
        ({"adapters": {"ui": "x"}, "workers": 2}, "so workers cannot be 2"),
        ({"adapters": {"ui": "x"}, "engine": "ctranslate2"}, "so engine cannot be ctranslate2"),
        (
            {"adapter": "x", "pivot": {"language": "en", "models": ["p"]}},
            "the legs of this pivot have models of their own",
        ),
        (
            {"adapters": {"ui": "x"}, "source_language": "auto", "routes": {"fr": {}}},
            "do not go with routes by language",
        ),
    ],
)
def test_systems_that_cannot_be_are_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse(TranslationSystem, {"models": ["a"], **values}, "here")


def test_a_route_with_its_own_model_has_no_adapter() -> None:
    values = {
        "models": ["a"],
        "adapter": "x",
        "source_language": "auto",
        "routes": {"fr": {"models": ["b"]}, "de": {"models": ["c"], "adapter": "y"}, "it": {}},
    }
    system = parse(TranslationSystem, values, "here")
    found = {name: system.route(name).adapter for name in ("fr", "de", "it", None)}
    assert found == {"fr": None, "de": Path("y"), "it": Path("x"), None: Path("x")}


def test_descriptions_have_relative_paths(models: Models, tmp_path: Path) -> None:
    folder = models["model"].parent
    system = TranslationSystem(
        models=(models["model"],), adapter=models["news"], adapters={"ui": models["ui"]}
    )
    written = folder / "system.yaml"
    write_system(written, system)
    assert str(folder) not in written.read_text()
    assert read_system(written) == system


def test_what_cannot_be_opened_is_refused(models: Models, tmp_path: Path) -> None:
    with pytest.raises(SavedError, match="no adapter"):
        router(models, adapters={"ui": str(tmp_path / "nothing")})
    other = save_tiny_model(tmp_path / "other", seed=9)
    alien = save_tiny_adapter(tmp_path / "alien.safetensors", other)
    with pytest.raises(SavedError, match="an adapter of another model"):
        router(models, adapters={"ui": str(alien)})
    with pytest.raises(ConfigError, match=r"dragoman\.DomainRouter; name one adapter here"):
        dragoman.load(models["model"], adapters={"ui": str(models["ui"])})


def test_an_installed_model_has_a_name_and_a_device_may_be_pytorchs(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_MODELS", str(models["model"].parent))
    device = torch.device("cpu")
    with DomainRouter.load("model", device=device, adapters={"ui": str(models["ui"])}) as found:
        assert best(found, ["<ui> a b c"]) == by_adapter(models, ["a b c"], "ui")
    with pytest.raises(UsageError, match="expected the path of a model or run"):
        DomainRouter.load(None, adapters={"ui": str(models["ui"])})  # type: ignore[arg-type]
