"""Recipes that are compared: which lines each may read, and that they have the same budget."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.transforms.filtering import FilterConfig
from studies.tables.plan import read_table

RECIPES = Path(__file__).parents[1] / "recipes"
LAST = 29_000
"""Lines of the training text of Multi30k."""


def names(folder: str) -> list[str]:
    """The names of the recipes of a folder, without its table."""
    return sorted({file.stem for file in (RECIPES / folder).glob("*.yaml")} - {"table"})


@cache
def recipes(folder: str) -> dict[str, ExperimentConfig]:
    """The recipes of a folder by name; not read while tests are collected."""
    return {name: read_experiment(RECIPES / folder / f"{name}.yaml") for name in names(folder)}


def lines(part: CorpusPart) -> range:
    """The lines of its file that a part reads, counted from 1."""
    first, last = 1, LAST
    for one in part.transforms:
        if isinstance(one, FilterConfig):
            assert one.every == 1
            first, last = max(first, one.first_line), min(last, one.last_line or last)
    return range(first, last + 1)


def budget(config: ExperimentConfig) -> dict[str, Any]:
    """What a model has to learn with: its size and its training, without the number of steps."""
    checkpoints = {"validation_steps", "checkpoint_steps", "keep_checkpoints", "start_from"}
    exclude = {"training": {*checkpoints, "max_steps", "average_checkpoints"}}
    return config.model_dump(include={"model", "training"}, exclude=exclude)


THIRDS = {"de": range(1, 9_668), "fr": range(9_668, 14_668), "cs": range(19_335, 22_335)}
"""The lines of each language that stand beside English."""


def test_no_sentence_of_english_is_there_in_two_languages() -> None:
    """Otherwise a model would read German and French of the same sentence, if not side by side."""
    assert [len(one) for one in THIRDS.values()] == [9_667, 5_000, 3_000]
    found = [line for third in THIRDS.values() for line in third]
    assert len(found) == len({*found})


@pytest.mark.parametrize("name", names("multilingual"))
def test_each_language_has_its_own_third_of_the_english_sentences(name: str) -> None:
    for part in recipes("multilingual")[name].data.train:
        languages = {part.source_language, part.target_language}
        if "en" in languages:
            (other,) = languages - {"en"}
            assert lines(part) == THIRDS[str(other)]
        else:  # pairs that only the direct and the incremental model are shown
            assert name in {"de-fr", "incremental"}
            assert languages == {"de", "fr"}
            assert lines(part).start > max(third.stop - 1 for third in THIRDS.values())


def test_every_direction_has_a_thousand_steps() -> None:
    base = recipes("multilingual")["base"]
    for name, config in recipes("multilingual").items():
        if name != "incremental":
            assert config.training.max_steps == 1000 * len(config.data.train)
            assert budget(config) == budget(base)


def test_every_language_of_the_user_interface_has_the_same_steps() -> None:
    found = recipes("homeassistant")
    together = found.pop("en-to-many")
    assert together.training.max_steps == 5000
    assert len(together.data.train) == len(found) - 1 == 12  # without the base
    for config in found.values():
        assert config.training.max_steps == 1000
        assert budget(config) == budget(together)


def test_tags_are_all_that_models_of_several_domains_differ_in() -> None:
    tagged, untagged = (recipes("domains")[name] for name in ("tagged", "untagged"))
    assert budget(tagged) == budget(untagged)
    assert tagged.training == untagged.training
    assert [part.tags for part in tagged.data.train] == [("<ui>",), ("<office>",), ("<dialogue>",)]
    bare = [part.model_copy(update={"tags": ()}) for part in tagged.data.train]
    assert bare == list(untagged.data.train)


def beside_parallel() -> Iterator[tuple[str, ExperimentConfig]]:
    """The recipes whose models are compared with that of pairs alone."""
    others = {"language-model", "teacher", "student", "student-plain"}
    for name, config in recipes("monolingual").items():
        if name not in others and not name.startswith("vocabulary"):
            yield name, config


def test_text_without_translations_adds_no_steps_and_no_translations() -> None:
    """What is copied of the English training text lies behind the pairs."""
    found = dict(beside_parallel())
    alone = found["parallel"]
    assert len(found) > 8
    for name, config in found.items():
        tasks = {part.task for part in config.data.train}  # a step has its tokens of each
        step = {"step_tokens": config.training.step_tokens * len(tasks)}
        training = config.training.model_copy(update=step)
        assert budget(config.model_copy(update={"training": training})) == budget(alone)
        assert config.training.max_steps == 1500
        pairs, *others = config.data.train
        assert lines(pairs) == range(1, LAST + 1 if name.endswith("29000") else 5001)
        for part in others:
            assert part.source is None
            if Path(str(part.target)).name == "train.en.gz":
                assert lines(part).start > 5000


def test_the_language_model_has_as_many_steps() -> None:
    found = recipes("monolingual")
    model, alone = (found[name].training for name in ("language-model", "parallel"))
    assert model == alone.model_copy(update={"label_smoothing": 0.0})


def training_text(part: CorpusPart) -> tuple[str, range]:
    """The language of the Multi30k training text that a part without sources has, and its lines."""
    folder, name = Path(str(part.target)).parts[-2:]
    language = name.removeprefix("train.").removesuffix(".gz")
    assert (folder, language) == ("multi30k", part.target_language)
    return language, lines(part)


@pytest.mark.parametrize("name", names("unsupervised"))
def test_no_sentence_without_its_translation_has_one_in_the_other_half(name: str) -> None:
    alone = [part for part in recipes("unsupervised")[name].data.train if part.source is None]
    if name.startswith("captions"):  # of these, whatever is in the parallel text is left out
        held_out = [
            part for part in recipes("unsupervised")[name].data.held_out if not part.transforms
        ]
        assert "multi30k/train.en.gz" in {
            "/".join(Path(str(p.target)).parts[-2:]) for p in held_out
        }
        assert {Path(str(part.target)).parts[-2] for part in alone} == {"mono"}
        return
    halves: dict[str, set[int]] = {}
    for language, found in map(training_text, alone):
        halves.setdefault(language, set()).update(found)
    assert bool(halves) is not name.startswith("supervised")
    if halves:
        english, other = halves.pop("en"), *halves.values()
        assert len(english) == len(other) == LAST // 2
        assert not english & other


@pytest.mark.parametrize("name", names("unsupervised"))
def test_pairs_that_show_how_good_a_model_is_do_not_choose_it(name: str) -> None:
    """Round trips do, on other lines of the dev set, and each on its own."""
    config = recipes("unsupervised")[name]
    sets = config.dev_sets().values()
    trips = [{*lines(part)} for part in sets if part.source is None]
    pairs = [{*lines(part)} for part in sets if part.source is not None]
    if name.startswith("supervised"):
        assert not trips and pairs == [{*range(1, 251)}] * 2
        return
    one, other = trips
    assert config.training.best_metric == "round_trip"
    assert not one & other
    assert not any((one | other) & found for found in pairs)


def test_all_pairs_are_what_few_pairs_and_none_are_compared_with() -> None:
    table = read_table(RECIPES / "unsupervised" / "table.yaml")
    train = recipes("unsupervised")["supervised-29000"].data.train
    assert [(part.source_language, lines(part)) for part in train] == [
        ("en", range(1, LAST + 1)),
        ("de", range(1, LAST + 1)),
    ]
    assert "{supervised-29000}" in str(table.rows()["supervised-29000"].translate)


def test_every_language_is_also_translated_word_by_word() -> None:
    table = read_table(RECIPES / "unsupervised" / "table.yaml")
    rows = [
        row.by_test(section.tests) for section in table.sections for row in section.rows.values()
    ]
    found = {test for row in rows for test, how in row.items() if how.startswith("embed translate")}
    assert found == {*table.tests}
    for name, stage in table.stages.items():  # English captions with translations are left out
        if stage.command is not None and "mono/train.en.gz" in stage.command:
            assert "--held-out {corpora}/multi30k/train.en.gz" in stage.command, name


@pytest.mark.parametrize("name", names("context"))
def test_documents_are_held_out_whole(name: str) -> None:
    """The training text, dev and the test follow one another and begin with a page each."""
    config = recipes("context")[name]
    bounds = [
        (one.first_line, one.last_line)
        for part in (*config.data.train, *config.dev_sets().values(), *config.test_sets().values())
        for one in part.transforms
        if isinstance(one, FilterConfig)
    ]
    ordered = sorted(bounds)
    assert len(bounds) == 5 and ordered[-1][1] is None
    for (_, last), (first, _) in pairwise(ordered):
        assert last is not None and first == last + 1
    (file,) = {Path(str(part.path)) for part in config.data.train}
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            pages = [line.split("\t")[0].split("#")[0] for line in stream]
        for first, _ in ordered[1:]:
            assert pages[first - 2] != pages[first - 1]


@pytest.mark.parametrize("text", ["", "pydocs-"])
def test_models_with_and_without_context_differ_in_what_they_read_before(text: str) -> None:
    before, wrong = (recipes("context")[f"{text}{name}"] for name in ("previous", "random"))
    alone = recipes("context")[f"{text}alone"]
    assert alone.data.context is None
    found = [one.data.context for one in (before, wrong)]
    assert [one and (one.sentences, one.choice) for one in found] == [
        (1, "previous"),
        (1, "random"),
    ]
    assert wrong.training == before.training
    tokens = {"step_tokens": alone.training.step_tokens}  # sources are longer with context
    for one in (before, wrong):
        changes = {
            "data": one.data.model_copy(update={"context": None}),
            "training": one.training.model_copy(update=tokens),
        }
        assert one.model_copy(update=changes) == alone
    rows = read_table(RECIPES / "context" / "table.yaml").rows().values()
    names = [f"{text}{name}" for name in ("alone", "previous", "random")]
    assert all(any(row.translate == f"{{{name}}}" for row in rows) for name in names)


@pytest.mark.parametrize("pairs", [1000, 5000, 10_000])
def test_text_is_added_to_the_same_pairs(pairs: int) -> None:
    alone, more = (
        recipes("unsupervised")[f"{kind}-{pairs}"].data.train for kind in ("supervised", "semi")
    )
    assert more[-2:] == alone
    assert more[:-2] == recipes("unsupervised")["base"].data.train
    assert [lines(part) for part in alone] == [range(1, pairs + 1)] * 2
