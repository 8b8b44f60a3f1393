"""Translation through a third language, against all pairs of hypotheses of the two legs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from agreement import assert_same_translations, close
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, DataError, SavedError, UsageError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.saved.model import build_model
from dragoman.search import SearchConfig
from dragoman.text.examples import Direction
from dragoman.text.terms.line_demands import LineDemands
from dragoman.text.terms.terminology import LexicalConstraint
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.line_stream import Line
from dragoman.translation.outputs import Translation
from dragoman.translation.pivot import distinct, joined
from dragoman.translation.preparation import LineFormat, Preparation
from dragoman.translation.translator import Translator

torch.set_num_threads(1)

SOURCE = ["a b c d e", "e d c", "b a"] * 9
PIVOT = ["v w x", "z y x w", "w v z"] * 9
TARGET = ["k l m n", "n m", "o k l"] * 9
SEARCH = SearchConfig(extra_length=3, beam=4, minimum_length=1, max_source_pieces=40)
few = settings(max_examples=8, deadline=None)
lines_of_text = st.lists(st.text("abcde  ", max_size=8), max_size=6)


@cache
def untrained(seed: int) -> tuple[TranslationModel, Vocabularies]:
    """A model between two alphabets, in float64: seed 4 into the pivot language, 7 from it."""
    pairs = zip(*((SOURCE, PIVOT) if seed == 4 else (PIVOT, TARGET)), strict=True)
    vocabularies = train_vocabularies(pairs, VocabularyConfig(size=12, joint=False), seed=1)
    torch.manual_seed(seed)
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2, embeddings="target"
    )
    return build_model(config, vocabularies).double().eval(), vocabularies


def leg(seed: int, search: SearchConfig = SEARCH, **more: Any) -> Translator:
    model, vocabularies = untrained(seed)
    return Translator([model], vocabularies, search, **more)


def with_nbest(nbest: int) -> SearchConfig:
    return SEARCH.model_copy(update={"nbest": nbest, "beam": max(nbest, SEARCH.beam)})


def through(nbest: int = 3) -> Translator:
    """From letters a-e through v-z to k-o."""
    first = leg(4, search=with_nbest(nbest))
    return leg(7, pivot=first)


def brute_force(line: str, pivots: int, nbest: int) -> list[Translation]:
    """All pairs of the two n-best lists, by two translators that know nothing of a pivot."""
    into, onward = leg(4), leg(7)
    found: dict[str, Translation] = {}
    (first,) = into.translate_nbest([line], nbest=pivots)
    texts = {one.text: one for one in reversed(first)}
    if len(texts) > 1:
        texts = {text: one for text, one in texts.items() if text.strip()}
    for text, one in texts.items():
        (second,) = onward.translate_nbest([text], nbest=nbest)
        for two in second:
            pair = Translation(
                two.text,
                one.score + two.score,
                one.log_probability + two.log_probability,
                two.pieces,
                ended=one.ended and two.ended,
                pivot=text,
            )
            if two.text not in found or found[two.text].score < pair.score:
                found[two.text] = pair
    return sorted(found.values(), key=lambda pair: -pair.score)[:nbest]


@few
@given(
    lines=lines_of_text,
    pivots=st.integers(1, 4),
    nbest=st.integers(1, 4),
    buffer=st.integers(1, 5),
    tokens=st.integers(1, 200),
)
def test_the_best_pairs_win(
    lines: list[str], pivots: int, nbest: int, buffer: int, tokens: int
) -> None:
    translator = through(pivots)
    progress: list[int] = []
    found = translator.translate_nbest(
        lines, nbest=nbest, buffer_lines=buffer, batch_tokens=tokens, progress=progress.append
    )
    expected = [brute_force(line, pivots, nbest) for line in lines]
    assert_same_translations(found, expected)
    assert [[one.pivot for one in ranked] for ranked in found] == [
        [one.pivot for one in ranked] for ranked in expected
    ]
    assert progress == sorted(set(progress))
    assert progress[-1:] == ([len(lines)] if lines else [])
    best = list(translator.stream(iter(lines), buffer_lines=buffer))
    assert best == translator.translate(lines) == [ranked[0].text for ranked in expected]


def test_another_hypothesis_than_the_best_may_win() -> None:
    """Otherwise the joint score would be worth nothing, and the test above would miss it."""
    lines = [f"{a} {b} {c}" for a in "abc" for b in "cde" for c in "ae"]
    best = leg(4).translate(lines)
    won = through().translate_nbest(lines)
    assert any(ranked[0].pivot != pivot for ranked, pivot in zip(won, best, strict=True))
    single = through(1).translate_nbest(lines)
    assert [ranked[0].pivot for ranked in single] == best
    for many, one in zip(won, single, strict=True):
        assert many[0].score >= one[0].score - 1e-9


def hypothesis(text: str, score: float, **more: Any) -> Translation:
    return Translation(text, score, 2 * score, list(text), **{"ended": True, **more})


def test_joint_scores_are_sums_and_each_text_comes_once() -> None:
    pivots = [hypothesis("p", -1.0), hypothesis("q", -1.5, ended=False)]
    found = [
        [hypothesis("x", -2.0), hypothesis("y", -4.0)],
        [hypothesis("y", -0.5), hypothesis("x", -1.75)],
    ]
    first, second = joined(pivots, found)
    assert (first.text, first.score, first.log_probability) == ("y", -2.0, -4.0)
    assert (first.pivot, first.ended) == ("q", False)
    assert (second.text, second.score, second.pivot, second.ended) == ("x", -3.0, "p", True)


def test_a_text_is_translated_once_and_an_empty_one_only_if_alone() -> None:
    best, same, empty = hypothesis("p", -1), hypothesis("p", -2), hypothesis(" ", -0.1)
    assert distinct([empty, best, same]) == [best]
    assert distinct([empty, empty]) == [empty]


def test_an_empty_hypothesis_is_an_empty_translation() -> None:
    (found,) = joined([hypothesis("", -0.5)], [[Translation("", 0.0, 0.0, [], ended=True)]])
    assert (found.text, found.score, found.pivot) == ("", -0.5, "")


def test_an_empty_hypothesis_lacks_the_terms_of_its_line() -> None:
    _, vocabularies = untrained(7)
    wanted = (LexicalConstraint(("tree",)),)
    prepare = Preparation(LineFormat(vocabularies), SEARCH)
    demands = LineDemands(wanted), LineDemands(), None
    encoded = prepare([Line("", "", n, "", terms) for n, terms in enumerate(demands)])
    missing = [one.missing for (one,) in encoded.translations]
    assert (encoded.wanted, missing) == ([], [("tree",), None, None])


def test_lines_are_refused_by_either_leg_and_cost_no_other() -> None:
    long = "a " * 50
    translator = through()
    lines = ["b a", long, "", "e d c"]
    found = translator.translate_nbest(lines)
    alone = [translator.translate_nbest([line])[0] for line in (lines[0], lines[3])]
    assert_same_translations([found[0], found[3]], alone)
    assert (found[1][0].refused or "").startswith("line 2: ")
    assert (found[1][0].text, found[1][0].pivot) == ("", None)
    assert (found[2][0].text, found[2][0].refused) == ("", None)
    with pytest.raises(DataError, match=r"^line 12: "):
        translator.translate([long], numbers=count(11))

    first = leg(4, search=with_nbest(2))
    short = SEARCH.model_copy(update={"max_source_pieces": 1})
    strict = leg(7, pivot=first, search=short)
    (refused,) = strict.translate_nbest(["a b c d"], numbers=[6])
    assert (refused[0].refused or "").startswith("line 7: ")
    pivot = refused[0].pivot
    assert pivot
    assert f"this is its translation into the pivot language, '{pivot}'" in (
        refused[0].refused or ""
    )


def test_prefixes_begin_what_comes_out() -> None:
    lines = ["a b", "c", "", "d e"]
    found = through().translate_nbest(lines, prefix=["k l", "", "k", "m"], nbest=2)
    assert all(one.text.startswith("k l") for one in found[0])
    assert all(one.text.startswith("m") for one in found[3])
    assert found[2][0].text == ""
    assert_same_translations([found[1]], through().translate_nbest(["c"], nbest=2))


def test_each_line_is_answered_before_the_next_is_read_if_asked_for() -> None:
    asked: list[int] = []

    def lines() -> Iterator[str]:
        for number, line in enumerate(["a b", "", "c d", "e" * 99, "b"]):
            asked.append(number)
            yield line

    stream = through().stream_nbest(lines(), buffer_lines=1)
    for number, _ in enumerate(stream):
        assert asked == list(range(number + 1))
    assert len(asked) == 5


def test_translations_before_a_failure_come_first() -> None:
    def lines() -> Iterator[str]:
        yield from ["a b", "c"]
        raise KeyError("the caller's")

    found: list[str] = []
    with pytest.raises(KeyError, match="the caller's"):
        found.extend(through().stream(lines()))
    assert found == through().translate(["a b", "c"])


def test_what_a_pivot_cannot_do() -> None:
    translator = through()
    with pytest.raises(ConfigError, match="through a pivot the best joint score decides"):
        translator.translate(["a"], sampling={})
    with pytest.raises(ConfigError, match="mbr: through a pivot"):
        translator.translate(["a"], mbr={"samples": 2})
    drawing = SearchConfig.model_validate({"sampling": {}})
    for legs in ((SEARCH, drawing), (drawing, SEARCH)):
        first = leg(4, search=legs[0])
        with pytest.raises(ConfigError, match="samples have none; leave it out"):
            leg(7, search=legs[1], pivot=first)
    with pytest.raises(ConfigError, match="scores: there is one for each of the two legs"):
        translator.score(["a"], ["k"])
    with pytest.raises(ConfigError, match="attention: there is one for each of the two legs"):
        translator.attention("a", "k")
    with pytest.raises(ConfigError, match="unknown key 'baem'"):
        translator.translate(["a"], baem=2)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="expected a list of strings"):
        translator.translate("a b")


def test_both_legs_are_closed() -> None:
    first = leg(4)
    with leg(7, pivot=first) as translator:
        assert translator.translate(["a b"])
    for closed in (translator, first):
        with pytest.raises(UsageError, match="closed"):
            closed.translate(["a"])


def directions(*names: str) -> tuple[Direction, ...]:
    """Such as ``en-de <2de>``."""
    found = []
    for name in names:
        languages, *tags = name.split()
        source, target = languages.split("-")
        found.append(Direction(source_language=source, target_language=target, tags=tuple(tags)))
    return tuple(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of one direction or many on disk, in vocabularies of their own."""
    folder = tmp_path_factory.mktemp("models")
    many = directions("de-en <2en>", "en-fr <2fr>", "en-de <2de>")
    tags = ("<2en>", "<2fr>", "<2de>", "<ui>")
    save_tiny_model(folder / "many", seed=3, tags=tags, directions=many)
    save_tiny_model(folder / "de-en", seed=4, directions=directions("de-en"))
    for name, seed in (("en-fr", 7), ("other-en-fr", 8)):
        lines = ["a b c", "d c", "e b d"] * 9
        save_tiny_model(folder / name, lines, seed=seed, directions=directions("en-fr"))
    save_tiny_model(folder / "unnamed", seed=5)
    save_tiny_model(folder / "lm", seed=6, config=TINY_LM)
    return folder


