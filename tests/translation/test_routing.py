"""Lines of several languages, each translated by what the system has for its language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from command_line import call, one_error
from tiny_model import save_tiny_classifier, save_tiny_model
from typing_extensions import override

import dragoman
from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError, UsageError
from dragoman.saved.system import TranslationSystem, read_system, write_system
from dragoman.saved.system_parts import IdentifierConfig
from dragoman.text.examples import Direction
from dragoman.translation.classification import Labelled, Labeller, LineLabels
from dragoman.translation.routing import Router
from dragoman.translation.translator import Translator


class ByFirstLetter(Labeller):
    """Takes the first letter for the language; capital letters are certain."""

    labels = ["a", "b", "c", "d"]  # noqa: RUF012 - never changed

    @override
    def _labelled(self, texts: list[str], before: int, nbest: int) -> list[LineLabels]:
        sure = [0.9 if len(text) > 3 else 0.3 for text in texts]
        best = [[Labelled(text[0], p)] if text else [] for text, p in zip(texts, sure, strict=True)]
        return list(map(LineLabels, texts, best))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Untrained models whose translations differ."""
    folder = tmp_path_factory.mktemp("models")
    return {name: save_tiny_model(folder / name, seed=n) for n, name in enumerate("xab", 3)}


@pytest.fixture(scope="module")
def translators(models: dict[str, Path]) -> dict[str, Translator]:
    return {name: Translator.load(path, device="cpu") for name, path in models.items()}


LINES = ["a b c", "b a d", "c d e", "", "a", "b b", "d d d", "a e e"]


def routed(translators: dict[str, Translator], **config: Any) -> Router:
    routes = {name: translators[name] for name in "ab"}
    return Router(ByFirstLetter(), IdentifierConfig(**config), routes, translators["x"])


