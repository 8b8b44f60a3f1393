"""Where general text comes from, and what is never in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, DataError
from dragoman.experiment import Experiment
from dragoman.techniques.adaptation.domain_texts import written
from dragoman.techniques.adaptation.general import (
    MAY_DIFFER,
    MAY_LOSE,
    GeneralChoice,
    GeneralText,
    general_text,
)
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.corpus import evaluation_pairs, read_pairs
from dragoman.text.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.formats import Pair
from dragoman.translation.translator import Translator


class Quiet:
    """A host that shows nothing."""

    def tell(self, line: str) -> None:
        pass

    @contextmanager
    def counting(
        self, what: str, unit: str, total: int | None = None, start: int = 0
    ) -> Iterator[Callable[[int], None]]:
        yield lambda count: None

    def train(self, experiment: Experiment) -> None:
        raise AssertionError("nothing is trained here")


def drawn(
    model: Path,
    choice: GeneralChoice,
    folder: Path,
    *without: CorpusPart,
    direction: Direction | None = None,
) -> GeneralText:
    parent = ParentModel.open(model)
    return general_text(
        choice,
        parent,
        direction or parent.directions[0],
        size=500,
        folder=folder,
        without=without,
        seed=1,
        host=Quiet(),
    )


def sources_of(parts: list[CorpusPart]) -> list[str]:
    return [pair.source for part in parts for pair in read_pairs(part)]


def test_replay_is_what_the_model_itself_says(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    lines = [f"{a} {b} {c}" for a in "abcde" for b in "abcde" for c in "abcdeabcde"]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("en\tde\na b a\tx\n", encoding="utf-8")
    dev = CorpusPart(path=str(tmp_path / "dev.tsv"), source="en", target="de")
    choice = GeneralChoice(replay=tmp_path / "lines", dev=dev)
    found = drawn(model, choice, tmp_path / "text")
    assert (found.origin, list(found.dev_sets)) == ("replay", ["general"])
    assert found.may_lose == MAY_LOSE, "its references are not the model's own"
    assert "departs" not in found.told()
    pairs = [pair for part in found.parts for pair in read_pairs(part)]
    assert {pair.source for pair in pairs} <= set(lines) - {"a b a"}
    with Translator.load(model, device="cpu") as translator:
        assert [pair.target for pair in pairs] == translator.translate([p.source for p in pairs])


@pytest.mark.parametrize(
    ("languages", "tags", "asked"),
    [
        (("en", "de"), ("<ui>", "<2de>"), ("<2de>", "<ui>")),
        (("en", "de"), ("<2de>", "<new>"), ("<2de>",)),
        (("en", "fr"), (), ("<2fr>",)),
        (("en", "ko"), ("<2ko>",), ("<2de>",)),
    ],
)
def test_replay_is_in_a_direction_that_the_model_has(
    tmp_path: Path, languages: tuple[str, str], tags: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    source, target = languages
    own = (("de", ("<2de>",)), ("de", ("<2de>", "<ui>")), ("fr", ("<2fr>",)))
    directions = tuple(
        Direction(source_language="en", target_language=one, tags=its) for one, its in own
    )
    known = ("<2de>", "<2fr>", "<ui>")
    model = save_tiny_model(tmp_path / "model", tags=known, directions=directions, seed=3)
    lines = [f"{a} {b} {c}" for a in "abcde" for b in "abcde" for c in "abcde"]
    (tmp_path / "lines").write_text("\n".join(lines * 2) + "\n", encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("en\tde\na b a\tx\n", encoding="utf-8")
    dev = CorpusPart(path=str(tmp_path / "dev.tsv"), source="en", target="de")
    choice = GeneralChoice(replay=tmp_path / "lines", dev=dev)
    wanted = Direction(source_language=source, target_language=target, tags=tags)
    (part,) = drawn(model, choice, tmp_path / "text", direction=wanted).parts
    assert part.direction in directions and part.tags == asked
    pairs = list(evaluation_pairs(part))
    with Translator.load(model, device="cpu") as translator:
        assert [pair.target for pair in pairs] == translator.translate([p.source for p in pairs])


def test_translations_of_the_model_itself_may_change_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.techniques.adaptation.general.GENERAL_DEV_PAIRS", 1)
    model = save_tiny_model(tmp_path / "model")
    lines = "".join(f"{a} {b} {c}\n" for a in "abcde" for b in "abcde" for c in "abcdeabcde")
    (tmp_path / "lines").write_text(lines, encoding="utf-8")
    found = drawn(model, GeneralChoice(replay=tmp_path / "lines"), tmp_path / "text")
    assert (list(found.dev_sets), found.may_lose) == (["general"], MAY_DIFFER)
    assert "how far it departs from what it said before" in found.told()


def test_every_dev_set_of_the_run_keeps_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a model was adapted to captions after it had been to something else."""
    (tmp_path / "all.tsv").write_text(
        "en\tde\n" + "".join(f"a{n}\tb{n}\n" for n in range(50)), encoding="utf-8"
    )
    part = CorpusPart(path=str(tmp_path / "all.tsv"), source="en", target="de")
    sets = dict.fromkeys(("general_captions", "captions", "domain", "general"), part)
    monkeypatch.setattr(ParentModel, "general_parts", lambda self: [part])
    monkeypatch.setattr(ParentModel, "general_dev_sets", lambda self: sets)
    monkeypatch.setattr("dragoman.techniques.adaptation.general._FEWEST_DEV_PAIRS", 5)
    monkeypatch.setattr("dragoman.techniques.adaptation.general.GENERAL_DEV_PAIRS", 5)
    found = drawn(save_tiny_model(tmp_path / "model"), GeneralChoice(), tmp_path / "text")
    names = ["general_captions", "general_captions_2", "general_domain", "general"]
    assert list(found.dev_sets) == names