def load(*paths: Path, **options: Any) -> Translator:
    return Translator.load(*paths, device="cpu", **options)


LINES = ["a b c", "", "d e", "b", "c c a"]


def check_pairs(translator: Translator, into: Translator, onward: Translator) -> None:
    """That the best translations are those of the best pairs."""
    for line, (found,) in zip(LINES, translator.translate_nbest(LINES, nbest=1), strict=True):
        (pivots,) = into.translate_nbest([line], nbest=3)
        pairs = [
            (pivot.score + onward.translate_nbest([pivot.text])[0][0].score, pivot)
            for pivot in pivots
            if pivot.text or len(pivots) == 1
        ]
        score, _ = max(pairs, key=lambda pair: pair[0])
        assert found.score == close(score)


@pytest.mark.parametrize("workers", [None, 1])
@pytest.mark.usefixtures("forked_workers")
def test_one_model_translates_twice(folder: Path, workers: int | None) -> None:
    many = folder / "many"
    options: dict[str, Any] = {"source_language": "de", "target_language": "fr"}
    with load(
        many,
        pivot={"language": "en", "nbest": 3, "search": {"beam": 3}},
        search={"beam": 3},
        workers=workers,
        **options,
    ) as translator:
        into, onward = (
            load(many, target_language=name, search={"beam": 3}) for name in ("en", "fr")
        )
        check_pairs(translator, into, onward)
    assert load(many, **options).translate(LINES) == load(many, target_language="fr").translate(
        LINES
    ), "zero-shot, without a pivot"