@pytest.mark.parametrize("buffer_lines", [1, 3, 100])
@pytest.mark.parametrize("fallback", [None, "b"])
def test_each_line_is_translated_by_its_route(
    translators: dict[str, Translator],
    buffer_lines: int,
    fallback: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In their order; short lines and uncertain ones take the fallback, others the first model."""
    router = routed(translators, least_letters=2, fallback=fallback)
    progress: list[int] = []
    found = list(router.stream_nbest(LINES, buffer_lines=buffer_lines, progress=progress.append))
    uncertain = "x" if fallback is None else fallback
    expected = ["a", "b", "x", "x", uncertain, uncertain, "x", "a"]
    for name, line, (best,) in zip(expected, LINES, found, strict=True):
        ((own,),) = translators[name].translate_nbest([line])
        assert best.text == own.text
        assert best.log_probability == pytest.approx(own.log_probability, rel=1e-4)
    scores = [translators[name].translate_nbest(["a b c"])[0][0].score for name in "xab"]
    assert min(abs(a - b) for a, b in combinations(scores, 2)) > 1e-3
    assert progress[-1] == len(LINES)
    (warning,) = caplog.messages
    assert warning.startswith("line 5: its language is uncertain")


def test_lines_before_a_failure_come_first(translators: dict[str, Translator]) -> None:
    def lines() -> Iterator[str]:
        yield from LINES[:2]
        raise OSError("gone")

    found = routed(translators).stream_nbest(lines())
    assert next(found) and next(found)
    with pytest.raises(OSError, match="gone"):
        next(found)


def test_prefixes_and_numbers_follow_their_lines(translators: dict[str, Translator]) -> None:
    router = routed(translators, least_letters=2)
    prefixes = ["a", "", "b", "", "c", "c", "d", "e"]
    found = router.translate_nbest(LINES, prefix=prefixes, buffer_lines=3)
    for prefix, line, (best,) in zip(prefixes, LINES, found, strict=True):
        assert best.text.startswith(prefix) or not line
    names, numbers = ["a", "b", "x"], [7, 5, 2]
    drawn = router.translate_nbest(LINES[:3], numbers=numbers, sampling={"seed": 3})
    for name, line, number, (one,) in zip(names, LINES, numbers, drawn, strict=False):
        ((own,),) = translators[name].translate_nbest(
            [line], numbers=[number], sampling={"seed": 3}
        )
        assert one.text == own.text


def test_weights_of_an_ensemble_are_not_those_of_the_models_of_a_route() -> None:
    ensemble = {"models": ["a", "b"], "weights": [0.7, 0.3], "ensemble": "log-linear"}
    routes = {"fr": {"models": ["c"]}, "cs": {"models": ["d", "e"]}, "it": {"prefix": "x"}}
    values = {**ensemble, "source_language": "auto", "routes": routes}
    system = parse(TranslationSystem, values, "system")
    found = {name: system.route(name) for name in routes}
    assert {name: one.weights for name, one in found.items()} == {
        "fr": None,
        "cs": None,
        "it": (0.7, 0.3),
    }
    kinds = [one.ensemble for one in found.values()]
    assert kinds == ["linear", "log-linear", "log-linear"]
    with pytest.raises(ConfigError, match="models"):
        parse(TranslationSystem, {**values, "routes": {"fr": {"models": 3}}}, "system")


def test_wrong_arguments_are_refused_at_once(translators: dict[str, Translator]) -> None:
    router = routed(translators)
    with pytest.raises(UsageError, match="progress"):
        router.stream_nbest(LINES, progress=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="buffer_lines"):
        router.stream_nbest(LINES, buffer_lines=0)
    with pytest.raises(DataError, match="no such file"):
        router.stream_nbest(LINES, glossary="nowhere.tsv")
    with pytest.raises(DataError, match="prefixes: found 1, fewer than there are lines"):
        router.translate_nbest(LINES, prefix=["a"])


def test_errors_count_lines_of_the_whole_input(translators: dict[str, Translator]) -> None:
    lines = ["a b c", "b a c", "a " * 2000]
    found = routed(translators).translate_nbest(lines, buffer_lines=2)
    assert str(found[2][0].refused).startswith("line 3: ")


@pytest.mark.usefixtures("identifier")
class TestWithPy3langid:
    """Systems by their description."""

    def test_candidates_are_the_routes_and_what_the_model_knows(
        self, models: dict[str, Path], tmp_path: Path
    ) -> None:
        direction = Direction(source_language="de", target_language="en")
        base = save_tiny_model(tmp_path / "base", directions=(direction,))
        routes = {"fr": {"models": [str(models["a"])]}}
        with dragoman.Router.load(base, routes=routes, device="cpu") as router:
            assert router._labeller.labels == ["de", "fr"]

    def test_a_line_in_the_pivot_language_skips_it(self, tmp_path: Path) -> None:
        direction = Direction(source_language="de", target_language="en")
        onward = Direction(source_language="en", target_language="fr")
        first = save_tiny_model(tmp_path / "first", directions=(direction,), seed=4)
        second = save_tiny_model(tmp_path / "second", directions=(onward,), seed=5)
        pivot = {"language": "en", "models": [str(first)]}
        lines = ["Das Haus ist noch nicht gebaut.", "This house has not been built yet."]
        with Router.load(second, pivot=pivot, device="cpu") as router:
            german, english = router.translate_nbest(lines)
        assert german[0].pivot is not None
        assert english[0].pivot is None
        assert english[0].text == Translator.load(second, device="cpu").translate(lines[1:])[0]

    def test_a_route_that_nothing_leads_to(self, models: dict[str, Path]) -> None:
        routes = {"de": {"models": [str(models["a"])]}, "tlh": {"models": [str(models["b"])]}}
        with pytest.raises(ConfigError, match="tlh: the identifier py3langid does not know it"):
            Router.load(models["x"], routes=routes, device="cpu")

    def test_of_one_language_there_is_no_choice(self, models: dict[str, Path]) -> None:
        """The first model does not say what it reads, so all lines would be French."""
        routes = {"fr": {"models": [str(models["a"])]}}
        with pytest.raises(ConfigError, match="fr is the only language that is known"):
            Router.load(models["x"], routes=routes, device="cpu")
        named = {"languages": ["de", "fr"]}
        with Router.load(models["x"], routes=routes, identifier=named, device="cpu") as router:
            assert router._labeller.labels == ["de", "fr"]


@pytest.fixture
def identifier() -> None:
    pytest.importorskip("py3langid", reason="needs NumPy 2", exc_type=ImportError)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"source_language": "auto"}, "there is neither, and a model of several"),
        ({"routes": {"de": {}}}, "routes is read with source_language: auto"),
        ({"identifier": {}}, "identifier is read with source_language: auto"),
        (
            {"source_language": "auto", "routes": {"de": {"model": "b"}}},
            "routes.de: unknown key 'model'; did you mean 'models'",
        ),
        (
            {"source_language": "auto", "routes": {"de": {"source_language": "fr"}}},
            "source_language is that of the system",
        ),
        (
            {"source_language": "auto", "routes": {"de": {}}, "identifier": {"fallback": "fr"}},
            "fallback fr has no route; routes: de",
        ),
        (
            {
                "source_language": "auto",
                "routes": {"de": {}},
                "identifier": {"classifier": "a", "languages": ["de"]},
            },
            "languages are for py3langid",
        ),
    ],
)
def test_descriptions_that_lead_nowhere(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(TranslationSystem, {"models": ["a"], **values}, "system")


def test_one_translator_has_one_language(models: dict[str, Path]) -> None:
    routes = {"de": {"models": [str(models["a"])]}}
    with pytest.raises(ConfigError, match=r"name one language here"):
        Translator.load(models["x"], source_language="auto", routes=routes)


def test_a_description_keeps_its_routes(tmp_path: Path) -> None:
    values = {
        "models": [str(tmp_path / "x")],
        "source_language": "auto",
        "routes": {"de": {"models": [str(tmp_path / "a")], "search": {"beam": 2}}},
        "identifier": {"classifier": str(tmp_path / "languages")},
    }
    system = parse(TranslationSystem, values, "system")
    write_system(tmp_path / "system.yaml", system)
    text = (tmp_path / "system.yaml").read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert read_system(tmp_path / "system.yaml") == system
    german = system.route("de")
    assert (german.models, german.search) == ((tmp_path / "a",), {"beam": 2})
    assert german.source_language == "de"
    assert system.route("fr").models == (tmp_path / "x",)


@pytest.mark.usefixtures("identifier")
def test_routes_on_the_command_line(models: dict[str, Path], tmp_path: Path) -> None:
    text = b"a a a a\nDas Haus ist noch nicht gebaut worden.\n"
    given = ("translate", models["x"], "--from", "auto", "--device", "cpu")
    routes = ("--route", f"de={models['a']}", "--route", f"fr={models['b']}")
    description = tmp_path / "system.yaml"
    found = call(*given, *routes, "--write-system", description, "--json", stdin=text)
    assert found.code == 0, found.err
    _, german = [json.loads(line) for line in found.out.splitlines()]
    own = call("translate", models["a"], "--device", "cpu", "--json", stdin=text)
    expected = json.loads(own.out.splitlines()[1])
    assert german["log_probability"] == pytest.approx(expected["log_probability"], rel=1e-4)
    again = call("translate", "--system", description, "--json", stdin=text)
    assert [json.loads(line)["translation"] for line in again.out.splitlines()] == [
        json.loads(line)["translation"] for line in found.out.splitlines()
    ]
    twice = call(*given, *routes, "--route", "de=x")
    assert "de has a route already" in one_error(twice, 2)
    assert "write it like de=" in one_error(call(*given, "--route", "de"), 2)
    assert "there is neither" in one_error(call(*given), 2)


@pytest.mark.usefixtures("identifier")
def test_a_route_on_the_command_line_leads_through_the_pivot(
    tmp_path: Path,
) -> None:
    """With --then, MODEL translates into the pivot language, and so does that of a route."""
    pairs = ["fr-en", "de-en", "en-it", "en-es"]
    french, german_model, onward, other = (
        save_tiny_model(
            tmp_path / pair,
            seed=seed,
            directions=(Direction(source_language=pair[:2], target_language=pair[3:]),),
        )
        for seed, pair in enumerate(pairs, 3)
    )
    description = tmp_path / "system.yaml"
    given = ["translate", french, "--from", "auto", "--via", "en", "--then", onward]
    routes = ["--route", f"de={german_model}", "--route", f"en={other}"]
    text = "Das Haus ist noch nicht gebaut worden.\nThis house has not been built yet.\n"
    options = ["--device", "cpu", "--via-nbest", "2", "--write-system", description, "--json"]
    found = call(*given, *routes, *options, stdin=text.encode())
    assert found.code == 0, found.err
    german, english = [json.loads(line) for line in found.out.splitlines()]
    pivot = {"language": "en", "models": [str(german_model)], "nbest": 2}
    with Translator.load(onward, pivot=pivot, device="cpu") as through:
        ((own, *_),) = through.translate_nbest(text.splitlines()[:1])
    assert (german["translation"], german["pivot"]) == (own.text, own.pivot)
    assert german["log_probability"] == pytest.approx(own.log_probability, rel=1e-4)
    assert "pivot" not in english
    assert read_system(description).route("en").models == (other,)


def test_a_classifier_of_ones_own_decides(models: dict[str, Path], tmp_path: Path) -> None:
    """Its labels, and no py3langid: lines of letters are in no language that this knows."""
    languages = tmp_path / "languages"
    save_tiny_classifier(languages, ["a", "b", "c"], seed=3, sharpness=60)
    lines = ["a b c d e", "d d d d d", "a a a a", "e e e e"]
    classifier = dragoman.load_classifier(languages, device="cpu")
    found = [label for label in classifier.classify(lines) if label is not None]
    assert {one.label for one in found} == {"a", "b", "c"}
    assert min(one.probability for one in found) > 0.5
    routes = ("--route", f"a={models['a']}", "--route", f"b={models['b']}")
    given = ("translate", models["x"], "--from", "auto", "--identify", languages)
    options = (*routes, "--device", "cpu", "--json")
    outcome = call(*given, *options, stdin="\n".join(lines).encode())
    assert outcome.code == 0, outcome.err
    for line, (label, _), row in zip(lines, found, outcome.out.splitlines(), strict=True):
        with Translator.load(models["x" if label == "c" else label], device="cpu") as own:
            ((expected,),) = own.translate_nbest([line])
        assert json.loads(row)["log_probability"] == pytest.approx(
            expected.log_probability, rel=1e-4
        )
    unknown = call(*given, "--route", f"fr={models['a']}", stdin=b"a")
    assert "fr is no language of the identifier; it knows a, b, c" in one_error(unknown, 2)
    translator = call(*given[:-1], models["a"], *routes, stdin=b"a")
    assert "no classifier but a model of the family transformer" in one_error(translator, 2)


def test_an_installed_model_has_a_name(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_MODELS", str(models["x"].parent))
    with pytest.raises(ConfigError, match="device"):
        Router.load("x", device="nowhere", routes={"de": {"models": [str(models["a"])]}})
    with pytest.raises(UsageError, match="give several one by one"):
        Router.load([models["x"]])  # type: ignore[arg-type]
    identifier = {"languages": ["de", "fr"]}
    routes = {"de": {"models": [str(models["a"])]}}
    with Router.load("x", device="cpu", routes=routes, identifier=identifier) as found:
        assert found.translate_nbest([""])[0][0].text == ""