def test_each_of_many_dev_sets_has_pairs_enough_to_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chrF of a few lines changes by more than the bound, whatever is learned."""
    (tmp_path / "all.tsv").write_text(
        "en\tde\n" + "".join(f"a{n}\tb{n}\n" for n in range(250)), encoding="utf-8"
    )
    part = CorpusPart(path=str(tmp_path / "all.tsv"), source="en", target="de")
    monkeypatch.setattr(ParentModel, "general_parts", lambda self: [part])
    model = save_tiny_model(tmp_path / "model")
    for count, pairs in ((1, 200), (3, 200), (4, 150), (7, 100)):
        sets = dict.fromkeys((f"set{n}" for n in range(count)), part)
        monkeypatch.setattr(ParentModel, "general_dev_sets", lambda self, found=sets: found)
        found = drawn(model, GeneralChoice(), tmp_path / f"text-{count}")
        assert [len(sources_of([dev])) for dev in found.dev_sets.values()] == [pairs] * count


def test_pairs_given_are_drawn_without_those_of_the_domain(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    text = "".join(f"a{n}\tb{n}\n" for n in range(400))
    (tmp_path / "general.tsv").write_text("en\tde\n" + text, encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "general.tsv"), source="en", target="de")
    domain = written(tmp_path / "domain.jsonl", [Pair("a7", "other", 1)], part)
    found = drawn(model, GeneralChoice(pairs=(part,)), tmp_path / "text", domain)
    assert (found.origin, found.may_lose) == ("given", MAY_LOSE)
    dev, rest = sources_of(list(found.dev_sets.values())), sources_of(list(found.parts))
    assert sorted([*dev, *rest, "a7"]) == sorted(f"a{n}" for n in range(400))
    assert len(dev) == 200


def test_what_is_too_little(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    (tmp_path / "general.tsv").write_text("en\tde\na\tb\n", encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "general.tsv"), source="en", target="de")
    with pytest.raises(DataError, match="too little general text"):
        drawn(model, GeneralChoice(pairs=(part,)), tmp_path / "text")


def test_the_sources_of_a_new_language_stay_in_the_text_of_the_others(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    lines = "".join(f"a{n}\tb{n}\tc{n}\n" for n in range(300))
    (tmp_path / "all.tsv").write_text("en\tde\tko\n" + lines, encoding="utf-8")
    german, korean = (
        CorpusPart(path=str(tmp_path / "all.tsv"), source="en", target=one, target_language=one)
        for one in ("de", "ko")
    )
    found = drawn(model, GeneralChoice(pairs=(german,)), tmp_path / "text", korean)
    assert len(sources_of(list(found.parts))) == 100, "300 without 200 of the dev set"
    with pytest.raises(DataError, match="too little general text"):
        drawn(model, GeneralChoice(pairs=(german, korean)), tmp_path / "text", german, korean)


def test_a_model_is_asked_in_a_direction_that_it_has(tmp_path: Path) -> None:
    directions = tuple(
        Direction(source_language="en", target_language=one, tags=(f"<2{one}>",))
        for one in ("de", "fr")
    )
    path = save_tiny_model(tmp_path / "two", tags=("<2de>", "<2fr>"), directions=directions)
    parent = ParentModel.open(path)
    assert parent.direction_for(("en", "fr"), "x.tsv").tags == ("<2fr>",)
    with pytest.raises(ConfigError, match=r"x.tsv: en-cs, and .* translates en-de, en-fr"):
        parent.direction_for(("en", "cs"), "x.tsv")
    one = ParentModel.open(save_tiny_model(tmp_path / "one", directions=directions[:1]))
    assert one.direction_for(("before", "after"), "x.tsv") == directions[0]
    with pytest.raises(ConfigError, match=r"x.tsv: de-en, and"):
        one.direction_for(("de", "en"), "x.tsv")


def test_a_direction_is_known_however_its_codes_are_written(tmp_path: Path) -> None:
    """The corrections of a server are exported as of "pt-br"."""
    there = (Direction(source_language="en", target_language="pt_BR", tags=()),)
    parent = ParentModel.open(save_tiny_model(tmp_path / "model", directions=there))
    assert parent.direction_for(("EN", "pt-br"), "x.tsv") == there[0]
    with pytest.raises(ConfigError, match=r"x.tsv: en-pt, and"):
        parent.direction_for(("en", "pt"), "x.tsv")