def test_the_model_of_both_legs_is_loaded_once_and_shares_its_engine(folder: Path) -> None:
    shared = load(folder / "many", target_language="fr", pivot={"language": "en"})
    assert shared._pivot is not None
    assert shared._pivot.models == shared.models
    assert shared._pivot._direct.engine is shared._direct.engine
    apart = load(folder / "en-fr", pivot={"language": "en", "models": [folder / "de-en"]})
    assert apart._pivot is not None
    assert apart._pivot._direct.engine is not apart._direct.engine


def test_two_models_with_tags_and_an_ensemble(folder: Path) -> None:
    ensemble = (folder / "en-fr", folder / "other-en-fr")
    pivot = {"language": "en", "models": [folder / "many"], "nbest": 3, "tags": ["<ui>"]}
    translator = load(*ensemble, weights=[1, 2], source_language="de", pivot=pivot)
    into = load(folder / "many", target_language="en", tags=["<ui>"])
    check_pairs(translator, into, load(*ensemble, weights=[1, 2]))


def test_settings_of_the_first_leg_are_its_own(folder: Path) -> None:
    pivot = {"language": "en", "models": [folder / "de-en"], "search": {"beam": 7}, "nbest": 2}
    translator = load(folder / "en-fr", search={"beam": 5, "nbest": 3}, pivot=pivot)
    assert translator._pivot is not None
    assert (translator.search.beam, translator.search.nbest) == (5, 3)
    assert (translator._pivot.search.beam, translator._pivot.search.nbest) == (7, 2)
    with pytest.raises(ConfigError, match=r"^pivot en: .*de-en: pivot.search: unknown key 'baem'"):
        load(folder / "en-fr", pivot={**pivot, "search": {"baem": 7}})


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ("many", {"target_language": "fr", "pivot": {"language": "cs"}}, "pivot cs: .*many: the "
         "model does not translate into cs; languages there: en, fr, de; tags"),
        ("many", {"target_language": "de", "pivot": {"language": "fr"}}, "pivot fr: .*many: the "
         "model does not translate from fr; directions there: de-en, en-fr, en-de$"),
        ("many", {"source_language": "fr", "target_language": "de", "pivot": {"language": "en"}},
         "pivot en: .*many: the model does not translate from fr; directions there: de-en, "),
        ("many", {"target_language": "cs", "pivot": {"language": "en"}},
         "pivot en: .*many: the model does not translate into cs; "),
        ("de-en", {"pivot": {"language": "en", "models": ["de-en"]}},
         "pivot en: .*de-en: the model does not translate from en; directions there: de-en$"),
        ("en-fr", {"pivot": {"language": "en", "models": ["en-fr"]}},
         "pivot en: .*en-fr: the model does not translate into en; languages there: fr; "),
        ("lm", {"pivot": {"language": "en", "models": ["de-en"]}},
         "pivot en: .*lm: a language model reads no source, so it translates from no language"),
        ("en-fr", {"pivot": {"language": "en", "models": ["lm"]}},
         "pivot en: .*lm: a language model reads no source"),
        ("many", {"source_language": "fr", "target_language": "en"},
         "^the model does not translate from fr; directions there"),
        ("de-en", {"pivot": {"language": "en"}}, r"name target_language \(--to\); or name the "
         r"models of either leg \(--then"),
    ],
)  # fmt: skip
def test_paths_that_do_not_exist(
    folder: Path, models: str, options: dict[str, Any], message: str
) -> None:
    pivot = dict(options.get("pivot", {}))
    if "models" in pivot:
        pivot["models"] = [folder / name for name in pivot["models"]]
    if pivot:
        options = {**options, "pivot": pivot}
    with pytest.raises(ConfigError, match=message):
        load(folder / models, **options)


def test_a_second_model_that_is_missing(folder: Path) -> None:
    with pytest.raises(SavedError, match="nowhere"):
        load(folder / "nowhere", pivot={"language": "en", "models": [folder / "de-en"]})


def test_models_whose_languages_have_no_names(folder: Path) -> None:
    unnamed = folder / "unnamed"
    once = load(unnamed)
    through = {"language": "target", "models": [unnamed]}
    check_pairs(
        load(unnamed, pivot={**through, "nbest": 3}), load(unnamed, search={"nbest": 3}), once
    )
    twice = once.translate(once.translate(LINES))
    assert any(twice)
    assert load(unnamed, pivot={**through, "nbest": 1}).translate(LINES) == twice
